// SPDX-License-Identifier: MIT
// Analyses the peak of one graph in one order: what is alive across it, and the graph with some of that recomputed.
#pragma once

#include <string>
#include <vector>

#include "optimiser/recompute/recompute_chain.hpp"
#include "optimiser/recompute/rewrite.hpp"
#include "optimiser/schedule/orders.hpp"

namespace tyto::recompute {

/// Values are idle when they are alive at the worst step for later consumers only, and may be made again for those.
class PeakAnalysis {
 public:
  /// `order` names the strategy that orders the graph.
  PeakAnalysis(const core::Graph& graph, const std::string& order);

  std::int64_t peak() const { return peak_; }
  std::size_t idle() const { return idle_.size(); }
  std::int64_t idle_bytes() const;
  /// Bytes alive at the worst step besides the idle values.
  std::int64_t beside() const { return beside_.front(); }

  /// The graph in this order.
  core::Graph ordered() const { return rewrite(graph_, storages_, problem_, order_, everything_kept()); }
  /// The graph that keeps `keep` and, of the other idle values, the `count` most expensive for their bytes.
  core::Graph with_kept(const std::vector<bool>& keep, std::size_t count) const;

  /// The values to keep at the ends of segments that make about `bytes` idle bytes each; none when 0.
  std::vector<bool> ends_of_segments(std::int64_t bytes) const;

  /// All up to the worst step as a chain, cut where fewest bytes cross; level l keeps of a segment's idle values
  /// those among the l quarters that are the most expensive per byte.
  RecomputeChain chain() const;
  /// The values that segments of that chain keep.
  std::vector<bool> kept_by(const std::vector<Cut>& cuts) const;

 private:
  Choice everything_kept() const { return {boundary_, std::vector<bool>(problem_.storages(), true)}; }
  /// Values that a repeated run may not repeat: what a user's function does is unknown.
  bool must_stay(std::uint32_t storage) const;
  void find_idle();
  void find_ends();
  void find_beside();
  void weigh_segments(RecomputeChain& chain, std::size_t end, std::size_t level) const;
  /// Made up to the cut and read after it, by what still comes before the worst step.
  bool crosses(std::uint32_t storage, std::size_t cut) const;

  static constexpr std::size_t levels = 5;  // of a chain

  const core::Graph& graph_;
  optimiser::Storages storages_;
  schedule::Problem problem_;
  schedule::Order order_;
  std::int64_t peak_ = 0;
  std::size_t boundary_ = 0;                      // position of the worst step
  std::vector<std::size_t> position_;             // by task
  std::vector<std::size_t> last_early_consumer_;  // by storage: position, up to the worst step
  std::vector<std::int64_t> crossing_;            // by position: bytes that go on to tasks before the worst step
  std::vector<bool> over_before_;                 // by storage: read for the last time before the worst step
  std::vector<std::size_t> quarter_;     // by storage: of idle bytes, the most expensive first; `levels` where not idle
  std::vector<std::size_t> first_late_;  // by idle storage: position of the first consumer after the worst step
  std::vector<std::size_t> last_late_;   // and of the last
  std::vector<std::size_t> ends_;        // positions at which the links of the chain end
  std::vector<std::int64_t> beside_;     // by position, from the worst step on: bytes alive, idle ones apart
  std::vector<std::uint32_t> idle_;      // storages, the most expensive per byte first
};

}  // namespace tyto::recompute
