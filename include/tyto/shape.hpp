// SPDX-License-Identifier: MIT
// Shapes, strides and axis lists: a short list of integers that needs no heap for the ranks in common use.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// A list of integers, held in place up to rank six.
class TYTO_API IntList {
 public:
  IntList() = default;
  IntList(std::initializer_list<std::int64_t> values) : IntList(values.begin(), values.size()) {}
  /// A list of one number: `Tensor::zeros(5)`, `x.reshape(-1)`.
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) IntList(T only) : IntList{static_cast<std::int64_t>(only)} {}
  explicit IntList(std::span<const std::int64_t> values) : IntList(values.data(), values.size()) {}
  IntList(std::size_t count, std::int64_t value) {
    resize(count);
    std::fill(begin(), end(), value);
  }
  IntList(const IntList& other) {
    if (other.heap_) assign(other.data(), other.size());
    else copy_local(other);
  }
  IntList(IntList&& other) noexcept : capacity_(other.capacity_), heap_(std::move(other.heap_)) {
    copy_local(other);
    other.size_ = 0;
    other.capacity_ = inline_capacity;
  }
  IntList& operator=(const IntList& other) {
    if (this == &other) return *this;
    if (heap_ || other.heap_) assign(other.data(), other.size());
    else copy_local(other);
    return *this;
  }
  IntList& operator=(IntList&& other) noexcept {
    if (this == &other) return *this;
    capacity_ = other.capacity_;
    heap_ = std::move(other.heap_);
    copy_local(other);
    other.size_ = 0;
    other.capacity_ = inline_capacity;
    return *this;
  }

  /// How many numbers there are; for a shape, how many axes.
  std::size_t size() const { return size_; }
  int rank() const { return static_cast<int>(size_); }
  bool empty() const { return size_ == 0; }
  /// The numbers in memory, as in std::vector.
  std::int64_t* data() { return heap_ ? heap_.get() : local_; }
  const std::int64_t* data() const { return heap_ ? heap_.get() : local_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  std::int64_t& operator[](std::size_t i) { return data()[i]; }
  std::int64_t operator[](std::size_t i) const { return data()[i]; }
  /// The first and the last number; of an empty list an IndexError in debug builds.
  std::int64_t front() const { return data()[first_of_some()]; }
  std::int64_t back() const { return data()[first_of_some() + size_ - 1]; }

  /// Changes of the list, as in std::vector, by position.
  void resize(std::size_t count, std::int64_t fill = 0);
  void push_back(std::int64_t value) {
    resize(size_ + 1u);
    back_ref() = value;
  }
  void pop_back() { --size_; }
  void insert(std::size_t position, std::int64_t value);
  void erase(std::size_t position);

  friend bool operator==(const IntList& a, const IntList& b) {
    if (a.size_ != b.size_) return false;
    const std::int64_t* x = a.data();
    const std::int64_t* y = b.data();
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t inline_capacity = 6;

  IntList(const std::int64_t* values, std::size_t count) { assign(values, count); }
  void assign(const std::int64_t* values, std::size_t count) {
    resize(count);
    std::copy_n(values, count, data());
  }
  // All of the numbers held in place, used or not: a copy of fixed length is a few moves without a loop.
  void copy_local(const IntList& other) {
    size_ = other.size_;
    std::memcpy(local_, other.local_, sizeof local_);
  }
  std::int64_t& back_ref() { return data()[size_ - 1]; }
  std::size_t first_of_some() const {
#ifndef NDEBUG
    if (size_ == 0) throw IndexError("an empty list has neither a first nor a last number");
#endif
    return 0;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = inline_capacity;
  std::int64_t local_[inline_capacity] = {};
  std::unique_ptr<std::int64_t[]> heap_;
};

/// The lengths of a tensor's axes, outermost first. `{}` is the shape of a single number.
using Shape = IntList;

/// Steps between neighbours along each axis, in elements; zero for a broadcast axis, negative for a reversed one.
using Strides = IntList;

/// Number of elements of a shape; 1 for rank 0. Throws ShapeError when it does not fit 63 bits.
TYTO_API std::int64_t element_count(const Shape& shape);

/// "(2,3)", "(4,)", "()", as NumPy prints shapes.
TYTO_API std::string to_string(const IntList& list);
TYTO_API std::ostream& operator<<(std::ostream& out, const IntList& list);

namespace detail {
template <class T>
concept AxisNumber = !std::is_same_v<T, bool> && !std::is_floating_point_v<T> && !std::is_class_v<T> &&
                     std::is_convertible_v<T, std::int64_t>;
}  // namespace detail

/// The axes that an operator works on: one, several, or (by default) all. Negative axes count from the end.
class TYTO_API Axes {
 public:
  Axes() = default;
  // No std::initializer_list: g++ 12 takes {.keepdims = true} for one.
  template <detail::AxisNumber... T>
  requires(sizeof...(T) > 0) Axes(T... axes) : all_(false), list_{static_cast<std::int64_t>(axes)...} {}
  template <std::same_as<IntList> T>
  Axes(T axes) : all_(false), list_(std::move(axes)) {}

  /// Whether no axis was named, and those that were.
  bool all() const { return all_; }
  const IntList& list() const { return list_; }
  friend bool operator==(const Axes&, const Axes&) = default;

 private:
  bool all_ = true;
  IntList list_;
};

/// Whether a reduction leaves the axes that it reduces with length one: true or false. A number in its place would be a
/// second axis, as in NumPy's `sum(x, (0, 1))`.
class KeepDims {
 public:
  template <std::integral T>
  KeepDims(T keep) : keep_(keep) {
    static_assert(std::is_same_v<T, bool>, "keepdims is true or false; several axes are a list: sum(x, {0, 1})");
  }
  template <class T>
  requires(std::is_class_v<T>&& std::is_convertible_v<const T&, bool>) KeepDims(const T& keep) : keep_(keep) {}
  operator bool() const { return keep_; }  ///< what was given

 private:
  bool keep_;
};

namespace detail {
/// A text, a pointer or a number, which C++ would take for true.
template <class T>
concept AlmostBool = std::is_convertible_v<const T&, bool> && !std::is_class_v<T> && !std::is_same_v<T, bool>;
/// What a function that is deleted for its message takes: any function of the user's is the better match.
struct Anything {
  template <class T>
  Anything(const T&) {}
};
}  // namespace detail

/// A bool: a text, a pointer or a number in its place does not compile.
class Flag {
 public:
  template <class T>
  requires(!detail::AlmostBool<T> && std::is_convertible_v<const T&, bool>) Flag(const T& value) : value_(value) {}
  template <detail::AlmostBool T>
  Flag(const T&) = delete;                  // true or false
  operator bool() const { return value_; }  ///< what was given

 private:
  bool value_;
};

/// The axis that a function with a Flag behind it works along: true or false in its place does not compile.
class Axis {
 public:
  template <std::same_as<bool> T>
  Axis(T) = delete;  // the axis comes first: sort(x, -1, true)
  template <class T>
  requires(!std::is_same_v<T, bool> && std::is_convertible_v<T, std::int64_t>) Axis(T axis)
      : axis_(static_cast<std::int64_t>(axis)) {}
  operator std::int64_t() const { return axis_; }  ///< what was given

 private:
  std::int64_t axis_;
};

}  // namespace TYTO_API
