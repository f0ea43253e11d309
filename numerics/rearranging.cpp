// SPDX-License-Identifier: MIT
// Arrays put together and taken apart, made of joins, parts and reversals.
#include "tyto/rearranging.hpp"

#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/graph/planned_call.hpp"
#include "core/graph/view_now.hpp"
#include "ops/define.hpp"
#include "ops/once.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {

namespace {

// A list of more tensors than that is a mistake.
constexpr std::int64_t most_parts = std::int64_t{1} << 24;

template <class M>
Tensor<M> with_axes_before(std::string_view function, const Tensor<M>& x, std::size_t rank) {
  core::require(function, x);
  if (x.shape().size() >= rank) return core::resolve(x);
  Shape shape(rank - x.shape().size(), 1);
  for (const std::int64_t length : x.shape()) shape.push_back(length);
  return reshape(x, shape);
}

template <class M, class F>
Tensor<M> joined(const std::vector<Tensor<M>>& parts, std::int64_t axis, const F& each) {
  std::vector<Tensor<M>> shaped;
  for (const Tensor<M>& part : parts) shaped.push_back(each(part));
  return concat(shaped, axis);
}

template <class T>
std::pair<T, T> triangle_indices(const char* function, bool lower, std::int64_t rows, std::int64_t k,
                                 std::int64_t columns) {
  columns = columns < 0 ? rows : columns;
  if (rows < 0) core::throw_error<ValueError>(function, ": ", rows, " rows");
  std::vector<std::int64_t> first, second;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t border = std::clamp<std::int64_t>(lower ? row + k + 1 : row + k, 0, columns);
    for (std::int64_t column = lower ? 0 : border; column < (lower ? border : columns); ++column) {
      first.push_back(row);
      second.push_back(column);
    }
  }
  return {T(first), T(second)};
}

}  // namespace

template <class M>
Tensor<M> atleast_1d(const Tensor<M>& x) {
  return with_axes_before("atleast_1d", x, 1);
}
template <class M>
Tensor<M> atleast_2d(const Tensor<M>& x) {
  return with_axes_before("atleast_2d", x, 2);
}
template <class M>
Tensor<M> atleast_3d(const Tensor<M>& x) {
  const Tensor<M> matrix = with_axes_before("atleast_3d", x, 2);
  return matrix.ndim() > 2 ? matrix : expand_dims(matrix, 2);
}

template <class M>
Tensor<M> vstack(const std::vector<Tensor<M>>& parts) {
  TYTO_ONCE(vstack, parts);
  return joined(parts, 0, [](const Tensor<M>& x) { return with_axes_before("vstack", x, 2); });
}
template <class M>
Tensor<M> hstack(const std::vector<Tensor<M>>& parts) {
  TYTO_ONCE(hstack, parts);
  const bool vectors = !parts.empty() && parts[0].defined() && parts[0].ndim() <= 1;
  return joined(parts, vectors ? 0 : 1, [](const Tensor<M>& x) { return with_axes_before("hstack", x, 1); });
}
template <class M>
Tensor<M> dstack(const std::vector<Tensor<M>>& parts) {
  TYTO_ONCE(dstack, parts);
  return joined(parts, 2, [](const Tensor<M>& x) { return atleast_3d(x); });
}
template <class M>
Tensor<M> column_stack(const std::vector<Tensor<M>>& parts) {
  TYTO_ONCE(column_stack, parts);
  return joined(parts, 1, [](const Tensor<M>& x) {
    core::require("column_stack", x);
    return x.ndim() < 2 ? reshape(x, {-1, 1}) : x;
  });
}
template <class M>
Tensor<M> block(const std::vector<std::vector<Tensor<M>>>& rows) {
  TYTO_ONCE(block, rows);
  // By a plan each part is copied once, straight to its place in the whole.
  std::vector<std::uint64_t> lengths;
  std::vector<Value> parts;
  for (const std::vector<Tensor<M>>& row : rows) {
    lengths.push_back(row.size());
    for (const Tensor<M>& part : row) {
      core::require("block", part);
      parts.push_back(part);
    }
  }
  const auto record = [](const void* context, std::span<const Value> replaced) {
    std::vector<std::vector<Tensor<Any>>> recorded;
    auto next = replaced.begin();
    for (const std::uint64_t length : *static_cast<const std::vector<std::uint64_t>*>(context)) {
      recorded.emplace_back(next, next + static_cast<std::ptrdiff_t>(length));
      next += static_cast<std::ptrdiff_t>(length);
    }
    return block(recorded).value();
  };
  const auto function = reinterpret_cast<std::uintptr_t>(&block<Any>);
  if (const Value planned = core::planned_result({function, lengths, parts, record, &lengths})) return planned;
  std::vector<Tensor<M>> joined_rows;
  for (const std::vector<Tensor<M>>& row : rows) {
    joined_rows.push_back(joined(row, -1, [](const Tensor<M>& x) { return with_axes_before("block", x, 2); }));
  }
  return concat(joined_rows, -2);
}

template <class M>
std::vector<Tensor<M>> unstack(const Tensor<M>& x, std::int64_t axis) {
  TYTO_ONCE(unstack, x, axis);
  core::require("unstack", x);
  const int along = core::normalise_axis("unstack", axis, x.ndim());
  const Value whole = core::resolve(x);
  const auto axis_of_parts = static_cast<std::size_t>(along);
  if (whole.shape()[axis_of_parts] > most_parts)
    core::throw_error<ValueError>("unstack: axis ", along, " of shape ", whole.shape(), " has more than the ",
                                  most_parts, " parts that are made at most");
  std::vector<Tensor<M>> parts;
  parts.reserve(static_cast<std::size_t>(whole.shape()[axis_of_parts]));
  if (const core::Array* array = core::contents_now(whole)) {
    core::View part = array->view;
    part.shape.erase(axis_of_parts);
    part.strides.erase(axis_of_parts);
    for (std::int64_t i = 0; i < whole.shape()[axis_of_parts]; ++i) {
      parts.emplace_back(core::viewed_now(*array, part));
      if (element_count(part.shape) != 0) part.offset += array->view.strides[axis_of_parts];
    }
    return parts;
  }
  core::ListAttributes rest;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if (i != axis_of_parts) rest.list.push_back(x.shape()[i]);
  }
  for (std::int64_t i = 0; i < x.shape()[axis_of_parts]; ++i) {
    parts.push_back(core::emit(core::OpId::reshape, rest, {core::part_along(whole, axis_of_parts, i, 1)}));
  }
  return parts;
}
template <class M>
std::vector<Tensor<M>> array_split(const Tensor<M>& x, std::int64_t parts, std::int64_t axis) {
  TYTO_ONCE(array_split, x, parts, axis);
  core::require("array_split", x);
  const int along = core::normalise_axis("array_split", axis, x.ndim());
  if (parts < 1) core::throw_error<ValueError>("array_split: ", parts, " parts are asked for; at least one is needed");
  if (parts > most_parts)
    core::throw_error<ValueError>("array_split: ", parts, " parts are asked for; at most ", most_parts, " are made");
  const std::int64_t length = x.shape()[static_cast<std::size_t>(along)];
  std::vector<Tensor<M>> out;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t end = begin + length / parts + (i < length % parts ? 1 : 0);
    out.push_back(narrow(x, along, begin, end));
    begin = end;
  }
  return out;
}
Shape broadcast_shapes(const std::vector<Shape>& shapes) {
  Shape common;
  for (const Shape& shape : shapes) common = core::broadcast("broadcast_shapes", common, shape);
  return common;
}
template <class M>
std::vector<Tensor<M>> broadcast_arrays(const std::vector<Tensor<M>>& tensors) {
  TYTO_ONCE(broadcast_arrays, tensors);
  Shape common;
  for (const Tensor<M>& tensor : tensors) {
    core::require("broadcast_arrays", tensor);
    common = core::broadcast("broadcast_arrays", common, tensor.shape());
  }
  std::vector<Tensor<M>> out;
  for (const Tensor<M>& tensor : tensors) out.push_back(broadcast_to(tensor, common));
  return out;
}

template <class M>
Tensor<M> rot90(const Tensor<M>& x, std::int64_t times, std::int64_t from, std::int64_t to) {
  TYTO_ONCE(rot90, x, times, from, to);
  core::require("rot90", x);
  const int first = core::normalise_axis("rot90", from, x.ndim()), second = core::normalise_axis("rot90", to, x.ndim());
  if (first == second) core::throw_error<ValueError>("rot90: both axes are axis ", first);
  switch (((times % 4) + 4) % 4) {
    case 1: return swapaxes(flip(x, second), first, second);
    case 2: return flip(x, {first, second});
    case 3: return flip(swapaxes(x, first, second), second);
    default: return core::resolve(x);
  }
}
template <class M>
Tensor<M> fliplr(const Tensor<M>& x) {
  TYTO_ONCE(fliplr, x);
  return flip(x, 1);
}
template <class M>
Tensor<M> flipud(const Tensor<M>& x) {
  TYTO_ONCE(flipud, x);
  return flip(x, 0);
}

template <class M>
Tensor<M> insert(const Tensor<M>& x, std::int64_t at, const std::type_identity_t<Tensor<M>>& values,
                 std::optional<std::int64_t> axis) {
  TYTO_ONCE(insert, x, at, values, axis);
  core::require("insert", x, values);
  const Tensor<M> source = axis ? x : ravel(x);
  const int along = core::normalise_axis("insert", axis.value_or(0), source.ndim());
  const std::int64_t length = source.shape()[static_cast<std::size_t>(along)];
  const std::int64_t place = at < 0 ? at + length : at;
  if (place < 0 || place > length) {
    core::throw_error<IndexError>("insert: position ", at, " is outside axis ", along, " of length ", length);
  }
  // Values with fewer axes align with the last ones; along the axis their own length counts.
  Tensor<M> part = core::fitted_to("insert", core::given("insert", values), source.dtype());
  while (part.ndim() < source.ndim()) part = expand_dims(part, 0);
  Shape shape = source.shape();
  shape[static_cast<std::size_t>(along)] = part.shape()[static_cast<std::size_t>(along)];
  return concat({narrow(source, along, 0, place), broadcast_to(part, shape), narrow(source, along, place, length)},
                along);
}
template <class M>
Tensor<M> remove(const Tensor<M>& x, const IntList& positions, std::optional<std::int64_t> axis) {
  TYTO_ONCE(remove, x, positions, axis);
  core::require("remove", x);
  const Tensor<M> source = axis ? x : ravel(x);
  const int along = core::normalise_axis("remove", axis.value_or(0), source.ndim());
  const std::int64_t length = source.shape()[static_cast<std::size_t>(along)];
  std::vector<std::int64_t> removed;
  for (const std::int64_t position : positions) {
    if (position < -length || position >= length) {
      core::throw_error<IndexError>("remove: position ", position, " is outside axis ", along, " of length ", length);
    }
    removed.push_back(position < 0 ? position + length : position);
  }
  std::sort(removed.begin(), removed.end());
  removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
  removed.push_back(length);
  // Kept elements lie in runs between removed ones: few runs are joined, elements of many are taken one by one.
  constexpr std::size_t few = 16;
  std::vector<Tensor<M>> runs;
  std::vector<std::int64_t> kept;
  std::int64_t begin = 0;
  for (const std::int64_t end : removed) {
    if (removed.size() > few) {
      for (; begin < end; ++begin) kept.push_back(begin);
    } else if (begin < end) {
      runs.push_back(narrow(source, along, begin, end));
    }
    begin = end + 1;
  }
  if (!kept.empty()) return take(source, Tensor<M>(kept), along);
  return runs.empty() ? narrow(source, along, 0, 0) : concat(runs, along);
}
template <class M>
Tensor<M> append(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& values, std::optional<std::int64_t> axis) {
  TYTO_ONCE(append, x, values, axis);
  core::require("append", x, values);
  return axis ? concat({x, values}, *axis) : concat({ravel(x), ravel(values)});
}

template <class M>
Tensor<M> fill_diagonal(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& value) {
  TYTO_ONCE(fill_diagonal, x, value);
  core::require("fill_diagonal", x, value);
  if (x.ndim() < 2) core::throw_error<ShapeError>("fill_diagonal: needs rank 2 or more, not shape ", x.shape());
  for (const std::int64_t length : x.shape()) {
    if (x.ndim() > 2 && length != x.shape()[0]) {
      core::throw_error<ShapeError>("fill_diagonal: above rank 2 all lengths must be one, not ", x.shape());
    }
  }
  const std::int64_t count = *std::min_element(x.shape().begin(), x.shape().end());
  if (count == 0) return core::resolve(x);
  const std::vector<Tensor<M>> places(x.shape().size(), Tensor<M>(core::arange_like(x, count)));
  if (value.ndim() == 0) return scatter(x, places, value);
  return scatter(x, places, take(ravel(value), remainder(places[0], value.size())));
}
template <class M>
Tensor<M> resize_to(const Tensor<M>& x, const Shape& shape) {
  TYTO_ONCE(resize_to, x, shape);
  core::require("resize_to", x);
  const std::int64_t count = element_count(shape);
  if (x.size() == 0 && count > 0) throw ShapeError("resize_to: there are no elements to repeat");
  if (count == 0) return reshape(narrow(ravel(x), 0, 0, 0), shape);
  if (count <= x.size()) return reshape(narrow(ravel(x), 0, 0, count), shape);
  return reshape(narrow(tile(ravel(x), {(count + x.size() - 1) / x.size()}), 0, 0, count), shape);
}

template <class T>
T indices(const Shape& shape) {
  std::vector<T> axes;
  for (const std::int64_t length : shape) axes.push_back(T::arange(length));
  if (axes.empty()) return T::zeros(0, DType::i64);
  return stack(meshgrid(axes));
}
template <class T>
std::pair<T, T> tril_indices(std::int64_t rows, std::int64_t k, std::int64_t columns) {
  return triangle_indices<T>("tril_indices", true, rows, k, columns);
}
template <class T>
std::pair<T, T> triu_indices(std::int64_t rows, std::int64_t k, std::int64_t columns) {
  return triangle_indices<T>("triu_indices", false, rows, k, columns);
}
template <class M>
std::vector<Tensor<M>> ix_(const std::vector<Tensor<M>>& vectors) {
  TYTO_ONCE(ix_, vectors);
  std::vector<Tensor<M>> out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    core::require("ix_", vectors[i]);
    if (vectors[i].ndim() != 1)
      core::throw_error<ShapeError>("ix_: vectors are needed, not shape ", vectors[i].shape());
    Shape along(vectors.size(), 1);
    along[i] = vectors[i].size();
    out.push_back(reshape(vectors[i], along));
  }
  return out;
}

#define TYTO_INSTANTIATE_LISTS(M)                                                                  \
  template Tensor<M> vstack(const std::vector<Tensor<M>>&);                                        \
  template Tensor<M> hstack(const std::vector<Tensor<M>>&);                                        \
  template Tensor<M> dstack(const std::vector<Tensor<M>>&);                                        \
  template Tensor<M> column_stack(const std::vector<Tensor<M>>&);                                  \
  template std::vector<Tensor<M>> broadcast_arrays(const std::vector<Tensor<M>>&);                 \
  template std::vector<Tensor<M>> ix_(const std::vector<Tensor<M>>&);                              \
  template Tensor<M> indices<Tensor<M>>(const Shape&);                                             \
  template std::pair<Tensor<M>, Tensor<M>> tril_indices(std::int64_t, std::int64_t, std::int64_t); \
  template std::pair<Tensor<M>, Tensor<M>> triu_indices(std::int64_t, std::int64_t, std::int64_t);
TYTO_INSTANTIATE_LISTS(Eager)
TYTO_INSTANTIATE_LISTS(Lazy)
TYTO_INSTANTIATE_LISTS(Any)
#undef TYTO_INSTANTIATE_LISTS

TYTO_INSTANTIATE(atleast_1d)
TYTO_INSTANTIATE(atleast_2d)
TYTO_INSTANTIATE(atleast_3d)
TYTO_INSTANTIATE(block)
TYTO_INSTANTIATE(unstack)
TYTO_INSTANTIATE(array_split)
TYTO_INSTANTIATE(rot90)
TYTO_INSTANTIATE(fliplr)
TYTO_INSTANTIATE(flipud)
TYTO_INSTANTIATE(insert)
TYTO_INSTANTIATE(remove)
TYTO_INSTANTIATE(append)
TYTO_INSTANTIATE(fill_diagonal)
TYTO_INSTANTIATE(resize_to)

}  // namespace TYTO_API
