// SPDX-License-Identifier: MIT
// Recomputation along a chain: where to cut it into segments, and how much of each is kept, at the least cost within a
// limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tyto::recompute {

/// The cost of a segment, the links between two cuts.
struct Segment {
  std::int64_t stays = 0;  // bytes kept from when they are first made until they are read again
  std::int64_t turn = 0;   // bytes alive when they are read again, those that stay included, those of others not
  double cost = 0;         // of what is made again for that
};

/// A chain is run link by link, then read again from its last link to its first. Each segment has one form a level:
/// level 0 keeps the least, the last one the most.
class RecomputeChain {
 public:
  RecomputeChain(std::size_t links, std::size_t levels)
      : links_(links), levels_(levels), forms_(links * links * levels) {}

  std::size_t links() const { return links_; }
  std::size_t levels() const { return levels_; }
  /// Links `begin` up to and without `end`.
  Segment& at(std::size_t begin, std::size_t end, std::size_t level) { return forms_[index(begin, end, level)]; }
  const Segment& at(std::size_t begin, std::size_t end, std::size_t level) const {
    return forms_[index(begin, end, level)];
  }

 private:
  std::size_t index(std::size_t begin, std::size_t end, std::size_t level) const {
    return (begin * links_ + end - 1) * levels_ + level;
  }

  std::size_t links_;
  std::size_t levels_;
  std::vector<Segment> forms_;
};

struct Cut {
  std::size_t end = 0;  // the segment's links end before this one
  std::size_t level = 0;
};

/// The segments, first to last, that cost least with at most `limit` bytes alive: at the turn of each, what stays of
/// all before it and its own turn; at the end of the chain, what stays of all, and `rest`. Empty when nothing fits.
/// Exact up to a limit of 256; beyond it bytes are compared in that many classes, and a plan that fits by less than one
/// class may be missed.
std::vector<Cut> cheapest_cuts(const RecomputeChain& chain, std::int64_t limit, std::int64_t rest);

}  // namespace tyto::recompute
