// A region made ready to run inside a kernel: an executable of its own, whose memory is part of what the kernel works
// in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/execution/executable.hpp"
#include "engine/execution/planned_program.hpp"
#include "engine/execution/region_layout.hpp"
#include "engine/execution/region_memory.hpp"

namespace tyto::run {

class RegionProgram {
 public:
  /// Every operator of the region has a kernel on the device.
  RegionProgram(core::Graph region, core::Device& device, const CompileOptions& options);

  const Executable& executable() const { return *executable_; }
  /// What it runs by.
  PlannedRegion::Program planned() const { return {planned_program(*executable_), table_at_, table_bytes(), kept_at_}; }
  /// Appends its steps to the timeline, and its blocks: the addresses of operands (on the host) and what is kept, which
  /// live while the region does, a loop's from its first instant to its last; then the arena's. `name` is the region's.
  void list_blocks(RegionLayout& layout, const std::string& name, bool loop) const;
  /// When what is bound to its inputs and outputs is needed, from its first step on.
  struct BoundLives {
    std::vector<std::vector<Span>> inputs, outputs;
  };
  BoundLives bound_lives() const;
  void place(RegionOffsets& offsets);

  /// One launch's view of the program, in memory that belongs to it.
  class Frame {
   public:
    /// Writes the addresses of what lies in the workspace and of constants.
    Frame(const RegionProgram& program, core::Address workspace);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    void bind_input(std::size_t input, core::Address address) const;
    void bind_output(std::size_t output, core::Address address) const;
    /// Runs every step once.
    void run() const;

   private:
    void bind(std::span<const std::uint32_t> operands, core::Address address) const;
    void poison(const Storage& storage) const;

    const RegionProgram& program_;
    core::Address arena_;
    std::unique_ptr<core::Address[]> table_;  // where the workspace is not the host's
    core::Address* addresses_;
  };

 private:
  struct Step {
    const core::Kernel* kernel;
    std::uint32_t first_operand, inputs, outputs;
    std::uint32_t workspace;  // its storage, or none
    bool passes_on;           // copies an input that is a result as it is
  };
  /// Tables of addresses between launches, so that one is made for each launch that runs beside others.
  struct SpareTables {
    std::mutex mutex;
    std::vector<std::unique_ptr<core::Address[]>> tables;
  };

  std::unique_ptr<core::Address[]> take_table() const;

  RegionMemory memory_;
  std::size_t table_bytes() const {
    return memory_.on_host() ? executable_->operands().size() * sizeof(core::Address) : 0;
  }

  std::unique_ptr<Executable> executable_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::uint32_t>> operands_of_input_;
  std::vector<std::vector<std::uint32_t>> operands_of_output_;
  std::vector<std::vector<std::uint32_t>> born_, dying_;  // storages by first and last step; where memory is poisoned
  std::size_t table_at_ = 0, kept_at_ = 0;
  mutable SpareTables spare_;
};

}  // namespace tyto::run
