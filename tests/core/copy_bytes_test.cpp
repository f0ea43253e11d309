// SPDX-License-Identifier: MIT
// copy_bytes copies all bytes, and none beside them.
#include "core/value/copy_bytes.hpp"

#include <vector>

#include <doctest/doctest.h>

TEST_CASE("copies of bytes are whole and touch nothing else, wherever the two places lie in their pages") {
  constexpr std::size_t page = 4096;
  const std::byte untouched{0xee};
  for (const std::size_t bytes : {0u, 1u, 63u, 2047u, 2048u, 2049u, 4096u, 70001u}) {
    for (const std::size_t ahead : {0u, 1u, 4u, 63u, 64u, 1000u, 4095u}) {
      CAPTURE(bytes);
      CAPTURE(ahead);
      std::vector<std::byte> memory(4 * page + 2 * bytes, untouched);
      const std::size_t target = (bytes + page) / page * page + ahead;
      for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(i % 251);
      tyto::core::copy_bytes(memory.data() + target, memory.data(), bytes);
      std::size_t wrong = 0;
      for (std::size_t i = bytes; i < memory.size(); ++i) {
        const bool copied = i >= target && i < target + bytes;
        if (memory[i] != (copied ? static_cast<std::byte>((i - target) % 251) : untouched)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}
