// SPDX-License-Identifier: MIT
// Recording: a region's function is called once, on parameters; what it uses besides becomes operands.
#include "engine/regions/record/region_record.hpp"

#include <algorithm>
#include <utility>

#include "core/graph/builder.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/graph/random.hpp"
#include "engine/graph/region_scope.hpp"
#include "engine/graph/state.hpp"
#include "engine/regions/record/region_values.hpp"
#include "ops/define.hpp"

namespace tyto::run {

using core::AnyTensor;
using core::Mode;
using core::OpId;

namespace {

const core::TensorType number_type{DType::i64, {}, false};
const core::TensorType key_type{DType::i64, {2}, false};

/// A region's captures inside and outside: the parameter of a state stands for its version.
struct Captures {
  std::vector<Value> inside;
  std::vector<Value> outside;
};

Captures captures_for(std::span<const Value> roots, std::uint64_t since, std::span<const RegionState> states) {
  std::vector<Value> standing_in;
  for (const RegionState& each : states) standing_in.push_back(each.parameter);
  Captures captures;
  captures.inside = captures_of(roots, since, standing_in);
  for (const Value& value : captures.inside) {
    const auto state =
        std::ranges::find_if(states, [&](const RegionState& each) { return same_value(each.parameter, value); });
    captures.outside.push_back(state == states.end() ? value : state->outside);
  }
  return captures;
}

/// Whether a region draws random numbers that it uses: loops and branches inside of it take draws that may be of none.
bool reaches(std::span<const Value> roots, std::uint64_t since, const Value& key) {
  const std::vector<Value> reached = captures_of(roots, since, {&key, 1});
  return std::ranges::any_of(reached, [&](const Value& each) { return same_value(each, key); });
}

/// The body recorded, from its parameters to what it yields.
struct RecordedBody {
  std::vector<Value> carries;  // parameters
  Value number;                // of the iteration, where the call counts them
  Value key;
  std::vector<Value> rows;
  std::vector<Value> next;
  std::vector<Value> outputs;
  std::vector<RegionState> states;
};

Value plus(const Value& number, const Count& lower) {
  if (!lower.tensor() && lower.number() == 0) return number;
  return AnyTensor(number) + AnyTensor(lower.tensor() ? core::cast_to(lower.tensor(), DType::i64)
                                                      : core::scalar_constant(Scalar(lower.number()), DType::i64));
}

Value truth_of_condition(const detail::LoopCall& call, const std::vector<Value>& carries) {
  const DrawScope refusing(call.name);
  return one_truth(call.name, "the condition", call.condition(carries));
}

RecordedBody record_body(const detail::LoopCall& call, RegionScope& scope, std::span<const Value> carries,
                         std::span<const Value> stacks) {
  RecordedBody body;
  for (std::size_t i = 0; i < carries.size(); ++i) {
    body.carries.push_back(scope.parameter(type_of(carries[i]), core::text("carry ", i)));
  }
  std::vector<Value> given = body.carries;
  if (call.range) {
    body.number = scope.parameter(number_type, "number");
    given.push_back(plus(body.number, call.range->first));
  }
  const Value key = scope.parameter(key_type, "key");
  std::vector<Value> rows;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    rows.push_back(scope.parameter(row_type(stacks[i]), core::text("row ", i)));
  }
  given.insert(given.end(), rows.begin(), rows.end());
  const DrawScope draws(key);
  const std::vector<Value> yielded = call.body(given);
  body.next = next_carries(call.name, carries, yielded);
  std::size_t own = carries.size();
  if (call.condition) body.outputs.push_back(truth_of_condition(call, body.next));
  if (call.stops) {
    if (yielded.size() <= own) core::throw_error<GraphError>(call.name, ": the body does not say whether to stop");
    body.outputs.push_back(!AnyTensor(one_truth(call.name, "whether to stop", yielded[own++])));
  }
  for (const Value& row : strong(call.name, std::span(yielded).subspan(own))) body.outputs.push_back(row);
  body.key = key;
  body.rows = std::move(rows);
  return body;
}

/// How often a fori_loop runs, as a tensor.
Value count_of(const detail::LoopCall& call) {
  const auto bound = [&](const Count& count) {
    return AnyTensor(count.tensor() ? one_number(call.name, "a bound", count.tensor())
                                    : core::scalar_constant(Scalar(count.number()), DType::i64));
  };
  const AnyTensor first = bound(call.range->first), last = bound(call.range->second);
  return where(last > first, last - first, AnyTensor(core::scalar_constant(Scalar(0), DType::i64)));
}

}  // namespace

namespace {

/// The loop with these ports of its body stacked behind all else, for its gradient.
core::IterationAttributes with_stacked(core::IterationAttributes loop, std::span<const core::Port> ports) {
  core::GraphData body = core::Graph(loop.body.graph()).take();
  body.outputs.insert(body.outputs.end(), ports.begin(), ports.end());
  loop.body = core::Region(core::Graph(std::move(body)));
  loop.stacked += static_cast<std::int64_t>(ports.size());
  loop.histories += static_cast<std::int64_t>(ports.size());
  return loop;
}

}  // namespace

std::vector<Value> emit_loop(Mode mode, core::IterationAttributes loop, std::span<const Value> operands) {
  const auto results = static_cast<std::size_t>(loop.carries + loop.stacked - loop.histories);
  const bool tracked = std::ranges::any_of(operands, [](const Value& each) { return each.node()->tracked(); });
  if (tracked && loop.histories == 0 && loop.trips >= 0) {
    std::vector<core::Port> carries;
    for (std::int64_t i = 0; i < loop.carries; ++i) {
      carries.push_back(loop.body.graph().inputs()[static_cast<std::size_t>(i)].port);
    }
    loop = with_stacked(std::move(loop), carries);
    const Value trial = core::emit(Mode::lazy, OpId::loop, loop, operands);
    std::vector<Value> all;
    for (std::uint32_t i = 0; i < trial.node()->results().size(); ++i) all.push_back(core::result(trial, i));
    const std::vector<core::Port> residuals = residual_ports(loop, operands, all);
    if (!residuals.empty()) loop = with_stacked(std::move(loop), residuals);
  }
  const bool tested = loop.tested;
  const auto count = static_cast<std::uint32_t>(loop.carries + loop.stacked);
  const Value first = core::emit(mode, OpId::loop, std::move(loop), operands);
  std::vector<Value> out;
  for (std::size_t i = 0; i < results; ++i) out.push_back(core::result(first, static_cast<std::uint32_t>(i)));
  if (tested) out.push_back(core::result(first, count));
  return out;
}

std::vector<Value> emit_again(Mode mode, OpId op, const core::Attributes& attributes, std::span<const Value> operands) {
  const auto* loop = std::get_if<core::IterationAttributes>(&attributes);
  if (loop != nullptr && loop->histories == 0) return emit_loop(mode, *loop, operands);
  const Value first = core::emit(mode, op, attributes, operands);
  std::vector<Value> results;
  for (std::uint32_t i = 0; i < first.node()->results().size(); ++i) results.push_back(core::result(first, i));
  return results;
}

detail::LoopResults record_loop(const detail::LoopCall& call) {
  const Draw draw = next_draw(Mode::lazy);
  std::vector<Value> carries = strong(call.name, call.carries);
  const std::vector<Value> stacks = strong(call.name, call.stacks);
  core::IterationAttributes loop;
  std::vector<Value> operands;
  if (call.range) {
    const auto& [lower, upper] = *call.range;
    if (!lower.tensor() && !upper.tensor()) {
      loop.trips = trips_between(lower.number(), upper.number());
      if (call.options.most != 0) loop.trips = std::min(loop.trips, call.options.most);
    } else {
      loop.counted = true;
      operands.push_back(count_of(call));
    }
    loop.numbered = true;
  } else if (!call.condition) {
    loop.trips = rows_of(call.name, stacks);
  }
  if (loop.trips < 0 && call.options.most != 0) loop.trips = call.options.most;
  if (call.condition) operands.push_back(truth_of_condition(call, carries));
  if (call.stops) operands.push_back(core::scalar_constant(Scalar(true), DType::boolean));
  loop.tested = call.condition || call.stops;

  std::optional<RegionScope> scope(std::in_place);
  RecordedBody body = record_body(call, *scope, carries, stacks);
  body.states = scope->leave();
  std::vector<Value> inputs = body.carries;
  std::vector<Value> next = body.next;
  std::vector<std::shared_ptr<core::State>> assigned;
  for (const RegionState& each : body.states) {
    if (!each.assigned()) continue;
    assigned.push_back(each.state);
    carries.push_back(core::cast_to(each.outside, each.state->type().dtype));
    inputs.push_back(each.parameter);
    next.push_back(assigned_value(each.last));
  }
  std::erase_if(body.states, [](const RegionState& each) { return each.assigned(); });
  loop.carries = static_cast<std::int64_t>(carries.size());
  loop.rows = static_cast<std::int64_t>(stacks.size());
  loop.reverse = call.options.reverse;
  loop.stacked = static_cast<std::int64_t>(body.outputs.size()) - loop.tested;
  loop.draw = draw.number;
  std::vector<Value> roots = body.outputs;
  roots.insert(roots.end(), next.begin(), next.end());
  loop.keyed = reaches(roots, scope->since(), body.key);
  if (body.number) inputs.push_back(body.number);
  if (loop.keyed) inputs.push_back(body.key);
  inputs.insert(inputs.end(), body.rows.begin(), body.rows.end());
  // Parameters are inputs already; the search for captures is to end at them.
  const Captures captures = captures_for(roots, scope->since(), body.states);
  loop.body = region_of({inputs, body.outputs, next, captures.inside});
  scope.reset();

  if (loop.keyed) operands.push_back(draw.key);
  operands.insert(operands.end(), carries.begin(), carries.end());
  operands.insert(operands.end(), stacks.begin(), stacks.end());
  operands.insert(operands.end(), captures.outside.begin(), captures.outside.end());
  const std::size_t own = call.carries.size();
  const std::vector<Value> made = emit_loop(Mode::lazy, std::move(loop), operands);
  detail::LoopResults results;
  results.carries.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(own));
  for (std::size_t i = 0; i < assigned.size(); ++i) assign_version(assigned[i], Mode::lazy, made[own + i]);
  if (call.condition || call.stops) results.count = made.back();
  const std::size_t outputs = made.size() - (results.count ? 1 : 0);
  for (std::size_t i = carries.size(); i < outputs; ++i) results.stacks.push_back(made[i]);
  return results;
}

std::vector<core::TensorType> recorded_row_types(const detail::LoopCall& call) {
  RegionScope scope;
  const RecordedBody body = record_body(call, scope, strong(call.name, call.carries), strong(call.name, call.stacks));
  std::vector<core::TensorType> types;
  for (const Value& row : std::span(body.outputs).subspan(call.stops ? 1 : 0)) types.push_back(type_of(row));
  return types;
}

namespace {

struct RecordedArm {
  std::uint64_t since = 0;
  Value key;
  std::vector<Value> results;
  std::vector<RegionState> states;
};

const RegionState* find_state(const RecordedArm& arm, const core::State* state) {
  for (const RegionState& each : arm.states) {
    if (each.state.get() == state) return &each;
  }
  return nullptr;
}

void check_arms(std::string_view op, std::span<const RecordedArm> arms) {
  constexpr const char* names[] = {"first", "second", "third", "fourth"};
  const auto name = [&](std::size_t arm) {
    return arm < std::size(names) ? core::text("the ", names[arm], " arm") : core::text("arm ", arm);
  };
  for (std::size_t arm = 1; arm < arms.size(); ++arm) {
    if (arms[arm].results.size() != arms[0].results.size()) {
      core::throw_error<GraphError>(op, ": the first arm yields ", arms[0].results.size(), " tensors and ", name(arm),
                                    " ", arms[arm].results.size());
    }
    for (std::size_t i = 0; i < arms[0].results.size(); ++i) {
      const Value& a = arms[0].results[i];
      const Value& b = arms[arm].results[i];
      const auto mismatch = [&] {
        return core::text(op, ": result ", i, " is ", a.dtype(), a.shape(), " in the first arm and ", b.dtype(),
                          b.shape(), " in ", name(arm));
      };
      if (a.dtype() != b.dtype()) throw TypeError(mismatch());
      if (a.shape() != b.shape()) throw ShapeError(mismatch());
    }
  }
}

}  // namespace

std::vector<Value> record_branch(std::string_view op, const Value& index, bool is_truth,
                                 std::span<const std::function<std::vector<Value>()>> functions) {
  const Value number = is_truth ? core::cast_to(!AnyTensor(one_truth(op, "the condition", index)), DType::i64)
                                : one_number(op, "the index", index);
  const Draw draw = next_draw(Mode::lazy);
  core::BranchAttributes branch;
  branch.draw = draw.number;
  std::vector<std::unique_ptr<RegionScope>> scopes;  // what they hold is needed until all arms are made
  std::vector<RecordedArm> arms;
  std::vector<std::shared_ptr<core::State>> assigned;
  for (const auto& function : functions) {
    scopes.push_back(std::make_unique<RegionScope>());
    RegionScope& scope = *scopes.back();
    RecordedArm arm;
    arm.since = scope.since();
    arm.key = scope.parameter(key_type, "key");
    const DrawScope draws(arm.key);
    arm.results = strong(op, function());
    arm.states = scope.leave();
    for (const RegionState& each : arm.states) {
      if (each.assigned() && std::ranges::find(assigned, each.state) == assigned.end()) assigned.push_back(each.state);
    }
    arms.push_back(std::move(arm));
  }
  check_arms(op, arms);
  const std::size_t own = arms[0].results.size();
  // An arm that does not assign a state yields what it was.
  for (RecordedArm& arm : arms) {
    for (const auto& state : assigned) {
      const RegionState* const used = find_state(arm, state.get());
      arm.results.push_back(used == nullptr    ? Value()
                            : used->assigned() ? assigned_value(used->last)
                                               : used->parameter);
    }
  }
  std::vector<Captures> captures;
  std::vector<Value> outside;  // of all arms
  // Where a capture of an arm comes: one that the arm captures twice, as two parameters, has two places.
  const auto place_of = [&](const Captures& all, std::size_t which) {
    const Value& value = all.outside[which];
    const auto is_it = [&](const Value& each) { return same_value(each, value); };
    const auto here = all.outside.begin() + static_cast<std::ptrdiff_t>(which);
    std::ptrdiff_t before = std::count_if(all.outside.begin(), here, is_it);
    for (std::size_t i = 0; i < outside.size(); ++i) {
      if (is_it(outside[i]) && before-- == 0) return i;
    }
    outside.push_back(value);
    return outside.size() - 1;
  };
  for (RecordedArm& arm : arms) {
    std::vector<Value> roots;
    std::vector<RegionState> standing_in = arm.states;
    for (std::size_t i = 0; i < arm.results.size(); ++i) {
      if (!arm.results[i]) {
        Value version;
        for (const RecordedArm& other : arms) {
          if (const RegionState* used = find_state(other, assigned[i - own].get())) version = used->outside;
        }
        arm.results[i] = version;
        standing_in.push_back({assigned[i - own], version, version, version});
      }
      roots.push_back(arm.results[i]);
    }
    branch.keyed = branch.keyed || reaches(roots, arm.since, arm.key);
    captures.push_back(captures_for(roots, arm.since, standing_in));
    for (std::size_t i = 0; i < captures.back().outside.size(); ++i) (void)place_of(captures.back(), i);
  }
  for (std::size_t a = 0; a < arms.size(); ++a) {
    // Every arm takes what any of them captures, in one order.
    std::vector<Value> inside = outside;
    for (std::size_t i = 0; i < captures[a].outside.size(); ++i) {
      inside[place_of(captures[a], i)] = captures[a].inside[i];
    }
    std::vector<Value> inputs;
    if (branch.keyed) inputs.push_back(arms[a].key);
    branch.arms.push_back(region_of({inputs, arms[a].results, {}, inside}));
  }
  scopes.clear();
  std::vector<Value> operands{number};
  if (branch.keyed) operands.push_back(draw.key);
  operands.insert(operands.end(), outside.begin(), outside.end());
  const Value first = core::emit(Mode::lazy, OpId::branch, std::move(branch), operands);
  std::vector<Value> results;
  for (std::size_t i = 0; i < own; ++i) results.push_back(core::result(first, static_cast<std::uint32_t>(i)));
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    assign_version(assigned[i], Mode::lazy, core::result(first, static_cast<std::uint32_t>(own + i)));
  }
  return results;
}

}  // namespace tyto::run
