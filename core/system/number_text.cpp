// SPDX-License-Identifier: MIT
// Doubles from text: by the standard library, or by the C library in its own locale.
#include "core/system/number_text.hpp"

#include <version>

#ifndef __cpp_lib_to_chars
#include <cctype>
#include <cerrno>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif
#endif

namespace tyto::core {

#ifdef __cpp_lib_to_chars

std::from_chars_result double_from(std::string_view text, double& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number);
}

#else

std::from_chars_result double_from(std::string_view text, double& number) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  // strtod also takes blanks, a plus sign and hexadecimal digits.
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const auto at = [&](std::size_t i) { return i < digits.size() ? static_cast<unsigned char>(digits[i]) : 0; };
  if (std::isspace(at(0)) || at(0) == '+' || at(0) == '-') return {text.data(), std::errc::invalid_argument};
  const bool is_hexadecimal = at(0) == '0' && std::tolower(at(1)) == 'x';
  const std::string copy(is_hexadecimal ? text.substr(0, text.size() - digits.size() + 1) : text);
  char* end = nullptr;
  errno = 0;
  const double read = strtod_l(copy.c_str(), &end, c_locale);
  if (end == copy.c_str()) return {text.data(), std::errc::invalid_argument};
  const char* const stop = text.data() + (end - copy.c_str());
  // strtod() sets ERANGE for subnormal numbers too, although it reads them.
  if (errno == ERANGE && (read == 0 || std::isinf(read))) return {stop, std::errc::result_out_of_range};
  number = read;
  return {stop, std::errc()};
}

#endif

}  // namespace tyto::core
