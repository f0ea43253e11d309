// SPDX-License-Identifier: MIT
// Prints the value of a documented expression: tensors as they print, all else as NumPy's `str` does.
#pragma once

#include <string>
#include <type_traits>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

namespace documented {

/// Runs of blanks and line breaks made one blank, none inside brackets: what is left of a text when layout is no
/// matter.
std::string packed(const std::string& text);

template <class T>
struct is_tensor_like : std::false_type {};
template <class M>
struct is_tensor_like<tyto::Tensor<M>> : std::true_type {};

template <class T>
std::string shown_value(const T& value) {
  if constexpr (is_tensor_like<T>::value) {
    return packed(value.to_string());
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_same_v<T, tyto::DType>) {
    return tyto::name_of(value);
  } else if constexpr (std::is_same_v<T, tyto::Shape>) {
    return tyto::to_string(value);
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return tyto::Tensor<tyto::Eager>(value).to_string();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return packed(value);
  } else {
    return {};
  }
}
template <class A, class B>
std::string shown_value(const std::pair<A, B>& both) {
  return shown_value(both.first) + ' ' + shown_value(both.second);
}
template <class T>
std::string shown_value(const std::vector<T>& several) {
  std::string out;
  for (const T& each : several) out += (out.empty() ? "" : " ") + shown_value(each);
  return out;
}

/// The text of what `row()` yields; empty when it yields nothing.
template <class F>
std::string shown(const F& row) {
  if constexpr (std::is_void_v<decltype(row())>) {
    row();
    return {};
  } else {
    return shown_value(row());
  }
}

/// A function without arguments, by reference: C++26 has std::function_ref. A std::function would hold a copy of each
/// row's lambda; hundreds of them by libc++ take clang minutes and gigabytes.
template <class Result>
class FunctionRef {
  const void* function_;
  Result (*call_)(const void*);

 public:
  template <class F>
  FunctionRef(const F& function)
      : function_(&function), call_([](const void* f) -> Result { return (*static_cast<const F*>(f))(); }) {}

  Result operator()() const { return call_(function_); }
};

}  // namespace documented
