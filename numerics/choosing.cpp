// SPDX-License-Identifier: MIT
// Choices and orders, made of gathers, scatters and sorts.
#include "tyto/choosing.hpp"

#include <cstdint>
#include <span>

#include "core/graph/planned_call.hpp"
#include "ops/define.hpp"
#include "tyto/indexing.hpp"
#include "tyto/rearranging.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

/// Integers that must lie in [0, count), or in [-count, count) where they may count from the end.
template <class M>
Tensor<M> within(const Tensor<M>& integers, std::string_view caller, std::string_view subject, std::string_view range,
                 std::int64_t count, bool from_end = false) {
  return check_bounds(
      integers, {from_end ? -count : 0, count - 1, std::string(caller), std::string(subject), std::string(range)});
}

}  // namespace

template <class M>
Tensor<M> choose(const Tensor<M>& numbers, const std::vector<Tensor<M>>& choices) {
  TYTO_ONCE(choose, numbers, choices);
  core::require("choose", numbers);
  if (choices.empty()) throw ValueError("choose: no choices are given");
  Shape shape = numbers.shape();
  for (const Tensor<M>& choice : choices) {
    core::require("choose", choice);
    shape = core::broadcast("choose", shape, choice.shape());
  }
  std::vector<Tensor<M>> stretched;
  for (const Tensor<M>& choice : choices) stretched.push_back(broadcast_to(choice, shape));
  const Tensor<M> known = within(numbers, "choose", "number", "choices", std::ssize(choices));
  return squeeze(take_along_axis(stack(stretched), expand_dims(broadcast_to(known, shape), 0), 0), 0);
}

template <class M>
Tensor<M> select(const std::vector<Tensor<M>>& conditions, const std::vector<Tensor<M>>& choices,
                 const std::type_identity_t<Tensor<M>>& otherwise) {
  TYTO_ONCE(select, conditions, choices, otherwise);
  if (conditions.size() != choices.size() || choices.empty()) {
    core::throw_error<ValueError>("select: ", conditions.size(), " conditions and ", choices.size(),
                                  " choices; as many of both are needed, one or more");
  }
  Tensor<M> chosen = otherwise;
  for (std::size_t i = choices.size(); i-- > 0;) {
    core::require("select", conditions[i], choices[i]);
    if (conditions[i].dtype() != DType::boolean) {
      core::throw_error<TypeError>("select: condition ", i, " is of ", conditions[i].dtype(), ", not bool");
    }
    chosen = where(conditions[i], choices[i], chosen);
  }
  return chosen;
}

template <class M>
Tensor<M> put_along_axis(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices,
                         const std::type_identity_t<Tensor<M>>& values, std::int64_t axis) {
  TYTO_ONCE(put_along_axis, x, indices, values, axis);
  core::require("put_along_axis", x, indices, values);
  const int along = core::normalise_axis("put_along_axis", axis, x.ndim());
  if (indices.ndim() != x.ndim()) {
    core::throw_error<ShapeError>("put_along_axis: indices of shape ", indices.shape(),
                                  " must have as many axes as the tensor of shape ", x.shape());
  }
  Shape shape = x.shape();
  const Tensor<M> places = within(indices, "put_along_axis", "index", core::text("places along axis ", along),
                                  shape[static_cast<std::size_t>(along)], true);
  shape[static_cast<std::size_t>(along)] = indices.shape()[static_cast<std::size_t>(along)];
  std::vector<Tensor<M>> coordinates;
  for (int i = 0; i < x.ndim(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    Shape own(shape.size(), 1);
    own[at] = shape[at];
    coordinates.push_back(i == along ? broadcast_to(places, shape)
                                     : reshape(Tensor<M>(core::arange_like(x, shape[at])), own));
  }
  return scatter(x, coordinates, values);
}

template <class M>
Tensor<M> put(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& indices,
              const std::type_identity_t<Tensor<M>>& values) {
  TYTO_ONCE(put, x, indices, values);
  core::require("put", x, indices, values);
  if (indices.size() == 0) return core::resolve(x);
  const Tensor<M> places = ravel(within(indices, "put", "index", "places", x.size(), true));
  if (values.size() == 0) throw ShapeError("put: there are no values to put");
  const Tensor<M> each = values.ndim() == 0 ? Tensor<M>(values) : resize_to(ravel(values), places.size());
  return reshape(scatter(ravel(x), std::vector<Tensor<M>>{places}, each), x.shape());
}

template <class M>
Tensor<M> lexsort(const std::vector<Tensor<M>>& keys) {
  TYTO_ONCE(lexsort, keys);
  if (keys.empty()) throw ValueError("lexsort: no keys are given");
  std::vector<Value> operands;
  for (const Tensor<M>& key : keys) {
    core::require("lexsort", key);
    if (key.ndim() == 0 || key.shape() != keys[0].shape()) {
      core::throw_error<ShapeError>("lexsort: keys must have one shape of rank 1 or more, not ", keys[0].shape(),
                                    " and ", key.shape());
    }
    operands.push_back(key);
  }
  const auto record = [](const void*, std::span<const Value> replaced) {
    return lexsort(std::vector<Tensor<Any>>(replaced.begin(), replaced.end())).value();
  };
  Tensor<Any> (*const own)(const std::vector<Tensor<Any>>&) = &lexsort<Any>;
  const auto function = reinterpret_cast<std::uintptr_t>(own);
  if (const Value planned = core::planned_result({function, {}, operands, record, nullptr})) return planned;
  // Sorts are stable: each keeps the order of those before it among its equals.
  Tensor<M> order = argsort(keys[0], -1);
  for (std::size_t i = 1; i < keys.size(); ++i) {
    order = take_along_axis(order, argsort(take_along_axis(keys[i], order, -1), -1), -1);
  }
  return order;
}

template <class M>
std::vector<Tensor<M>> unravel_index(const Tensor<M>& positions, const Shape& shape) {
  TYTO_ONCE(unravel_index, positions, shape);
  core::require("unravel_index", positions);
  if (!is_integer(positions.dtype())) {
    core::throw_error<TypeError>("unravel_index: positions must be integers, not ", positions.dtype());
  }
  std::vector<Tensor<M>> coordinates(shape.size());
  for (const std::int64_t length : shape) {
    if (length < 1) core::throw_error<ShapeError>("unravel_index: shape ", shape, " has no places");
  }
  Tensor<M> rest = within(positions.astype(DType::i64), "unravel_index", "position",
                          core::text("places of shape ", shape), element_count(shape));
  for (std::size_t i = shape.size(); i-- > 1;) {
    coordinates[i] = remainder(rest, shape[i]);
    rest = floor_divide(rest, shape[i]);
  }
  if (!shape.empty()) coordinates[0] = rest;
  return coordinates;
}

template <class M>
Tensor<M> ravel_multi_index(const std::vector<Tensor<M>>& coordinates, const Shape& shape) {
  TYTO_ONCE(ravel_multi_index, coordinates, shape);
  if (coordinates.size() != shape.size() || shape.empty()) {
    core::throw_error<ShapeError>("ravel_multi_index: ", coordinates.size(), " coordinates for shape ", shape);
  }
  Tensor<M> position;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    core::require("ravel_multi_index", coordinates[i]);
    const Tensor<M> own = within(coordinates[i].astype(DType::i64), "ravel_multi_index", "coordinate",
                                 core::text("places along axis ", i, " of shape ", shape), shape[i]);
    position = position.defined() ? position * shape[i] + own : own;
  }
  return position;
}

template Tensor<Eager> lexsort(const std::vector<Tensor<Eager>>&);
template Tensor<Lazy> lexsort(const std::vector<Tensor<Lazy>>&);
template Tensor<Any> lexsort(const std::vector<Tensor<Any>>&);
TYTO_INSTANTIATE(choose)
TYTO_INSTANTIATE(select)
TYTO_INSTANTIATE(put_along_axis)
TYTO_INSTANTIATE(put)
TYTO_INSTANTIATE(unravel_index)
TYTO_INSTANTIATE(ravel_multi_index)

}  // namespace TYTO_API
