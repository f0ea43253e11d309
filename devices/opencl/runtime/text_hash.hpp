// SPDX-License-Identifier: MIT
// A 64-bit hash of text that is the same in every process, for names of kernels and of files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/value/hash.hpp"

namespace tyto::opencl {

/// FNV-1a with a final mix; `seed` gives independent hashes of one text.
inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = core::fnv1a(std::as_bytes(std::span(text)), core::fnv_basis ^ (seed * 0x9e3779b97f4a7c15u));
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

/// The hash in sixteen digits.
inline std::string hash_digits(std::string_view text, std::uint64_t seed) {
  std::string digits;
  for (std::uint64_t i = 16, hash = hash_text(text, seed); i-- > 0;) digits += "0123456789abcdef"[(hash >> 4 * i) & 15];
  return digits;
}

}  // namespace tyto::opencl
