// SPDX-License-Identifier: MIT
// HalfRoutine: runs an f32 routine on f16 or bf16 operands, widened into the workspace, and rounds its result once.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/products/routine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

/// The place of one dense f32 copy; nothing is reserved for no elements.
struct HalfCopy {
  std::size_t offset = 0;
  std::int64_t elements = 0;

  static HalfCopy reserve(WorkspaceLayout& space, std::int64_t elements) noexcept {
    return {space.reserve(static_cast<std::size_t>(elements) * sizeof(float)), elements};
  }

  float* in(void* workspace) const noexcept { return at<float>(workspace, offset); }

  /// Widens the member's share of a stored tensor into the copy.
  void load(DType type, const void* stored, void* workspace, Team team) const noexcept {
    const Range mine = share(elements, team.member, team.size, 64);
    widen(type, static_cast<const std::uint16_t*>(stored) + mine.begin, 1, in(workspace) + mine.begin, mine.size());
  }

  /// Narrows the member's share of the copy into a stored tensor.
  void store(DType type, void* workspace, void* stored, Team team) const noexcept {
    const Range mine = share(elements, team.member, team.size, 64);
    narrow(in(workspace) + mine.begin, type, static_cast<std::uint16_t*>(stored) + mine.begin, 1, mine.size());
  }
};

/// A routine of f16 or bf16 made of one in f32, whose operands and result it holds in the workspace.
template <class Arguments>
class HalfRoutine : public Routine<Arguments> {
 public:
  /// An operand of so many elements; those of none go to the routine in f32 as they are.
  struct Operand {
    const void* Arguments::*stored;
    std::int64_t elements;
    HalfCopy copy = {};
  };

  HalfRoutine(DType dtype, int threads, std::unique_ptr<Routine<Arguments>> in_f32, std::vector<Operand> operands,
              std::int64_t result_elements)
      : dtype_(dtype), threads_(threads), in_f32_(std::move(in_f32)), operands_(std::move(operands)) {
    for (Operand& one : operands_) one.copy = HalfCopy::reserve(this->space_, one.elements);
    result_ = HalfCopy::reserve(this->space_, result_elements);
    inner_space_ = this->space_.reserve(in_f32_->workspace());
  }

  void run(const Arguments& arguments) const override {
    void* const space = arguments.workspace;
    Arguments wide = arguments;
    for (const Operand& one : operands_)
      if (one.elements > 0) wide.*one.stored = one.copy.in(space);
    wide.result = result_.in(space);
    wide.workspace = at<std::byte>(space, inner_space_);
    run_team(threads_, [&](Team team) {
      for (const Operand& one : operands_) one.copy.load(dtype_, arguments.*one.stored, space, team);
    });
    in_f32_->run(wide);
    run_team(threads_, [&](Team team) { store(arguments, team); });
  }

  const char* name() const noexcept override { return "own through f32"; }

 protected:
  /// Rounds the member's share of the result.
  virtual void store(const Arguments& arguments, Team team) const noexcept {
    result_.store(dtype_, arguments.workspace, arguments.result, team);
  }

  DType dtype_;
  int threads_;
  std::unique_ptr<Routine<Arguments>> in_f32_;
  std::vector<Operand> operands_;
  HalfCopy result_;
  std::size_t inner_space_ = 0;
};

}  // namespace tyto::cpu
