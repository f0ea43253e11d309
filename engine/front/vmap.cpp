// SPDX-License-Identifier: MIT
// Replays a recorded function on a batch of examples: a rule for each family of operators puts the examples' axis
// first; operators without a rule are applied to one example after the other.
#include "tyto/vmap.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/device/process_group.hpp"
#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/state_observation.hpp"
#include "core/value/shape.hpp"
#include "core/value/text.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/regions/record/region_record.hpp"
#include "ops/define.hpp"
#include "tyto/products.hpp"

namespace tyto TYTO_API {
namespace detail {

namespace {

using core::Node;
using core::OpId;
using BatchedTensor = Tensor<Any>;

/// An operand: for all examples, or the same one for each.
struct Operand {
  Value value;
  bool batched = false;
};

IntList shifted(const IntList& axes) {
  IntList out;
  for (const std::int64_t axis : axes) out.push_back(axis + 1);
  return out;
}

IntList with_first(std::int64_t first, const IntList& list) {
  IntList out{first};
  for (const std::int64_t each : list) out.push_back(each);
  return out;
}

/// Inserts axes of length one after the examples' axis until an example has `rank` axes.
Value raised(const Operand& operand, int rank) {
  const Shape& shape = operand.value.shape();
  if (!operand.batched || shape.rank() >= rank + 1) return operand.value;
  Shape wider{shape[0]};
  wider.resize(static_cast<std::size_t>(rank + 2 - shape.rank()), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) wider.push_back(shape[i]);
  return reshape(BatchedTensor(operand.value), wider);
}

/// Replays one node for `count` examples at once, or returns that there is no rule for it.
class BatchRule {
 public:
  BatchRule(const Node& node, std::span<const Operand> operands, std::int64_t count)
      : node_(node), operands_(operands), count_(count) {}

  std::optional<Value> apply() const {
    const core::OpDef& def = core::definition(node_);
    if (def.is(core::Traits::elementwise)) return elementwise();
    const core::Attributes& attributes = node_.attributes();
    switch (node_.op()) {
      case OpId::cast:
      case OpId::copy:
      case OpId::stop_gradient:
      case OpId::alias:
      case OpId::read:
      case OpId::tril:
      case OpId::triu:
      case OpId::check_bounds:
      case OpId::diag_embed: return same();
      case OpId::transpose: return list(with_first(0, shifted(list_of(attributes))));
      case OpId::reshape: return list(with_first(count_, list_of(attributes)));
      case OpId::broadcast_to: return broadcast(list_of(attributes));
      case OpId::diagonal: {
        const IntList& given = list_of(attributes);
        return list({given[0], given[1] + 1, given[2] + 1});
      }
      case OpId::tile: return list(with_first(1, list_of(attributes)));
      case OpId::repeat: return list({list_of(attributes)[0], list_of(attributes)[1] + 1});
      case OpId::roll: return list(with_first(0, list_of(attributes)));
      case OpId::slice: return emitted(sliced(attributes), {operands_[0].value});
      case OpId::set_slice: return emitted(sliced(attributes), {whole(0), whole(1)});
      case OpId::pad: {
        auto padding = std::get<core::PadAttributes>(attributes);
        padding.before = with_first(0, padding.before);
        padding.after = with_first(0, padding.after);
        return emitted(padding, {operands_[0].value});
      }
      case OpId::concat: {
        std::vector<Value> parts;
        for (std::size_t i = 0; i < operands_.size(); ++i) parts.push_back(whole(i));
        return core::emit(OpId::concat, along(attributes), parts);
      }
      case OpId::take:
        if (operands_[1].batched) return {};
        return emitted(along(attributes), {operands_[0].value, operands_[1].value});
      case OpId::take_along_axis: return emitted(along(attributes), {whole(0), whole(1)});
      case OpId::matmul: return matmul(BatchedTensor(whole(0)), BatchedTensor(whole(1))).value();
      case OpId::quantised_matmul: return rows_together(attributes);
      default: break;
    }
    if (node_.inputs().size() != 1 || def.results != 1) return {};
    if (const auto* axes = std::get_if<core::AxesAttributes>(&attributes)) {
      return emitted(core::AxesAttributes{shifted(axes->axes), axes->keepdims}, {operands_[0].value});
    }
    if (auto variance = attributes; auto* given = std::get_if<core::VarianceAttributes>(&variance)) {
      given->axes = shifted(given->axes);
      return emitted(variance, {operands_[0].value});
    }
    if (node_.op() == OpId::partition || node_.op() == OpId::argpartition) {
      auto around = std::get<core::TopkAttributes>(attributes);
      ++around.axis;
      return emitted(around, {operands_[0].value});
    }
    switch (node_.op()) {
      case OpId::argmin:
      case OpId::argmax:
      case OpId::cumsum:
      case OpId::cumprod:
      case OpId::cummin:
      case OpId::cummax:
      case OpId::sort:
      case OpId::argsort:
      case OpId::softmax:
      case OpId::log_softmax: return emitted(along(attributes), {operands_[0].value});
      case OpId::inv:
      case OpId::det:
      case OpId::cholesky:
      case OpId::eigvalsh:
      case OpId::svdvals:
      case OpId::expm:
      case OpId::order_statistics: return same();  // of the last two axes, whatever stands before them
      default: return {};
    }
  }

 private:
  static const IntList& list_of(const core::Attributes& attributes) {
    return std::get<core::ListAttributes>(attributes).list;
  }
  Value emitted(core::Attributes attributes, std::initializer_list<Value> inputs) const {
    return core::emit(node_.op(), std::move(attributes), inputs);
  }
  /// Applies an operator on a matrix of rows, whose other operands all examples share, to one matrix of all rows.
  std::optional<Value> rows_together(const core::Attributes& attributes) const {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].batched != (i == 0)) return {};
    }
    const Shape& shape = operands_[0].value.shape();
    std::vector<Value> operands{reshape(BatchedTensor(operands_[0].value), {shape[0] * shape[1], shape.back()})};
    for (const Operand& each : operands_.subspan(1)) operands.push_back(each.value);
    const BatchedTensor y(core::emit(node_.op(), attributes, operands));
    return reshape(y, {shape[0], shape[1], y.shape().back()}).value();
  }

  Value same() const { return emitted(node_.attributes(), {operands_[0].value}); }
  Value list(IntList list) const { return emitted(core::ListAttributes{std::move(list)}, {operands_[0].value}); }

  static core::Attributes along(core::Attributes attributes) {
    ++*core::axis_of(attributes);
    return attributes;
  }
  core::Attributes sliced(const core::Attributes& attributes) const {
    auto part = std::get<core::SliceAttributes>(attributes);
    return core::SliceAttributes{with_first(0, part.start), with_first(count_, part.count), with_first(1, part.step)};
  }

  /// An operand that is the same for all, once for each of them.
  Value whole(std::size_t i) const {
    if (operands_[i].batched) return operands_[i].value;
    return broadcast_to(BatchedTensor(operands_[i].value), with_first(count_, operands_[i].value.shape()));
  }

  Value elementwise() const {
    std::vector<Value> inputs;
    const int rank = node_.results()[0].type.shape.rank();
    for (const Operand& operand : operands_) inputs.push_back(raised(operand, rank));
    return core::emit_elementwise(node_.op(), inputs);
  }

  Value broadcast(const Shape& shape) const {
    const Value input = raised(operands_[0], shape.rank());
    return emitted(core::ListAttributes{with_first(count_, shape)}, {input});
  }

  const Node& node_;
  std::span<const Operand> operands_;
  std::int64_t count_;
};

/// Computes all results of a node, one example after the other.
std::vector<Value> one_by_one(const Node& node, std::span<const Operand> operands, std::int64_t count) {
  std::vector<std::vector<BatchedTensor>> results(node.results().size());
  for (std::int64_t example = 0; example < count; ++example) {
    std::vector<Value> inputs;
    for (const Operand& operand : operands) {
      inputs.push_back(operand.batched ? BatchedTensor(operand.value).get({example}).value() : operand.value);
    }
    const std::vector<Value> made = run::emit_again(core::mode_of(inputs), node.op(), node.attributes(), inputs);
    for (std::size_t i = 0; i < results.size(); ++i) results[i].push_back(made[i]);
  }
  std::vector<Value> stacked;
  for (const std::vector<BatchedTensor>& each : results) stacked.push_back(stack(each, 0));
  return stacked;
}

}  // namespace

/// Assignments of the recorded function to states are visible to that function alone, until it has returned. Collective
/// calls are refused: other processes have no such examples.
class Batch::States {
 public:
  struct Assigned {
    std::shared_ptr<core::State> state;
    Value version;
  };

  States() {
    observation_.emplace(*this);
    ++run::open_vmaps;
  }
  ~States() { restore(); }
  States(const States&) = delete;
  States& operator=(const States&) = delete;

  void touch(const std::shared_ptr<core::State>& state) {
    if (std::any_of(used_.begin(), used_.end(), [&](const Used& each) { return each.state == state; })) return;
    observation_->tell_outer(state);
    const Value outside = state->current();
    if (outside) used_.push_back({state, outside, state->stand_in(outside)});
  }

  /// States are as they were; those that the function assigned to and did not make for itself alone are listed.
  std::vector<Assigned> leave() {
    std::vector<Assigned> assigned;
    for (Used& each : used_) {
      const Value last = each.state->current();
      const bool shared = each.state.use_count() > 1;
      if (shared && !same_value(last, each.outside)) assigned.push_back({each.state, last});
    }
    restore();
    return assigned;
  }

 private:
  struct Used {
    std::shared_ptr<core::State> state;
    Value outside;
    Value before;  // what stood in for it
  };

  void restore() {
    if (!observation_) return;
    observation_.reset();
    barred_.reset();
    --run::open_vmaps;
    for (Used& each : used_) each.state->end_stand_in(std::move(each.before));
  }

  std::vector<Used> used_;
  std::optional<core::StateObservation> observation_;
  std::optional<core::CollectivesBarred> barred_{std::in_place};
};

Batch::Batch(const std::vector<Value>& arguments, std::vector<std::optional<std::int64_t>> axes) {
  if (axes.empty()) axes.assign(arguments.size(), 0);
  if (axes.size() != arguments.size()) {
    core::throw_error<ValueError>("vmap: ", axes.size(), " axes for ", arguments.size(), " arguments");
  }
  std::optional<std::int64_t> count;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value& argument = core::given("vmap", arguments[i]);
    if (!axes[i]) {
      examples_.push_back(argument);
      batches_.emplace_back();
      continue;
    }
    if (argument.ndim() == 0) core::throw_error<ShapeError>("vmap: argument ", i, " of shape () has no examples");
    batches_.push_back(moveaxis(BatchedTensor(argument), *axes[i], 0));
    const Shape& shape = batches_.back().shape();
    if (count && *count != shape[0]) {
      core::throw_error<ShapeError>("vmap: argument ", i, " has ", shape[0], " examples, those before it ", *count);
    }
    count = shape[0];
    const Shape example(std::span(shape.begin() + 1, shape.end()));
    placeholders_.push_back(run::make_state(core::Mode::lazy, core::State::Kind::placeholder,
                                            core::text("an example of vmap's argument ", i),
                                            {argument.dtype(), example, false}));
    examples_.push_back(core::resolve(placeholders_.back()));
  }
  if (!count) throw ValueError("vmap: no argument has an axis along which examples lie");
  if (*count == 0) throw ShapeError("vmap: there are no examples");
  count_ = *count;
  states_ = std::make_shared<States>();
}

std::vector<Value> Batch::replay(const std::vector<Value>& results) const {
  // Whether each node depends on an example, and the order in which nodes were recorded.
  std::unordered_map<const Node*, bool> depends;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    if (batches_[i]) depends[examples_[i].node()] = true;
  }
  std::vector<Value> roots;
  for (const Value& result : results) roots.push_back(core::given("vmap", result));
  const std::vector<States::Assigned> assigned = states_->leave();
  std::vector<Value> stack = roots;
  for (const States::Assigned& each : assigned) stack.push_back(each.version);
  std::vector<Node*> order;
  std::unordered_map<const Node*, bool> entered;
  while (!stack.empty()) {
    const Value value = stack.back();
    Node* node = value.node();
    if (depends.contains(node)) {
      stack.pop_back();
      continue;
    }
    if (entered.emplace(node, true).second && !node->evaluated()) {
      for (const Value& input : node->inputs()) stack.push_back(input);
      continue;
    }
    stack.pop_back();
    const bool hangs = !node->evaluated() && std::any_of(node->inputs().begin(), node->inputs().end(),
                                                         [&](const Value& input) { return depends[input.node()]; });
    depends[node] = hangs;
    if (hangs) order.push_back(node);
  }
  for (const States::Assigned& each : assigned) {
    if (!depends[each.version.node()]) continue;
    core::throw_error<GraphError>("vmap: the function assigns '", each.state->name(),
                                  "' a value of the example's own; return the value, and assign what vmap makes of it");
  }
  for (const States::Assigned& each : assigned) each.state->set_current(each.version);

  std::unordered_map<const Node*, std::vector<Value>> replayed;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    if (batches_[i]) replayed[examples_[i].node()] = {batches_[i]};
  }
  const auto operand = [&](const Value& value) -> Operand {
    const auto found = replayed.find(value.node());
    if (found == replayed.end()) return {value, false};
    return {found->second[value.output()], true};
  };
  for (Node* node : order) {
    std::vector<Operand> operands;
    for (const Value& input : node->inputs()) operands.push_back(operand(input));
    const std::optional<Value> at_once = BatchRule(*node, operands, count_).apply();
    replayed[node] = at_once ? std::vector<Value>{*at_once} : one_by_one(*node, operands, count_);
  }
  std::vector<Value> out;
  for (const Value& root : roots) {
    const Operand found = operand(root);
    out.push_back(found.batched
                      ? found.value
                      : broadcast_to(BatchedTensor(found.value), with_first(count_, found.value.shape())).value());
  }
  return out;
}

}  // namespace detail
}  // namespace TYTO_API
