// SPDX-License-Identifier: MIT
// Gradients of loops and branches: regions that replay the body under a tape and take its gradients. A loop's runs
// backwards over the carries with which its iterations began.
#include <algorithm>
#include <memory>

#include "core/graph/builder.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/graph/region_scope.hpp"
#include "engine/regions/record/region_record.hpp"
#include "engine/regions/record/region_residuals.hpp"
#include "engine/regions/record/region_values.hpp"
#include "ops/define.hpp"
#include "tyto/autodiff.hpp"

namespace tyto::run {

namespace {

using core::GraphNode;
using core::Mode;
using core::OpId;
using core::Port;

/// Replays a region on the given inputs, recorded node by node.
struct Replayed {
  std::vector<Value> values;  // by port
  std::vector<Value> outputs;
  std::vector<Value> updates;
};

Replayed replay(const core::Graph& graph, std::span<const Value> inputs) {
  std::vector<Value> values(graph.port_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].port] = inputs[i];
  std::vector<Value> operands;
  for (const GraphNode& node : graph.nodes()) {
    if (node.op == OpId::read && node.input_count == 0) continue;
    if (node.op == OpId::constant) {
      values[node.first_result] = core::constant(Mode::neutral, *graph.constant(node.first_result));
      continue;
    }
    operands.clear();
    for (const Port port : graph.inputs_of(node)) operands.push_back(values[port]);
    const std::vector<Value> results = emit_again(Mode::lazy, node.op, graph.attributes(node), operands);
    for (std::uint32_t i = 0; i < node.result_count; ++i) values[node.first_result + i] = results[i];
  }
  Replayed replayed;
  for (const Port port : graph.outputs()) replayed.outputs.push_back(values[port]);
  for (const core::GraphUpdate& update : graph.updates()) replayed.updates.push_back(values[update.port]);
  replayed.values = std::move(values);
  return replayed;
}

bool has_gradient(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

/// The mode of a node's gradient: an eager one's is computed at once, unless its incoming gradient was recorded.
Mode mode_of(const core::GradientContext& context) {
  Mode mode = context.results[0].node()->mode();
  for (const std::span<const Value> values : {context.gradients, context.so_far}) {
    for (const Value& value : values) {
      if (value) mode = std::max(mode, value.node()->mode());
    }
  }
  return mode;
}

Value filled(Mode mode, const Value& like, double number) {
  return core::emit(mode, OpId::fill, core::RangeAttributes{like.shape(), like.dtype(), number, 0});
}

/// A parameter of a region and what it is outside; empty inside where the region does without.
struct Operand {
  Value inside, outside;
};

/// Leaves of each list the operands that the roots depend on, when all of them are given.
void leave_used(std::span<const Value> roots, std::uint64_t since, std::initializer_list<std::vector<Operand>*> lists) {
  std::vector<Value> given;
  for (const std::vector<Operand>* list : lists) {
    for (const Operand& each : *list) given.push_back(each.inside);
  }
  const std::vector<Value> reached = captures_of(roots, since, given);
  for (std::vector<Operand>* list : lists) {
    std::erase_if(*list, [&](const Operand& each) {
      return std::ranges::none_of(reached, [&](const Value& value) { return same_value(value, each.inside); });
    });
  }
}

/// The given values that another one depends on.
std::vector<bool> reached_from(const Value& value, std::uint64_t since, std::span<const Value> given) {
  std::vector<bool> reached(given.size(), false);
  if (!value) return reached;
  const std::vector<Value> found = captures_of({&value, 1}, since, given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    reached[i] = std::ranges::any_of(found, [&](const Value& each) { return same_value(each, given[i]); });
  }
  return reached;
}

/// An operand whose gradient is requested, and its sum so far.
struct Wanted {
  std::size_t operand;
  Value tracked;  // inside
};

class LoopGradient {
 public:
  explicit LoopGradient(const core::GradientContext& context)
      : c_(context), loop_(std::get<core::IterationAttributes>(context.attributes)) {
    if (loop_.trips < 0) {
      throw GraphError(
          "grad: a while_loop or fori_loop without a bound has no reverse mode in a graph; give {.most = n}");
    }
    leading_ = std::size_t{loop_.counted} + std::size_t{loop_.tested};
    first_carry_ = leading_ + std::size_t{loop_.keyed};
    first_row_ = first_carry_ + static_cast<std::size_t>(loop_.carries);
    first_capture_ = first_row_ + static_cast<std::size_t>(loop_.rows);
  }

  std::vector<Value> make() {
    make_parameters();
    run_body();
    (void)scope_.leave();  // a graph that is closed uses no states
    // The requested gradients may not depend on any given one.
    const bool none = cotangents_.empty() && sums_.empty() && row_gradients_.empty();
    return none ? std::vector<Value>(c_.inputs.size()) : emit();
  }

  /// Ports of the body that are worth being kept for the gradient.
  std::vector<Port> residuals() {
    make_parameters();
    run_body();
    (void)scope_.leave();
    std::vector<Value> roots = next_cotangents_;
    roots.insert(roots.end(), next_sums_.begin(), next_sums_.end());
    roots.insert(roots.end(), row_gradients_.begin(), row_gradients_.end());
    std::vector<Value> cotangents;
    for (const Wanted& each : cotangents_) cotangents.push_back(each.tracked);
    for (const Wanted& each : sums_) cotangents.push_back(each.tracked);
    for (const auto& [output, row] : cotangent_rows_) cotangents.push_back(rows_[row].inside);
    std::vector<Value> candidates;
    const core::Graph& body = loop_.body.graph();
    for (const GraphNode& node : body.nodes()) {
      if (node.result_count == 1 && node.input_count != 0) candidates.push_back(replayed_.values[node.first_result]);
    }
    std::vector<Port> ports;
    const std::vector<Value> kept = residuals_of(roots, cotangents, candidates, scope_.since());
    for (Port port = 0; port < replayed_.values.size(); ++port) {
      const auto is_port = [&](const Value& each) { return same_value(each, replayed_.values[port]); };
      if (replayed_.values[port] && std::ranges::any_of(kept, is_port)) ports.push_back(port);
    }
    return ports;
  }

 private:
  Value parameter(const core::TensorType& type, const char* name) { return scope_.parameter(type, name); }
  bool is_wanted(std::size_t operand) const { return c_.needed[operand] && has_gradient(c_.inputs[operand].dtype()); }

  // Carries that a gradient comes to: of a result, of stacked rows, or of the next value of another such carry. The
  // others get none, not zeros: zero times an infinite derivative is NaN.
  void find_active() {
    const core::Graph& body = loop_.body.graph();
    const auto carries = static_cast<std::size_t>(loop_.carries);
    active_.assign(carries, false);
    std::vector<Port> pending;
    const auto reach = [&](std::size_t carry) {
      if (active_[carry] || !has_gradient(body.type(body.inputs()[carry].port).dtype)) return;
      active_[carry] = true;
      pending.push_back(body.updates()[carry].port);
    };
    for (std::size_t i = 0; i < carries; ++i) {
      if (c_.gradients[i]) reach(i);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop_.stacked); ++i) {
      if (c_.gradients[carries + i]) pending.push_back(body.outputs()[i + (loop_.tested ? 1 : 0)]);
    }
    std::vector<std::size_t> carry_of(body.port_count(), carries);
    for (std::size_t i = 0; i < carries; ++i) carry_of[body.inputs()[i].port] = i;
    std::vector<bool> seen(body.port_count(), false);
    while (!pending.empty()) {
      const Port port = pending.back();
      pending.pop_back();
      if (seen[port]) continue;
      seen[port] = true;
      if (carry_of[port] != carries) reach(carry_of[port]);
      const auto inputs = body.inputs_of(body.nodes()[body.producer(port)]);
      pending.insert(pending.end(), inputs.begin(), inputs.end());
    }
  }

  void make_parameters() {
    find_active();
    const auto carries = static_cast<std::size_t>(loop_.carries);
    const auto stacked = static_cast<std::size_t>(loop_.stacked - loop_.histories);
    for (std::size_t i = 0; i < carries; ++i) {
      const Value& history = c_.results[carries + stacked + i];
      rows_.push_back({parameter(row_type(history), "carry"), history});
      if (active_[i]) cotangents_.push_back({i, parameter(row_type(history), "cotangent")});
    }
    const core::TensorType number{DType::i64, {}, false};
    const core::TensorType key{DType::i64, {2}, false};
    if (loop_.numbered) number_ = parameter(number, "number");
    if (loop_.keyed) key_ = parameter(key, "key");
    for (std::size_t i = first_row_; i < first_capture_; ++i) {
      rows_.push_back({parameter(row_type(c_.inputs[i]), "row"), c_.inputs[i]});
    }
    for (std::size_t i = first_capture_; i < c_.inputs.size(); ++i) {
      captures_.push_back({parameter(type_of(c_.inputs[i]), "capture"), c_.inputs[i]});
      if (is_wanted(i)) sums_.push_back({i, parameter(type_of(c_.inputs[i]), "gradient so far")});
    }
    // A second derivative also has gradients of the carries that the first one stacked.
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop_.stacked); ++i) {
      const Value& gradient = c_.gradients[carries + i];
      if (!gradient) continue;
      cotangent_rows_.emplace_back(i, rows_.size());
      rows_.push_back({parameter(row_type(gradient), "cotangent row"), gradient});
    }
  }

  // Contributions add up in the order in which a tape of the unrolled loop meets them: what captured values have so far
  // first, then what comes from stacked results, then what comes from the iteration after.
  void run_body() {
    detail::Tape tape;
    std::vector<Value> inputs;
    std::vector<Value> results;
    std::vector<Value> weights;
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop_.carries); ++i) {
      const Value& carry = rows_[i].inside;
      inputs.push_back(active_[i] ? tape.track(carry) : carry);
    }
    if (number_) inputs.push_back(number_);
    if (key_) inputs.push_back(key_);
    for (std::size_t i = first_row_; i < first_capture_; ++i) {
      const Value& row = rows_[static_cast<std::size_t>(loop_.carries) + i - first_row_].inside;
      inputs.push_back(is_wanted(i) ? tape.track(row) : row);
    }
    for (std::size_t i = first_capture_; i < c_.inputs.size(); ++i) {
      const Value& capture = captures_[i - first_capture_].inside;
      inputs.push_back(is_wanted(i) ? tape.track(capture) : capture);
      if (is_wanted(i)) results.push_back(inputs.back());
    }
    for (const Wanted& sum : sums_) weights.push_back(sum.tracked);
    replayed_ = replay(loop_.body.graph(), inputs);
    for (const auto& [output, row] : cotangent_rows_) {
      results.push_back(replayed_.outputs[output + (loop_.tested ? 1 : 0)]);
      weights.push_back(rows_[row].inside);
    }
    for (const Wanted& cotangent : cotangents_) {
      results.push_back(replayed_.updates[cotangent.operand]);
      weights.push_back(cotangent.tracked);
    }
    const std::vector<Value> found = tape.gradients(results, weights);
    // In the order of tracking: carries, rows, captures.
    std::size_t next = 0;
    for (std::size_t i = 0; i < cotangents_.size(); ++i) next_cotangents_.push_back(found[next++]);
    for (std::size_t i = first_row_; i < first_capture_; ++i) {
      if (is_wanted(i)) row_gradients_.push_back(found[next++]);
    }
    for (std::size_t i = 0; i < sums_.size(); ++i) next_sums_.push_back(found[next++]);
  }

  /// Whether a gradient comes to what the loop takes: in the order of cotangents_, row_gradients_ and sums_.
  struct Reached {
    std::vector<bool> carries, rows, sums;
  };

  // Operands that no gradient comes to get none, not zeros: zero times an infinite derivative is NaN. Where the count
  // is known only when the loop runs there may be any number of iterations.
  Reached find_reached() const {
    const std::size_t count = cotangents_.size();
    std::vector<Value> given;
    for (const Wanted& each : cotangents_) given.push_back(each.tracked);
    for (const auto& [output, row] : cotangent_rows_) given.push_back(rows_[row].inside);
    // Whether a value depends on the gradient of one of these carries at the end of its iteration, or on that of a row.
    const auto depends_on = [&](const std::vector<bool>& from, const std::vector<bool>& carries) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (from[i] && (i >= count || carries[i])) return true;
      }
      return false;
    };
    const std::vector<bool> all(count, true);
    std::vector<std::vector<bool>> before;  // of each carry: what its gradient at the beginning depends on
    std::vector<bool> now(count);           // carries with a gradient at the end of an iteration, from the last one on
    for (std::size_t i = 0; i < count; ++i) {
      before.push_back(reached_from(next_cotangents_[i], scope_.since(), given));
      now[i] = static_cast<bool>(c_.gradients[cotangents_[i].operand]);
    }
    constexpr std::int64_t most_followed = 64;
    const bool known = !loop_.counted && !loop_.tested;
    std::vector<bool> ever(count);
    bool settled = false;
    for (std::int64_t trip = 0; known && !settled && trip < std::min(loop_.trips, most_followed); ++trip) {
      std::vector<bool> next(count);
      for (std::size_t i = 0; i < count; ++i) {
        ever[i] = ever[i] || now[i];
        next[i] = depends_on(before[i], now);
      }
      settled = next == now;
      now = std::move(next);
    }
    if (!known || (!settled && loop_.trips > most_followed)) {
      for (std::size_t i = 0; i < count; ++i) now[i] = now[i] || depends_on(before[i], all);
      ever = all;
    }
    const auto each_of = [&](const std::vector<Value>& values) {
      std::vector<bool> reached;
      for (const Value& value : values) {
        reached.push_back(loop_.trips != 0 && depends_on(reached_from(value, scope_.since(), given), ever));
      }
      return reached;
    };
    return {now, each_of(row_gradients_), each_of(next_sums_)};
  }

  std::vector<Value> emit() {
    const Mode mode = mode_of(c_);
    core::IterationAttributes backward;
    std::vector<Value> operands;
    backward.trips = loop_.trips;
    backward.counted = loop_.counted || loop_.tested;
    if (backward.counted) operands.push_back(loop_.tested ? c_.results.back() : c_.inputs[0]);
    backward.reverse = !loop_.reverse;
    backward.keyed = loop_.keyed;
    backward.numbered = loop_.numbered;
    backward.draw = loop_.draw;
    if (loop_.keyed) operands.push_back(c_.inputs[leading_]);
    std::vector<Value> inputs;
    for (const Wanted& each : cotangents_) {
      inputs.push_back(each.tracked);
      const Value& gradient = c_.gradients[each.operand];
      operands.push_back(gradient ? gradient : filled(mode, c_.results[each.operand], 0));
    }
    // Minus zero is what changes no sum, not even one of minus zeros.
    const bool runs = loop_.trips > 0 && !backward.counted;
    for (const Wanted& each : sums_) {
      inputs.push_back(each.tracked);
      const Value& so_far = c_.so_far[each.operand];
      operands.push_back(so_far ? so_far : filled(mode, c_.inputs[each.operand], runs ? -0.0 : 0.0));
    }
    backward.carries = static_cast<std::int64_t>(inputs.size());
    std::vector<Value> next = next_cotangents_;
    next.insert(next.end(), next_sums_.begin(), next_sums_.end());
    std::vector<Value> roots = next;
    roots.insert(roots.end(), row_gradients_.begin(), row_gradients_.end());
    // Stacked residuals of each iteration are inputs instead of being recomputed.
    std::vector<Operand> residuals;
    const auto carries = static_cast<std::size_t>(loop_.carries);
    const auto stacked = static_cast<std::size_t>(loop_.stacked);
    for (std::size_t i = stacked - static_cast<std::size_t>(loop_.histories) + carries; i < stacked; ++i) {
      residuals.push_back({replayed_.outputs[i + (loop_.tested ? 1 : 0)], c_.results[carries + i]});
    }
    std::vector<Operand> rows = rows_;
    std::vector<Operand> captures = captures_;
    leave_used(roots, scope_.since(), {&rows, &residuals, &captures});
    if (number_) inputs.push_back(number_);
    if (key_) inputs.push_back(key_);
    for (const Operand& row : rows) {
      inputs.push_back(row.inside);
      operands.push_back(row.outside);
    }
    // Inputs after the parameters: the other rows first.
    std::vector<Value> inside;
    for (const Operand& residual : residuals) {
      inside.push_back(residual.inside);
      operands.push_back(residual.outside);
    }
    for (const Operand& capture : captures) {
      inside.push_back(capture.inside);
      operands.push_back(capture.outside);
    }
    backward.rows = static_cast<std::int64_t>(rows.size() + residuals.size());
    backward.stacked = static_cast<std::int64_t>(row_gradients_.size());
    backward.body = region_of({inputs, row_gradients_, next, inside});
    const std::vector<Value> made = emit_loop(mode, std::move(backward), operands);
    const Reached reached = find_reached();
    std::vector<Value> gradients(c_.inputs.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < cotangents_.size(); ++i, ++at) {
      if (reached.carries[i]) gradients[first_carry_ + cotangents_[i].operand] = made[at];
    }
    for (std::size_t i = 0; i < sums_.size(); ++i, ++at) {
      if (!reached.sums[i]) continue;
      gradients[sums_[i].operand] = made[at];
      c_.included[sums_[i].operand] = true;
    }
    for (std::size_t i = first_row_, row = 0; i < first_capture_; ++i) {
      if (!is_wanted(i)) continue;
      if (reached.rows[row++]) gradients[i] = made[at];
      ++at;
    }
    return gradients;
  }

  const core::GradientContext& c_;
  const core::IterationAttributes& loop_;
  std::size_t leading_ = 0, first_carry_ = 0, first_row_ = 0, first_capture_ = 0;  // among the operands
  RegionScope scope_;
  std::vector<bool> active_;   // carries that a gradient comes to
  std::vector<Operand> rows_;  // carries that iterations began with, rows, cotangents of rows
  std::vector<Operand> captures_;
  std::vector<Wanted> cotangents_;                                   // of carries, by number
  std::vector<Wanted> sums_;                                         // of captures, by operand
  std::vector<std::pair<std::size_t, std::size_t>> cotangent_rows_;  // result and place in rows_
  Value number_, key_;
  Replayed replayed_;
  std::vector<Value> next_cotangents_, next_sums_, row_gradients_;
};

/// The arms of a branch's gradient take the same operands in the same order.
class BranchGradient {
 public:
  explicit BranchGradient(const core::GradientContext& context)
      : c_(context), branch_(std::get<core::BranchAttributes>(context.attributes)), first_(branch_.keyed ? 2 : 1) {
    for (std::size_t i = first_; i < c_.inputs.size(); ++i) {
      if (c_.needed[i] && has_gradient(c_.inputs[i].dtype())) wanted_.push_back(i);
    }
  }

  std::vector<Value> make() {
    std::vector<Value> gradients(c_.inputs.size());
    if (wanted_.empty()) return gradients;
    std::vector<Value> outside(c_.inputs.begin() + static_cast<std::ptrdiff_t>(first_), c_.inputs.end());
    for (const std::size_t operand : wanted_) {
      if (c_.so_far[operand]) outside.push_back(c_.so_far[operand]);
    }
    for (const Value& gradient : c_.gradients) {
      if (gradient) outside.push_back(gradient);
    }
    std::vector<Arm> arms;
    std::vector<bool> reached(outside.size(), false);
    for (const core::Region& region : branch_.arms) {
      arms.push_back(record(region.graph(), outside));
      for (std::size_t i = 0; i < outside.size(); ++i) reached[i] = reached[i] || arms.back().reached[i];
    }
    core::BranchAttributes backward;
    backward.keyed = branch_.keyed;
    backward.draw = branch_.draw;
    for (const Arm& arm : arms) {
      std::vector<Value> keys;
      if (arm.key) keys.push_back(arm.key);
      std::vector<Value> inside;
      for (std::size_t i = 0; i < outside.size(); ++i) {
        if (reached[i]) inside.push_back(arm.parameters[i]);
      }
      backward.arms.push_back(region_of({keys, arm.gradients, {}, inside}));
    }
    std::vector<Value> operands(c_.inputs.begin(), c_.inputs.begin() + static_cast<std::ptrdiff_t>(first_));
    for (std::size_t i = 0; i < outside.size(); ++i) {
      if (reached[i]) operands.push_back(outside[i]);
    }
    const Value first = core::emit(mode_of(c_), OpId::branch, std::move(backward), operands);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      // Operands that no arm gives a gradient get none, not zeros.
      if (std::ranges::none_of(arms, [i](const Arm& arm) { return arm.gives[i]; })) continue;
      gradients[wanted_[i]] = core::result(first, static_cast<std::uint32_t>(i));
      c_.included[wanted_[i]] = true;
    }
    return gradients;
  }

 private:
  struct Arm {
    std::unique_ptr<RegionScope> scope = std::make_unique<RegionScope>();
    Value key;
    std::vector<Value> parameters;
    std::vector<Value> gradients;
    std::vector<bool> gives;  // of each gradient: whether it depends on that of a result
    std::vector<bool> reached;
  };

  Arm record(const core::Graph& graph, std::span<const Value> outside) {
    Arm arm;
    if (branch_.keyed) arm.key = arm.scope->parameter(type_of(c_.inputs[1]), "key");
    for (const Value& value : outside) arm.parameters.push_back(arm.scope->parameter(type_of(value), "capture"));
    detail::Tape tape;
    std::vector<Value> inputs;
    if (arm.key) inputs.push_back(arm.key);
    const std::size_t captures = c_.inputs.size() - first_;
    inputs.insert(inputs.end(), arm.parameters.begin(), arm.parameters.begin() + static_cast<std::ptrdiff_t>(captures));
    std::vector<Value> results;
    std::vector<Value> weights;
    std::size_t next = captures;
    for (const std::size_t operand : wanted_) {
      Value& input = inputs[operand - 1];
      input = tape.track(input);
      if (!c_.so_far[operand]) continue;
      results.push_back(input);
      weights.push_back(arm.parameters[next++]);
    }
    const Replayed replayed = replay(graph, inputs);
    const std::size_t first_weight = next;
    for (std::size_t i = 0; i < c_.gradients.size(); ++i) {
      if (!c_.gradients[i]) continue;
      results.push_back(replayed.outputs[i]);
      weights.push_back(arm.parameters[next++]);
    }
    arm.gradients = tape.gradients(results, weights);
    (void)arm.scope->leave();  // a graph that is closed uses no states
    const std::span<const Value> given = std::span(arm.parameters).subspan(first_weight);
    for (const Value& gradient : arm.gradients) {
      arm.gives.push_back(std::ranges::count(reached_from(gradient, arm.scope->since(), given), true) > 0);
    }
    const std::vector<Value> found = captures_of(arm.gradients, arm.scope->since(), arm.parameters);
    for (const Value& parameter : arm.parameters) {
      arm.reached.push_back(std::ranges::any_of(found, [&](const Value& each) { return same_value(each, parameter); }));
    }
    return arm;
  }

  const core::GradientContext& c_;
  const core::BranchAttributes& branch_;
  std::size_t first_;
  std::vector<std::size_t> wanted_;  // operands
};

}  // namespace

}  // namespace tyto::run

namespace tyto::run {

// Every result that can have a gradient is given one; their values do not matter for the structure of the body's
// gradient.
std::vector<core::Port> residual_ports(const core::IterationAttributes& loop, std::span<const Value> operands,
                                       std::span<const Value> results) {
  const auto needed = std::make_unique<bool[]>(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) needed[i] = operands[i].node()->tracked();
  std::vector<Value> gradients;
  const auto visible = static_cast<std::size_t>(loop.carries + loop.stacked - loop.histories);
  for (std::size_t i = 0; i < results.size(); ++i) {
    gradients.push_back(i < visible && has_gradient(results[i].dtype()) ? results[i] : Value());
  }
  const core::Attributes attributes = loop;
  const core::GradientContext context{attributes, operands, results, gradients, {needed.get(), operands.size()}};
  try {
    return LoopGradient(context).residuals();
  } catch (const DeviceError&) {
    throw;
  } catch (const Error&) {
    // A rule that throws will throw again when the gradient is taken; the loss may not depend on it.
    return {};
  }
}

}  // namespace tyto::run

namespace tyto::core {

std::vector<Value> loop_gradient(const GradientContext& context) { return run::LoopGradient(context).make(); }
std::vector<Value> branch_gradient(const GradientContext& context) { return run::BranchGradient(context).make(); }

}  // namespace tyto::core
