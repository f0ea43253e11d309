// SPDX-License-Identifier: MIT
// Recurrent layers over (batch, time, features): RNN, LSTM and GRU.
#pragma once

#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `Recurrent`.
struct RecurrentOptions {
  std::int64_t in = 0;          ///< features at each time
  std::int64_t hidden = 0;      ///< features that are remembered
  std::int64_t layers = 1;      ///< on top of each other
  bool bidirectional = false;   ///< a second network reads from the end; results stand side by side
  double dropout = 0;           ///< between layers, in training
  std::int64_t projection = 0;  ///< of an LSTM: features that its hidden state is multiplied down to; 0: it is not
  bool bias = true;             ///< whether a bias is added
  Initialiser initial = lecun_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;             ///< element type
};

/// States of a recurrent network: (layers, or twice as many with two directions, batch, hidden), the hidden state of as
/// many features as a projection leaves. Undefined tensors stand for zeros.
template <class M>
struct RecurrentState {
  Tensor<M> hidden = {};  ///< (layers and directions, batch, hidden)
  Tensor<M> cell = {};    ///< of an LSTM only
};

/// The output of each time, and the final states.
template <class M>
struct Recurrence {
  Tensor<M> output;         ///< (batch, time, hidden), or twice as many features with two directions
  RecurrentState<M> state;  ///< after the last step
};

/// Base of recurrent networks. As a layer it begins with zeros and yields the output of each time.
///
///     nn::LSTM lstm({.in = 8, .hidden = 16});
///     auto [output, state] = lstm.run(x);             // then go on: lstm.run(y, state)
struct TYTO_API Recurrent : Layer {
  RecurrentOptions options;                           ///< as given
  std::vector<Tensor<Any>> weights_in;                ///< one for each layer and direction: (features, gates hidden)
  std::vector<Tensor<Any>> weights_hidden;            ///< (hidden, gates hidden)
  std::vector<Tensor<Any>> biases_in, biases_hidden;  ///< one for each layer and direction
  std::vector<Tensor<Any>> projections;               ///< (hidden, projection); empty without one

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

  /// Reads x (batch, time, features) from a state, zeros by default.
  template <class M>
  Recurrence<M> run(const Tensor<M>& x, const std::type_identity_t<RecurrentState<M>>& initial = {},
                    Phase phase = detail::phase_around()) const {
    const Recurrence<Any> y =
        read(detail::modeless(x), {detail::modeless(initial.hidden), detail::modeless(initial.cell)}, phase);
    return {detail::with_mode<M>(y.output), {detail::with_mode<M>(y.state.hidden), detail::with_mode<M>(y.state.cell)}};
  }

 protected:
  Recurrent(const char* name, std::int64_t gates, bool has_cell, const RecurrentOptions& given);
  /// One time: `in` is the part of the gates that comes from x.
  virtual RecurrentState<Any> step(const Tensor<Any>& in, const RecurrentState<Any>& before,
                                   std::size_t network) const = 0;
  /// Features of the output of each time.
  std::int64_t given_on() const { return options.projection > 0 ? options.projection : options.hidden; }
  /// The part of the gates that comes from the hidden state.
  Tensor<Any> from_hidden(const Tensor<Any>& hidden, std::size_t network) const;

 private:
  Recurrence<Any> read(const Tensor<Any>& x, const RecurrentState<Any>& initial, Phase phase) const;
  Recurrence<Any> run_networks(const Tensor<Any>& x, const RecurrentState<Any>& initial, Phase phase) const;
  Tensor<Any> initial_part(const char* what, const Tensor<Any>& given, const Tensor<Any>& x,
                           std::int64_t features) const;

  const char* name_;
  bool has_cell_;
};

/// The activation of an RNN's hidden state.
enum class RecurrentActivation : std::uint8_t { tanh, relu };
/// h = tanh(W x + b + U h + c), or relu of it.
struct TYTO_API RNN : Recurrent {
  RecurrentActivation activation;  ///< of the hidden state

  explicit RNN(const RecurrentOptions& given, RecurrentActivation function = RecurrentActivation::tanh)
      : Recurrent("RNN", 1, false, given), activation(function) {}

 protected:
  RecurrentState<Any> step(const Tensor<Any>& in, const RecurrentState<Any>& before,
                           std::size_t network) const override;
};

/// Long short-term memory (Hochreiter, Schmidhuber 1997); gates in the order input, forget, cell, output.
struct TYTO_API LSTM : Recurrent {
  explicit LSTM(const RecurrentOptions& given) : Recurrent("LSTM", 4, true, given) {}  // LSTM({.in = 8, .hidden = 16})

 protected:
  RecurrentState<Any> step(const Tensor<Any>& in, const RecurrentState<Any>& before,
                           std::size_t network) const override;
};

/// Gated recurrent unit (Cho et al. 2014), the reset gate applied behind the product; gates reset, update, new.
struct TYTO_API GRU : Recurrent {
  explicit GRU(const RecurrentOptions& given) : Recurrent("GRU", 3, false, given) {}  // GRU({.in = 8, .hidden = 16})

 protected:
  RecurrentState<Any> step(const Tensor<Any>& in, const RecurrentState<Any>& before,
                           std::size_t network) const override;
};

}  // namespace TYTO_API
}  // namespace tyto
