// SPDX-License-Identifier: MIT
// Copies of modules, each with states of its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/nn/module.hpp"

namespace tyto {
namespace nn TYTO_API {

namespace detail {

/// Gives a copy of a module states of its own, with the values of the original's.
class TYTO_API Cloning {
 public:
  void separate(Module& copy, const Module& original);

 private:
  std::map<const core::Node*, Tensor<Any>> made_;  // by the original's state: what modules share, their copies share
};

}  // namespace detail

/// A list of `count` modules, each made by a call of `make` with states of its own. (`std::vector<nn::Linear>(2,
/// layer)` holds one layer twice.)
///
///     std::vector<nn::Linear> layers = nn::repeat(2, [] { return nn::Linear({.in = 3, .out = 3}); });
template <class F>
std::vector<std::invoke_result_t<F&>> repeat(std::int64_t count, F make) {
  std::vector<std::invoke_result_t<F&>> made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(make());
  return made;
}

/// A copy with states of its own that have the same values, as PyTorch's deepcopy makes it; a plain copy shares them.
/// States that parts of the module share, their copies share as well. Throws ValueError for what it cannot copy: a
/// state or a module that the module holds by a pointer of its own.
template <class L>
requires std::derived_from<L, Module> L clone(const L& module) {
  L copy = module;
  detail::Cloning().separate(copy, module);
  return copy;
}

}  // namespace TYTO_API
}  // namespace tyto
