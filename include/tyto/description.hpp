// SPDX-License-Identifier: MIT
// Describes a tensor without computing it: type, shape, kind, and layout in memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"
#include "tyto/value.hpp"

namespace tyto TYTO_API {

/// Role of a tensor in graphs that read it: flags, which combine. A variable is `persistent | trainable`; what is
/// computed from other tensors is none of them in lazy mode, and in eager mode, where its contents are there, constant.
enum class TensorKind : std::uint8_t {
  computed = 0,    ///< what operators yield
  constant = 1,    ///< given data that never change: graphs may compute with them beforehand
  input = 2,       ///< a placeholder, given at each run
  persistent = 4,  ///< keeps its contents from run to run
  trainable = 8,   ///< a parameter that gradient descent may change
};
constexpr TensorKind operator|(TensorKind a, TensorKind b) {
  return static_cast<TensorKind>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr TensorKind operator&(TensorKind a, TensorKind b) {
  return static_cast<TensorKind>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
/// Whether `kind` has all of `flags`: `is(describe(x).kind, TensorKind::persistent)`.
constexpr bool is(TensorKind kind, TensorKind flags) { return (kind & flags) == flags; }

/// How a tensor lies in memory: element (i, j, ...) is element `offset + i * strides[0] + j * strides[1] + ...` there.
struct TensorLayout {
  Strides strides;          ///< in elements
  std::int64_t offset = 0;  ///< in elements, from the beginning of the memory
  bool is_view = false;     ///< it shows a part of a larger tensor, or has its elements stretched or in another order
};

/// Result of `describe`.
struct TensorDescription {
  DType dtype = DType::f32;                 ///< of its elements
  Shape shape;                              ///< the lengths of its axes
  TensorKind kind = TensorKind::computed;   ///< its role in graphs
  std::optional<TensorLayout> layout = {};  ///< none while no contents are there: then a plan decides it
};

/// Type, shape, kind and memory layout of a tensor, without computing it.
///
///     const auto w = Tensor::variable({{1, 2, 3}, {4, 5, 6}});
///     is(describe(w).kind, TensorKind::persistent | TensorKind::trainable);  // true
///     describe(transpose(w)).layout->strides;                                // (1, 3)
TensorDescription describe(const Value& x);

/// "f32(3,2) persistent trainable, view with strides (1,3) from element 0".
std::ostream& operator<<(std::ostream& out, const TensorDescription& description);

namespace detail {
/// The text that a debugger shows: the description and the first numbers. Computes nothing. Valid until the next call.
const char* debugger_text(const Value& x) noexcept;
}  // namespace detail

}  // namespace TYTO_API
