// SPDX-License-Identifier: MIT
// Random programs of nested loops and branches on one timeline: lifetimes of their storages, and a checker that runs
// them on token memory.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <tyto/memory.hpp>

namespace tyto::memory_tests {

/// Ways to emit a loop whose carries rotate through several slots.
enum class Bodies {
  once,        ///< one copy of the body; addresses rotate, so that all slots are alive over the loop
  each_phase,  ///< a copy for every phase of the rotation, with an address for each
};

/// One flat program with its storages as blocks.
class RegionProgram {
 public:
  RegionProgram(std::uint64_t seed, int depth, Bodies bodies);

  const std::vector<Block>& blocks() const { return blocks_; }
  std::size_t steps() const { return steps_.size(); }
  /// The most bytes alive at one step, counted step by step.
  std::int64_t load() const;
  /// Runs `traces` random paths with the storages at `offsets`: every read must find the value that it means, in every
  /// byte. Says what is wrong with the first that does not; empty when all do.
  std::string judge(const std::vector<std::int64_t>& offsets, int traces, std::uint64_t seed) const;

  enum class Kind { kernel, enter, again, choose };
  /// One storage, or the slot of a ring that a loop's count selects: slots[(count - shift) mod slots].
  struct Place {
    int storage = -1;
    int ring = -1;
    int shift = 0;
  };
  struct Access {
    int value;
    Place place;
  };
  struct Row {  // of a stacked output: row number `count of loop`
    int stack;
    int loop;
    int bytes;
  };
  struct Rename {
    int to;
    int from;
  };
  struct Step {
    Kind kind = Kind::kernel;
    std::vector<Access> reads;
    std::vector<Access> writes;
    std::vector<Row> rows;
    std::vector<int> cleared;  // storages that begin here without a value
    std::vector<Rename> go_on;
    std::vector<Rename> leave;
    std::vector<int> next;  // of `again`: back or on to the next copy, then the exit
    int loop = -1;
    int trips = 0;
  };
  struct Ring {
    int loop;
    std::vector<int> slots;
  };

 private:
  friend class RegionEmitter;
  void find_lifetimes();

  std::vector<Step> steps_;
  std::vector<Ring> rings_;
  std::vector<std::int64_t> sizes_;
  std::vector<char> is_stack_;
  int loops_ = 0;
  int values_ = 0;
  std::vector<std::vector<Span>> spans_;
  std::vector<Block> blocks_;
};

}  // namespace tyto::memory_tests
