// SPDX-License-Identifier: MIT
// Compares one layer with its goldens: results, gradients, states after three steps of descent, results in inference.
#pragma once

#include <algorithm>
#include <tyto/nn.hpp>

#include "tests/nn/goldens_of.hpp"

namespace tyto::nn::goldens {

/// Loads the states of a case as a model trained with PyTorch is loaded.
inline void load_case(const Module& module, const std::string& name,
                      const std::function<std::string(const std::string&)>& rename = {}) {
  const std::string start = name + "/state/";
  load(module, layers_file,
       {.rename =
            [&](const std::string& key) {
              if (key.compare(0, start.size(), start) != 0) return std::string();
              const std::string own = key.substr(start.size());
              return rename ? rename(own) : own;
            },
        .layout = WeightLayout::pytorch});
}

/// The elements of values of states in PyTorch's layout, in the order of PyTorch's names.
inline Tensor<Eager> joined(const Module& module, const NamedList<Tensor<Any>>& values,
                            const std::map<std::string, std::string>& pytorch_names) {
  std::map<std::string, Tensor<Eager>> parts;
  module.visit_states([&](const std::string& path, const Module&, const Member& state) {
    for (const Named<Tensor<Any>>& value : values) {
      if (value.name != path) continue;
      Tensor<Any> x = value.value.astype(DType::f64);
      if (!state.pytorch_axes().empty()) {
        IntList back(state.pytorch_axes().size(), 0);
        for (std::size_t i = 0; i < back.size(); ++i) {
          back[static_cast<std::size_t>(state.pytorch_axes()[i])] = static_cast<std::int64_t>(i);
        }
        x = transpose(x, back);
      }
      const auto other = pytorch_names.find(path);
      parts.emplace(other == pytorch_names.end() ? path : other->second,
                    Tensor<Eager>::from(x.to_vector<double>(), {x.size()}));
    }
  });
  std::vector<Tensor<Eager>> list;
  for (const auto& part : parts) list.push_back(part.second);
  return concat(list);
}

template <class M>
using Call = std::function<Tensor<M>(const Tensor<M>& x, Phase phase)>;

/// What is common to layers of one input and modules called in another way. The case's x has already been put through
/// `call` in training; descent is by the plain rule at 0.1.
template <class M>
void check_module(const std::string& name, const Module& module, const Call<M>& call,
                  const std::function<std::string(const std::string&)>& rename = {}) {
  using T = Tensor<M>;
  CAPTURE(name);
  std::map<std::string, std::string> pytorch_names;
  if (!module.named_states().empty()) {
    load_case(module, name, [&](const std::string& key) {
      const std::string own = rename ? rename(key) : key;
      pytorch_names[own] = key;
      return own;
    });
  }
  const auto golden = [&](const char* what) { return array<Eager>(layers_file, name + "/" + what); };
  const T x = array<M>(layers_file, name + "/x");
  const T target = array<M>(layers_file, name + "/target");
  const auto objective = [&](const T& in) {
    const T y = call(in, training);
    return std::pair(mean(square(y - target)), y);
  };
  // The gradient of x from states of its own, since running statistics move in training.
  if (has(layers_file, name + "/gradient_x")) {
    NamedList<Tensor<Any>> before;
    for (const Named<Tensor<Any>>& state : module.named_states()) {
      before.push_back({state.name, copy(stop_gradient(state.value))});
    }
    const auto gradient = value_and_grad(objective)(x).second[0];
    check_near(gradient, golden("gradient_x"), "the gradient of x");
    std::size_t i = 0;
    for (const Named<Tensor<Any>>& state : module.named_states()) assign(state.value, before[i++].value);
  }
  const std::vector<Tensor<Any>> parameters = module.parameters();
  Descent descent = sgd({.rate = 0.1});
  if (parameters.empty()) {
    check_near(call(x, training), golden("y"), "the result in training");
  } else {
    auto step = compile([&](T in) {
      auto [result, gradients] = value_and_grad(objective, parameters)(in);
      descent.update(parameters, gradients);
      std::vector<T> all{result.second};
      for (const Tensor<Any>& gradient : gradients) all.emplace_back(gradient.value());
      return all;
    });
    for (int i = 0; i < 3; ++i) {
      const std::vector<T> all = step(x);
      if (i != 0) continue;
      check_near(all[0], golden("y"), "the result in training");
      NamedList<Tensor<Any>> gradients;
      const NamedList<Tensor<Any>> named = module.named_parameters();
      for (std::size_t k = 0; k < named.size(); ++k) gradients.push_back({named[k].name, all[k + 1].value()});
      check_near(joined(module, gradients, pytorch_names), golden("gradients"), "the gradients");
    }
  }
  if (!module.named_states().empty()) {
    check_near(joined(module, module.named_states(), pytorch_names), golden("after"), "the states after three steps");
  }
  auto use = compile([&](T in) { return call(in, inference); });
  check_near(use(x), golden(has(layers_file, name + "/used") ? "used" : "y"), "the result in inference");
}

template <class M>
void check_layer(const std::string& name, const Layer& layer,
                 const std::function<std::string(const std::string&)>& rename = {}) {
  check_module<M>(
      name, layer, [&](const Tensor<M>& x, Phase phase) { return layer(x, phase); }, rename);
}

}  // namespace tyto::nn::goldens
