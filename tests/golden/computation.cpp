// SPDX-License-Identifier: MIT
// Computes cases in each way, by a few lines on the public functions.
#include "tests/golden/computation.hpp"

#include <stdexcept>

#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

std::vector<Expectation> expectations(const Case& one) {
  std::vector<Expectation> list;
  const auto add = [&](const std::vector<const Array*>& arrays, const Tolerance& tolerance, const std::string& what) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i] != nullptr) list.push_back({arrays[i], &tolerance, what + " " + std::to_string(i)});
    }
  };
  add(one.outputs, one.tolerance, "output");
  add(one.gradients, one.gradient_tolerance, "gradient");
  add(one.second_gradients, one.second_tolerance, "second gradient");
  return list;
}

template <class M>
Tensor<M> tensor_of(const Array& array) {
  Shape shape;
  for (const std::int64_t length : array.shape) shape.push_back(length);
  return Tensor<M>::from_bytes(array.bytes.data(), array.count(), shape, dtype_named(array.dtype));
}

template <class M>
Tensors<M> tensors_of(const std::vector<const Array*>& arrays) {
  Tensors<M> tensors;
  for (const Array* array : arrays) tensors.push_back(tensor_of<M>(*array));
  return tensors;
}

template <class M>
Array array_of(const Tensor<M>& tensor) {
  const std::span<const std::byte> bytes = tensor.bytes();
  return {name_of(tensor.dtype()), std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end()),
          std::vector<std::byte>(bytes.begin(), bytes.end())};
}

template <class M>
Tensors<M> floating_ones(const Tensors<M>& tensors) {
  Tensors<M> found;
  for (const Tensor<M>& tensor : tensors) {
    if (floating(tensor)) found.push_back(tensor);
  }
  return found;
}

template <class M>
Function<M> function_of(const Case& one, const Tensors<M>& inputs) {
  const auto found = calls<M>().find(one.op);
  if (found == calls<M>().end()) throw std::runtime_error("no call is known for the operator '" + one.op + "'");
  return [&arguments = one.arguments, &call = found->second, inputs](const Tensors<M>& given) {
    Tensors<M> all = inputs;
    std::size_t next = 0;
    for (Tensor<M>& input : all) {
      if (floating(input)) input = given.at(next++);
    }
    return call(arguments, all);
  };
}

template <class M>
Function<M> gradients_of(const Function<M>& f, const Tensors<M>& cotangents) {
  return [f, cotangents](const Tensors<M>& inputs) {
    // One output takes its cotangent as the gradient's weight; of several, the weighted sum is differentiated.
    const bool lone = cotangents.size() == 1;
    const auto weighted = [&](const Tensors<M>& given) {
      const Tensors<M> outputs = floating_ones(f(given));
      if (outputs.size() != cotangents.size()) throw std::runtime_error("as many cotangents as outputs are needed");
      if (lone) return outputs[0];
      Tensor<M> total(0.0);
      for (std::size_t i = 0; i < outputs.size(); ++i) total += sum(cotangents[i] * outputs[i]);
      return total;
    };
    if (lone) return vjp(weighted, inputs, cotangents[0]).second;
    return vjp(weighted, inputs, Tensor<M>(1.0)).second;
  };
}

template <class M>
Function<M> total_of(const Function<M>& f) {
  return [f](const Tensors<M>& inputs) {
    const Tensors<M> results = f(inputs);
    Tensor<M> total = sum(results.at(0));
    for (std::size_t i = 1; i < results.size(); ++i) total += sum(results[i]);
    return Tensors<M>{total};
  };
}

template <class M>
Computation<M> compute(const Case& one, const Tensors<M>& inputs) {
  const Function<M> f = function_of(one, inputs);
  const Tensors<M> arguments = floating_ones(inputs);
  Computation<M> found;
  found.outputs = f(arguments);
  if (one.gradients.empty()) return found;
  const Function<M> gradients = gradients_of(f, tensors_of<M>(one.cotangents));
  found.gradients = gradients(arguments);
  if (one.second_gradients.empty()) return found;
  found.second_gradients = gradients_of(total_of(gradients), {Tensor<M>::ones({}, arguments.at(0).dtype())})(arguments);
  return found;
}

template <class M>
Tensors<M> in_order(const Computation<M>& computation) {
  Tensors<M> all = computation.outputs;
  all.insert(all.end(), computation.gradients.begin(), computation.gradients.end());
  all.insert(all.end(), computation.second_gradients.begin(), computation.second_gradients.end());
  return all;
}

Tensors<Eager> scattered(const Tensors<Eager>& inputs) {
  Tensors<Eager> views;
  for (const Tensor<Eager>& input : inputs) {
    if (input.ndim() == 0) {
      views.push_back(input);
      continue;
    }
    const Tensor<Eager> spread = repeat(copy(transpose(input)), 2, 0);
    views.push_back(transpose(spread.get({slice({}, {}, 2)})));
  }
  return views;
}

namespace {

template <std::size_t>
using Given = Tensor<Lazy>;

template <std::size_t... i>
Tensors<Lazy> call_compiled_with(const Function<Lazy>& f, const Tensors<Lazy>& inputs, const CompileOptions& options,
                                 std::index_sequence<i...>) {
  auto compiled = tyto::compile([&f](const Given<i>&... given) { return f({given...}); }, options);
  return compiled(inputs[i]...);
}

}  // namespace

Tensors<Lazy> call_compiled(const Function<Lazy>& f, const Tensors<Lazy>& inputs, const CompileOptions& options) {
  switch (inputs.size()) {
    case 0: {
      // A function without arguments is not compiled; one that is not used makes it one with.
      auto compiled = tyto::compile([&f](const Tensor<Lazy>&) { return f({}); }, options);
      return compiled(Tensor<Lazy>::zeros({1}));
    }
    case 1: return call_compiled_with(f, inputs, options, std::make_index_sequence<1>());
    case 2: return call_compiled_with(f, inputs, options, std::make_index_sequence<2>());
    case 3: return call_compiled_with(f, inputs, options, std::make_index_sequence<3>());
    case 4: return call_compiled_with(f, inputs, options, std::make_index_sequence<4>());
    case 5: return call_compiled_with(f, inputs, options, std::make_index_sequence<5>());
    default: throw std::runtime_error("no case has " + std::to_string(inputs.size()) + " inputs");
  }
}

#define TYTO_FOR_MODE(M)                                                    \
  template Tensor<M> tensor_of<M>(const Array&);                            \
  template Tensors<M> tensors_of<M>(const std::vector<const Array*>&);      \
  template Array array_of(const Tensor<M>&);                                \
  template Tensors<M> floating_ones(const Tensors<M>&);                     \
  template Function<M> function_of(const Case&, const Tensors<M>&);         \
  template Function<M> gradients_of(const Function<M>&, const Tensors<M>&); \
  template Function<M> total_of(const Function<M>&);                        \
  template Computation<M> compute(const Case&, const Tensors<M>&);          \
  template Tensors<M> in_order(const Computation<M>&);
TYTO_FOR_MODE(Eager)
TYTO_FOR_MODE(Lazy)

}  // namespace tyto::golden
