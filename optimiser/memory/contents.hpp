// SPDX-License-Identifier: MIT
// Symbolic contents of memory while a plan runs: for each byte which value it belongs to, and which byte of that value
// it is. Independent of lifetimes and of how plans are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/value/view.hpp"

namespace tyto::memory {

/// A value by the number of its computation: each time that a step runs its results are others.
using ValueNumber = std::uint32_t;
inline constexpr ValueNumber no_value = 0;

/// The contents of a tensor: bytes of values, one after the other. Where it is not `ordered` only the values that may
/// be met are known, as of transposes; of some not even these (`any`).
struct Contents {
  struct Piece {
    ValueNumber value = no_value;
    std::int64_t begin = 0;  // its first byte of the value
    std::int64_t bytes = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  std::vector<Piece> pieces;
  bool ordered = true;
  bool any = false;

  static Contents of(ValueNumber value, std::int64_t bytes) {
    Contents contents;
    if (bytes != 0) contents.pieces.push_back({value, 0, bytes});
    return contents;
  }
  /// A part of it; nothing is known of the order where that is not.
  Contents part(std::int64_t begin, std::int64_t bytes) const;
  void append(const Contents& other);
  void forget_order();
};

/// Bytes of one memory, in the order of a tensor's elements.
struct ByteRun {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};
/// Nothing where there are too many to be worth it. A broadcast tensor's bytes are listed once: `ordered` is cleared.
std::optional<std::vector<ByteRun>> runs_of(const core::View& view, std::int64_t element, bool& ordered);

class ByteContents {
 public:
  /// Memory without an end, with nothing in it.
  std::uint32_t add_memory();

  void write(std::uint32_t memory, std::span<const ByteRun> runs, const Contents& contents);
  /// Copies the contents of a range, whatever they are.
  void copy(std::uint32_t to, std::span<const ByteRun> to_runs, std::uint32_t from, std::span<const ByteRun> from_runs);
  /// Marks a range as unknown, which any read matches: its writer is not simulated.
  void excuse(std::uint32_t memory, std::int64_t begin, std::int64_t bytes);

  struct Fault {
    std::int64_t at = 0;  // the byte in memory
    ValueNumber found = no_value, wanted = no_value;
  };
  /// The first byte that is none of the contents, or not the one meant.
  std::optional<Fault> first_fault(std::uint32_t memory, std::span<const ByteRun> runs, const Contents& contents) const;

 private:
  static constexpr ValueNumber anything = UINT32_MAX;
  static constexpr std::int64_t unordered = INT64_MIN;
  /// Bytes of a value, from the range's key to `end`; the first is byte `begin` of the value.
  struct Range {
    std::int64_t end = 0;
    ValueNumber value = no_value;
    std::int64_t begin = 0;  // or unordered
  };
  using Memory = std::map<std::int64_t, Range>;

  void set(Memory& memory, std::int64_t begin, std::int64_t bytes, ValueNumber value, std::int64_t value_begin);
  static void cut(Memory& memory, std::int64_t at);
  /// Calls `visit(first byte, bytes, value, value's byte)` for what lies in the range, nothing included.
  template <class Visit>
  static void visit(const Memory& memory, std::int64_t begin, std::int64_t bytes, const Visit& visit);

  std::vector<Memory> memories_;
};

}  // namespace tyto::memory
