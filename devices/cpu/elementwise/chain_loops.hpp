// Chains: several operators as one compiled loop, whose values on the way stay in registers.
//
// Nothing but headers of types is included, as in tile_loops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tyto::cpu {

/// What a chain computes, as a tree, and its loop over f32. A chain gives the bits of its operators one by one.
struct ChainLoop {
  static constexpr int most_steps = 13;
  static constexpr int most_results = 3;
  /// Leaves 0 to 4 are runs of elements; those from here on are one number each.
  static constexpr int first_number = 5;
  static constexpr int most_leaves = 12;

  /// An operator on earlier steps (their numbers) and leaves (~ their numbers).
  struct Step {
    std::uint16_t op = 0;
    std::int8_t operands[3] = {};
  };
  Step steps[most_steps];  ///< the last is the first result
  int count = 0;
  std::int8_t results[most_results] = {};  ///< steps
  int result_count = 0;

  /// results[k][i] = that result on the leaves' elements i. Each may be one of the runs; otherwise it overlaps none.
  void (*run)(void* const* results, const void* const* leaves, std::size_t n) = nullptr;
  /// The same past the caches, for a chain of one result that overlaps none of the runs; null where that is no faster,
  /// or impossible. Ends before other threads are sure to see the result.
  void (*run_uncached)(void* const* results, const void* const* leaves, std::size_t n) = nullptr;
  /// Adds the sum of the results, in the order in which Fold::sum adds a line, to a double.
  void (*sum)(const void* const* leaves, std::size_t n, void* sum) = nullptr;
};

/// The chains that an instruction set has loops for, those of which it sums the results, and single operators, which
/// are chains for the sake of run_uncached only.
struct ChainLoops {
  const ChainLoop* chains;
  std::size_t chain_count;
  const ChainLoop* sums;
  std::size_t sum_count;
  const ChainLoop* singles;
  std::size_t single_count;
};

namespace baseline {
extern const ChainLoops chain_loops;
}
namespace avx2 {
extern const ChainLoops chain_loops;
}
namespace avx512 {
extern const ChainLoops chain_loops;
}

}  // namespace tyto::cpu
