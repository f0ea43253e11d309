// SPDX-License-Identifier: MIT
// Runs the stages of a block as kernels of their own: programs over elements and over rows, and reductions.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/loop/loop_levels.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/value/shape.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/loop/element_source.hpp"
#include "devices/cpu/loop/reduction.hpp"
#include "devices/cpu/loop/row_plan.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using Value = core::LoopValue;

/// Bytes of one operand's block: with a few of them about what the second-level cache holds.
constexpr std::int64_t block_bytes = 3 * machine::second_level_cache / 8;

struct StageKernel {
  KernelRef kernel;
  std::vector<ValueLocation> inputs, outputs;
};

/// The kernels of all stages of a loop over one block.
struct Stages {
  std::vector<StageKernel> kernels;
  std::size_t workspace = 0;
  std::size_t scratch_at = 0;  // of the kernels' own workspace in it

  /// Addresses are those of the operands' first elements in the block.
  void launch(Addresses inputs, Addresses outputs, std::byte* memory) const {
    std::array<core::Address, most_operands> from, to;
    const auto address = [&](const ValueLocation& place) {
      switch (place.kind) {
        case ValueLocation::Kind::input: return inputs[place.at];
        case ValueLocation::Kind::output: return outputs[place.at];
        default: return core::Address{memory, place.at};
      }
    };
    for (const StageKernel& stage : kernels) {
      std::ranges::transform(stage.inputs, from.begin(), address);
      std::ranges::transform(stage.outputs, to.begin(), address);
      stage.kernel->launch({from.data(), stage.inputs.size()}, {to.data(), stage.outputs.size()}, {memory, scratch_at});
    }
  }
};

/// Copies elements that lie apart to memory where they do not, or back.
KernelRef prepare_copy(const core::Operand& from, const core::Operand& to, int threads) {
  StridedCopy copy(from.view, to.view, size_of(from.dtype));
  const TeamRequest request{threads > 0 ? threads : threads_to_copy(copy.bytes())};
  return make_kernel([copy = std::move(copy), request](auto inputs, auto outputs, core::Address) {
    run_team(request, [&](Team team) {
      copy.run(inputs[0].pointer(), outputs[0].pointer(), share(copy.units(), team.member, team.size));
    });
  });
}

/// Whether neighbours along the last axis lie apart, each element once: stages would gather or scatter them.
bool lies_apart(const core::View& view) {
  if (std::ranges::find(view.strides, 0) != view.strides.end()) return false;
  for (std::size_t axis = view.shape.size(); axis-- > 0;) {
    if (view.shape[axis] != 1) return view.strides[axis] != 1;
  }
  return false;
}

class StageBuilder {
 public:
  /// `threads`: of each kernel; 0 as many as its work is worth.
  StageBuilder(const core::BoundLoop& bound, int threads)
      : bound_(bound),
        program_(bound.loop.program),
        reduced_(core::reduced_shape(bound.loop.shape, bound.loop.axes, true)),
        whole_(bound.whole()) {
    choice_.threads = threads;
    const std::vector<DType> types = core::value_types(program_, bound.input_types());
    operands_.resize(program_.values());
    places_.resize(program_.values());
    stored_.assign(program_.values(), false);
    output_in_use_.assign(program_.outputs.size(), false);
    results_ = bound.outputs;
    for (std::size_t i = 0; i < results_.size(); ++i) result_places_.push_back({ValueLocation::Kind::output, i});
    for (std::size_t v = 0; v < program_.values(); ++v) {
      operands_[v] = {types[v], core::View::dense(whole_[v] ? bound.loop.shape : reduced_)};
      if (v >= program_.inputs) continue;
      operands_[v].view = bound.inputs[v].view;
      if (!whole_[v]) operands_[v].view.shape = reduced_;
      places_[v] = {ValueLocation::Kind::input, v};
    }
  }

  Stages build() {
    copy_inputs();
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!whole_[program_.outputs[i]] || !lies_apart(results_[i].view)) continue;
      results_[i].view = core::View::dense(bound_.loop.shape);
      result_places_[i] = buffer_for(results_[i]);
    }
    levels_ = core::plan_levels(program_, whole_).levels;
    for (std::size_t depth = 0; depth < levels_.size(); ++depth) add_level(depth);
    add_whole_results();
    // Results of rows are copied when nothing is read any more over which they may lie.
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Value result = program_.outputs[i];
      if (whole_[result]) continue;
      add_program(core::part_of(program_, {&result, 1}, stored_), {bound_.outputs[i]},
                  {{ValueLocation::Kind::output, i}}, reduced_);
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (result_places_[i].kind != ValueLocation::Kind::output)
        add_copy(results_[i], result_places_[i], bound_.outputs[i], {ValueLocation::Kind::output, i});
    }
    std::size_t scratch = 0;
    for (const StageKernel& stage : stages_.kernels) scratch = std::max(scratch, stage.kernel->workspace());
    stages_.scratch_at = layout_.reserve(scratch);
    stages_.workspace = layout_.bytes();
    return std::move(stages_);
  }

 private:
  void store(Value value) {
    stored_[value] = true;
    places_[value] = buffer_for(operands_[value]);
  }

  ValueLocation buffer_for(const core::Operand& operand) {
    const auto count = static_cast<std::size_t>(operand.view.count());
    return {ValueLocation::Kind::buffer, layout_.reserve(count * size_of(operand.dtype))};
  }

  void add_copy(const core::Operand& from, ValueLocation place, const core::Operand& to, ValueLocation target) {
    stages_.kernels.push_back({prepare_copy(from, to, choice_.threads), {place}, {target}});
  }

  void copy_inputs() {
    for (std::size_t v = 0; v < program_.inputs; ++v) {
      if (!whole_[v] || !lies_apart(operands_[v].view)) continue;
      const core::Operand from =
          std::exchange(operands_[v], {operands_[v].dtype, core::View::dense(bound_.loop.shape)});
      const ValueLocation place = std::exchange(places_[v], buffer_for(operands_[v]));
      add_copy(from, place, operands_[v], places_[v]);
    }
  }

  /// Whether levels behind this one read elements of inputs, over which results may be laid.
  bool inputs_read_after(std::size_t depth) const {
    std::vector<Value> wanted;
    for (std::size_t later = depth; later < levels_.size(); ++later) {
      // This level's kept values are computed by then, its reductions still to come.
      if (later != depth) std::ranges::copy(levels_[later].kept, std::back_inserter(wanted));
      for (const Value fold : levels_[later].folds) wanted.push_back(program_.instruction_of(fold).operands[0]);
    }
    std::ranges::copy(program_.outputs, std::back_inserter(wanted));
    std::vector<bool> at_hand = stored_;
    for (const Value value : levels_[depth].kept) at_hand[value] = true;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v)
      at_hand[v] = at_hand[v] || !whole_[v];
    const std::vector<Value> read = core::part_of(program_, wanted, at_hand).inputs;
    return std::ranges::any_of(read, [&](Value value) { return value < program_.inputs && whole_[value]; });
  }

  /// Lays a value that is kept in the place of a result of its width, which is memory that is written anyway.
  bool store_in_output(Value value) {
    const bool is_result = std::ranges::find(program_.outputs, value) != program_.outputs.end();
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const bool fits = size_of(results_[i].dtype) == size_of(operands_[value].dtype);
      if (!whole_[program_.outputs[i]] || !fits || output_in_use_[i]) continue;
      // A result may lie in its own place only: in another's it would be lost when both are copied to theirs.
      if (is_result && program_.outputs[i] != value) continue;
      output_in_use_[i] = stored_[value] = true;
      operands_[value].view = results_[i].view;
      places_[value] = result_places_[i];
      return true;
    }
    return false;
  }

  void add_level(std::size_t depth) {
    const core::LoopLevel& level = levels_[depth];
    compute(level.row_values, reduced_, false);
    compute(level.kept, bound_.loop.shape, !inputs_read_after(depth));
    for (const Value fold : level.folds) add_fold(fold);
  }

  /// Elements that are kept nowhere are computed where the reduction reads them.
  void add_fold(Value fold) {
    const core::LoopInstruction& step = program_.instruction_of(fold);
    const Value operand = step.operands[0];
    const bool there = stored_[operand] || operand < program_.inputs;
    core::Operand from{operands_[operand].dtype, core::View::dense(bound_.loop.shape)};
    if (there) from.view = core::broadcast_to(operands_[operand].view, bound_.loop.shape);
    const core::Attributes over = core::fold_attributes(step.op, bound_.loop.axes);
    store(fold);
    const core::Step reduction{step.op, &over, {&from, 1}, {&operands_[fold], 1}};
    if (there) {
      stages_.kernels.push_back({prepare_reduction(reduction, nullptr, choice_), {places_[operand]}, {places_[fold]}});
      return;
    }
    core::LoopPart part = core::part_of(program_, {&operand, 1}, stored_);
    Inputs inputs = inputs_of(part, bound_.loop.shape);
    const core::BoundLoop elements = bound_loop(std::move(part.program), std::move(inputs.operands), {from});
    auto source = from.view.count() == 0 ? nullptr : prepare_source(elements, 0, choice_);
    stages_.kernels.push_back(
        {prepare_reduction(reduction, std::move(source), choice_), std::move(inputs.places), {places_[fold]}});
  }

  /// Computes these values into places of results, where they may lie there, or into buffers.
  void compute(std::span<const Value> wanted, const Shape& shape, bool may_use_outputs) {
    if (wanted.empty()) return;
    core::LoopPart part = core::part_of(program_, wanted, stored_);
    std::vector<core::Operand> results;
    std::vector<ValueLocation> places;
    for (const Value value : wanted) {
      if (!may_use_outputs || !store_in_output(value)) store(value);
      results.push_back(operands_[value]);
      places.push_back(places_[value]);
    }
    add_program(std::move(part), std::move(results), std::move(places), shape);
  }

  void add_whole_results() {
    std::vector<Value> wanted;
    std::vector<core::Operand> results;
    std::vector<ValueLocation> places;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      if (!whole_[program_.outputs[i]]) continue;
      wanted.push_back(program_.outputs[i]);
      results.push_back(results_[i]);
      places.push_back(result_places_[i]);
    }
    if (wanted.empty()) return;
    add_program(core::part_of(program_, wanted, stored_), std::move(results), std::move(places), bound_.loop.shape);
  }

  void add_program(core::LoopPart part, std::vector<core::Operand> results, std::vector<ValueLocation> places,
                   const Shape& shape) {
    Inputs inputs = inputs_of(part, shape);
    const core::BoundLoop loop = bound_loop(std::move(part.program), std::move(inputs.operands), std::move(results));
    stages_.kernels.push_back({prepare_elements(loop, choice_), std::move(inputs.places), std::move(places)});
  }

  /// The operands of a part.
  struct Inputs {
    std::vector<core::Operand> operands;
    std::vector<ValueLocation> places;
  };
  Inputs inputs_of(const core::LoopPart& part, const Shape& shape) const {
    Inputs inputs;
    for (const Value value : part.inputs) {
      const core::Operand& operand = operands_[value];
      inputs.operands.push_back({operand.dtype, core::broadcast_to(operand.view, shape)});
      inputs.places.push_back(places_[value]);
    }
    return inputs;
  }

  const core::BoundLoop& bound_;
  const core::LoopProgram& program_;
  Shape reduced_;
  KernelChoice choice_;
  std::vector<core::Operand> operands_;  // by value, as all that follows
  std::vector<ValueLocation> places_;
  std::vector<bool> whole_, stored_;
  std::vector<core::Operand> results_;  // where they are made: in buffers if their elements lie apart
  std::vector<ValueLocation> result_places_;
  std::vector<bool> output_in_use_;  // by result
  std::vector<core::LoopLevel> levels_;
  WorkspaceLayout layout_;
  Stages stages_;
};

/// A loop cut into blocks: all but the reduced axes before them one by one, the axis behind them in pieces.
class StagedKernel final : public core::Kernel {
 public:
  explicit StagedKernel(const core::BoundLoop& bound) {
    const Shape& shape = bound.loop.shape;
    const auto first = static_cast<std::size_t>(std::ranges::min(bound.loop.axes));
    const std::size_t behind = first + bound.loop.axes.size();
    if (behind == shape.size() || element_count(shape) == 0) {
      whole_ = StageBuilder(bound, 0).build();
      return;
    }
    std::int64_t width = 1;
    for (std::size_t axis = first; axis < shape.size(); ++axis) width *= axis == behind ? 1 : shape[axis];
    const auto element = static_cast<std::int64_t>(size_of(bound.outputs[0].dtype));
    // A stage computes at least a cache line of each row.
    const std::int64_t least = std::min<std::int64_t>(64 / element, shape[behind]);
    piece_ = std::clamp<std::int64_t>(block_bytes / std::max<std::int64_t>(width * element, 1), least, shape[behind]);
    pieces_ = (shape[behind] + piece_ - 1) / piece_;
    piece_ = (shape[behind] + pieces_ - 1) / pieces_;
    pieces_ = (shape[behind] + piece_ - 1) / piece_;
    lengths_ = Shape(std::vector<std::int64_t>(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first)));
    for (const core::Operand& input : bound.inputs) inputs_.push_back(steps_of(input, first, behind));
    for (const core::Operand& output : bound.outputs) outputs_.push_back(steps_of(output, first, behind));
    whole_ = stages(bound, first, behind, piece_);
    const std::int64_t rest = shape[behind] % piece_;
    has_rest_ = rest != 0;
    if (has_rest_) rest_ = stages(bound, first, behind, rest);
    blocks_ = element_count(lengths_) * pieces_;
    const auto work =
        static_cast<double>(element_count(shape)) * static_cast<double>(bound.loop.program.instructions.size());
    team_ = team_for(2 * work / machine::vector_operations);
    team_.count = static_cast<int>(std::clamp<std::int64_t>(team_.count, 1, blocks_));
    own_ = std::max(whole_.workspace, rest_.workspace);
  }

  std::size_t workspace() const override {
    return blocks_ == 0 ? whole_.workspace : own_ * static_cast<std::size_t>(team_.count);
  }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    std::byte* const buffers = this->workspace() == 0 ? nullptr : workspace.pointer();
    if (blocks_ == 0) return whole_.launch(inputs, outputs, buffers);
    run_team(team_, [&](Team team) {
      std::byte* const own = buffers + static_cast<std::size_t>(team.member) * own_;
      std::array<core::Address, most_operands> from, to;
      const Range mine = share(blocks_, team.member, team.size);
      for (std::int64_t block = mine.begin; block < mine.end; ++block) {
        place(inputs, inputs_, block, from);
        place(outputs, outputs_, block, to);
        const bool is_rest = has_rest_ && block % pieces_ == pieces_ - 1;
        (is_rest ? rest_ : whole_).launch({from.data(), inputs.size()}, {to.data(), outputs.size()}, own);
      }
    });
  }

 private:
  /// Bytes from one position to the next along the axes before the reduced ones, and from piece to piece.
  struct Steps {
    std::vector<std::int64_t> outer;
    std::int64_t piece;
  };
  Steps steps_of(const core::Operand& operand, std::size_t first, std::size_t behind) const {
    const auto element = static_cast<std::int64_t>(size_of(operand.dtype));
    Steps steps{{}, operand.view.strides[behind] * piece_ * element};
    for (std::size_t axis = 0; axis < first; ++axis) steps.outer.push_back(operand.view.strides[axis] * element);
    return steps;
  }

  static Stages stages(core::BoundLoop block, std::size_t first, std::size_t behind, std::int64_t width) {
    const auto cut = [&](Shape& shape) {
      while (shape.size() < block.loop.shape.size()) shape.insert(0, 1);
      for (std::size_t axis = 0; axis < first; ++axis) shape[axis] = 1;
      if (shape[behind] != 1) shape[behind] = width;
    };
    for (core::Operand& operand : block.inputs) cut(operand.view.shape);
    for (core::Operand& operand : block.outputs) cut(operand.view.shape);
    for (Shape& shape : block.given) cut(shape);
    cut(block.loop.shape);
    return StageBuilder(block, 1).build();
  }

  void place(Addresses addresses, const std::vector<Steps>& steps, std::int64_t block,
             std::span<core::Address> placed) const {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      std::int64_t offset = block % pieces_ * steps[i].piece, index = block / pieces_;
      for (std::size_t axis = lengths_.size(); axis-- > 0;) {
        offset += index % lengths_[axis] * steps[i].outer[axis];
        index /= lengths_[axis];
      }
      placed[i] = {addresses[i].pointer() + offset, 0};
    }
  }

  Stages whole_, rest_;
  bool has_rest_ = false;
  Shape lengths_;  // of the axes before the reduced ones
  std::int64_t piece_ = 1, pieces_ = 1, blocks_ = 0;
  std::vector<Steps> inputs_, outputs_;
  TeamRequest team_;
  std::size_t own_ = 0;  // bytes of a member's workspace
};

}  // namespace

KernelRef prepare_staged(const core::BoundLoop& loop) { return std::make_shared<const StagedKernel>(loop); }

}  // namespace tyto::cpu
