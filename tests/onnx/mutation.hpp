// SPDX-License-Identifier: MIT
// Damages files: bytes changed, lost, repeated, put in, lengths made extreme.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace tyto::onnx_tests {

/// `file` after one to eight changes drawn from `draw`.
inline std::string mutated(std::string file, std::mt19937_64& draw) {
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(draw() % end); };
  // Varints that lengths and numbers become: 0, the largest of 32, 63 and 64 bits, a long one.
  constexpr std::string_view numbers[] = {std::string_view("\0", 1), "\xff\xff\xff\xff\x0f",
                                          "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                          "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80\x80\x01"};
  for (std::size_t changes = 1 + below(8); changes-- > 0;) {
    const std::size_t at = below(file.size() + 1), rest = file.size() - at;
    switch (below(7)) {
      case 0:
        if (rest > 0) file[at] = static_cast<char>(draw());
        break;
      case 1:
        if (rest > 0) file[at] = static_cast<char>(file[at] ^ 1 << below(8));
        break;
      case 2: file.erase(at, below(std::min<std::size_t>(rest, 64) + 1)); break;
      case 3: file.insert(at, file.substr(below(file.size() + 1), below(64))); break;
      case 4: file.insert(at, numbers[below(std::size(numbers))]); break;
      case 5: file.replace(at, std::min<std::size_t>(rest, 1), numbers[below(std::size(numbers))]); break;
      default: file.resize(at); break;
    }
  }
  return file;
}

}  // namespace tyto::onnx_tests
