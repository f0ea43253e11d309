// SPDX-License-Identifier: MIT
// Removes the line breaks of printed arrays, so that a table can hold them on one line.
#include "tests/docs/shown.hpp"

namespace documented {

std::string packed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (blank && (out.empty() || out.back() == ' ' || out.back() == '[')) continue;
    if (c == ']' && !out.empty() && out.back() == ' ') out.pop_back();
    out += blank ? ' ' : c;
  }
  return out;
}

}  // namespace documented
