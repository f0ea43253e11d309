// SPDX-License-Identifier: MIT
// Prints the parts of a message one after the other.
#include "core/value/text.hpp"

#include <cstdio>
#include <iterator>
#include <sstream>

namespace tyto::core {

std::string joined(std::initializer_list<Printable> parts) {
  std::ostringstream out;
  for (const Printable& part : parts) out << part;
  return out.str();
}

std::string bytes_in_words(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char words[32];
  std::snprintf(words, sizeof words, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return words;
}

}  // namespace tyto::core
