// SPDX-License-Identifier: MIT
// Hashing: mixes a value into the hash of those before it, and hashes bytes alike in every process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tyto::core {

/// The halves of a product with both: each bit of the value reaches all bits of the hash.
constexpr std::uint64_t mixed_hash(std::uint64_t seed, std::uint64_t value) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{(seed + 0x9e3779b97f4a7c15u) ^ value} * 0xd6e8feb86659fd93u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// SplitMix64 (Steele, Lea, Flood 2014): numbers of a counter that steps by `splitmix_step`, the same on every
/// platform.
inline constexpr std::uint64_t splitmix_step = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t splitmix64(std::uint64_t counter) {
  std::uint64_t z = counter + splitmix_step;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325u;

/// FNV-1a, which files store as a checksum: it detects damage, not forgery.
constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes, std::uint64_t hash = fnv_basis) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace tyto::core
