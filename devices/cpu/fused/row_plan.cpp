// Steps are sorted by how many reductions come before them. Each such level is a program over rows, sums of what
// programs compute without writing it, a program over whole elements, and the reductions of what lies in memory then.
// What later levels read is kept in buffers of a block, or computed again where that is cheaper than to store and load
// it.
#include "devices/cpu/fused/row_plan.hpp"

#include <algorithm>
#include <utility>

#include "devices/cpu/elementwise/loop_calls.hpp"
#include "devices/cpu/elementwise/uncached.hpp"
#include "devices/cpu/fused/translation.hpp"
#include "devices/cpu/workspace.hpp"
#include "engine/core/cheap_operators.hpp"
#include "engine/core/fused_rows.hpp"
#include "engine/core/shape.hpp"
#include "engine/core/text.hpp"

namespace tyto::cpu {

namespace {

using core::FusedStep;
using core::OpId;
using Value = std::uint16_t;

/// Elements of a block: with its buffers about what the L1 cache holds. Of groups whose operands lie in slow memory it
/// stays in the L2 cache, and so do the next one's rows, fetched while this one's are computed. Long rows that take
/// longer to compute than to bring go one by one: what they write need not be fetched then.
constexpr std::int64_t block_elements = 4096, far_block_elements = 16384, long_dear_row = 640;
constexpr double far_bytes = 24e6, dear_nanoseconds = 0.6;

constexpr std::size_t none = SIZE_MAX;

/// Sorts the steps into levels and makes their programs.
class RowPlanner {
 public:
  explicit RowPlanner(const core::Step& step)
      : group_(std::get<core::FusedAttributes>(*step.attributes)), program_(group_.program), inputs_(step.inputs) {
    reduced_ = core::reduced_shape(group_.shape, group_.axes, true);
    plan_.rows = element_count(reduced_);
    if (plan_.rows == 0) return;
    plan_.length = element_count(group_.shape) / plan_.rows;
    sort_steps();
    const bool far = operands_lie_far(), row_by_row = far && plan_.length > long_dear_row && is_dear();
    const std::int64_t elements = row_by_row ? 1 : far ? far_block_elements : block_elements;
    plan_.block_rows = std::clamp<std::int64_t>(elements / std::max<std::int64_t>(plan_.length, 1), 1, plan_.rows);
    for (std::size_t depth = 0; depth <= deepest_; ++depth) add_level(depth);
    if (plan_.stages.size() > RowPlan::most_stages) {
      throw DeviceError(core::text("cpu: a fused group may have ", RowPlan::most_stages, " stages, this one has ",
                                   plan_.stages.size()));
    }
    plan_.buffers = layout_.bytes();
    if (far) look_ahead(!row_by_row);
  }

  RowPlan& plan() { return plan_; }

 private:
  const FusedStep* step_of(Value value) const {
    return value < program_.first_step() ? nullptr : &program_.steps[value - program_.first_step()];
  }
  bool is_fold(Value value) const { return step_of(value) != nullptr && core::may_fold(step_of(value)->op); }
  std::span<const Value> operands_of(Value value) const {
    const FusedStep& step = *step_of(value);
    return {step.operands.data(), static_cast<std::size_t>(core::definition(step.op).max_inputs)};
  }

  void sort_steps() {
    std::vector<Shape> shapes;
    for (const core::Operand& input : inputs_) {
      shapes.push_back(input.view.shape);
      types_.push_back(input.dtype);
    }
    for (const core::FusedConstant& constant : program_.constants) types_.push_back(constant.dtype);
    for (const FusedStep& step : program_.steps) types_.push_back(step.dtype);
    whole_ = core::whole_values(group_, shapes);
    homes_.resize(program_.values());
    depth_.assign(program_.values(), 0);
    for (std::size_t i = 0; i < program_.inputs; ++i) homes_[i] = {Home::Kind::input, i, 0};
    last_reader_ = depth_;
    read_by_whole_.assign(program_.values(), false);
    stored_.assign(program_.values(), false);
    result_.assign(program_.values(), none);
    lent_.assign(program_.outputs.size(), false);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) result_[program_.outputs[i]] = i;
    for (std::size_t v = program_.first_step(); v < program_.values(); ++v) {
      const auto value = static_cast<Value>(v);
      for (const Value operand : operands_of(value)) depth_[v] = std::max(depth_[v], depth_[operand]);
      if (is_fold(value)) ++depth_[v];
      deepest_ = std::max(deepest_, depth_[v]);
    }
    for (std::size_t v = program_.first_step(); v < program_.values(); ++v) {
      const auto value = static_cast<Value>(v);
      const std::size_t at = is_fold(value) ? depth_[v] - 1 : depth_[v];
      for (const Value operand : operands_of(value)) {
        last_reader_[operand] = std::max(last_reader_[operand], at);
        if (whole_[v]) read_by_whole_[operand] = true;
      }
    }
    // Whole results are written last of all, when nothing is read any more over which they may lie.
    for (const Value output : program_.outputs) {
      if (whole_[output]) last_reader_[output] = deepest_;
    }
  }

  /// Steps that it takes to compute a whole value from what is at hand when its stage is over, counted no further than
  /// to `enough`: values that read one value twice would double the count, and the time, step by step.
  std::size_t steps_again(Value value, std::size_t enough) const {
    const FusedStep* step = step_of(value);
    if (step == nullptr || available(value)) return 0;
    if (!core::is_cheap(step->op)) return enough;
    std::size_t steps = 1;
    for (const Value operand : operands_of(value)) {
      if (steps >= enough) return enough;
      steps += steps_again(operand, enough - steps);
    }
    return steps;
  }

  bool available(Value value) const { return stored_[value] || value < program_.inputs; }

  bool operands_lie_far() const {
    double bytes = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (reads_dense(static_cast<Value>(i))) bytes += static_cast<double>(size_of(types_[i]));
    }
    for (const Value output : program_.outputs) {
      if (whole_[output]) bytes += static_cast<double>(size_of(types_[output]));
    }
    return bytes * static_cast<double>(plan_.rows * plan_.length) > far_bytes;
  }

  /// An element takes longer to compute than to bring from memory.
  bool is_dear() const {
    double nanoseconds = 0;
    for (std::size_t v = program_.first_step(); v < program_.values(); ++v) {
      const auto value = static_cast<Value>(v);
      if (whole_[v] && !is_fold(value)) nanoseconds += nanoseconds_of(step_of(value)->op);
    }
    return nanoseconds > dear_nanoseconds;
  }

  /// Inputs are fetched by the first program that reads them, results by the last that writes them: most groups read
  /// first and write last, so that the traffic is spread over their stages. Nothing is where results pass the caches:
  /// the processor brings what is read by itself then.
  void look_ahead(bool results) {
    std::vector<bool> seen(program_.inputs, false);
    Stage* last = nullptr;
    for (const Level& level : plan_.levels) {
      if (level.elements >= 0) last = &plan_.stages[static_cast<std::size_t>(level.elements)];
    }
    if (last == nullptr || last->program->passes_caches()) return;
    for (const Level& level : plan_.levels) {
      if (level.elements < 0) continue;
      Stage& stage = plan_.stages[static_cast<std::size_t>(level.elements)];
      for (const Home& home : stage.inputs) {
        if (home.kind != Home::Kind::input || seen[home.at] || !reads_dense(static_cast<Value>(home.at))) continue;
        seen[home.at] = true;
        const std::size_t width = size_of(types_[home.at]);
        stage.ahead.push_back({home, inputs_[home.at].view.offset * static_cast<std::int64_t>(width), width});
      }
    }
    for (std::size_t i = 0; results && i < program_.outputs.size(); ++i) {
      const Value output = program_.outputs[i];
      if (whole_[output]) last->ahead.push_back({{Home::Kind::output, i, 0}, 0, size_of(types_[output])});
    }
  }

  /// Whether what comes after the stage reads elements of an input over which a result may be laid.
  bool inputs_read_after(std::size_t depth) const {
    std::vector<bool> seen(program_.values(), false);
    const auto reaches = [&](const auto& self, Value value) -> bool {
      if (seen[value]) return false;
      seen[value] = true;
      if (value < program_.inputs) return reads_dense(value);
      if (stored_[value] || step_of(value) == nullptr) return false;
      return std::ranges::any_of(operands_of(value), [&](Value operand) { return self(self, operand); });
    };
    for (std::size_t v = program_.first_step(); v < program_.values(); ++v) {
      const auto value = static_cast<Value>(v);
      const bool later = depth_[v] > depth || (whole_[v] && result_[v] != none);
      if (!later || (stored_[v] && depth_[v] <= depth)) continue;
      for (const Value operand : operands_of(value)) {
        if (reaches(reaches, operand)) return true;
      }
    }
    return false;
  }

  /// The whole result in whose place the value may lie until the end, or none: a result its own, another value that of
  /// any result of its width.
  std::size_t free_result(Value value) const {
    if (result_[value] != none) return lent_[result_[value]] ? none : result_[value];
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Value output = program_.outputs[i];
      if (whole_[output] && !lent_[i] && size_of(types_[output]) == size_of(types_[value])) return i;
    }
    return none;
  }

  /// Says where the value goes: whole results only at the end to their places, before that to a buffer, or, `lending`,
  /// to the place of a result, which is memory that is written anyway.
  void store(Value value, bool whole, bool last, bool lending = false) {
    stored_[value] = true;
    const std::size_t width = size_of(types_[value]) * static_cast<std::size_t>(whole ? plan_.length : 1);
    const std::size_t lent = lending ? free_result(value) : none;
    if (result_[value] != none && (!whole || last)) {
      homes_[value] = {Home::Kind::output, result_[value], width};
    } else if (lent != none) {
      lent_[lent] = true;
      homes_[value] = {Home::Kind::output, lent, width};
    } else {
      homes_[value] = {Home::Kind::buffer, layout_.reserve(width * static_cast<std::size_t>(plan_.block_rows)), width};
    }
  }

  /// A program that makes these values from what is available.
  struct Draft {
    std::vector<Value> inputs;
    core::FusedProgram program;
  };
  Draft draft(std::span<const Value> wanted) const {
    Draft out;
    std::vector<Value> steps;
    std::vector<bool> seen(program_.values(), false);
    const auto visit = [&](const auto& self, Value value) -> void {
      if (seen[value]) return;
      seen[value] = true;
      if (available(value)) {
        out.inputs.push_back(value);
      } else if (step_of(value) != nullptr) {
        for (const Value operand : operands_of(value)) self(self, operand);
        steps.push_back(value);
      }
    };
    for (const Value value : wanted) visit(visit, value);
    std::vector<Value> number(program_.values(), 0);
    Value next = 0;
    for (const Value value : out.inputs) number[value] = next++;
    for (std::size_t i = program_.inputs; i < program_.first_step(); ++i) {
      if (!seen[i]) continue;
      number[i] = next++;
      out.program.constants.push_back(program_.constants[i - program_.inputs]);
    }
    for (const Value value : steps) {
      FusedStep step = *step_of(value);
      for (Value& operand : step.operands) operand = number[operand];
      out.program.steps.push_back(step);
      number[value] = next++;
    }
    out.program.inputs = static_cast<Value>(out.inputs.size());
    for (const Value value : wanted) out.program.outputs.push_back(number[value]);
    return out;
  }

  /// A stage without its program yet: the inputs of a draft, and where they lie.
  struct Opened {
    Stage stage;
    std::vector<core::Operand> inputs;
    std::vector<DType> types;
  };
  Opened open_stage(const Draft& draft, const Shape& shape) const {
    Opened opened;
    for (const Value value : draft.inputs) {
      const bool as_given = value < program_.inputs && !stored_[value];
      const core::View view =
          as_given ? inputs_[value].view : core::View::dense(whole_[value] ? group_.shape : reduced_);
      opened.inputs.push_back({types_[value], core::broadcast_to(view, shape)});
      opened.types.push_back(types_[value]);
      opened.stage.inputs.push_back(homes_[value]);
    }
    return opened;
  }

  /// The last stage is the first to touch the result's place.
  bool is_untouched(Value output) const { return !lent_[result_[output]]; }

  int add(Stage stage) {
    plan_.nanoseconds += stage.program->nanoseconds();
    plan_.stages.push_back(std::move(stage));
    return static_cast<int>(plan_.stages.size()) - 1;
  }

  int add_stage(std::span<const Value> wanted, bool whole, bool last, std::size_t depth) {
    if (wanted.empty()) return -1;
    const Draft made = draft(wanted);
    const Shape& shape = whole ? group_.shape : reduced_;
    Opened opened = open_stage(made, shape);
    std::vector<core::Operand> outputs;
    for (const Value value : wanted) stored_[value] = true;
    const bool lending = whole && !last && !inputs_read_after(depth);
    for (const Value value : wanted) {
      store(value, whole, last, lending);
      outputs.push_back({types_[value], core::View::dense(shape)});
      opened.stage.outputs.push_back(homes_[value]);
    }
    const bool uncached = whole && last && is_untouched(wanted[0]) && outgrows_caches(outputs[0]);
    opened.stage.program =
        prepare_ranges(Translation(made.program, opened.types).tiles(), opened.inputs, outputs, uncached);
    return add(std::move(opened.stage));
  }

  /// A program that sums the value of each row without writing it, or -1: where it is to be kept, or dear, or no loop
  /// sums it.
  int add_sums(Value value) {
    constexpr std::size_t dear = 4;
    if (available(value) || types_[value] != DType::f32 || steps_again(value, dear) >= dear) return -1;
    // Each level that is still to come may take two.
    if (plan_.stages.size() + 2 * (deepest_ + 1 - plan_.levels.size()) >= RowPlan::most_stages) return -1;
    const Draft made = draft({&value, 1});
    Opened opened = open_stage(made, group_.shape);
    opened.stage.program = prepare_sums(Translation(made.program, opened.types).tiles(), opened.inputs,
                                        {DType::f32, core::View::dense(group_.shape)}, plan_.length);
    return opened.stage.program == nullptr ? -1 : add(std::move(opened.stage));
  }

  void add_level(std::size_t depth) {
    Level level;
    std::vector<Value> rows, elements, folds;
    const bool last = depth == deepest_;
    for (std::size_t v = program_.first_step(); v < program_.values(); ++v) {
      const auto value = static_cast<Value>(v);
      if (is_fold(value)) {
        if (depth_[v] == depth + 1) folds.push_back(value);
      } else if (!whole_[v] && depth_[v] == depth) {
        if (result_[v] != none || read_by_whole_[v] || last_reader_[v] > depth) rows.push_back(value);
      }
    }
    level.rows = add_stage(rows, false, last, depth);
    const auto want = [&](Value value) {
      if (!stored_[value] && std::ranges::find(elements, value) == elements.end()) elements.push_back(value);
    };
    for (std::size_t v = program_.first_step(); v < program_.values(); ++v) {
      const auto value = static_cast<Value>(v);
      if (!whole_[v] || depth_[v] != depth || last_reader_[v] <= depth || last) continue;
      if (steps_again(value, 3) > 2) want(value);
    }
    // What is kept for one reduction serves the others, so sums come second.
    const auto operand_of = [&](Value fold) { return step_of(fold)->operands[0]; };
    const auto is_kept = [&](Value value) { return std::ranges::find(elements, value) != elements.end(); };
    const auto keep = [&](Value value) {
      if (value >= program_.inputs || !reads_dense(value)) want(value);
    };
    std::vector<std::pair<Value, int>> sums;  // the fold, the program that sums its operand
    std::vector<Value> lines;                 // folds of what is in memory
    for (const Value fold : folds) {
      if (reduction_of(step_of(fold)->op).fold == Fold::sum) continue;
      keep(operand_of(fold));
      lines.push_back(fold);
    }
    for (const Value fold : folds) {
      if (reduction_of(step_of(fold)->op).fold != Fold::sum) continue;
      const int program = is_kept(operand_of(fold)) ? -1 : add_sums(operand_of(fold));
      if (program >= 0) {
        sums.emplace_back(fold, program);
      } else {
        keep(operand_of(fold));
        lines.push_back(fold);
      }
    }
    if (last) {
      // Results that an earlier stage kept elsewhere are copied.
      for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        const Value output = program_.outputs[i];
        const bool there = stored_[output] && homes_[output].kind == Home::Kind::output && homes_[output].at == i;
        if (whole_[output] && !there) elements.push_back(output);
      }
    }
    level.elements = add_stage(elements, true, last, depth);
    const auto rules_of = [&](Value fold) {
      const Reduction reduction = reduction_of(step_of(fold)->op);
      plan_.nanoseconds += reduction.nanoseconds * static_cast<double>(plan_.rows * plan_.length);
      return fold_rules(reduction.fold, reduction.finish, types_[operand_of(fold)], types_[fold]);
    };
    for (const auto& [fold, program] : sums) {
      store(fold, false, last);
      level.sums.push_back({program, rules_of(fold), homes_[fold]});
    }
    for (const Value fold : lines) {
      const Value operand = operand_of(fold);
      store(fold, false, last);
      RowFold made{fold_loops(reduction_of(step_of(fold)->op).fold, types_[operand]), rules_of(fold), homes_[operand],
                   homes_[fold]};
      if (made.from.kind == Home::Kind::input) {
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

  const core::FusedAttributes& group_;
  const core::FusedProgram& program_;
  std::span<const core::Operand> inputs_;
  RowPlan plan_;
  Shape reduced_;
  std::vector<DType> types_;  // by value, as all that follows
  std::vector<bool> whole_;
  std::vector<std::size_t> depth_;        // reductions before it
  std::vector<std::size_t> last_reader_;  // the deepest stage that reads it
  std::vector<bool> read_by_whole_;
  std::vector<std::size_t> result_;  // which result of the node it is, or none
  std::vector<Home> homes_;
  std::vector<bool> stored_;
  std::vector<bool> lent_;  // by result: whether another value lies in its place until the end
  std::size_t deepest_ = 0;
  WorkspaceLayout layout_;
};

}  // namespace

RowPlan plan_rows(const core::Step& step) { return std::move(RowPlanner(step).plan()); }

}  // namespace tyto::cpu
