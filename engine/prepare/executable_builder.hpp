// SPDX-License-Identifier: MIT
// Turns a graph into steps on storages: views become offsets into storages, results are computed in place of inputs at
// their last use, states are updated in place where no consumer of the old value remains, operators that a device lacks
// run on the CPU between copies.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/run/executable.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "optimiser/storage/destinations.hpp"

namespace tyto::run {

/// Debug builds do it always, and what TYTO_CHECK_PLANS is set for.
bool checks_plans(const CompileOptions& options);

class ExecutableBuilder {
 public:
  ExecutableBuilder(Executable& target, const CompileOptions& options);
  void build();

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// The location of a port's elements, on the device or on the host.
  struct Location {
    std::uint32_t storage = none;
    core::View view;
  };

  /// A step whose kernel is still to be prepared.
  struct UnpreparedStep {
    std::uint32_t step;
    bool on_host;
    core::OpId op;
    const core::Attributes* attributes;
    std::vector<core::Operand> inputs;
    std::vector<core::Operand> outputs;
    bool beside_others = false;
  };
  /// A kernel that equal steps share, in this order and in the one before; that of a region is its node's own.
  struct KnownKernel {
    UnpreparedStep step;
    std::uint32_t node;
    std::shared_ptr<const core::Kernel> kernel;
    std::shared_ptr<RegionKernel> region;
  };
  /// The blocks of an arena: those of the storages, then of the regions.
  struct ArenaBlocks {
    std::vector<Block> blocks;
    std::vector<std::vector<Span>> spans;  // that blocks view
    std::vector<std::size_t> block_of;     // of each storage
  };
  schedule::NodeOrder find_order(const optimiser::Storages& storages) const;
  /// An order that needs less when the workspace of kernels is counted; nothing when there is none worth the change.
  std::optional<schedule::NodeOrder> better_order(const optimiser::Storages& storages) const;
  void make_steps(schedule::NodeOrder order);
  void forget_steps();
  std::int64_t in_arena(std::size_t bytes) const;
  std::int64_t load() const;
  void count_consumers();
  void locate_inputs();
  void add_node(std::uint32_t index);
  void add_view(const core::GraphNode& node, std::uint32_t index);
  void add_kernel(const core::GraphNode& node, std::uint32_t index);
  bool is_in_output(const Location& location, std::uint32_t output) const;
  void finish_outputs();
  void finish_updates();
  void prepare_kernels();
  void join_steps();
  void choose_sections();
  std::size_t most_lanes() const;
  void extend_lifetimes();
  /// The kernel of the steps that are equal to this one, which may be still to be prepared, and whether it is new.
  std::pair<KnownKernel*, bool> known_kernel(const UnpreparedStep& step);
  void plan_memory();
  void check_contents() const;
  void note_instants();
  ArenaBlocks blocks_of_arena(bool on_host);
  void plan_arena(bool on_host);

  /// The port's place on the device (or the host), copied there first when it is only on the other side.
  const Location& location_of(core::Port port, bool on_host);
  Location dense(core::Port port, const Location& location, bool on_host, std::uint32_t node);
  void add_copy(core::Port port, const Location& from, const Location& to, bool on_host, std::uint32_t node);
  void add_step(core::OpId op, const core::Attributes& attributes, bool on_host, std::span<const Location> inputs,
                std::span<const DType> input_types, std::span<const Location> outputs,
                std::span<const DType> output_types, std::uint32_t node);
  void add_raw_step(std::shared_ptr<const core::Kernel> kernel, std::span<const std::uint32_t> inputs,
                    std::span<const std::uint32_t> outputs, std::uint32_t node, const char* name);
  void note_views(std::span<const Location> inputs, std::span<const DType> input_types,
                  std::span<const Location> outputs, std::span<const DType> output_types);
  std::uint32_t new_storage(StorageKind kind, std::uint32_t index, std::size_t bytes, std::uint32_t node);
  Location target_location(const core::GraphNode& node, core::Port result, std::span<const Location> inputs,
                           bool on_host, std::uint32_t index);
  std::uint32_t target_storage(const core::GraphNode& node, core::Port result, std::span<const Location> inputs,
                               bool on_host, std::uint32_t index);
  std::uint32_t storage_of_whole(core::Port whole);
  void note_inputs();

  // Concat-like nodes, which put parts together (executable_concat.cpp).
  bool has_concat_like() const;
  std::vector<optimiser::Destination> choose_destinations(std::span<const std::uint32_t> order) const;
  bool runs_on_host(const core::GraphNode& node) const;
  static bool holds_regions(core::OpId op);
  bool can_write(std::uint32_t index, std::uint32_t result, const core::View& view) const;
  bool can_read(std::uint32_t index, std::size_t input, const core::View& view) const;
  bool parts_lie_in_place(const core::GraphNode& node, std::span<const Location> inputs, const Location& output) const;
  bool may_overwrite(const core::GraphNode& node, core::Port result, std::span<const Location> inputs,
                     std::uint32_t storage) const;
  void bind(core::Port port, std::uint32_t storage, core::View view, bool on_host);
  void release_inputs(const core::GraphNode& node);
  std::size_t bytes_of(core::Port port) const;

  Executable& target_;
  const core::Graph& graph_;
  core::Device& device_;
  core::Device& host_;
  bool split_;   // the device is not the host
  bool checks_;  // the plan
  const CompileOptions& options_;

  std::vector<std::uint32_t> consumers_;          // of each port, still to come
  std::vector<std::uint32_t> storage_consumers_;  // of all ports in each storage, still to come
  std::vector<Location> device_location_;
  std::vector<Location> host_location_;
  std::vector<std::uint32_t> output_of_;  // the output whose buffer a port is computed into, or none
  std::vector<std::uint32_t> update_of_;  // the update that takes a port's value, or none
  std::vector<bool> updated_in_place_;
  std::array<std::vector<UnpreparedStep>, 2> unprepared_;  // for the device, and for the host where that is another
  std::unordered_multimap<std::size_t, KnownKernel> known_kernels_;  // by hash of the step
  std::vector<std::int64_t> extra_bytes_;  // by node: bytes of copies and workspace that are there while it runs
  std::vector<std::uint32_t> lane_of_;     // of each step that runs beside others; of all lanes numbered
  std::vector<optimiser::Destination> destination_;  // of each port
  std::vector<std::uint32_t> whole_storage_;         // of each port that others are computed into, once one was
};

}  // namespace tyto::run
