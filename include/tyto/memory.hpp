// SPDX-License-Identifier: MIT
// Static memory planning: give every block of bytes with a known lifetime an offset, so that no two alive at once
// overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/error.hpp>

namespace tyto {

/// Steps [lower, upper) of one order of execution.
struct Span {
  std::int64_t lower = 0;  ///< the first step
  std::int64_t upper = 0;  ///< the step before which it ends
  friend bool operator==(const Span&, const Span&) = default;
};

/// A memory block with its lifetime. Times are steps of one order of execution.
struct Block {
  std::int64_t id = 0;         ///< the caller's own number for it; the planner only repeats it in messages
  std::int64_t lower = 0;      ///< first step at which it is alive
  std::int64_t upper = 0;      ///< first step at which it is alive no more (exclusive)
  std::int64_t size = 0;       ///< bytes; 0 takes no space
  std::int64_t alignment = 1;  ///< its offset is a multiple of this
  std::optional<std::int64_t> fixed_offset = {};  ///< it lies there and nowhere else
  std::string_view label = {};                    ///< what people read in reports; "block ID" when empty
  /// When it is alive, if its lifetime has holes: ascending and disjoint, from `lower` to `upper`. Empty: all the time.
  /// Not owned, like the label. Under a precedence the relation alone says who conflicts, and holes are not used.
  std::span<const Span> spans = {};
};

/// The blocks that end before others begin when steps without a path between them may run at the same time.
/// Two blocks may share bytes only if one of them precedes the other.
class TYTO_API Precedence {
 public:
  /// `blocks` blocks, none of which precedes another.
  explicit Precedence(std::size_t blocks);

  /// A step of a graph that uses a block: `step` writes or reads block `block`.
  struct Use {
    std::int32_t step;   ///< its number in the order of execution
    std::int32_t block;  ///< its number
  };
  /// A dependency: `after` starts only when `before` is done.
  struct Edge {
    std::int32_t before;  ///< number of the earlier step
    std::int32_t after;   ///< number of the later step
  };

  /// The relation of a graph: i precedes j when every use of i reaches every use of j along dependencies.
  /// Edges must run from lower to higher step numbers, that is, steps are numbered in an order of execution.
  static Precedence of_graph(std::size_t blocks, std::size_t steps, std::span<const Edge> edges,
                             std::span<const Use> uses);

  /// How many blocks there are.
  std::size_t blocks() const { return blocks_; }
  /// States that `earlier` is over before `later` begins.
  void set_precedes(std::size_t earlier, std::size_t later);
  /// Whether `earlier` is over before `later` begins.
  bool precedes(std::size_t earlier, std::size_t later) const {
    return (bits_[earlier * words_ + later / 64] >> (later % 64) & 1U) != 0;
  }
  /// Whether both may be alive at once.
  bool conflict(std::size_t a, std::size_t b) const { return !precedes(a, b) && !precedes(b, a); }

 private:
  std::size_t blocks_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Options of planning: the strategy, its effort, and limits of the plan.
struct PlanOptions {
  std::string strategy = "best";                 ///< a name of memory_strategies()
  std::int64_t alignment = 1;                    ///< every offset is a multiple of this as well as of the block's own
  std::optional<std::int64_t> capacity = {};     ///< bytes there are; a search stops at the first plan that fits
  std::optional<std::int64_t> arena_limit = {};  ///< no arena is larger: the plan may use several
  std::int64_t work = 0;                         ///< search effort in elementary operations; 0: the strategy's default
  double time_limit_ms = 0;                      ///< > 0: stop then, and give up repeatability of searched plans
  std::uint64_t seed = 1;                        ///< of the strategies that draw random numbers
  int threads = 0;                               ///< 0: as many as the machine has, at most 8; never changes the plan
  /// Set: steps may run concurrently, and blocks conflict unless one precedes the other (indices as in the span).
  std::shared_ptr<const Precedence> precedence = {};
};

/// One block alive at the step of highest load.
struct PeakBlock {
  std::string label;  ///< what people read
  std::int64_t size;  ///< bytes
};

/// The offset of each block, the plan's height, and the bound that no plan can undercut.
struct MemoryPlan {
  std::vector<std::int64_t> offsets;        ///< one for each block, in the order given, inside its arena
  std::vector<std::int32_t> arenas;         ///< the arena of each block; empty when there is one arena
  std::vector<std::int64_t> arena_heights;  ///< bytes of each arena
  std::int64_t height = 0;                  ///< bytes in total
  std::int64_t bound = 0;                   ///< no plan of these blocks is lower
  std::int64_t naive = 0;                   ///< bytes without any reuse: the sum of all sizes
  std::string strategy;                     ///< what made it; for "best" with the rung that won
  bool proven_optimal = false;              ///< height == bound, or an exhausted search
  double milliseconds = 0;                  ///< spent planning
  std::int64_t peak_step = 0;               ///< a step at which the sum of live sizes is largest
  std::vector<PeakBlock> top_at_peak;       ///< the largest blocks alive then, largest first

  /// Height over bound: 1 is optimal.
  double ratio() const { return bound > 0 ? static_cast<double>(height) / static_cast<double>(bound) : 1.0; }
};

/// A planning strategy that PlanOptions::strategy can name.
struct MemoryStrategy {
  std::string_view name;     ///< for PlanOptions::strategy
  std::string_view summary;  ///< what it does, in a sentence
  bool available;            ///< false when the library was built without what it needs
};

/// Plans `blocks`. Throws ValueError for blocks that make no sense, sizes whose sum passes 2^61 bytes, an unknown or
/// unavailable strategy, and DeviceError when no plan within the capacity was found.
///
///     const std::vector<tyto::Block> blocks{{.id = 0, .lower = 0, .upper = 2, .size = 64},
///                                           {.id = 1, .lower = 2, .upper = 3, .size = 32}};
///     const auto plan = tyto::plan_memory(blocks);  // both at offset 0, height 64
TYTO_API MemoryPlan plan_memory(std::span<const Block> blocks, const PlanOptions& options = {});

/// All strategies, in the order in which the documentation lists them.
TYTO_API std::span<const MemoryStrategy> memory_strategies();

/// The largest sum of sizes alive at one step (the heaviest set of blocks in mutual conflict when `options` carries a
/// precedence), raised where alignment makes padding inevitable. No plan is lower.
TYTO_API std::int64_t memory_bound(std::span<const Block> blocks, const PlanOptions& options = {});

/// Everything that is wrong with a plan, one sentence each; empty for a valid one. Shares no code with the planners.
TYTO_API std::vector<std::string> check_memory_plan(std::span<const Block> blocks, const MemoryPlan& plan,
                                                    const PlanOptions& options = {});

/// A plan kept as an order: for blocks alive together, which lies below which. Offsets follow from it for any sizes, by
/// one pass without search, and are always valid; at the planned sizes no block lies higher than in the plan.
///
///     tyto::MemoryOrder order(blocks_of_batch(32), tyto::plan_memory(blocks_of_batch(32)));
///     auto plan = order.apply(blocks_of_batch(7));
class TYTO_API MemoryOrder {
 public:
  MemoryOrder(std::span<const Block> blocks, const MemoryPlan& plan, const PlanOptions& options = {});

  /// The plan of the same blocks with other sizes. Throws ValueError when lifetimes or alignments differ, or when a
  /// fixed block cannot stay where it is.
  MemoryPlan apply(std::span<const Block> blocks) const;

 private:
  PlanOptions options_;
  std::vector<Block> planned_;            // hulls, alignments and fixed offsets; labels and spans are not kept here
  std::vector<std::vector<Span>> spans_;  // by block; empty where no lifetime has holes
  std::vector<std::int32_t> arenas_;
  std::int32_t arena_count_;
  std::vector<std::int32_t> sequence_;     // bottom up
  std::vector<std::int64_t> below_begin_;  // by block
  std::vector<std::int32_t> below_;        // blocks that carry it
};

/// A picture of the plan: time to the right, addresses upwards, one rectangle a block, hover for its name.
TYTO_API std::string memory_map_svg(std::span<const Block> blocks, const MemoryPlan& plan);

/// Peak, naive sum, bound, ratio, strategy, time and the largest blocks at the peak, on a few lines.
TYTO_API std::ostream& operator<<(std::ostream& out, const MemoryPlan& plan);

}  // namespace tyto
