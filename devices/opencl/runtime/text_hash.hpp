// A 64-bit hash of text that is the same in every process, for names of kernels and of files.
#pragma once

#include <cstdint>
#include <string_view>

namespace tyto::opencl {

/// FNV-1a with a final mix; `seed` gives independent hashes of one text.
constexpr std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

}  // namespace tyto::opencl
