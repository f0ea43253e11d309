// SPDX-License-Identifier: MIT
// Calls of modules that take several inputs: what they record and throw is labelled with the module's path.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "tyto/nn/module.hpp"

namespace tyto {
namespace nn TYTO_API {

namespace detail {
void run_as_call(const Module& module, Phase phase, const std::function<void()>& function);
}  // namespace detail

/// Runs `function` as a call of the module and returns its result: layers that it calls without a phase have this one,
/// and what they record and throw is labelled with their path. The first call throws ValueError for layers that
/// members() lacks, the first while a gradient is taken also for variables that `function` reads, untrained inputs
/// among them: hand those in as stop_gradient(x). A reference that `function` yields is copied.
///
///     struct Scorer : nn::Module {
///       nn::Linear left{{.in = 8, .out = 4}}, right{{.in = 8, .out = 4}};
///       nn::Members members() const override { return {{"left", left}, {"right", right}}; }
///       Tensor operator()(Tensor a, Tensor b, nn::Phase phase = nn::current_phase()) const {
///         return nn::as_call(*this, phase, [&] { return sum(left(a) * right(b), -1); });
///       }
///     };
template <class F>
auto as_call(const Module& module, Phase phase, F function) {
  if constexpr (std::is_void_v<decltype(function())>) {
    detail::run_as_call(module, phase, [&] { function(); });
  } else {
    std::optional<std::remove_cvref_t<decltype(function())>> result;
    detail::run_as_call(module, phase, [&] { result.emplace(function()); });
    return *std::move(result);
  }
}

}  // namespace TYTO_API
}  // namespace tyto
