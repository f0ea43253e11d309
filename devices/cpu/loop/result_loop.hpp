// SPDX-License-Identifier: MIT
// A loop over the elements of a product's result, run on each part of it as soon as that is stored, while it is in a
// near cache.
#pragma once

#include <cstdint>
#include <span>

#include "devices/cpu/loop/range_program.hpp"

namespace tyto::cpu {

/// A loop over lines of as many elements as the result has columns, with its operands. Its only output lies over the
/// result.
struct ResultLoop {
  const RangeProgram* program = nullptr;
  std::span<const OperandBase> inputs, outputs;
  std::int64_t columns = 0;
};

/// The same on one thread, ready for one part after another; empty where no loop follows the product.
class PartLoop {
 public:
  PartLoop() = default;
  PartLoop(RangeRunner& runner, std::int64_t columns) : runner_(&runner), columns_(columns) {}

  explicit operator bool() const { return runner_ != nullptr; }
  /// The loop as a product sees it whose first column is this one of the whole result.
  PartLoop from_column(std::int64_t first) const {
    PartLoop loop = *this;
    loop.first_column_ += first;
    return loop;
  }
  void operator()(Range rows, Range columns) const {
    runner_->run_columns(rows, {first_column_ + columns.begin, first_column_ + columns.end}, columns_);
  }

 private:
  RangeRunner* runner_ = nullptr;
  std::int64_t columns_ = 0;
  std::int64_t first_column_ = 0;
};

/// Calls body(part_loop) with the calling thread's part of the loop, or with none.
template <class Body>
void with_part_loop(const ResultLoop* loop, const Body& body) {
  if (loop == nullptr) return body(PartLoop());
  loop->program->with_runner([&](RangeRunner& runner) {
    runner.bind(loop->inputs, loop->outputs);
    body(PartLoop(runner, loop->columns));
  });
}

}  // namespace tyto::cpu
