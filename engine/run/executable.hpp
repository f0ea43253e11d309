// SPDX-License-Identifier: MIT
// A graph made ready for a device: order, storages, memory plan, prepared kernels. Immutable and shared by sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/device.hpp"
#include "core/device/process_group.hpp"
#include "core/graph/graph.hpp"
#include "engine/run/number_check.hpp"
#include "tyto/graph.hpp"
#include "tyto/memory.hpp"

namespace tyto::run {

class PackedWeights;
class RegionKernel;

/// In CompileOptions::passes: leave the graph alone, whatever the environment says.
inline constexpr const char* as_recorded = "as recorded";

/// Where a storage's memory comes from.
enum class StorageKind : std::uint8_t {
  arena,     // planned, at an offset of the session's arena
  host,      // planned, at an offset of the session's host arena (steps that run on the CPU for another device)
  input,     // what is bound to the graph's input `index`
  constant,  // the executable's constant `index`
  output,    // the buffer of the graph's output `index`
};

/// One piece of memory; several ports share it when one is a view of another or is computed in its place.
struct Storage {
  StorageKind kind = StorageKind::arena;
  std::uint32_t index = 0;
  std::size_t bytes = 0;
  std::size_t offset = 0;  // in its arena
  std::uint32_t first_instruction = 0;
  std::uint32_t last_step = 0;
  bool begins_within = false;  // its first step is a region that needs it for a part of its time only
  bool ends_within = false;    // the same of its last step
  std::string label;
};

/// One kernel with the storages it works on: inputs, then outputs, in `operands`.
struct ExecutableStep {
  std::shared_ptr<const core::Kernel> kernel;
  std::uint32_t first_operand = 0;
  std::uint32_t input_count = 0;
  std::uint32_t output_count = 0;
  std::shared_ptr<RegionKernel> region;  // the kernel of a loop or branch, whose blocks are planned with all others
  std::uint32_t workspace = UINT32_MAX;  // its storage; of a region the whole arena, in no bytes of its own
  std::uint32_t node = 0;                // of the graph
  bool joins_next = false;               // launched together with the next one where nothing is to happen in between
  bool copies = false;                   // its operand as it is, to another place: no node of the graph does that
  const char* name = "";
};

/// Steps from `first` to `end`, concurrent with no others. Steps of different lanes are independent; those of a
/// lane run in their order.
struct ParallelSection {
  std::uint32_t first = 0, end = 0;
  std::vector<std::vector<std::uint32_t>> lanes;
};

/// An operand of a step as its elements lie in its storage.
struct OperandView {
  core::View view;
  DType dtype = DType::u8;
};

/// An input of the graph that is the packed contents of a state.
struct PackedInput {
  std::uint32_t input = 0;
  std::shared_ptr<PackedWeights> weights;
};

class Executable {
 public:
  /// compared: the outline of the recorded graph is compared among processes before their collective calls.
  Executable(core::Graph graph, core::Device& device, const CompileOptions& options, bool compared = false);

  /// The graph after the passes.
  const core::Graph& graph() const { return graph_; }
  const PassReport& passes() const { return passes_; }
  const CompileOptions& options() const { return options_; }
  core::Device& device() const { return *device_; }
  /// The nodes of the graph as they are run.
  std::span<const std::uint32_t> order() const { return order_; }
  std::span<const ExecutableStep> steps() const { return steps_; }
  /// Throws the exception of the step that is being handled again, with the label of the step's node.
  [[noreturn]] void rethrow(std::size_t step) const {
    core::rethrow_with_label(graph_.nodes()[steps_[step].node].label);
  }
  std::span<const Storage> storages() const { return storages_; }
  std::span<const std::uint32_t> operands() const { return operands_; }
  /// Bytes from the start of each operand's storage to the address that its kernel is given.
  std::span<const std::size_t> shifts() const { return shifts_; }
  /// Views of operands, kept where plans or numbers are checked or sections run concurrently; else none.
  std::span<const OperandView> operand_views() const { return operand_views_; }
  std::span<const core::Array> constants() const { return constants_; }
  /// The collective calls of a run, in order.
  const core::CollectiveCalls& collectives() const { return collectives_; }
  /// Most bytes alive at once, as they were counted when the order was chosen. The workspace of kernels is counted
  /// where that led to another order.
  std::size_t counted_bytes() const { return counted_bytes_; }
  std::size_t arena_bytes() const { return arena_bytes_; }
  std::size_t host_bytes() const { return host_bytes_; }
  /// The packed weights, in the order of the inputs.
  std::span<const PackedInput> packed_inputs() const { return packed_inputs_; }
  /// Bytes of packed weights, which all executables share.
  std::size_t packed_bytes() const;
  /// Whether a run needs the input's contents. It does without those of a state that it reads nothing of.
  bool needs(std::uint32_t input) const { return needed_[input]; }
  /// Memory that holds nothing is to be filled with NaN.
  bool is_poisoned() const { return poisoned_; }
  /// The checks of each step's results.
  const NumberCheck& number_check() const { return number_check_; }
  /// Inputs whose storage is written during a run.
  bool is_written(std::uint32_t input) const { return written_[input]; }
  /// Whether the state behind update number `update` gets its new value without a copy.
  bool is_updated_in_place(std::size_t update) const { return updated_in_place_[update]; }

  /// The plan of the device's arena, with the blocks it was made from, those within loops and branches included. Their
  /// times are instants: a step takes one, that of a region as many as its layout says.
  const MemoryPlan& plan() const { return plan_; }
  std::span<const Block> blocks() const { return blocks_; }
  /// Blocks are numbered as the storages; those of regions from here on, in the order of the steps.
  static constexpr std::int64_t first_region_block = std::int64_t{1} << 32;
  /// When each step begins, and last when the program ends.
  std::span<const std::int64_t> instants() const { return instants_; }
  std::int64_t duration() const { return instants_.back(); }
  /// When the step begins. Storages may live on when the last step is done.
  std::int64_t begin_of(std::uint32_t step) const {
    const auto steps = static_cast<std::uint32_t>(steps_.size());
    return step <= steps ? instants_[step] : instants_[steps] + (step - steps);
  }
  /// The arena becomes a part of another one, in which each of the blocks has an offset.
  void place(std::span<const std::size_t> offsets);
  std::span<const std::string> block_labels() const { return block_labels_; }
  /// Stretches of steps whose lanes run at the same time.
  std::span<const ParallelSection> sections() const { return sections_; }
  /// Operators that the device has no kernel for and that run on the CPU, with copies.
  std::span<const std::string> fallbacks() const { return fallbacks_; }

 private:
  friend class ExecutableBuilder;

  /// Becomes an executable of the recorded graph with values computed twice that keeps within the options' memory
  /// limit.
  void fit_into_limit(core::Graph recorded);
  /// The same of one graph, if it can be done; `smallest` is lowered to the least bytes seen.
  bool fits_with_repeated(const core::Graph& graph, const char* passes, std::size_t& smallest);
  /// The same by loops run in segments. Where that is not enough, `least` is the graph that needs least.
  bool fits_with_segments(core::Graph& least, std::size_t& smallest);
  void become(Executable&& other);

  /// Whether the step's region works in the arena of this kind.
  bool is_region_in(const ExecutableStep& step, StorageKind kind) const {
    return step.region != nullptr && step.workspace != UINT32_MAX && storages_[step.workspace].kind == kind;
  }
  void place_blocks(StorageKind kind, std::span<const Block> blocks, std::span<const std::size_t> offsets);

  CompileOptions options_;
  PassReport passes_;
  core::Graph graph_;
  core::Device* device_;
  std::vector<std::uint32_t> order_;
  std::vector<ExecutableStep> steps_;
  std::vector<Storage> storages_;
  std::vector<std::uint32_t> operands_;
  std::vector<std::size_t> shifts_;
  std::vector<OperandView> operand_views_;
  std::vector<core::Array> constants_;
  core::CollectiveCalls collectives_;
  std::vector<bool> written_;
  std::vector<bool> updated_in_place_;
  std::size_t counted_bytes_ = 0;
  std::size_t arena_bytes_ = 0;
  std::size_t host_bytes_ = 0;
  std::vector<PackedInput> packed_inputs_;
  std::vector<ParallelSection> sections_;
  std::vector<bool> needed_;
  bool poisoned_ = false;
  NumberCheck number_check_;
  MemoryPlan plan_;
  std::vector<Block> blocks_;
  std::vector<std::vector<Span>> block_spans_;  // that blocks view
  std::vector<std::int64_t> instants_;
  std::vector<std::string> block_labels_;
  std::vector<std::string> fallbacks_;
};

}  // namespace tyto::run
