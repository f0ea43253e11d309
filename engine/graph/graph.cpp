// SPDX-License-Identifier: MIT
// The explicit graph: inputs, outputs, update edges, run as often as wanted.
#include "tyto/graph.hpp"
#include "core/graph/op_ids.hpp"

#include <atomic>
#include <chrono>
#include <cstring>

#include "core/graph/builder.hpp"
#include "core/graph/custom.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/graph_bytes.hpp"
#include "engine/graph/incremental.hpp"
#include "engine/graph/sharing.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/show/formula.hpp"
#include "engine/show/page.hpp"
#include "engine/show/profile.hpp"
#include "engine/show/report.hpp"
#include "ops/define.hpp"

namespace tyto::run {

/// A value's number stays its own when the value is gone. Values would keep what their expressions read, such as the
/// contents that states had before the first run.
using ValueNumber = std::pair<std::uint64_t, std::uint32_t>;

class GraphState {
 public:
  const core::Graph& graph() const { return *recorded; }

  CompileOptions options;
  core::Device* device = nullptr;
  std::shared_ptr<const core::Graph> recorded;  // shared by sessions
  std::vector<ValueNumber> outputs;             // as the user named them
  std::vector<Value> inputs;                    // handles of the placeholders
  std::vector<Value> variables;                 // handles of the states that are trained
  std::unique_ptr<IncrementalSession> session;
  std::vector<std::pair<std::uint32_t, core::Array>> given;  // values set before the graph was made ready
  double milliseconds = 0;
  bool has_run = false;
  std::atomic<bool> running = false;
  GraphProfile profile;  // of the last profile()
};

namespace {

ValueNumber number_of(const Value& value) { return {value.node()->sequence(), value.output()}; }

// A handle like the user's: states know nothing of their handles, so variables() makes new ones.
Value handle_of(const std::shared_ptr<core::State>& state) {
  auto* node =
      new core::Node(core::OpId::state, core::Mode::lazy,
                     std::make_shared<const core::Attributes>(core::StateAttributes{state}), {}, {&state->type(), 1});
  return Value(node, 0);
}

void list_states(GraphState& state) {
  for (const core::GraphInput& input : state.graph().inputs()) {
    if (input.state == nullptr || input.generator) continue;
    if (input.state->kind() == core::State::Kind::variable) state.variables.push_back(handle_of(input.state));
    if (input.state->kind() == core::State::Kind::placeholder) state.inputs.push_back(handle_of(input.state));
  }
}

constexpr const char* used_while_running =
    "Graph: the graph is used while it runs, by another thread or by a delayed function of its own; take a session() "
    "for each";

// A moved-from graph is empty; only another graph may be moved to it.
GraphState* held(GraphState* state) {
  if (state == nullptr) throw GraphError("Graph: a graph that was moved from is used");
  return state;
}

}  // namespace

}  // namespace tyto::run

namespace tyto TYTO_API {

// Public headers do not name tyto::run, since a user's function may have that name.
struct Graph::State : run::GraphState {};

Graph::Graph(const GraphSpec& spec, const CompileOptions& options) : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->device = &run::current_device();
  std::vector<std::shared_ptr<core::State>> inputs;
  for (const Tensor<Lazy>& input : spec.inputs) {
    core::require("Graph", input);
    inputs.push_back(run::state_behind(input, "Graph: input", "; Tensor::placeholder makes one"));
    if (inputs.back()->kind() != core::State::Kind::placeholder) {
      core::throw_error<GraphError>("Graph: input '", inputs.back()->name(), "' is no placeholder");
    }
  }
  std::vector<run::StateUpdate> updates;
  for (const Update& update : spec.updates) {
    core::require("Graph", update.state, update.value);
    const auto state = run::state_behind(update.state, "Graph: update", "; Tensor::variable makes one");
    if (state->kind() == core::State::Kind::placeholder) {
      core::throw_error<GraphError>("Graph: update of '", state->name(), "', which is a placeholder, not a state");
    }
    const auto mismatch = [&] {
      return core::text("Graph: update of '", state->name(), "', ", state->type().dtype, state->type().shape,
                        ", with a value of ", update.value.dtype(), update.value.shape());
    };
    if (update.value.shape() != state->type().shape) throw ShapeError(mismatch());
    if (update.value.dtype() != state->type().dtype) throw TypeError(mismatch());
    for (const run::StateUpdate& other : updates) {
      if (other.first == state) core::throw_error<GraphError>("Graph: '", state->name(), "' is updated twice");
    }
    updates.emplace_back(state, update.value);
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    if (!spec.outputs[i].defined()) core::throw_error<GraphError>("Graph: output ", i + 1, " is an undefined tensor");
  }
  const std::vector<Value> outputs(spec.outputs.begin(), spec.outputs.end());
  for (const Value& output : outputs) {
    core::require("Graph", output);
    state_->outputs.push_back(run::number_of(output));
  }
  run::Traced traced = run::trace({.outputs = outputs,
                                   .updates = updates,
                                   .inputs = inputs,
                                   .capture_constants = true,
                                   .bind_states = true,
                                   .since = 0});
  state_->recorded = std::make_shared<const core::Graph>(std::move(traced.graph));
  run::list_states(*state_);
}

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

void Graph::prepare() {
  if (run::held(state_.get())->session) return;
  const auto start = std::chrono::steady_clock::now();
  auto executable = std::make_shared<const run::Executable>(state_->graph(), *state_->device, state_->options, true);
  state_->session = std::make_unique<run::IncrementalSession>(std::move(executable));
  for (const auto& [input, array] : state_->given) state_->session->set(input, array);
  state_->given.clear();
  state_->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Graph Graph::session() {
  const run::OneCall only(run::held(state_.get())->running, run::used_while_running);
  prepare();
  run::refuse_updates("Graph: the graph", state_->graph());
  run::compute_pending_states(state_->graph());
  auto other = std::make_unique<State>();
  other->options = state_->options;
  other->device = state_->device;
  other->recorded = state_->recorded;
  other->outputs = state_->outputs;
  other->inputs = state_->inputs;
  other->variables = state_->variables;
  other->milliseconds = state_->milliseconds;
  other->session = std::make_unique<run::IncrementalSession>(state_->session->whole().shared_executable());
  other->session->read_beside_others();
  state_->session->read_beside_others();  // this one runs beside it
  return Graph(std::move(other));
}

void Graph::set(const Tensor<Lazy>& input, const Tensor<Lazy>& value) {
  core::require("Graph::set", input, value);
  const auto state = run::state_behind(input, "Graph::set", "; Tensor::placeholder makes one");
  for (std::uint32_t i = 0; i < run::held(state_.get())->graph().inputs().size(); ++i) {
    if (state_->graph().inputs()[i].state != state) continue;
    const run::OneCall only(state_->running, run::used_while_running);
    prepare();
    state_->session->set(i, run::contents(core::cast_to(value, input.dtype())));
    return;
  }
  core::throw_error<GraphError>("Graph::set: '", state->name(), "' is no input of this graph");
}

void Graph::run() {
  const run::OneCall only(run::held(state_.get())->running, run::used_while_running);
  prepare();
  state_->session->run();
  state_->has_run = true;
}

Tensor<Lazy> Graph::output(std::size_t index) const {
  if (index >= output_count()) {
    core::throw_error<IndexError>("Graph::output: ", index, " of ", output_count(), " outputs");
  }
  if (!state_->has_run) throw GraphError("Graph: an output is read before the first run");
  const core::Array& array = state_->session->output(index);
  if (!array) throw GraphError("Graph: an output is read after a run that failed");
  return core::constant(core::Mode::lazy, array);
}

Tensor<Lazy> Graph::operator[](const Tensor<Lazy>& output) const {
  core::require("Graph", output);
  for (std::size_t i = 0; i < run::held(state_.get())->outputs.size(); ++i) {
    if (state_->outputs[i] == run::number_of(output.value())) return this->output(i);
  }
  core::throw_error<GraphError>("Graph: a tensor of shape ", output.shape(),
                                " is read that is no output of this graph");
}

std::vector<Tensor<Lazy>> Graph::inputs() const {
  return {run::held(state_.get())->inputs.begin(), state_->inputs.end()};
}

std::size_t Graph::output_count() const { return run::held(state_.get())->graph().outputs().size(); }

std::vector<Tensor<Lazy>> Graph::variables() const {
  return {run::held(state_.get())->variables.begin(), state_->variables.end()};
}

const MemoryPlan& Graph::plan() {
  prepare();
  return state_->session->whole().executable().plan();
}

GraphReport Graph::report() {
  prepare();
  GraphReport report = run::report_of(state_->session->whole(), state_->milliseconds);
  report.kept_bytes += state_->session->kept_bytes();
  report.unplanned_allocations = state_->session->unplanned_allocations();
  if (state_->has_run) report.last_run_steps = state_->session->last_run_steps();
  return report;
}

std::string Graph::memory_map() {
  prepare();
  return run::memory_map_of(state_->session->whole().executable());
}

std::string Graph::dot() {
  prepare();
  return run::dot_of(state_->graph(), state_->session->whole().executable());
}

GraphProfile Graph::profile() {
  prepare();
  const run::Executable& executable = state_->session->whole().executable();
  std::vector<double> milliseconds(executable.steps().size(), 0);
  const auto start = std::chrono::steady_clock::now();
  state_->session->run_timed(milliseconds);
  const double whole = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  state_->has_run = true;
  state_->profile = run::profile_of(executable, milliseconds, whole);
  return state_->profile;
}

std::string Graph::html() {
  prepare();
  return run::page_of(state_->graph(), state_->session->whole().executable(), state_->profile);
}

std::string Graph::chrome_trace() const {
  if (run::held(state_.get())->profile.steps.empty()) throw GraphError(run::no_profile);
  return state_->profile.chrome_trace();
}

std::string Graph::formula(FormulaStyle style) const {
  return run::formula_of(run::held(state_.get())->graph(), style);
}

std::string Graph::text() const { return run::graph_to_text(run::held(state_.get())->graph()); }

std::vector<std::byte> Graph::to_bytes() const { return run::graph_to_bytes(run::held(state_.get())->graph()); }

Graph Graph::from_bytes(std::span<const std::byte> bytes, const std::string& name, const CompileOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->device = &run::current_device();
  state->recorded = std::make_shared<const core::Graph>(run::graph_from_bytes(name, bytes));
  run::list_states(*state);
  return Graph(std::move(state));
}

template <class M>
Tensor<M> delay(const Shape& shape, DType dtype,
                std::function<Tensor<Eager>(const std::vector<Tensor<Eager>>&)> function,
                const std::vector<Tensor<M>>& inputs) {
  if (!function) throw ValueError("delay: the function is empty");
  for (const std::int64_t length : shape) {
    if (length < 0) core::throw_error<ShapeError>("delay: shape ", shape, " has a negative length");
  }
  for (const Tensor<M>& input : inputs) core::require("delay", input);
  auto op = std::make_shared<core::CustomOperator>();
  op->name = "delay";
  op->results = {{dtype, shape, false}};
  op->host = [function = std::move(function), shape, dtype](std::span<const core::HostBuffer> from,
                                                            std::span<const core::HostBuffer> to) {
    std::vector<Tensor<Eager>> arguments;
    for (const core::HostBuffer& array : from) {
      arguments.push_back(Tensor<Eager>::from_bytes(array.data, element_count(array.shape), array.shape, array.dtype));
    }
    const Tensor<Eager> result = function(arguments);
    core::require("delay", result);
    if (result.shape() != shape || result.dtype() != dtype) {
      core::throw_error<ShapeError>("delay: the function yields ", result.dtype(), result.shape(), ", declared were ",
                                    dtype, shape);
    }
    const core::Array array = run::to_device(run::contiguous(run::contents(result)), run::cpu_device());
    const std::size_t width = size_of(dtype);
    const auto bytes = static_cast<std::size_t>(element_count(shape)) * width;
    if (bytes != 0) {
      std::memcpy(
          to[0].data,
          static_cast<const std::byte*>(array.buffer->memory()) + static_cast<std::size_t>(array.view.offset) * width,
          bytes);
    }
  };
  std::vector<Value> operands;
  for (const Tensor<M>& input : inputs) operands.push_back(core::cast_to(input, input.dtype()));
  const core::Mode mode = std::is_same_v<M, Lazy> ? core::Mode::lazy : core::Mode::eager;
  if (operands.empty()) return core::emit(mode, core::OpId::custom, core::CustomAttributes{op});
  return core::emit(core::OpId::custom, core::CustomAttributes{op}, operands);
}
TYTO_INSTANTIATE(delay)

template <class M>
std::optional<Tensor<Eager>> known(const Tensor<M>& x) {
  const Value& value = core::given("known", x);
  if (!run::is_known(value)) return {};
  return Tensor<Eager>(core::constant(core::Mode::eager, run::contents(value)));
}
TYTO_INSTANTIATE(known)

}  // namespace TYTO_API
