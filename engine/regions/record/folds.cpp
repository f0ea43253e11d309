// SPDX-License-Identifier: MIT
// Scan and fold with a user's function: loops over the elements along an axis, once the function keeps its type.
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "ops/define.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

template <class M>
using Function = std::function<Tensor<M>(const Tensor<M>&, const Tensor<M>&)>;

/// Element `position` along an axis, without that axis.
Value element_along(const Value& x, std::size_t axis, std::int64_t position) {
  Shape shape = x.shape();
  shape.erase(axis);
  return core::emit(core::OpId::reshape, core::ListAttributes{shape}, {core::part_along(x, axis, position, 1)});
}

/// Applies `f` to elements in turn, until what it yields is of the type of what it was given: a number becomes a
/// tensor, integers become floating-point. Returns how many elements were taken.
template <class M>
std::int64_t settle(Tensor<M>& folded, const Tensor<M>& x, std::size_t axis, std::int64_t first, const Function<M>& f,
                    std::vector<Tensor<M>>& results) {
  for (std::int64_t i = first; i < x.shape()[axis]; ++i) {
    const DType dtype = folded.dtype();
    const Shape shape = folded.shape();
    folded = f(folded, Tensor<M>(element_along(x, axis, i)));
    results.push_back(folded);
    if (folded.dtype() == dtype && folded.shape() == shape) return i + 1;
  }
  return x.shape()[axis];
}

/// Elements from number `first` on, as rows.
template <class M>
Tensor<M> rows_from(const Tensor<M>& x, std::size_t axis, std::int64_t first) {
  return moveaxis(Tensor<M>(core::part_along(x, axis, first, x.shape()[axis] - first)), static_cast<std::int64_t>(axis),
                  0);
}

}  // namespace

template <class M>
Tensor<M> scan(const Tensor<M>& x, std::int64_t axis, const std::type_identity_t<Function<M>>& f) {
  core::require("scan", x);
  const auto along = static_cast<std::size_t>(core::normalise_axis("scan", axis, x.ndim()));
  if (!f) throw ValueError("scan: the function is empty");
  const std::int64_t length = x.shape()[along];
  if (length == 0) return core::resolve(x);
  Tensor<M> folded(element_along(x, along, 0));
  const Shape shape = folded.shape();
  const Function<M> checked = [&](const Tensor<M>& before, const Tensor<M>& element) {
    Tensor<M> result = f(before, element);
    if (result.shape() == shape) return result;
    core::throw_error<ShapeError>("scan: the function gave shape ", result.shape(), " along axis ", along,
                                  "; each result must have the elements' shape ", shape);
  };
  std::vector<Tensor<M>> results{folded};
  const std::int64_t taken = settle(folded, x, along, 1, checked, results);
  const Tensor<M> begun = stack(results, static_cast<std::int64_t>(along));
  if (taken == length) return begun;
  const auto step = [&](const Tensor<M>& before, const Tensor<M>& element) {
    const Tensor<M> next = checked(before, element);
    return std::pair(next, next);
  };
  const Tensor<M> others = tyto::scan(step, folded, rows_from(x, along, taken)).second;
  return concat(std::vector<Tensor<M>>{begun, moveaxis(others, 0, static_cast<std::int64_t>(along))},
                static_cast<std::int64_t>(along));
}

template <class M>
Tensor<M> fold(const Tensor<M>& x, std::int64_t axis, const std::type_identity_t<Tensor<M>>& start,
               const std::type_identity_t<Function<M>>& f) {
  core::require("fold", x, start);
  const auto along = static_cast<std::size_t>(core::normalise_axis("fold", axis, x.ndim()));
  if (!f) throw ValueError("fold: the function is empty");
  Tensor<M> folded = start;
  std::vector<Tensor<M>> results;
  const std::int64_t taken = settle(folded, x, along, 0, f, results);
  if (taken == x.shape()[along]) return folded;
  const auto step = [&](const Tensor<M>& before, const Tensor<M>& element) {
    return std::pair(f(before, element), std::vector<Tensor<M>>());
  };
  return tyto::scan(step, folded, rows_from(x, along, taken)).first;
}

// The other scan, of tyto/flow.hpp, has the same name, so an address of this one would be ambiguous.
template Tensor<Eager> scan(const Tensor<Eager>&, std::int64_t, const Function<Eager>&);
template Tensor<Lazy> scan(const Tensor<Lazy>&, std::int64_t, const Function<Lazy>&);
template Tensor<Any> scan(const Tensor<Any>&, std::int64_t, const Function<Any>&);
TYTO_INSTANTIATE(fold)

}  // namespace TYTO_API
