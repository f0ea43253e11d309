// The kernel of a branch runs one of its arms. Arms share the workspace, since only one of them runs.
#include "engine/execution/region_kernel.hpp"

#include <algorithm>

#include "core/op_ids.hpp"
#include "core/text.hpp"
#include "engine/execution/iteration_kernel.hpp"
#include "engine/execution/region_program.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

namespace {

constexpr std::size_t key_bytes = region_alignment;  // of an arm's key

class BranchKernel final : public RegionKernel {
 public:
  BranchKernel(const core::BranchAttributes& branch, core::Device& device, const CompileOptions& options)
      : memory_(device), keyed_(branch.keyed), draw_(branch.draw) {
    for (const core::Region& arm : branch.arms) {
      arms_.push_back(std::make_unique<const RegionProgram>(arm.graph(), device, options));
      workspace_ = std::max(workspace_, arms_.back()->workspace());
    }
  }

  std::size_t workspace() const override { return key_bytes + workspace_; }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    const auto index = memory_.read<std::int64_t>(inputs[0]);
    const auto last = static_cast<std::int64_t>(arms_.size()) - 1;
    const RegionProgram& arm = *arms_[static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, last))];
    const RegionProgram::Frame frame(arm, workspace + key_bytes);
    for (std::size_t i = 1; i < inputs.size(); ++i) frame.bind_input(i - 1, inputs[i]);
    if (keyed_) {
      memory_.write(workspace, region_key(memory_.read<KeyWords>(inputs[1]), draw_, 0));
      frame.bind_input(0, workspace);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) frame.bind_output(i, outputs[i]);
    frame.run();
  }

  void list_moves(const std::string& path, const LiesOver& over, std::vector<MovedBytes>& moved) const override {
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      const Executable& arm = arms_[i]->executable();
      for (const CopiedOutput& copied : copied_outputs(arm)) {
        const Storage& from = arm.storages()[arm.operands()[copied.step->first_operand]];
        if (copied.passes_on && over(copied.output, from.index + 1)) continue;
        moved.push_back({path, core::text("result ", copied.output, " of arm ", i), copied.why, 0, copied.bytes});
      }
      const LiesOver inside = [&](std::size_t output, std::size_t input) { return over(output, input + 1); };
      tyto::run::list_moves(arm, core::text(path, "/arm ", i), inside, moved);
    }
  }

  PlannedRegion planned() const override {
    PlannedRegion region;
    for (const auto& arm : arms_) region.programs.push_back(arm->planned(key_bytes));
    region.keyed = keyed_;
    return region;
  }

 private:
  RegionMemory memory_;
  bool keyed_;
  std::int64_t draw_;
  std::vector<std::unique_ptr<const RegionProgram>> arms_;
  std::size_t workspace_ = 0;
};

}  // namespace

KeyWords region_key(const KeyWords& key, std::int64_t draw, std::int64_t number) {
  const Key own = Key{key[0], key[1] + static_cast<std::uint64_t>(draw)}.split(static_cast<std::uint64_t>(number));
  return {own.seed, own.stream};
}

std::shared_ptr<const core::Kernel> region_kernel(const core::Step& step, core::Device& device,
                                                  const CompileOptions& options) {
  if (step.op == core::OpId::branch) {
    return std::make_shared<BranchKernel>(std::get<core::BranchAttributes>(*step.attributes), device, options);
  }
  return iteration_kernel(step, device, options);
}

}  // namespace tyto::run
