// SPDX-License-Identifier: MIT
// Indexing: `x(...)`, `set` and the sugar `x(...) = v`, all through one normal form of the index list.
#include "core/graph/op_ids.hpp"
#include "core/graph/view_now.hpp"
#include "ops/define.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/sets.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

using core::emit;
using core::OpId;
using core::throw_error;
using T = core::AnyTensor;

// An index list in normal form: a slice of every axis of x, then axes dropped (integers) and added (newaxis), then,
// where index tensors stand, a gather over those axes.
struct Selected {
  core::SliceAttributes slice;
  Shape shape;                   // after the slice, with integer axes dropped and new ones added
  std::vector<T> tensors;        // integer index tensors, broadcast to one shape
  std::vector<int> tensor_axes;  // their axes in `shape`
  bool adjacent = true;          // the index tensors stand side by side, so their axes stay in place
};

void require_tensors(std::span<const Index> entries) {
  for (const Index& index : entries) {
    if (const Value* tensor = std::get_if<Value>(&index.entry())) core::require("index", *tensor);
  }
}

bool is_mask(const Index& index) {
  const Value* tensor = std::get_if<Value>(&index.entry());
  return tensor != nullptr && tensor->dtype() == DType::boolean;
}

[[noreturn]] void refuse_mask() {
  throw GraphError(
      "index: the shape of what a mask picks depends on the data, so only eager mode reads it or gives each element a "
      "value of its own; choose by where(mask, v, x), or assign a single number: x(mask) = 0");
}

std::int64_t axes_used(const Index& index) {
  if (const Value* tensor = std::get_if<Value>(&index.entry())) {
    return tensor->dtype() == DType::boolean ? std::max(tensor->ndim(), 1) : 1;
  }
  const bool none = std::holds_alternative<NewAxis>(index.entry()) || std::holds_alternative<Ellipsis>(index.entry());
  return none ? 0 : 1;
}

void add_slice(Selected& out, std::int64_t start, std::int64_t count, std::int64_t step) {
  out.slice.start.push_back(start);
  out.slice.count.push_back(count);
  out.slice.step.push_back(step);
}

struct Range {
  std::int64_t start, count, step;
};

Range range_of(const Slice& range, std::int64_t length) {
  if (range.step == 0) throw ValueError("index: a slice's step is 0");
  const auto bound = [&](std::int64_t position) { return position < 0 ? position + length : position; };
  std::int64_t start, stop;
  if (range.step > 0) {
    start = std::clamp<std::int64_t>(range.start ? bound(*range.start) : 0, 0, length);
    stop = std::clamp<std::int64_t>(range.stop ? bound(*range.stop) : length, 0, length);
  } else {
    start = std::clamp<std::int64_t>(range.start ? bound(*range.start) : length - 1, -1, length - 1);
    stop = std::clamp<std::int64_t>(range.stop ? bound(*range.stop) : -1, -1, length - 1);
  }
  const std::int64_t distance = range.step > 0 ? stop - start : start - stop;
  // Towards negative numbers every distance divides without overflow, whatever the step.
  const std::int64_t size = range.step > 0 ? -range.step : range.step;
  const std::int64_t count = distance <= 0 ? 0 : 1 - (distance - 1) / size;
  return {count == 0 ? 0 : start, count, count <= 1 ? 1 : range.step};
}

void add_range(Selected& out, const Slice& slice, std::int64_t length) {
  const Range range = range_of(slice, length);
  add_slice(out, range.start, range.count, range.step);
  out.shape.push_back(range.count);
}

/// An index counted from the front.
std::int64_t position_of(std::int64_t index, const Shape& shape, std::size_t axis) {
  const std::int64_t length = shape[axis];
  if (index < -length || index >= length) {
    throw_error<IndexError>("index: ", index, " is outside axis ", axis, " of length ", length);
  }
  return index < 0 ? index + length : index;
}

// Replaces a mask by the coordinates of its true elements, one index tensor for each of its axes.
void add_mask(Selected& out, const Value& mask, const Shape& shape, std::size_t axis) {
  for (int i = 0; i < mask.ndim(); ++i) {
    if (mask.shape()[static_cast<std::size_t>(i)] != shape[axis + static_cast<std::size_t>(i)]) {
      throw_error<IndexError>("index: mask ", mask.shape(), " does not match axes from ", axis, " of shape ", shape);
    }
  }
  if (core::mode_like(mask) == core::Mode::lazy) refuse_mask();
  const T places = nonzero(T(mask));
  for (int i = 0; i < mask.ndim(); ++i) {
    add_slice(out, 0, shape[axis + static_cast<std::size_t>(i)], 1);
    out.tensor_axes.push_back(out.shape.rank());
    out.shape.push_back(shape[axis + static_cast<std::size_t>(i)]);
    out.tensors.push_back(emit(OpId::slice, core::SliceAttributes{{0, i}, {places.shape()[0], 1}, {1, 1}}, {places}));
    out.tensors.back() = reshape(out.tensors.back(), {-1});
  }
}

/// How many axes the entries use, which an ellipsis fills up to all.
std::int64_t axes_used(std::span<const Index> entries, const Shape& shape) {
  std::int64_t used = 0;
  int ellipses = 0;
  for (const Index& index : entries) {
    used += axes_used(index);
    ellipses += std::holds_alternative<Ellipsis>(index.entry());
  }
  const std::int64_t rank = shape.rank();
  if (ellipses > 1) throw IndexError("index: more than one ellipsis");
  if (used > rank) throw_error<IndexError>("index: ", used, " indices for a tensor of rank ", rank, ", shape ", shape);
  return used;
}

/// The part that entries without tensors take of a view: as it lies, whatever they are.
core::View basic_view(const core::View& x, std::span<const Index> entries) {
  const std::int64_t used = axes_used(entries, x.shape), rank = x.rank();
  core::View out{{}, {}, x.offset};
  bool empty = false;
  std::size_t axis = 0;
  const auto add = [&](const Range& range) {
    out.shape.push_back(range.count);
    out.strides.push_back(x.strides[axis] * range.step);
    out.offset += range.start * x.strides[axis++];
    empty |= range.count == 0;
  };
  const auto whole = [&] { add({0, x.shape[axis], 1}); };
  for (const Index& index : entries) {
    const auto& entry = index.entry();
    if (const auto* position = std::get_if<std::int64_t>(&entry)) {
      out.offset += position_of(*position, x.shape, axis) * x.strides[axis];
      ++axis;
    } else if (const auto* range = std::get_if<Slice>(&entry)) {
      add(range_of(*range, x.shape[axis]));
    } else if (std::holds_alternative<NewAxis>(entry)) {
      out.shape.push_back(1);
      out.strides.push_back(1);
    } else if (std::holds_alternative<Ellipsis>(entry)) {
      for (std::int64_t i = used; i < rank; ++i) whole();
    } else {
      whole();
    }
  }
  while (axis < x.shape.size()) whole();
  if (empty) out.offset = x.offset;
  return out;
}

Selected select(const Shape& shape, std::span<const Index> entries) {
  const std::int64_t used = axes_used(entries, shape), rank = shape.rank();
  Selected out;
  std::size_t axis = 0;
  std::vector<std::size_t> entry_of_tensor;
  const auto whole = [&] {
    add_slice(out, 0, shape[axis], 1);
    out.shape.push_back(shape[axis++]);
  };
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const auto& entry = entries[e].entry();
    if (const auto* position = std::get_if<std::int64_t>(&entry)) {
      add_slice(out, position_of(*position, shape, axis), 1, 1);
      ++axis;
    } else if (const auto* range = std::get_if<Slice>(&entry)) {
      add_range(out, *range, shape[axis++]);
    } else if (std::holds_alternative<All>(entry)) {
      whole();
    } else if (std::holds_alternative<NewAxis>(entry)) {
      out.shape.push_back(1);
    } else if (std::holds_alternative<Ellipsis>(entry)) {
      for (std::int64_t i = used; i < rank; ++i) whole();
    } else {
      const Value& tensor = std::get<Value>(entry);
      entry_of_tensor.push_back(e);
      if (tensor.dtype() == DType::boolean && tensor.ndim() > 0) {
        add_mask(out, tensor, shape, axis);
        axis += static_cast<std::size_t>(tensor.ndim());
      } else if (is_integer(tensor.dtype())) {
        out.tensors.push_back(core::cast_to(tensor, DType::i64));
        out.tensor_axes.push_back(out.shape.rank());
        whole();
      } else {
        throw_error<TypeError>("index: a tensor of ", tensor.dtype(), " cannot index; integers or a mask can");
      }
    }
  }
  while (axis < shape.size()) whole();
  // Entries between index tensors part them, but for integers, whose axes are gone by the time tensors pick.
  for (std::size_t i = 1; i < entry_of_tensor.size(); ++i) {
    for (std::size_t e = entry_of_tensor[i - 1] + 1; e < entry_of_tensor[i]; ++e) {
      if (!std::holds_alternative<std::int64_t>(entries[e].entry())) out.adjacent = false;
    }
  }
  if (!out.tensors.empty()) {
    Shape common = out.tensors[0].shape();
    for (const T& tensor : out.tensors) common = core::broadcast("index", common, tensor.shape());
    for (T& tensor : out.tensors) tensor = broadcast_to(tensor, common);
  }
  return out;
}

bool is_whole(const Selected& selected, const Shape& shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (selected.slice.count[i] != shape[i] || selected.slice.step[i] != 1) return false;
  }
  return true;
}

T basic_part(const T& x, const Selected& selected) {
  const T part = is_whole(selected, x.shape()) ? x : T(emit(OpId::slice, selected.slice, {x}));
  return reshape(part, selected.shape);
}

// Order that brings the indexed axes to the front, and where the gathered axes go back to.
IntList indexed_first(const Selected& selected) {
  IntList order;
  for (const int axis : selected.tensor_axes) order.push_back(axis);
  for (int i = 0; i < selected.shape.rank(); ++i) {
    if (std::find(selected.tensor_axes.begin(), selected.tensor_axes.end(), i) == selected.tensor_axes.end()) {
      order.push_back(i);
    }
  }
  return order;
}

// Order that moves the leading `count` axes behind `before` others.
IntList moved_back(int rank, int count, int before) {
  IntList order;
  for (int i = 0; i < before; ++i) order.push_back(count + i);
  for (int i = 0; i < count; ++i) order.push_back(i);
  for (int i = count + before; i < rank; ++i) order.push_back(i);
  return order;
}

bool is_basic(std::span<const Index> entries) {
  return std::none_of(entries.begin(), entries.end(),
                      [](const Index& index) { return std::holds_alternative<Value>(index.entry()); });
}

T read_part(const T& x, std::span<const Index> entries) {
  if (const core::Array* array = core::contents_now(x); array != nullptr && is_basic(entries)) {
    return core::viewed_now(*array, basic_view(array->view, entries));
  }
  require_tensors(entries);
  // A mask over all of x picks by position: one index instead of one an axis.
  if (entries.size() == 1 && is_mask(entries[0]) && x.ndim() > 0) {
    const T mask = std::get<Value>(entries[0].entry());
    if (mask.shape() == x.shape() && core::mode_like(mask) != core::Mode::lazy &&
        core::mode_like(x) != core::Mode::lazy) {
      return extract(mask, x);
    }
  }
  const Selected selected = select(x.shape(), entries);
  T part = basic_part(x, selected);
  if (selected.tensors.empty()) return part;
  part = gather(transpose(part, indexed_first(selected)), selected.tensors);
  if (!selected.adjacent || selected.tensor_axes[0] == 0) return part;
  return transpose(part, moved_back(part.ndim(), selected.tensors[0].ndim(), selected.tensor_axes[0]));
}

T fitted(const T& v, const Shape& shape, DType dtype) {
  const T typed = core::fitted_to("set", v, dtype);
  if (!core::broadcastable(typed.shape(), shape)) {
    // NumPy drops leading axes of length one of what is assigned.
    T trimmed = typed;
    while (trimmed.ndim() > shape.rank() && trimmed.shape()[0] == 1) trimmed = squeeze(trimmed, 0);
    if (!core::broadcastable(trimmed.shape(), shape)) {
      throw_error<ShapeError>("set: a value of shape ", v.shape(), " does not broadcast to the part's shape ", shape);
    }
    return broadcast_to(trimmed, shape);
  }
  return broadcast_to(typed, shape);
}

T placed(const T& x, const Selected& selected, const T& part) {
  if (is_whole(selected, x.shape())) return reshape(part, x.shape());
  return emit(OpId::set_slice, selected.slice, {x, reshape(part, selected.slice.count)});
}

T write_part(const T& x, const std::vector<Index>& entries, const T& v);

// A mask needs no coordinates where all its elements get one value: a number, or, before the other axes, what fits
// these. Then the choice is made by `where`, which works in both modes. Nothing where a mask is not the only tensor.
std::optional<T> chosen_by_mask(const T& x, const std::vector<Index>& entries, const T& v) {
  std::vector<Index> whole;  // the mask's axes as they are
  std::int64_t used = 0;
  const Value* mask = nullptr;
  std::size_t place = 0;
  for (const Index& index : entries) {
    used += axes_used(index);
    const Value* tensor = std::get_if<Value>(&index.entry());
    if (tensor == nullptr) {
      whole.push_back(index);
      continue;
    }
    if (mask != nullptr || tensor->dtype() != DType::boolean || tensor->ndim() == 0) return {};
    mask = tensor;
    place = whole.size();
    for (int i = 0; i < mask->ndim(); ++i) whole.push_back(all);
  }
  if (mask == nullptr || used > x.ndim()) return {};
  std::int64_t axis = 0;  // of the part, at which the mask begins
  for (std::size_t e = 0; e < place; ++e) {
    if (std::holds_alternative<Ellipsis>(whole[e].entry())) axis += x.ndim() - used;
    else if (!std::holds_alternative<std::int64_t>(whole[e].entry())) ++axis;
  }
  const T part = read_part(x, whole);
  const auto begin = static_cast<std::size_t>(axis), end = begin + mask->shape().size();
  const Shape rest(std::span(part.shape().begin() + end, part.shape().end()));
  if (v.ndim() != 0 && !(begin == 0 && core::broadcastable(v.shape(), rest))) return {};
  Shape stretched(part.shape().size(), 1);
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t length = mask->shape()[i - begin];
    if (length != part.shape()[i]) return {};  // what is wrong is told where positions are selected
    stretched[i] = length;
  }
  const T values = core::fitted_to("set", v, x.dtype());
  return write_part(x, whole, where(reshape(T(*mask), stretched), values, part));
}

T write_part(const T& x, const std::vector<Index>& entries, const T& v) {
  require_tensors(entries);
  if (const std::optional<T> chosen = chosen_by_mask(x, entries, v)) return *chosen;
  const Selected selected = select(x.shape(), entries);
  if (selected.tensors.empty()) return placed(x, selected, fitted(v, selected.shape, x.dtype()));
  const IntList order = indexed_first(selected);
  const T part = transpose(basic_part(x, selected), order);
  const int indexed = selected.tensors[0].ndim();
  Shape shape = selected.tensors[0].shape();
  for (std::size_t i = selected.tensors.size(); i < part.shape().size(); ++i) shape.push_back(part.shape()[i]);
  T values;
  if (!selected.adjacent || selected.tensor_axes[0] == 0) {
    values = fitted(v, shape, x.dtype());
  } else {
    const IntList back = moved_back(shape.rank(), indexed, selected.tensor_axes[0]);
    const Shape seen = core::permute(core::View::dense(shape), back).shape;
    values = transpose(fitted(v, seen, x.dtype()), core::inverse_order(back));
  }
  const T written = scatter(part, selected.tensors, values);
  return placed(x, selected, transpose(written, core::inverse_order(order)));
}

// Writes the part into x's own memory where x is nobody else's: then `x(i) = v` costs what v does.
bool overwritten(const Value& x, const std::vector<Index>& entries, const Value& v) {
  if (!x || !v || core::mode_of({&x, 1}) != core::Mode::eager) return false;
  if (v.ndim() == 0 && std::any_of(entries.begin(), entries.end(), is_mask)) return false;  // where() chooses
  const Selected selected = select(x.shape(), entries);
  if (selected.tensors.empty()) {
    const T part = reshape(fitted(v, selected.shape, x.dtype()), selected.slice.count);
    const Value operand = core::resolve(part);
    return core::overwrite(x, OpId::set_slice, selected.slice, {&operand, 1});
  }
  // Positions by tensors: where they count the leading axes of the whole of x.
  const IntList order = indexed_first(selected);
  if (!is_whole(selected, x.shape()) || selected.shape != x.shape() || !std::is_sorted(order.begin(), order.end())) {
    return false;
  }
  Shape shape = selected.tensors[0].shape();
  for (std::size_t i = selected.tensors.size(); i < x.shape().size(); ++i) shape.push_back(x.shape()[i]);
  std::vector<Value> operands{core::resolve(fitted(v, shape, x.dtype()))};
  for (const T& tensor : selected.tensors) operands.push_back(core::resolve(tensor));
  return core::overwrite(x, OpId::scatter, core::NoAttributes{}, operands);
}

}  // namespace

template <class M>
Tensor<M> Tensor<M>::get(const std::vector<Index>& entries) const {
  core::require("index", value());
  return Value(read_part(core::resolve(value_), entries));
}
template Tensor<Eager> Tensor<Eager>::get(const std::vector<Index>&) const;
template Tensor<Lazy> Tensor<Lazy>::get(const std::vector<Index>&) const;
template Tensor<Any> Tensor<Any>::get(const std::vector<Index>&) const;

template <class M>
Tensor<M> set(const Tensor<M>& x, const std::vector<Index>& index, const std::type_identity_t<Tensor<M>>& v) {
  core::require("set", x, v);
  return Value(write_part(core::resolve(x), index, v.value()));
}
TYTO_INSTANTIATE(set)

namespace {

// In lazy mode a mask can be assigned through but not read.
bool readable(const Value& owner, const std::vector<Index>& entries) {
  core::require("index", owner);
  require_tensors(entries);
  if (core::mode_like(owner) != core::Mode::lazy) return true;
  return std::none_of(entries.begin(), entries.end(), is_mask);
}

}  // namespace

template <class M>
Tensor<M> Tensor<M>::part(std::vector<Index> entries) {
  const bool read = readable(value(), entries);
  Value value = read ? get(entries).value_ : Value();
  return Tensor(std::move(value), name_.made(this, &value_), std::move(entries), read ? Value() : value_);
}

template <class M>
void Tensor<M>::refuse_unread() const {
  const detail::Name& part = *name_.get();
  static_cast<void>(read_part(core::resolve(part.unread), part.entries));  // throws where the mask does not fit
  refuse_mask();
}

template <class M>
void Tensor<M>::operator=(const Tensor& replacement) && {
  const detail::Name* const part = name_.get();
  if (part == nullptr || part->whole == nullptr) {
    throw GraphError(
        "assign: what is assigned to has no name, so nobody would see the new value; name it first, or write x(i, j) = "
        "v for x(i)(j) = v");
  }
  if (part->whole->tensor == nullptr) {
    throw GraphError(
        "assign: the tensor that this part was taken of is gone, so nobody would see the new value; assign to a part "
        "of a tensor that outlives the function: x(index) = v");
  }
  const Tensor<M> given = replacement;
  // The part that was read for the left side is wanted no more; it would share the owner's memory.
  value_ = Value();
  Tensor<M>& owner = *static_cast<Tensor<M>*>(part->whole->tensor);
  if (overwritten(owner.value(), part->entries, given.value())) return;
  owner.renew(set(owner, part->entries, given));
}

#define TYTO_PART(M)                                      \
  template Tensor<M> Tensor<M>::part(std::vector<Index>); \
  template void Tensor<M>::refuse_unread() const;         \
  template void Tensor<M>::operator=(const Tensor& replacement)&&;
TYTO_PART(Eager)
TYTO_PART(Lazy)
TYTO_PART(Any)
#undef TYTO_PART

}  // namespace TYTO_API
