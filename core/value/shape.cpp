// SPDX-License-Identifier: MIT
// Shape arithmetic and the short integer list beneath it.
#include "core/value/shape.hpp"

#include "core/value/text.hpp"

namespace tyto TYTO_API {

void IntList::resize(std::size_t count, std::int64_t fill) {
  if (count > capacity_) {
    const auto grown = static_cast<std::uint32_t>(std::max<std::size_t>(count, 2u * capacity_));
    auto bigger = std::make_unique<std::int64_t[]>(grown);
    std::copy_n(data(), size_, bigger.get());
    heap_ = std::move(bigger);
    capacity_ = grown;
  }
  for (std::size_t i = size_; i < count; ++i) data()[i] = fill;
  size_ = static_cast<std::uint32_t>(count);
}

void IntList::insert(std::size_t position, std::int64_t value) {
  push_back(value);
  std::rotate(begin() + position, end() - 1, end());
}

void IntList::erase(std::size_t position) {
  std::copy(begin() + position + 1, end(), begin() + position);
  pop_back();
}

std::int64_t element_count(const Shape& shape) {
  for (const std::int64_t length : shape) {
    if (length == 0) return 0;
  }
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count = core::checked_product(count, length);
  return count;
}

std::string to_string(const IntList& list) {
  std::string out = "(";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += ',';
    out += std::to_string(list[i]);
  }
  if (list.size() == 1) out += ',';
  return out + ')';
}

std::ostream& operator<<(std::ostream& out, const IntList& list) { return out << to_string(list); }

}  // namespace TYTO_API

namespace tyto::core {

Strides row_major(const Shape& shape) {
  Strides strides(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    // Only a tensor without elements has axes that long.
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &step)) step = 0;
  }
  return strides;
}

Shape broadcast(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const std::size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const std::int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) {
      throw_error<ShapeError>(op, ": shapes ", a, " and ", b, " do not broadcast: axis lengths ", x, " and ", y,
                              " differ and neither is 1");
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

bool broadcastable(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const std::size_t shift = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i + shift] && from[i] != 1) return false;
  }
  return true;
}

int normalise_axis(std::string_view op, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw IndexError(
        rank == 0 ? text(op, ": axis ", axis, " given, but a 0-d tensor has no axes")
                  : text(op, ": axis ", axis, " is outside [", -rank, ", ", rank - 1, "] for a tensor of rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

IntList normalise_axes(std::string_view op, const Axes& axes, int rank) {
  IntList out;
  if (axes.all()) {
    for (int i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  for (const std::int64_t axis : axes.list()) out.push_back(normalise_axis(op, axis, rank));
  std::sort(out.begin(), out.end());
  if (const auto twice = std::adjacent_find(out.begin(), out.end()); twice != out.end()) {
    throw_error<ValueError>(op, ": axis ", *twice, " is named twice in ", axes.list());
  }
  return out;
}

Shape reduced_shape(const Shape& shape, const IntList& axes, bool keep) {
  Shape out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = next < axes.size() && axes[next] == static_cast<std::int64_t>(i);
    next += reduced;
    if (!reduced) {
      out.push_back(shape[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  return out;
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw_error<ShapeError>("a tensor of ", a, " x ", b, " elements is larger than 63 bits can count");
  }
  return product;
}

std::int64_t window_count(std::string_view op, std::int64_t size, std::int64_t window, std::int64_t stride,
                          std::int64_t dilation, std::int64_t before, std::int64_t after) {
  std::int64_t reach = 0;
  std::int64_t padded = 0;
  if (window < 1 || __builtin_mul_overflow(window - 1, dilation, &reach) || __builtin_add_overflow(reach, 1, &reach) ||
      __builtin_add_overflow(size, before, &padded) || __builtin_add_overflow(padded, after, &padded)) {
    throw_error<ShapeError>(op, ": a window of ", window, " elements, ", dilation, " apart, does not fit an axis of ",
                            size);
  }
  if (reach > padded) {
    throw_error<ShapeError>(op, ": the window reaches over ", reach, " elements, but the padded input has only ",
                            padded);
  }
  return (padded - reach) / stride + 1;
}

}  // namespace tyto::core
