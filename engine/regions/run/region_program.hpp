// SPDX-License-Identifier: MIT
// A region prepared to run inside a kernel: an executable of its own, whose memory is part of the kernel's workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/device/device.hpp"
#include "engine/prepare/planned_program.hpp"
#include "engine/regions/run/region_layout.hpp"
#include "engine/regions/run/region_memory.hpp"
#include "engine/run/executable.hpp"

namespace tyto::run {

class RegionProgram {
 public:
  /// Every operator of the region has a kernel on the device. A launch's table of addresses has room for some more,
  /// which are the caller's.
  RegionProgram(core::Graph region, core::Device& device, const CompileOptions& options, std::size_t more_addresses);

  const Executable& executable() const { return *executable_; }
  /// The executable of the region.
  PlannedRegion::Program planned() const { return {planned_program(*executable_), table_at_, table_bytes()}; }
  /// Appends its steps to the timeline, and its blocks: the addresses of operands (on the host), which live while
  /// the region does, a loop's from its first instant to its last; then the arena's. `name` is the region's.
  void list_blocks(RegionLayout& layout, const std::string& name, bool loop) const;
  /// When what is bound to its inputs and outputs is needed, from its first step on.
  struct BoundLifetimes {
    std::vector<std::vector<Span>> inputs, outputs;
  };
  BoundLifetimes bound_lifetimes() const;
  void place(RegionOffsets& offsets);

  /// An operand of a step that lies where an input or output does, so many bytes after its start.
  struct BoundOperand {
    std::uint32_t operand;
    std::size_t shift;
  };

  /// An operand that lies so many bytes later than in the iteration before; earlier where the number has wrapped round.
  struct MovingOperand {
    std::uint32_t operand;
    std::size_t bytes;
  };

  /// An operand that lies `shift` bytes after one of the caller's addresses.
  struct TurningOperand {
    std::uint32_t operand;
    std::size_t address, shift;
  };

  /// Its kernel, if there is only one and nothing else is done in a run, and it repeats itself (core::Kernel::repeats).
  /// Or null.
  const core::Kernel* repeated_kernel(bool stops) const;

  std::span<const BoundOperand> operands_of_input(std::size_t input) const { return inputs_.of(input); }
  std::span<const BoundOperand> operands_of_output(std::size_t output) const { return outputs_.of(output); }

 private:
  struct Step {
    const core::Kernel* kernel;
    std::uint32_t first_operand, inputs, outputs;
    std::size_t workspace_at;  // in the arena
    bool passes_on;            // copies an input that is a result as it is
  };

 public:
  /// One launch's view of the program, in memory that belongs to it.
  class Frame {
   public:
    /// Writes the addresses of what lies in the workspace and of constants.
    Frame(const RegionProgram& program, core::Address workspace);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    void bind_input(std::size_t input, core::Address address) const { bind(program_.inputs_.of(input), address); }
    void bind_output(std::size_t output, core::Address address) const { bind(program_.outputs_.of(output), address); }
    void move(std::span<const MovingOperand> operands) const {
      for (const MovingOperand& each : operands) addresses_[each.operand].offset += each.bytes;
    }
    /// Sets operands to addresses of the caller, by number.
    void turn(std::span<const TurningOperand> operands) const {
      const core::Address* const more = more_addresses();
      for (const TurningOperand& each : operands) addresses_[each.operand] = more[each.address] + each.shift;
    }
    /// The caller's addresses.
    core::Address* more_addresses() const { return addresses_ + program_.executable_->operands().size(); }
    /// Runs every step once.
    void run() const;
    /// Runs as the repetition says, by `repeated_kernel`, and returns how often. What is bound is left as the last
    /// run was given it; strides are those of all operands.
    std::int64_t repeat(const core::Kernel& kernel, const core::Repetition& repetition) const;

   private:
    void bind(std::span<const BoundOperand> operands, core::Address address) const {
      for (const BoundOperand& each : operands) addresses_[each.operand] = address + each.shift;
    }
    void run_poisoned() const;
    void run_checked() const;
    void launch(const Step& step) const;
    void poison(const Storage& storage) const;

    const RegionProgram& program_;
    core::Address arena_;
    std::unique_ptr<core::Address[]> table_;  // where the workspace is not the host's
    core::Address* addresses_;
  };

 private:
  /// Tables of addresses between launches, so that one is made for each launch that runs beside others.
  struct SpareTables {
    std::mutex mutex;
    std::vector<std::unique_ptr<core::Address[]>> tables;
  };

  /// The operands of each of some inputs or outputs, one after the other.
  class BoundOperands {
   public:
    BoundOperands() = default;
    BoundOperands(const Executable& plan, StorageKind kind, std::size_t count);
    std::span<const BoundOperand> of(std::size_t index) const {
      return std::span(operands_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
    }

   private:
    std::vector<BoundOperand> operands_;
    std::vector<std::uint32_t> begins_;
  };

  std::unique_ptr<core::Address[]> take_table() const;
  std::size_t addresses() const { return executable_->operands().size() + more_addresses_; }
  std::size_t table_bytes() const { return memory_.on_host() ? addresses() * sizeof(core::Address) : 0; }

  RegionMemory memory_;
  std::unique_ptr<Executable> executable_;
  std::size_t more_addresses_;
  std::vector<Step> steps_;
  BoundOperands inputs_, outputs_;
  std::vector<std::vector<std::uint32_t>> born_, dying_;  // storages by first and last step; where memory is poisoned
  std::size_t table_at_ = 0;
  mutable SpareTables spare_;
};

}  // namespace tyto::run
