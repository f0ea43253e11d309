// SPDX-License-Identifier: MIT
// A drawn program with its inputs, states, results and updates, in one mode.
#pragma once

#include <string>
#include <vector>

#include "core/graph/symbol.hpp"
#include "tests/fuzz/drawing.hpp"
#include "tests/fuzz/trial.hpp"

namespace tyto::fuzz {

/// An array's type and contents.
struct Data {
  DType dtype = DType::f32;
  Shape shape = {};
  std::vector<std::byte> bytes = {};

  template <class M>
  Tensor<M> tensor() const {
    return Tensor<M>::from_bytes(bytes.data(), element_count(shape), shape, dtype);
  }
  template <class M>
  static Data of(const Tensor<M>& x) {
    const std::span<const std::byte> bytes = x.bytes();
    return {x.dtype(), x.shape(), {bytes.begin(), bytes.end()}};
  }
  /// Element i as a number.
  double at(std::size_t i) const;
  std::size_t size() const { return static_cast<std::size_t>(element_count(shape)); }
};

/// The data of a trial: inputs of the first run, states before it, and later changes of inputs.
struct Material {
  struct Change {
    std::size_t input;
    Data value;
  };
  std::vector<Data> inputs;
  std::vector<Data> states;
  std::vector<std::vector<Change>> changes;  ///< before each further run
};
Material material_of(const Trial& trial);

template <class M>
struct Program {
  std::vector<Tensor<M>> outputs;
  std::vector<Tensor<M>> updates;  ///< the next value of each state
  std::vector<std::string> transcript;
  bool finite = true;  ///< nothing drawn was NaN or infinite in any run, as far as eager mode saw
  /// Nothing but dense arrays crossed the borders of regions: over views, which are dense in graphs, sums may add in
  /// another order.
  bool dense_borders = true;
};

/// The trial's program on these inputs and states.
template <class M>
Program<M> program_of(const Trial& trial, const std::vector<Tensor<M>>& inputs, const std::vector<Tensor<M>>& states,
                      const Noise& noise = {});

extern template Program<Eager> program_of(const Trial&, const std::vector<Tensor<Eager>>&,
                                          const std::vector<Tensor<Eager>>&, const Noise&);
extern template Program<Lazy> program_of(const Trial&, const std::vector<Tensor<Lazy>>&,
                                         const std::vector<Tensor<Lazy>>&, const Noise&);

}  // namespace tyto::fuzz
