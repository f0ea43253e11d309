// SPDX-License-Identifier: MIT
// Loops over elements, whichever back end runs them: machine code where there is a JIT (devices/cpu/loop/jit), the
// interpreter (devices/cpu/loop/interpreter) elsewhere. Both give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/loop/bound_loop.hpp"
#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/loop_types.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// A program over operands of the shape of the first output.
core::BoundLoop bound_loop(core::LoopProgram program, std::vector<core::Operand> inputs,
                           std::vector<core::Operand> outputs);

/// A kernel that runs the loop, which has no reductions, over its operands. Each output is converted to its operand's
/// type. Outputs may have any strides but 0, and may be laid exactly over an input of the same width, unless another
/// output is a copy of that input. Throws DeviceError when an instruction has no loop for its types.
KernelRef prepare_elements(const core::BoundLoop& bound, const KernelChoice& choice = {});

/// The address of element 0 of an operand, as if rows were computed from row 0 on. A buffer that holds only the rows
/// computed together begins with the first of them. Launches have arrays of them, of which
/// they set what they need.
struct OperandBase {
  OperandBase() = default;
  explicit OperandBase(std::byte* place) : OperandBase(place, 0) {}
  OperandBase(std::byte* place, std::size_t bytes) : start(place), row_bytes(bytes) {}

  std::byte* start;
  std::size_t row_bytes;  // of a buffer: its bytes a row; otherwise 0

  /// The address of row 0 if the buffer began with this row; computed as an integer, as no memory may lie there.
  std::byte* beginning_with(std::int64_t row) const {
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    return reinterpret_cast<std::byte*>(first - static_cast<std::uintptr_t>(row) * row_bytes);
  }
};

/// A program on one thread, ready for one range of rows after another once its operands have been placed.
class RangeRunner {
 public:
  RangeRunner(const RangeRunner&) = delete;
  RangeRunner& operator=(const RangeRunner&) = delete;

  /// Places all operands of the program.
  void bind(std::span<const OperandBase> inputs, std::span<const OperandBase> outputs);
  /// Sets the row that buffers begin with.
  void set_first_row(std::int64_t row);
  /// Computes these lines of `length` elements, as row-major order numbers them.
  void run_rows(Range lines, std::int64_t length) { run_columns(lines, {0, length}, length); }
  /// The same of a part of each line.
  virtual void run_columns(Range lines, Range columns, std::int64_t length) = 0;

 protected:
  RangeRunner() = default;
  ~RangeRunner() = default;

  /// Chooses code by the addresses of operands.
  virtual void choose_by_starts() {}

  std::byte* starts_[2 * most_operands];  // of element 0 of the inputs, then of the outputs

 private:
  struct Buffer {
    std::size_t operand;
    OperandBase base;
  };

  std::size_t buffer_count_ = 0;
  Buffer buffers_[2 * most_operands];
};

class RangeProgram {
 public:
  explicit RangeProgram(double nanoseconds) : nanoseconds_(nanoseconds) {}
  virtual ~RangeProgram() = default;
  /// Rough cost of all elements on one thread.
  double nanoseconds() const { return nanoseconds_; }
  /// Calls then(context, runner); the runner lives on the stack until that returns.
  virtual void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const = 0;
  /// Calls use(runner) so.
  template <class Use>
  void with_runner(const Use& use) const {
    const auto call = [](void* context, RangeRunner& runner) { (**static_cast<const Use**>(context))(runner); };
    const Use* given = &use;
    with_runner(call, &given);
  }

 private:
  double nanoseconds_;
};

/// A range program of a back end's prepared data and the class that runs it on one thread, made from a reference to it.
template <class Runner, class Prepared>
class RangesOf final : public RangeProgram {
 public:
  RangesOf(Prepared prepared, double nanoseconds) : RangeProgram(nanoseconds), prepared_(std::move(prepared)) {}

  using RangeProgram::with_runner;
  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    Runner runner(prepared_);
    then(context, runner);
  }

 private:
  Prepared prepared_;
};

template <class Runner, class Prepared>
std::shared_ptr<const RangeProgram> make_ranges(Prepared prepared, double nanoseconds) {
  return std::make_shared<const RangesOf<Runner, Prepared>>(std::move(prepared), nanoseconds);
}

/// How operands are accessed that are larger than the caches or lie across the lines. The interpreter ignores the
/// former.
struct RangePolicy {
  bool non_temporal = false;     ///< results are written with non-temporal stores, unless they lie over inputs
  std::vector<bool> prefetched;  ///< by input: its elements further on are prefetched; empty: none
  /// Whether each input runs across the lines and is copied transposed (at most TransposedCopies::most). Empty: none.
  std::vector<bool> transposed;
};

/// Lines of `length` elements. The first output is dense; an output that is a reduction gets the partial result of each
/// line (jit::partial_type). Null where the program has reductions, or transposed inputs instead, and there is no
/// machine code for it; with transposed inputs the first output may have gaps between lines.
std::shared_ptr<const RangeProgram> prepare_ranges(const core::BoundLoop& bound, std::int64_t length,
                                                   const RangePolicy& policy = {}, const KernelChoice& choice = {});

/// The kernel of an operator that loop_of knows; a choice other than the usual one is for element-wise ones.
KernelRef prepare_elementwise(const core::Step& step, const KernelChoice& choice = {});

}  // namespace tyto::cpu
