// SPDX-License-Identifier: MIT
// Indices, as `x(...)` takes them: integers, slices, all, newaxis, ellipsis, tensors.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "tyto/shape.hpp"
#include "tyto/value.hpp"

namespace tyto TYTO_API {

template <class Mode>
class Tensor;

/// Elements from `start` up to but without `stop`, every `step`-th; ends left out reach to the end of the axis. As
/// NumPy's `start:stop:step`, negative numbers counting from the end.
struct Slice {
  std::optional<std::int64_t> start;  ///< the first position; by default the end that comes first
  std::optional<std::int64_t> stop;   ///< the position before which it stops; by default the other end
  std::int64_t step = 1;              ///< from one position to the next
};

/// `slice(1, 5)` is NumPy's `1:5`; `slice({}, {}, -1)` is `::-1`.
inline Slice slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) {
  return {start, stop, step};
}
/// `slice(3)` is NumPy's `:3`.
inline Slice slice(std::optional<std::int64_t> stop) { return {std::nullopt, stop, 1}; }

/// The whole axis (as an index, NumPy's `:`), and the reduction that asks whether all elements are true.
struct All {
  /// True where every element along `axes` is non-zero.
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false) const;
};
inline constexpr All all{};

/// A new axis of length one.
struct NewAxis {};
inline constexpr NewAxis newaxis{};

/// As many whole axes as are needed to use up the rest.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};

/// One entry of an index list. A tensor entry picks by integers, or by a mask when it is bool (eager mode).
class Index {
 public:
  template <std::integral T>
  Index(T position) : entry_(static_cast<std::int64_t>(position)) {}
  Index(bool) = delete;  // a mask of no axes in NumPy, never position 1
  Index(Slice range) : entry_(range) {}
  Index(All) : entry_(all) {}
  Index(NewAxis) : entry_(newaxis) {}
  Index(Ellipsis) : entry_(ellipsis) {}
  Index(Value tensor) : entry_(std::move(tensor)) {}
  template <class M>
  Index(const Tensor<M>& tensor) : entry_(static_cast<const Value&>(tensor)) {}

  /// The entry's kind and value.
  const std::variant<std::int64_t, Slice, All, NewAxis, Ellipsis, Value>& entry() const { return entry_; }

 private:
  std::variant<std::int64_t, Slice, All, NewAxis, Ellipsis, Value> entry_;
};

namespace detail {
template <class... I>
std::vector<Index> index_list(const I&... entries) {
  constexpr bool all_fit = (std::is_constructible_v<Index, const I&> && ...);
  static_assert(all_fit, "an index is an integer, a slice, all, newaxis, ellipsis, or a tensor");
  std::vector<Index> list;
  if constexpr (all_fit) {
    list.reserve(sizeof...(entries));
    (list.emplace_back(entries), ...);
  }
  return list;
}
}  // namespace detail

}  // namespace TYTO_API
