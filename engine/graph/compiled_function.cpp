// SPDX-License-Identifier: MIT
// Traces of a compiled function: found by the types of the arguments, or recorded and made executable.
#include "engine/graph/compiled_function.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/graph/builder.hpp"
#include "core/graph/label.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/tape.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/function_scope.hpp"
#include "engine/graph/sharing.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/devices.hpp"
#include "tyto/shaping.hpp"

namespace tyto::run {

namespace {

// A scalar is one in the function as well, and yields to the tensors that it meets.
Value scalar_operand(const Value& input, const core::TensorType& type) {
  Value operands[] = {core::resolve(input)};
  return Value(
      new core::Node(core::OpId::cast, core::Mode::lazy,
                     std::make_shared<const core::Attributes>(core::CastAttributes{type.dtype}), operands, {&type, 1}),
      0);
}

// The order of axes in which a permuted view is dense. Empty for a view that is dense as it is, or in no order.
IntList dense_order(const core::View& view) {
  if (core::is_dense(view)) return {};
  IntList order(view.shape.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  // Strides of axes of length one say nothing: these axes come first, so that equal layouts have equal orders.
  std::ranges::sort(order, {}, [&](std::int64_t axis) {
    const auto i = static_cast<std::size_t>(axis);
    return std::pair(view.shape[i] == 1 ? INT64_MIN : -view.strides[i], axis);
  });
  return core::is_dense(core::permute(view, order)) ? order : IntList();
}

// The same graph, for pictures, without the contents of constants, which the executable may release.
core::Graph without_contents(const core::Graph& graph) {
  core::GraphData data = core::Graph(graph).take();
  for (core::GraphNode& node : data.nodes) {
    if (node.op == core::OpId::constant) node.attributes = nullptr;
  }
  return core::Graph(std::move(data));
}

Signature signature_of(std::span<const Value> arguments, const std::vector<IntList>& orders,
                       const std::string& layout) {
  Signature signature{{}, orders, layout, &current_device()};
  for (const Value& argument : arguments) {
    signature.arguments.push_back(argument_type(argument));
  }
  return signature;
}

}  // namespace

const core::TensorType& argument_type(const Value& argument) { return core::result_of(core::resolve(argument)).type; }

std::vector<IntList> orders_of(std::span<const Value> arguments) {
  std::vector<IntList> orders;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value argument = core::resolve(arguments[i]);
    // Contents of a state may have been released, and what depends on a placeholder may have none.
    if (argument.node()->is_version() || argument.node()->symbolic()) continue;
    if (!argument.node()->evaluated()) evaluate({&argument, 1});
    IntList order = dense_order(core::result_of(argument).array.view);
    if (order.empty()) continue;
    orders.resize(arguments.size());
    orders[i] = std::move(order);
  }
  return orders;
}

DType passed_as(const core::TensorType& type) {
  if (!type.weak || !is_inexact(type.dtype)) return type.dtype;
  return is_complex(type.dtype) ? DType::c128 : DType::f64;
}

std::string name_of_argument(const std::string& layout, std::size_t number) {
  if (layout.empty()) return core::text("argument ", number + 1);
  std::vector<std::size_t> places{0};
  std::size_t seen = 0;
  for (const char part : layout) {
    if (part == '.' && seen++ == number) break;
    if (part == '(' || part == '<') {
      places.push_back(0);
      continue;
    }
    if (part == ')' || part == '>') places.pop_back();
    ++places.back();
  }
  std::string name = core::text("argument ", places[0] + 1);
  for (std::size_t i = 1; i < places.size(); ++i) name += core::text("[", places[i], "]");
  return name;
}

class CompiledFunction::Maker {
 public:
  explicit Maker(std::atomic<std::thread::id>& maker) : maker_(maker) { maker_ = std::this_thread::get_id(); }
  ~Maker() { maker_ = std::thread::id(); }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

 private:
  std::atomic<std::thread::id>& maker_;
};

std::shared_ptr<const CompiledTrace> CompiledFunction::trace_for(std::span<const Value> arguments,
                                                                 const std::vector<IntList>& orders,
                                                                 const std::string& layout, const MakeTrace& function) {
  refuse_own_body();
  const std::lock_guard lock(mutex_);
  auto found = traces_.begin();
  while (found != traces_.end() && !fits((*found)->signature, arguments, orders, layout)) ++found;
  if (found != traces_.end()) {
    traces_.splice(traces_.begin(), traces_, found);
  } else {
    const Maker maker(maker_);
    traces_.push_front(
        std::make_shared<const CompiledTrace>(make(signature_of(arguments, orders, layout), arguments, function)));
    if (traces_.size() > trace_limit) traces_.pop_back();
  }
  return traces_.front();
}

void CompiledFunction::share() {
  refuse_own_body();
  const std::lock_guard lock(mutex_);
  for (const auto& trace : traces_) refuse_updates(shared_function, trace->executable->graph());
  shared_ = true;
}

bool CompiledFunction::fits(const Signature& signature, std::span<const Value> arguments,
                            const std::vector<IntList>& orders, const std::string& layout) {
  if (signature.device != &current_device() || signature.arguments.size() != arguments.size()) return false;
  if (signature.layout != layout || signature.orders != orders) return false;
  if (signature.frozen && *signature.frozen != core::frozen_parameters) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!(signature.arguments[i] == argument_type(arguments[i]))) return false;
  }
  return true;
}

void CompiledFunction::refuse_own_body() const {
  if (maker_ == std::this_thread::get_id())
    throw GraphError("compile: the function asks for itself, or for a session(), while it is recorded");
}

bool CompiledFunction::differ_by_parameters(const Signature& a, const Signature& b) {
  return a.frozen != b.frozen && a.device == b.device && a.arguments == b.arguments && a.orders == b.orders &&
         a.layout == b.layout;
}

CompiledTrace CompiledFunction::make(Signature signature, std::span<const Value> arguments, const MakeTrace& function) {
  const auto start = std::chrono::steady_clock::now();
  CompiledTrace trace;
  std::vector<Value> inputs;
  std::vector<std::shared_ptr<core::State>> states;
  // Permuted arguments are bound as they lie in memory, and the function transposes them: so a trace has no inputs with
  // strides, and rules about transposed operands serve arguments too.
  const auto order_of = [&](std::size_t i) { return signature.orders.empty() ? IntList() : signature.orders[i]; };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Shape shape = signature.arguments[i].shape;
    if (const IntList order = order_of(i); !order.empty()) shape = core::permute(core::View::dense(shape), order).shape;
    inputs.push_back(make_state(core::Mode::lazy, core::State::Kind::placeholder, name_of_argument(signature.layout, i),
                                {passed_as(signature.arguments[i]), std::move(shape), false}));
    states.push_back(state_behind(inputs.back(), "compile"));
  }
  Traced traced;
  std::vector<Rebinding> rebound;
  {
    FunctionScope scope;
    const core::LabelScope of_no_caller{core::Label()};  // later calls come from elsewhere
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (signature.arguments[i].weak) inputs[i] = scalar_operand(inputs[i], signature.arguments[i]);
      if (const IntList order = order_of(i); !order.empty()) {
        inputs[i] = tyto::transpose(Tensor<Lazy>(inputs[i]), core::inverse_order(order)).value();
      }
    }
    const bool were_listed = std::exchange(core::parameters_were_listed, false);
    const detail::Results results = function(inputs);
    if (core::parameters_were_listed) signature.frozen = core::frozen_parameters;
    core::parameters_were_listed = core::parameters_were_listed || were_listed;
    for (const Value& result : results.values) {
      if (!result) throw GraphError("compile: a result of the function is an undefined tensor");
    }
    trace.structure = results.structure;
    const std::vector<StateUpdate> updates = scope.updates();
    traced = run::trace({.outputs = results.values,
                         .updates = updates,
                         .inputs = states,
                         .capture_constants = true,
                         .bind_states = true,
                         .since = scope.since(),
                         .sequence = scope.sequence(),
                         .effects = scope.effects()});
    rebound = scope.rebound();
  }
  refuse_rebinding(rebound);
  if (shared_) compute_pending_states(traced.graph);
  trace.recorded = without_contents(traced.graph);
  trace.executable = std::make_shared<const Executable>(std::move(traced.graph), *signature.device, options_, true);
  trace.signature = std::move(signature);
  trace.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return trace;
}

}  // namespace tyto::run
