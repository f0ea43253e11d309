// SPDX-License-Identifier: MIT
// Everything that a training run needs to go on exactly where it stood, in one .npz file.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/nn/batches.hpp"
#include "tyto/nn/descent.hpp"
#include "tyto/nn/history.hpp"
#include "tyto/nn/module.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// A list of what to save and restore: states (variables, optimiser state), numbers, the position in a data set, the
/// history, and, always, the position in the sequence of random numbers. What is listed must live as long as this does.
///
///     nn::Checkpoint checkpoint;
///     checkpoint.add("model", model.named_states()).add("descent", descent.state(model.named_parameters()));
///     const bool resumed = checkpoint.load_if_present("run.npz");
///     checkpoint.save("run.npz");
class TYTO_API Checkpoint {
 public:
  /// Adds states, those of a model, a number, a history or the position of batches under a name.
  Checkpoint& add(const std::string& name, const NamedList<Tensor<Any>>& states);
  Checkpoint& add(const std::string& name, const Module& model) { return add(name, model.named_states()); }
  Checkpoint& add(const std::string& name, std::int64_t& number);
  Checkpoint& add(const std::string& name, TrainingHistory& history);
  /// The states of these parameters; of those that processes keep parts of, the whole, which does not depend on how
  /// many processes there are.
  Checkpoint& add(const std::string& name, Descent& descent, const NamedList<Tensor<Any>>& parameters);
  template <class M>
  Checkpoint& add(const std::string&, const std::vector<Tensor<M>>&) {
    static_assert(std::is_void_v<M>, "a checkpoint needs the names of states: write model.named_states()");
    return *this;
  }
  template <std::same_as<Descent> D>
  Checkpoint& add(const std::string&, const D&) {
    static_assert(std::is_void_v<D>, "a checkpoint needs names: add(name, descent, model.named_parameters())");
    return *this;
  }
  template <class T>
  Checkpoint& add(const T&) {
    static_assert(std::is_void_v<T>, "a checkpoint keeps things by name: add(name, model)");
    return *this;
  }
  template <class T>
  Checkpoint& add(const std::string& name, Batches<T>& batches) {
    return add_position(
        name, [&batches] { return batches.position(); },
        [&batches](const BatchPosition& position) { batches.seek(position); });
  }

  /// Writes all of it; the file appears whole or the old one stays. Throws GraphError where processes keep parts of it.
  void save(const std::string& path) const;
  /// Rank 0 writes all of it, and all processes call it. What one of them throws is an IoError on the others.
  void save_together(const std::string& path) const;
  /// Restores all of it. Throws IoError, and changes nothing, when the file lacks something, holds something else, or
  /// holds it in another shape or type. In a group of processes all call it, and go on from what rank 0 has in its
  /// file; what one of them cannot restore all refuse.
  void load(const std::string& path);
  /// As load; false when there is no such file, on rank 0 where there are several processes.
  bool load_if_present(const std::string& path);

 private:
  /// Something other than a state: as an array, and back. `set` throws for what does not fit.
  struct Item {
    std::string name;
    std::function<Tensor<Any>()> get;
    std::function<void(const HostArray&)> set;
    bool any_length = false;  ///< of its one axis
  };
  Checkpoint& add_position(const std::string& name, std::function<BatchPosition()> get,
                           std::function<void(const BatchPosition&)> set);
  Checkpoint& add_numbers(const std::string& name, std::function<std::vector<std::int64_t>()> get,
                          std::function<void(std::span<const std::int64_t>)> set);
  /// Contents of a file, in the order of the lists below.
  struct Contents {
    std::vector<HostArray> states, items;
  };
  std::vector<Item> with_random_state() const;
  NamedList<Tensor<Any>> arrays() const;
  Contents read(const std::string& path, const std::vector<Item>& items, const std::vector<HostArray>& now) const;
  void load_together(const std::string& path);
  static void set_all(const std::string& path, const std::vector<Item>& items, const std::vector<HostArray>& values,
                      const std::vector<HostArray>& before);

  NamedList<Tensor<Any>> states_;
  std::vector<Item> items_;
  bool has_parts_ = false;
};

}  // namespace TYTO_API
}  // namespace tyto
