// SPDX-License-Identifier: MIT
// The kernel of a branch runs one of its arms. Arms share memory, since only one of them runs.
#include "engine/regions/run/region_kernel.hpp"

#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/prepare/storage_lifetimes.hpp"
#include "engine/regions/run/iteration_kernel.hpp"
#include "engine/regions/run/region_program.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

namespace {

class BranchKernel final : public RegionKernel {
 public:
  BranchKernel(const core::BranchAttributes& branch, core::Device& device, const CompileOptions& options)
      : memory_(device), keyed_(branch.keyed), draw_(branch.draw) {
    layout_.blocks.push_back({0, 0, keyed_ ? sizeof(KeyWords) : 0, "branch/key"});
    const core::Graph& first = branch.arms[0].graph();
    layout_.operands.resize(1 + first.inputs().size());
    layout_.results.resize(first.outputs().size());
    for (const core::Region& arm : branch.arms) {
      const std::int64_t begin = layout_.duration;
      arms_.push_back(std::make_unique<RegionProgram>(arm.graph(), device, options, 0));
      arms_.back()->list_blocks(layout_, core::text("arm ", arms_.size() - 1), false);
      const RegionProgram::BoundLifetimes lifetimes = arms_.back()->bound_lifetimes();
      for (std::size_t i = 0; i < lifetimes.inputs.size(); ++i)
        append_later(layout_.operands[i + 1], lifetimes.inputs[i], begin);
      for (std::size_t i = 0; i < lifetimes.outputs.size(); ++i)
        append_later(layout_.results[i], lifetimes.outputs[i], begin);
    }
    layout_.blocks[0].upper = layout_.duration;
    for (auto* list : {&layout_.operands, &layout_.results}) std::ranges::for_each(*list, unite);
    // The index and the key are read after all has been made ready for the arm.
    for (std::size_t i = 0; i < std::size_t{1} + std::size_t{keyed_}; ++i)
      layout_.operands[i] = {{0, layout_.duration}};
    place_alone(device);
  }

  void place(std::span<const std::size_t> offsets) override {
    RegionOffsets rest(offsets);
    key_at_ = rest.next();
    for (const auto& arm : arms_) arm->place(rest);
  }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    const auto index = memory_.read<std::int64_t>(inputs[0]);
    const auto last = static_cast<std::int64_t>(arms_.size()) - 1;
    const RegionProgram& arm = *arms_[static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, last))];
    const RegionProgram::Frame frame(arm, workspace);
    for (std::size_t i = 1; i < inputs.size(); ++i) frame.bind_input(i - 1, inputs[i]);
    if (keyed_) {
      memory_.write(workspace + key_at_, region_key(memory_.read<KeyWords>(inputs[1]), draw_, 0));
      frame.bind_input(0, workspace + key_at_);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) frame.bind_output(i, outputs[i]);
    frame.run();
  }

  void list_moves(const std::string& path, const SharesAddress& over, std::vector<MovedBytes>& moved) const override {
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      const Executable& arm = arms_[i]->executable();
      for (const CopiedOutput& copied : copied_outputs(arm)) {
        const Storage& from = arm.storages()[arm.operands()[copied.step->first_operand]];
        if (copied.passes_on && over(copied.output, from.index + 1)) continue;
        moved.push_back({path, core::text("result ", copied.output, " of arm ", i), copied.why, 0, copied.bytes});
      }
      const SharesAddress inside = [&](std::size_t output, std::size_t input) { return over(output, input + 1); };
      tyto::run::list_moves(arm, core::text(path, "/arm ", i), inside, moved);
    }
  }

  PlannedRegion planned() const override {
    PlannedRegion region;
    for (const auto& arm : arms_) region.programs.push_back(arm->planned());
    region.keyed = keyed_;
    region.key = key_at_;
    return region;
  }

 private:
  RegionMemory memory_;
  bool keyed_;
  std::int64_t draw_;
  std::vector<std::unique_ptr<RegionProgram>> arms_;
  std::size_t key_at_ = 0;
};

}  // namespace

// Where the program around is planned, this only estimates the bytes needed: no search is worth its time.
void RegionKernel::place_alone(const core::Device& device) {
  PlanOptions options;
  options.strategy = "greedy_by_size";
  options.alignment = static_cast<std::int64_t>(device.properties().alignment);
  std::vector<Block> blocks;
  for (const RegionBlock& block : layout_.blocks) {
    blocks.push_back({.lower = block.lower,
                      .upper = block.upper,
                      .size = static_cast<std::int64_t>(block.bytes),
                      .label = {},
                      .spans = block.spans});
  }
  const MemoryPlan plan = plan_memory(blocks, options);
  workspace_ = static_cast<std::size_t>(plan.height);
  place(std::vector<std::size_t>(plan.offsets.begin(), plan.offsets.end()));
}

KeyWords region_key(const KeyWords& key, std::int64_t draw, std::int64_t number) {
  const Key own = Key{key[0], key[1] + static_cast<std::uint64_t>(draw)}.split(static_cast<std::uint64_t>(number));
  return {own.seed, own.stream};
}

std::shared_ptr<RegionKernel> region_kernel(const core::Step& step, core::Device& device,
                                            const CompileOptions& options) {
  if (step.op == core::OpId::branch) {
    return std::make_shared<BranchKernel>(std::get<core::BranchAttributes>(*step.attributes), device, options);
  }
  return iteration_kernel(step, device, options);
}

}  // namespace tyto::run
