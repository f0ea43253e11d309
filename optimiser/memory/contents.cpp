// SPDX-License-Identifier: MIT
// Stores contents as ordered maps of disjoint ranges; a write cuts those that it overlaps.
#include "optimiser/memory/contents.hpp"

#include <algorithm>
#include <iterator>

namespace tyto::memory {

void Contents::append(const Contents& other) {
  for (const Piece& piece : other.pieces) {
    if (!pieces.empty() && pieces.back().value == piece.value &&
        pieces.back().begin + pieces.back().bytes == piece.begin) {
      pieces.back().bytes += piece.bytes;
    } else {
      pieces.push_back(piece);
    }
  }
  constexpr std::size_t worth_following = 256;
  any = any || other.any;
  if (any || !ordered || !other.ordered || pieces.size() > worth_following) forget_order();
}

void Contents::forget_order() {
  ordered = false;
  std::vector<Piece> values;
  for (const Piece& piece : pieces) {
    if (std::ranges::none_of(values, [&](const Piece& each) { return each.value == piece.value; })) {
      values.push_back({piece.value, 0, 0});
    }
  }
  constexpr std::size_t worth_following = 64;
  any = any || values.size() > worth_following;
  if (any) values.clear();
  pieces = std::move(values);
}

Contents Contents::part(std::int64_t begin, std::int64_t bytes) const {
  if (!ordered) return *this;
  Contents out;
  std::int64_t at = 0;
  for (const Piece& piece : pieces) {
    const std::int64_t first = std::max(begin, at), past = std::min(begin + bytes, at + piece.bytes);
    if (first < past) out.pieces.push_back({piece.value, piece.begin + first - at, past - first});
    at += piece.bytes;
  }
  return out;
}

std::optional<std::vector<ByteRun>> runs_of(const core::View& view, std::int64_t element, bool& ordered) {
  constexpr std::size_t worth_following = 4096;
  std::vector<ByteRun> runs;
  if (view.count() == 0) return runs;
  // Axes from the innermost outwards: what is contiguous joins the run, the rest repeats it.
  std::int64_t run = 1;
  std::size_t axis = view.shape.size();
  while (axis != 0 && (view.shape[axis - 1] == 1 || view.strides[axis - 1] == run)) {
    run *= view.shape[axis - 1];
    --axis;
  }
  runs.push_back({view.offset * element, run * element});
  for (; axis != 0; --axis) {
    const std::int64_t count = view.shape[axis - 1], stride = view.strides[axis - 1] * element;
    if (count == 1) continue;
    if (stride == 0) {
      ordered = false;
      continue;
    }
    const std::size_t before = runs.size();
    if (before > worth_following / static_cast<std::size_t>(count)) return std::nullopt;
    for (std::int64_t i = 1; i < count; ++i) {
      for (std::size_t k = 0; k < before; ++k) runs.push_back({runs[k].begin + i * stride, runs[k].bytes});
    }
  }
  return runs;
}

std::uint32_t ByteContents::add_memory() {
  memories_.emplace_back();
  return static_cast<std::uint32_t>(memories_.size() - 1);
}

void ByteContents::cut(Memory& memory, std::int64_t at) {
  const auto after = memory.lower_bound(at);
  if (after == memory.begin()) return;
  const auto range = std::prev(after);
  if (range->second.end <= at) return;
  const std::int64_t begin = range->second.begin == unordered ? unordered : range->second.begin + at - range->first;
  memory.emplace_hint(after, at, Range{range->second.end, range->second.value, begin});
  range->second.end = at;
}

void ByteContents::set(Memory& memory, std::int64_t begin, std::int64_t bytes, ValueNumber value,
                       std::int64_t value_begin) {
  if (bytes == 0) return;
  cut(memory, begin);
  cut(memory, begin + bytes);
  memory.erase(memory.lower_bound(begin), memory.lower_bound(begin + bytes));
  memory.emplace(begin, Range{begin + bytes, value, value_begin});
}

template <class Visit>
void ByteContents::visit(const Memory& memory, std::int64_t begin, std::int64_t bytes, const Visit& visit) {
  const std::int64_t past = begin + bytes;
  auto range = memory.upper_bound(begin);
  if (range != memory.begin()) --range;
  std::int64_t at = begin;
  for (; at < past && range != memory.end() && range->first < past; ++range) {
    if (range->second.end <= at) continue;
    if (range->first > at) visit(at, range->first - at, no_value, unordered);
    at = std::max(at, range->first);
    const std::int64_t end = std::min(range->second.end, past);
    const std::int64_t first = range->second.begin == unordered ? unordered : range->second.begin + at - range->first;
    visit(at, end - at, range->second.value, first);
    at = end;
  }
  if (at < past) visit(at, past - at, no_value, unordered);
}

void ByteContents::write(std::uint32_t memory, std::span<const ByteRun> runs, const Contents& contents) {
  Memory& into = memories_[memory];
  if (!contents.ordered) {
    // Which of several values a byte belongs to is not known.
    const bool one = !contents.any && contents.pieces.size() == 1;
    const ValueNumber value = one ? contents.pieces[0].value : anything;
    for (const ByteRun& run : runs) set(into, run.begin, run.bytes, value, unordered);
    return;
  }
  std::int64_t at = 0;
  for (const ByteRun& run : runs) {
    std::int64_t done = 0;
    for (const Contents::Piece& piece : contents.part(at, run.bytes).pieces) {
      set(into, run.begin + done, piece.bytes, piece.value, piece.begin);
      done += piece.bytes;
    }
    at += run.bytes;
  }
}

void ByteContents::excuse(std::uint32_t memory, std::int64_t begin, std::int64_t bytes) {
  set(memories_[memory], begin, bytes, anything, unordered);
}

void ByteContents::copy(std::uint32_t to, std::span<const ByteRun> to_runs, std::uint32_t from,
                        std::span<const ByteRun> from_runs) {
  struct Piece {
    std::int64_t bytes;
    ValueNumber value;
    std::int64_t begin;
  };
  std::vector<Piece> pieces;
  for (const ByteRun& run : from_runs) {
    visit(memories_[from], run.begin, run.bytes,
          [&](std::int64_t, std::int64_t bytes, ValueNumber value, std::int64_t begin) {
            pieces.push_back({bytes, value, begin});
          });
  }
  std::size_t next = 0;
  for (const ByteRun& run : to_runs) {
    std::int64_t at = run.begin;
    while (at < run.begin + run.bytes && next < pieces.size()) {
      Piece& piece = pieces[next];
      const std::int64_t bytes = std::min(piece.bytes, run.begin + run.bytes - at);
      set(memories_[to], at, bytes, piece.value, piece.begin);
      at += bytes;
      piece.bytes -= bytes;
      if (piece.begin != unordered) piece.begin += bytes;
      if (piece.bytes == 0) ++next;
    }
  }
}

std::optional<ByteContents::Fault> ByteContents::first_fault(std::uint32_t memory, std::span<const ByteRun> runs,
                                                             const Contents& contents) const {
  std::optional<Fault> fault;
  if (contents.any) return fault;
  const auto among = [&](ValueNumber value) {
    return std::ranges::any_of(contents.pieces, [&](const Contents::Piece& piece) { return piece.value == value; });
  };
  std::size_t next = 0;     // of the pieces
  std::int64_t within = 0;  // bytes of that piece that were seen
  for (const ByteRun& run : runs) {
    visit(memories_[memory], run.begin, run.bytes,
          [&](std::int64_t at, std::int64_t bytes, ValueNumber value, std::int64_t begin) {
            if (!contents.ordered) {
              if (!fault && value != anything && !among(value)) {
                fault = Fault{at, value, contents.pieces.empty() ? no_value : contents.pieces[0].value};
              }
              return;
            }
            while (bytes > 0 && next < contents.pieces.size()) {
              const Contents::Piece& piece = contents.pieces[next];
              const std::int64_t same = std::min(bytes, piece.bytes - within);
              const bool right =
                  value == anything || (value == piece.value && (begin == unordered || begin == piece.begin + within));
              if (!right && !fault) fault = Fault{at, value, piece.value};
              at += same;
              bytes -= same;
              if (begin != unordered) begin += same;
              within += same;
              if (within == piece.bytes) {
                within = 0;
                ++next;
              }
            }
          });
    if (fault) return fault;
  }
  return fault;
}

}  // namespace tyto::memory
