// SPDX-License-Identifier: MIT
// Computes a case through the public functions: outputs, gradients, second gradients, in several ways.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/golden/calls.hpp"
#include "tests/golden/golden.hpp"
#include "tyto/graph.hpp"

namespace tyto::golden {

/// Everything that a case states, as tensors. Inputs that are not floating have no gradient and no place here.
template <class M>
struct Computation {
  Tensors<M> outputs;
  Tensors<M> gradients;
  Tensors<M> second_gradients;
};

/// The arrays that a case states in the same order, with what may differ and what they are.
struct Expectation {
  const Array* array;
  const Tolerance* tolerance;
  std::string what;
};
std::vector<Expectation> expectations(const Case& one);

template <class M>
Tensor<M> tensor_of(const Array& array);
template <class M>
Tensors<M> tensors_of(const std::vector<const Array*>& arrays);

/// The elements of a tensor, on the host.
template <class M>
Array array_of(const Tensor<M>& tensor);

/// A function of the floating inputs alone, the others held.
template <class M>
using Function = std::function<Tensors<M>(const Tensors<M>&)>;

template <class M>
bool floating(const Tensor<M>& tensor) {
  return is_floating(tensor.dtype());
}

/// Those of the tensors that are floating.
template <class M>
Tensors<M> floating_ones(const Tensors<M>& tensors);

/// The case's operator as a function of its floating inputs.
template <class M>
Function<M> function_of(const Case& one, const Tensors<M>& inputs);

/// The gradients of the sum over f's floating outputs of cotangent * output, as a function of f's inputs.
template <class M>
Function<M> gradients_of(const Function<M>& f, const Tensors<M>& cotangents);

/// The sum of all elements of all results, as a function with that one result.
template <class M>
Function<M> total_of(const Function<M>& f);

/// Everything that the case states.
template <class M>
Computation<M> compute(const Case& one, const Tensors<M>& inputs);

/// All tensors of a computation in the order of expectations().
template <class M>
Tensors<M> in_order(const Computation<M>& computation);

/// Input tensors whose elements lie apart in memory, the first axis innermost.
Tensors<Eager> scattered(const Tensors<Eager>& inputs);

/// The results of a function under tyto::compile.
Tensors<Lazy> call_compiled(const Function<Lazy>& f, const Tensors<Lazy>& inputs, const CompileOptions& options = {});

}  // namespace tyto::golden
