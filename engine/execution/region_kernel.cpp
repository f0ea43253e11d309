// The kernel of a branch runs one of its arms. Arms share the workspace, since only one of them runs.
#include "engine/execution/region_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "core/op_ids.hpp"
#include "engine/execution/iteration_kernel.hpp"
#include "engine/execution/region_program.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

namespace {

constexpr std::size_t key_bytes = region_alignment;  // of an arm's key

class BranchKernel final : public core::Kernel {
 public:
  BranchKernel(const core::BranchAttributes& branch, const CompileOptions& options)
      : keyed_(branch.keyed), draw_(branch.draw) {
    for (const core::Region& arm : branch.arms) {
      arms_.push_back(std::make_unique<const RegionProgram>(arm.graph(), options));
      workspace_ = std::max(workspace_, arms_.back()->workspace());
    }
  }

  std::size_t workspace() const override { return key_bytes + workspace_; }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    std::int64_t index;
    std::memcpy(&index, inputs[0].pointer(), sizeof index);
    const auto last = static_cast<std::int64_t>(arms_.size()) - 1;
    const RegionProgram& arm = *arms_[static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, last))];
    const RegionProgram::Frame frame(arm, workspace.pointer() + key_bytes);
    for (std::size_t i = 1; i < inputs.size(); ++i) frame.bind_input(i - 1, inputs[i].pointer());
    if (keyed_) {
      write_region_key(inputs[1].pointer(), draw_, 0, workspace.pointer());
      frame.bind_input(0, workspace.pointer());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) frame.bind_output(i, outputs[i].pointer());
    frame.run();
  }

 private:
  bool keyed_;
  std::int64_t draw_;
  std::vector<std::unique_ptr<const RegionProgram>> arms_;
  std::size_t workspace_ = 0;
};

}  // namespace

void write_region_key(const std::byte* key, std::int64_t draw, std::int64_t number, std::byte* target) {
  std::uint64_t words[2];
  std::memcpy(words, key, sizeof words);
  const Key own = Key{words[0], words[1] + static_cast<std::uint64_t>(draw)}.split(static_cast<std::uint64_t>(number));
  words[0] = own.seed;
  words[1] = own.stream;
  std::memcpy(target, words, sizeof words);
}

std::shared_ptr<const core::Kernel> region_kernel(const core::Step& step, const CompileOptions& options) {
  if (step.op == core::OpId::branch) {
    return std::make_shared<BranchKernel>(std::get<core::BranchAttributes>(*step.attributes), options);
  }
  return iteration_kernel(step, options);
}

}  // namespace tyto::run
