// SPDX-License-Identifier: MIT
// Numbers from text, as std::from_chars reads them; libc++ before 20 has none for floating point.
#pragma once

#include <charconv>
#include <string_view>
#include <type_traits>

namespace tyto::core {

std::from_chars_result double_from(std::string_view text, double& number);

template <class Number>
std::from_chars_result number_from(std::string_view text, Number& number) {
  if constexpr (std::is_same_v<Number, double>) return double_from(text, number);
  else return std::from_chars(text.data(), text.data() + text.size(), number);
}

}  // namespace tyto::core
