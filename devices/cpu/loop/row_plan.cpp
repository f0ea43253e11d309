// SPDX-License-Identifier: MIT
// Each level (core/loop/loop_levels.hpp) is a program over rows, a program over whole elements, which as machine code
// also reduces what it computes, and the reductions of what lies in memory then. What later levels read is kept in
// buffers of a block.
#include "devices/cpu/loop/row_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/loop/loop_levels.hpp"
#include "core/value/shape.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/loop/jit/non_temporal.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "devices/cpu/loop/loop_kernels.hpp"
#include "devices/cpu/loop/row_work.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::LoopInstruction;
using Value = core::LoopValue;

/// What a block reads, writes and keeps between stages where much more is read from memory than written, so that each
/// of several operands is read for a while before the next one. Where more is written, short blocks are better: their
/// stores go on while the next rows are computed.
constexpr double bytes_of_read_rows = 0.25 * machine::second_level_cache;

/// Bytes that an element counts for at least, which bounds a block and with it the buffers of a thread.
constexpr double least_element_bytes = 4;

constexpr std::size_t none = SIZE_MAX;

/// Makes the programs of all levels and gives their values places.
class RowPlanner {
 public:
  explicit RowPlanner(const core::BoundLoop& bound)
      : group_(bound.loop),
        program_(bound.loop.program),
        inputs_(bound.inputs),
        types_(core::value_types(program_, bound.input_types())),
        whole_(bound.whole()),
        levels_(core::plan_levels(program_, whole_)),
        work_(bound, levels_, whole_) {
    reduced_ = core::reduced_shape(group_.shape, group_.axes, true);
    plan_.rows = element_count(reduced_);
    if (plan_.rows == 0) return;
    plan_.length = element_count(group_.shape) / plan_.rows;
    note_readers();
    const double read = work_.read_bytes(), written = work_.written_bytes();
    exceeds_caches_ = machine::come_from_memory((read + written) * static_cast<double>(plan_.rows * plan_.length));
    const double block_bytes = exceeds_caches_ && read > 4 * written ? bytes_of_read_rows : machine::block_bytes;
    const double row_bytes = std::max(work_.block_bytes(), least_element_bytes) *
                             static_cast<double>(std::max<std::int64_t>(plan_.length, 1));
    plan_.block_rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(block_bytes / row_bytes), 1, plan_.rows);
    find_transposed(row_bytes);
    for (std::size_t depth = 0; depth <= deepest(); ++depth) add_level(depth);
    constexpr std::size_t most = RowPlan::most_stages - RowPlan::most_copies;
    if (const std::size_t made = plan_.stages.size() - copies_; made > most)
      core::throw_error<DeviceError>("cpu: a loop may have ", most, " stages, this one has ", made);
    plan_.buffers = whole_lines(layout_.bytes());  // those of the next thread lie behind them
  }

  RowPlan& plan() { return plan_; }

 private:
  const LoopInstruction& instruction_of(Value value) const { return program_.instruction_of(value); }
  Value operand_of(Value fold) const { return instruction_of(fold).operands[0]; }
  std::size_t deepest() const { return levels_.levels.size() - 1; }

  void note_readers() {
    locations_.resize(program_.values());
    for (std::size_t i = 0; i < program_.inputs; ++i) locations_[i] = {ValueLocation::Kind::input, i, 0};
    read_by_whole_.assign(program_.values(), false);
    stored_.assign(program_.values(), false);
    copied_.assign(program_.values(), false);
    result_.assign(program_.values(), none);
    output_in_use_.assign(program_.outputs.size(), false);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) result_[program_.outputs[i]] = i;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      for (const Value operand : program_.operands_of(v)) {
        if (whole_[v]) read_by_whole_[operand] = true;
      }
    }
  }

  /// Inputs are prefetched where there is most to do meanwhile.
  bool prefetches(std::size_t depth) const { return exceeds_caches_ && work_.is_most_at(depth); }

  /// Inputs that lie transposed are copied a block at a time, of as many rows as fill the cache lines that the copies
  /// read, if they fit, and of four at least. Of short rows these lines stay in the nearest cache until the next rows
  /// read them.
  void find_transposed(double row_bytes) {
    constexpr std::int64_t shortest = 64, least_rows = 4;
    if (plan_.length < shortest) return;
    transposed_.resize(inputs_.size());
    std::size_t found = 0;
    std::int64_t rows = 8;
    double bytes = row_bytes;
    for (std::size_t i = 0; i < inputs_.size() && found < RowPlan::most_copies; ++i) {
      const core::Operand operand{types_[i], core::broadcast_to(inputs_[i].view, group_.shape)};
      if (!whole_[i] || gathers_as_fast(operand)) continue;
      if ((transposed_[i] = prepare_transposed_rows(operand, plan_.length)) == nullptr) continue;
      ++found;
      if (size_of(types_[i]) < 8) rows = 16;
      bytes += static_cast<double>(copied_row_bytes(size_of(types_[i]), plan_.length));
    }
    if (found == 0) return;
    while (rows > least_rows && static_cast<double>(rows) * bytes > bytes_of_read_rows) rows /= 2;
    if (plan_.rows < rows || static_cast<double>(rows) * bytes > bytes_of_read_rows) return transposed_.clear();
    plan_.block_rows = std::max(plan_.block_rows / rows, std::int64_t{1}) * rows;
  }

  /// Whether wide elements lie in a cache, are read once, and do not fall into a few of its sets.
  bool gathers_as_fast(const core::Operand& operand) const {
    const std::int64_t width = static_cast<std::int64_t>(size_of(operand.dtype)), sets_bytes = 512;
    if (width < 8 || exceeds_caches_ || operand.view.strides.back() * width % sets_bytes == 0) return false;
    for (std::size_t depth = 1; depth <= deepest(); ++depth) {
      if (work_.at(depth) != 0) return false;
    }
    return true;
  }

  /// Copies the inputs of a part that lie transposed, that no level before has copied and that are not copied anyway.
  void copy_transposed(const core::LoopPart& part, std::span<const Value> wanted, std::vector<int>& copies) {
    for (const Value value : part.inputs) {
      if (value >= transposed_.size() || transposed_[value] == nullptr || stored_[value]) continue;
      if (std::ranges::find(wanted, value) != wanted.end()) continue;
      const ValueLocation from = locations_[value];
      const std::size_t row_bytes = copied_row_bytes(size_of(types_[value]), plan_.length);
      stored_[value] = copied_[value] = true;
      locations_[value] = {ValueLocation::Kind::buffer,
                           layout_.reserve(row_bytes * static_cast<std::size_t>(plan_.block_rows)), row_bytes};
      plan_.nanoseconds += transposed_[value]->nanoseconds();
      plan_.stages.push_back({transposed_[value], {from}, {locations_[value]}});
      copies.push_back(static_cast<int>(plan_.stages.size()) - 1);
      ++copies_;
    }
  }

  /// The rows of an input's copies.
  core::View copied_view(Value value) const {
    core::View view = core::View::dense(group_.shape);
    const auto width = static_cast<std::int64_t>(size_of(types_[value]));
    const auto pitch = static_cast<std::int64_t>(copied_row_bytes(size_of(types_[value]), plan_.length)) / width;
    for (std::int64_t& stride : view.strides) {
      if (stride >= plan_.length) stride = stride / plan_.length * pitch;
    }
    return view;
  }

  /// Whether later stages read elements of an input over which a result may be laid.
  bool inputs_read_after(std::size_t depth) const {
    std::vector<Value> later;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      const bool made_later = levels_.depth[v] > depth || (whole_[v] && result_[v] != none);
      if (made_later && !stored_[v]) later.push_back(static_cast<Value>(v));
    }
    const std::vector<Value> read = core::part_of(program_, later, stored_).inputs;
    return std::ranges::any_of(read, [&](Value value) { return value < program_.inputs && reads_dense(value); });
  }

  /// The whole result in whose place the value may lie until the end, or none: a result its own, another value that of
  /// any result of its width.
  std::size_t free_result(Value value) const {
    if (result_[value] != none) return output_in_use_[result_[value]] ? none : result_[value];
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Value output = program_.outputs[i];
      if (whole_[output] && !output_in_use_[i] && size_of(types_[output]) == size_of(types_[value])) return i;
    }
    return none;
  }

  /// Chooses where the value is stored: whole results only at the end in their places, before that in a buffer, or,
  /// `may_use_output`, in the place of a result, which is memory that is written anyway.
  void store(Value value, bool whole, bool last, bool may_use_output = false) {
    stored_[value] = true;
    const std::size_t width = size_of(types_[value]) * static_cast<std::size_t>(whole ? plan_.length : 1);
    const std::size_t output = may_use_output ? free_result(value) : none;
    if (result_[value] != none && (!whole || last)) {
      locations_[value] = {ValueLocation::Kind::output, result_[value], width};
    } else if (output != none) {
      output_in_use_[output] = true;
      locations_[value] = {ValueLocation::Kind::output, output, width};
    } else {
      locations_[value] = {ValueLocation::Kind::buffer,
                           layout_.reserve(width * static_cast<std::size_t>(plan_.block_rows)), width};
    }
  }

  /// A stage without its program yet: the inputs of a part, and where they lie.
  struct UnfinishedStage {
    Stage stage;
    std::vector<core::Operand> inputs;
  };
  UnfinishedStage begin_stage(const core::LoopPart& part, const Shape& shape) const {
    UnfinishedStage opened;
    for (const Value value : part.inputs) {
      const bool as_given = value < program_.inputs && !stored_[value];
      core::View view = core::View::dense(whole_[value] ? group_.shape : reduced_);
      if (as_given) view = inputs_[value].view;
      if (copied_[value]) view = copied_view(value);
      if (as_given && !whole_[value]) view.shape = reduced_;  // it does not vary along the axes
      opened.inputs.push_back({types_[value], core::broadcast_to(view, shape)});
      opened.stage.inputs.push_back(locations_[value]);
    }
    return opened;
  }

  /// A program that makes these values and reduces the operands of these folds; -1 where there is nothing to do.
  /// Nothing is added, and the level's `partials` left empty, where it would have reductions and there is no machine
  /// code for it.
  int add_stage(std::span<const Value> wanted, std::span<const Value> folds, bool whole, bool last, std::size_t depth,
                Level& level) {
    if (wanted.empty() && folds.empty()) return -1;
    std::vector<Value> made(wanted.begin(), wanted.end());
    made.insert(made.end(), folds.begin(), folds.end());
    core::LoopPart part = core::part_of(program_, made, stored_);
    const Shape& shape = whole ? group_.shape : reduced_;
    if (whole) copy_transposed(part, wanted, level.copies);
    UnfinishedStage opened = begin_stage(part, shape);
    std::vector<core::Operand> results;
    for (const Value value : wanted) results.push_back({types_[value], core::View::dense(shape)});
    for (const Value fold : folds) {
      const DType partial = *jit::partial_type(instruction_of(fold).op, types_[operand_of(fold)]);
      results.push_back({partial, core::broadcast_to(core::View::dense(reduced_), shape)});
    }
    RangePolicy policy;
    policy.non_temporal = exceeds_caches_ && whole && last;
    for (std::size_t i = 0; i < part.inputs.size() && whole && prefetches(depth); ++i) {
      const Value input = part.inputs[i];
      policy.prefetched.push_back(input < program_.inputs && !copied_[input] && work_.advances(input));
    }
    const core::BoundLoop loop = bound_loop(std::move(part.program), std::move(opened.inputs), std::move(results));
    opened.stage.program = prepare_ranges(loop, whole ? plan_.length : 1, policy);
    if (opened.stage.program == nullptr) return -1;
    for (const Value value : wanted) stored_[value] = true;
    const bool may_use_output = whole && !last && !exceeds_caches_ && !inputs_read_after(depth);
    for (const Value value : wanted) {
      store(value, whole, last, may_use_output);
      opened.stage.outputs.push_back(locations_[value]);
    }
    for (std::size_t i = 0; i < folds.size(); ++i) {
      const std::size_t width = size_of(loop.outputs[wanted.size() + i].dtype);
      const ValueLocation partial{ValueLocation::Kind::buffer,
                                  layout_.reserve(width * static_cast<std::size_t>(plan_.block_rows)), width};
      opened.stage.outputs.push_back(partial);
      store(folds[i], false, last);
      level.partials.push_back({rules_of(folds[i]), partial, locations_[folds[i]]});
    }
    plan_.nanoseconds += opened.stage.program->nanoseconds();
    plan_.stages.push_back(std::move(opened.stage));
    return static_cast<int>(plan_.stages.size()) - 1;
  }

  FoldRules rules_of(Value fold) {
    const Reduction reduction = reduction_of(instruction_of(fold).op);
    return fold_rules(reduction.fold, reduction.finish, types_[operand_of(fold)], types_[fold]);
  }

  void add_level(std::size_t depth) {
    Level level;
    const core::LoopLevel& planned = levels_.levels[depth];
    std::vector<Value> rows, elements = planned.kept;
    const std::span<const Value> folds = planned.folds;
    const bool last = depth == deepest();
    for (const Value value : planned.row_values) {
      const bool read_later = levels_.last_reader[value] > depth;
      if (result_[value] != none || read_by_whole_[value] || read_later) rows.push_back(value);
    }
    level.rows = add_stage(rows, {}, false, last, depth, level);
    const auto want = [&](std::vector<Value>& list, Value value) {
      if (!stored_[value] && std::ranges::find(list, value) == list.end()) list.push_back(value);
    };
    if (last) {
      // Results that an earlier stage kept elsewhere are copied.
      for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        const Value output = program_.outputs[i];
        const bool there =
            stored_[output] && locations_[output].kind == ValueLocation::Kind::output && locations_[output].at == i;
        if (whole_[output] && !there) elements.push_back(output);
      }
    }
    // Machine code reduces the values that it computes; folds that it lacks reduce values in memory.
    std::vector<Value> together, lines;
    for (const Value fold : folds) {
      const LoopInstruction& step = instruction_of(fold);
      (jit::partial_type(step.op, types_[step.operands[0]]) ? together : lines).push_back(fold);
    }
    const auto keep_operands = [&] {
      for (const Value fold : lines) {
        const Value operand = operand_of(fold);
        if (operand >= program_.inputs || !reads_dense(operand)) want(elements, operand);
      }
    };
    keep_operands();
    level.elements = add_stage(elements, together, true, last, depth, level);
    if (level.elements < 0 && !together.empty()) {
      lines.assign(folds.begin(), folds.end());
      keep_operands();
      level.elements = add_stage(elements, {}, true, last, depth, level);
    }
    for (const Value fold : lines) {
      const Value operand = operand_of(fold);
      const Reduction reduction = reduction_of(instruction_of(fold).op);
      plan_.nanoseconds +=
          reduction.operations * static_cast<double>(plan_.rows * plan_.length) / machine::vector_operations;
      store(fold, false, last);
      RowFold made{fold_loops(reduction.fold, types_[operand]), rules_of(fold), locations_[operand], locations_[fold]};
      if (made.from.kind == ValueLocation::Kind::input) {
        const std::size_t size = size_of(types_[operand]);
        made.from.width = size * static_cast<std::size_t>(plan_.length);
        made.offset = inputs_[operand].view.offset * static_cast<std::int64_t>(size);
      }
      level.folds.push_back(made);
    }
    plan_.levels.push_back(std::move(level));
  }

  /// The rows of an input lie one after the other; a result may then come to lie over it.
  bool reads_dense(Value input) const {
    const core::View& view = inputs_[input].view;
    return view.shape == group_.shape && core::is_dense(view);
  }

  const core::LoopAttributes& group_;
  const core::LoopProgram& program_;
  std::span<const core::Operand> inputs_;
  RowPlan plan_;
  Shape reduced_;
  std::vector<DType> types_;  // by value, as all that follows
  std::vector<bool> whole_;
  core::LoopLevels levels_;
  RowWork work_;
  std::vector<bool> read_by_whole_;
  std::vector<std::size_t> result_;  // which result of the node it is, or none
  std::vector<ValueLocation> locations_;
  std::vector<bool> stored_;
  std::vector<std::shared_ptr<const RangeProgram>> transposed_;  // by input: the program that copies it, if it lies so
  std::vector<bool> copied_;                                     // by value
  std::size_t copies_ = 0;
  std::vector<bool> output_in_use_;  // by result: whether another value lies in its place until the end
  bool exceeds_caches_ = false;
  WorkspaceLayout layout_;
};

}  // namespace

RowPlan plan_rows(const core::BoundLoop& loop) { return std::move(RowPlanner(loop).plan()); }

}  // namespace tyto::cpu
