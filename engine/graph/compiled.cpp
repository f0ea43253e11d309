// SPDX-License-Identifier: MIT
// Compiled functions: one trace an input signature, kept in a bounded list and shared by the sessions that run it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <unordered_set>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/graph/binding.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/random.hpp"
#include "engine/graph/sharing.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/state_observation.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/eager_watch.hpp"
#include "engine/show/page.hpp"
#include "engine/show/profile.hpp"
#include "engine/show/report.hpp"
#include "ops/define.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

class CompiledSession;

namespace {

/// A name that was given another value in a trace.
struct Rebinding {
  detail::NameReference name;
  Value before;
};

// While a function is traced, states read as inputs of the graph and assignments are collected instead of made.
class TraceScope {
 public:
  TraceScope() : since_(core::next_sequence()) {
    observation_.emplace(
        [](void* self, const std::shared_ptr<core::State>& state) { static_cast<TraceScope*>(self)->touch(state); },
        this);
  }
  ~TraceScope() {
    observation_.reset();
    for (auto& [state, saved] : touched_) state->end_stand_in(std::move(saved.before));
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  std::uint64_t since() const { return since_; }
  std::span<const Value> effects() const { return in_progress_.effects(); }
  const Generator& sequence() const { return draws_.start(); }

  /// Of this thread, or null.
  static TraceScope* innermost() { return static_cast<TraceScope*>(TraceInProgress::innermost_scope()); }

  /// A name gets a new value. Noted where that hangs on the trace and the name had a value before it began.
  void note_new_value(detail::OwnName& name, void* tensor, const Value& before, const Value& next) {
    if (!is_of_trace(next) || before.node()->sequence() >= since_) return;
    if (!is_kept_state(before) && (before.node()->symbolic() || before.node()->op() == core::OpId::state)) return;
    rebound_.push_back({detail::NameReference(name.made(tensor, &before)), before});
  }
  /// The names that are still there, with values of the trace: they are from outside, or were made to outlive it.
  std::vector<Rebinding> rebound() {
    std::erase_if(rebound_, [this](const Rebinding& each) {
      return each.name->tensor == nullptr || !*each.name->value || !is_of_trace(*each.name->value);
    });
    return std::move(rebound_);
  }

  std::vector<StateUpdate> updates() const {
    std::vector<StateUpdate> list;
    for (const auto& [state, saved] : touched_) {
      if (!same_value(state->current(), saved.symbol)) list.emplace_back(state, assigned_value(state->current()));
    }
    return list;
  }

 private:
  struct Saved {
    Value before;  // what stood in before
    Value symbol;  // what a read in the trace yields until the state is assigned to
  };

  bool is_of_trace(const Value& value) const { return value.node()->symbolic() && value.node()->sequence() >= since_; }

  void touch(const std::shared_ptr<core::State>& state) {
    if (!is_kept(*state) || !seen_.insert(state.get()).second) return;
    const Value symbol = core::version(core::Mode::lazy, state, core::Array());
    touched_.emplace_back(state, Saved{state->stand_in(symbol), symbol});
  }

  std::vector<std::pair<std::shared_ptr<core::State>, Saved>> touched_;
  std::unordered_set<const core::State*> seen_;  // those of touched_
  OwnGenerator draws_;
  std::uint64_t since_;
  std::vector<Rebinding> rebound_;
  TraceInProgress in_progress_{TraceInProgress::Of::function, this};
  std::optional<StateObservation> observation_;
};

bool depends_on(const Value& value, const Value& other) {
  std::unordered_set<const core::Node*> seen;
  std::vector<const core::Node*> stack{value.node()};
  while (!stack.empty()) {
    const core::Node* node = stack.back();
    stack.pop_back();
    if (node == other.node()) return true;
    if (node->sequence() < other.node()->sequence() || !seen.insert(node).second) continue;
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  return false;
}

// A name from outside that a trace left with another value was rebound, and what later calls compute never reaches it.
// A state always is meant to be assigned to. Another value may be kept for show, so there it counts only if the new one
// was computed from the old one, which later calls would not see.
void refuse_rebinding(const std::vector<Rebinding>& rebound) {
  const auto state = std::ranges::find_if(rebound, [](const Rebinding& each) { return is_kept_state(each.before); });
  if (state != rebound.end()) {
    const std::string& name = state_behind(state->before, "compile")->name();
    const std::string code = name.find_first_of(" /.") == std::string::npos ? name : "w";
    throw GraphError(core::text("compile: '", name,
                                "' was rebound inside a compiled function, which leaves the state as it was; write ",
                                code, " -= ... or assign(", code, ", ...) instead of ", code, " = ..."));
  }
  for (const Rebinding& each : rebound) {
    if (!depends_on(*each.name->value, each.before)) continue;
    throw GraphError(
        core::text("compile: a tensor of shape ", each.before.shape(),
                   " from outside was rebound inside a compiled function, whose later calls would not see its new "
                   "value; make it a "
                   "Tensor::variable or Tensor::persistent and write x += ... or assign(x, ...), or return the value"));
  }
}

const core::TensorType& type_of(const Value& argument) { return core::result_of(core::resolve(argument)).type; }

// Scalars come as what holds all of them: in the function they may meet f64.
DType passed_as(const core::TensorType& type) {
  if (!type.weak || !is_inexact(type.dtype)) return type.dtype;
  return is_complex(type.dtype) ? DType::c128 : DType::f64;
}

// A scalar is one in the function as well, and yields to the tensors that it meets.
Value scalar_operand(const Value& input, const core::TensorType& type) {
  Value operands[] = {core::resolve(input)};
  return Value(
      new core::Node(core::OpId::cast, core::Mode::lazy,
                     std::make_shared<const core::Attributes>(core::CastAttributes{type.dtype}), operands, {&type, 1}),
      0);
}

// What users call a tensor among the arguments: "argument 2", or "argument 2[0]" of a list or tuple.
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

// What was moved from has no traces; only another compiled function may be moved to it.
CompiledSession& held(CompiledSession* session) {
  if (session == nullptr) throw GraphError("compile: a compiled function that was moved from is used");
  return *session;
}

constexpr const char* called_while_running =
    "compile: the function is called while it runs, by another thread or by a delayed function of its own; take a "
    "session() for each";
constexpr const char* shared_function = "compile: the function";

}  // namespace

/// What tells one trace of a function from another.
struct Signature {
  std::vector<core::TensorType> arguments;
  std::string layout;  // see detail::lay_out
  core::Device* device;
};

/// What all sessions share.
struct CompiledTrace {
  Signature signature;
  core::Graph recorded;  // without the contents of constants
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<void> structure;  // of the results
  double milliseconds = 0;
};

/// The same graph, for pictures: what constants hold belongs to the executable, which may have no more use for it.
core::Graph without_contents(const core::Graph& graph) {
  core::GraphData data = core::Graph(graph).take();
  for (core::GraphNode& node : data.nodes) {
    if (node.op == core::OpId::constant) node.attributes = nullptr;
  }
  return core::Graph(std::move(data));
}

using MakeTrace = std::function<detail::Results(const std::vector<Value>&)>;

/// The traces of a function. Threads ask for them at the same time; one is made at a time.
class CompiledFunction {
 public:
  static constexpr std::size_t trace_limit = 16;

  explicit CompiledFunction(CompileOptions options) : options_(std::move(options)) {}

  const CompileOptions& options() const { return options_; }

  std::shared_ptr<const CompiledTrace> trace_for(std::span<const Value> arguments, const std::string& layout,
                                                 const MakeTrace& function) {
    refuse_own_body();
    const std::lock_guard lock(mutex_);
    auto found = traces_.begin();
    while (found != traces_.end() && !fits((*found)->signature, arguments, layout)) ++found;
    if (found != traces_.end()) {
      traces_.splice(traces_.begin(), traces_, found);
    } else {
      const Maker maker(maker_);
      traces_.push_front(
          std::make_shared<const CompiledTrace>(make(signature_of(arguments, layout), arguments, function)));
      if (traces_.size() > trace_limit) traces_.pop_back();
    }
    return traces_.front();
  }

  /// From now on sessions may run at the same time. Throws GraphError naming a state that the function updates.
  void share() {
    refuse_own_body();
    const std::lock_guard lock(mutex_);
    for (const auto& trace : traces_) refuse_updates(shared_function, trace->executable->graph());
    shared_ = true;
  }
  bool is_shared() const { return shared_.load(std::memory_order_acquire); }

  static bool fits(const Signature& signature, std::span<const Value> arguments, const std::string& layout) {
    if (signature.device != &current_device() || signature.arguments.size() != arguments.size()) return false;
    if (signature.layout != layout) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!(signature.arguments[i] == type_of(arguments[i]))) return false;
    }
    return true;
  }

 private:
  /// The thread that makes a trace, while it does.
  class Maker {
   public:
    explicit Maker(std::atomic<std::thread::id>& maker) : maker_(maker) { maker_ = std::this_thread::get_id(); }
    ~Maker() { maker_ = std::thread::id(); }
    Maker(const Maker&) = delete;
    Maker& operator=(const Maker&) = delete;

   private:
    std::atomic<std::thread::id>& maker_;
  };

  void refuse_own_body() const {
    if (maker_ == std::this_thread::get_id())
      throw GraphError("compile: the function asks for itself, or for a session(), while it is recorded");
  }

  static Signature signature_of(std::span<const Value> arguments, const std::string& layout) {
    Signature signature{{}, layout, &current_device()};
    for (const Value& argument : arguments) {
      signature.arguments.push_back(type_of(argument));
    }
    return signature;
  }

  CompiledTrace make(Signature signature, std::span<const Value> arguments, const MakeTrace& function) {
    const auto start = std::chrono::steady_clock::now();
    CompiledTrace trace;
    std::vector<Value> inputs;
    std::vector<std::shared_ptr<core::State>> states;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      inputs.push_back(make_state(core::Mode::lazy, core::State::Kind::placeholder,
                                  name_of_argument(signature.layout, i),
                                  {passed_as(signature.arguments[i]), signature.arguments[i].shape, false}));
      states.push_back(state_behind(inputs.back(), "compile"));
    }
    Traced traced;
    std::vector<Rebinding> rebound;
    {
      TraceScope scope;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (signature.arguments[i].weak) inputs[i] = scalar_operand(inputs[i], signature.arguments[i]);
      }
      const detail::Results results = function(inputs);
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
    // Other sizes of the same program follow the order and the plan that were found for the first.
    std::vector<std::shared_ptr<const Executable>> related;
    for (const auto& other : traces_) related.push_back(other->executable);
    if (shared_) compute_pending_states(traced.graph);
    trace.recorded = without_contents(traced.graph);
    trace.executable =
        std::make_shared<const Executable>(std::move(traced.graph), *signature.device, options_, related);
    trace.signature = std::move(signature);
    trace.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return trace;
  }

  CompileOptions options_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const CompiledTrace>> traces_;  // most recently asked for first
  std::atomic<bool> shared_ = false;
  std::atomic<std::thread::id> maker_ = {};
};

/// One thread's way to call a function: an arena for each trace that it called.
class CompiledSession {
 public:
  explicit CompiledSession(std::shared_ptr<CompiledFunction> function) : function_(std::move(function)) {}

  /// A trace as this session runs it.
  struct Run {
    std::shared_ptr<const CompiledTrace> trace;
    BoundSession session;
    detail::Results results = {};              // of the last call
    std::optional<GraphProfile> profile = {};  // of the last call that was timed

    explicit Run(std::shared_ptr<const CompiledTrace> made) : trace(std::move(made)), session(trace->executable) {
      results.structure = trace->structure;
    }
    const Executable& executable() const { return *trace->executable; }
  };

  std::shared_ptr<CompiledFunction> shared() const {
    function_->share();
    return function_;
  }

  void call(std::span<const Value> arguments, const std::string& layout, const MakeTrace& function,
            const std::function<void(detail::Results&)>& take) {
    const OneCall only(running_, called_while_running);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i])
        throw GraphError(core::text("compile: ", name_of_argument(layout, i), " is an undefined tensor"));
    }
    auto found = runs_.begin();
    while (found != runs_.end() && !CompiledFunction::fits(found->trace->signature, arguments, layout)) ++found;
    if (found != runs_.end()) {
      runs_.splice(runs_.begin(), runs_, found);
    } else {
      auto trace = function_->trace_for(arguments, layout, function);
      if (function_->is_shared()) refuse_updates(shared_function, trace->executable->graph());
      runs_.emplace_front(std::move(trace));
      if (runs_.size() > CompiledFunction::trace_limit) runs_.pop_back();
    }
    if (runs_.size() > packing_limit) std::next(runs_.begin(), packing_limit)->session.release_packed();
    // The function itself too, once there are sessions beside it.
    if (function_->is_shared()) runs_.front().session.read_beside_others();
    take(run(runs_.front(), arguments));
  }

  /// Whether calls note the time of their steps.
  void time_calls(bool timed) {
    timed_ = timed;
    if (timed) was_timed_ = false;
  }
  const GraphProfile& profile() const {
    if (!was_timed_) throw GraphError("compile: a profile is of a call in lazy mode, and this one was none");
    return *last().profile;
  }
  /// What eager operators of a plain call are looked at for beside what the environment says.
  NumberCheck number_check() const {
    const CompileOptions& options = function_->options();
    return {options.check_nan || options.check_infinity, options.check_infinity};
  }

  const Run& last() const {
    if (runs_.empty())
      throw GraphError(
          "compile: there is no plan: the function was not called in lazy mode yet (eager calls are computed line by "
          "line)");
    return runs_.front();
  }

 private:
  static constexpr std::size_t packing_limit = 2;  // sizes of one program that keep weights packed

  detail::Results& run(Run& called, std::span<const Value> arguments) {
    std::vector<Value>& values = called.results.values;
    values.clear();  // what an exception may have left would keep outputs from being used again
    Session& session = called.session.session();
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      const core::TensorType& type = type_of(arguments[i]);
      session.bind(i, contents(type.weak ? core::cast_to(arguments[i], passed_as(type)) : arguments[i]));
    }
    bind_captured_placeholders(session, static_cast<std::uint32_t>(arguments.size()));
    if (timed_) called.profile = profile_of_run(called.session);
    else called.session.run();
    was_timed_ = was_timed_ || timed_;
    for (std::uint32_t i = 0; i < arguments.size(); ++i) session.unbind(i);
    for (std::size_t i = 0; i < session.executable().graph().outputs().size(); ++i) {
      values.push_back(core::constant(core::Mode::lazy, session.output(i)));
    }
    return called.results;
  }

  static GraphProfile profile_of_run(BoundSession& bound) {
    const Executable& executable = bound.session().executable();
    std::vector<double> milliseconds(executable.steps().size(), 0);
    const auto start = std::chrono::steady_clock::now();
    bound.session().time_steps(milliseconds);
    try {
      bound.run();
    } catch (...) {
      bound.session().time_steps({});
      throw;
    }
    bound.session().time_steps({});
    const double whole = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return run::profile_of(executable, milliseconds, whole);
  }

  // Those that the function captured have the values that they have outside at the time of the call.
  static void bind_captured_placeholders(Session& session, std::uint32_t arguments) {
    const std::span<const core::GraphInput> inputs = session.executable().graph().inputs();
    for (std::uint32_t i = arguments; i < inputs.size(); ++i) {
      const core::State* state = inputs[i].state.get();
      if (state == nullptr || inputs[i].generator || state->kind() != core::State::Kind::placeholder) continue;
      if (state->assigned()) session.bind(i, state->assigned());
    }
  }

  std::shared_ptr<CompiledFunction> function_;
  std::atomic<bool> running_ = false;
  std::list<Run> runs_;  // most recently called first
  bool timed_ = false;
  bool was_timed_ = false;  // a call since then
};

}  // namespace tyto::run

namespace tyto TYTO_API {
namespace detail {

// Public headers name nothing of tyto::run, which functions of users may be called as well.
class CompiledCore::Session : public run::CompiledSession {
  using CompiledSession::CompiledSession;
};

bool inlined() { return run::trace_in_progress() || core::any_tape_open(); }

namespace {
thread_local int plain_calls = 0;
}

CompiledCore::PlainCall::PlainCall(const CompiledCore& core) : outer_watch_(run::known_eager_watch()) {
  constexpr int deepest = 1000;  // a tenth of the usual stack, if each call takes a kilobyte
  if (plain_calls == deepest) {
    throw GraphError(core::text("compile: compiled functions call one another ", deepest,
                                " deep; what calls itself must come to an end by what is known while it is recorded, "
                                "such as a shape or a counter"));
  }
  run::watch_eager_numbers(run::held(core.session_.get()).number_check());
  ++plain_calls;
}

CompiledCore::PlainCall::~PlainCall() {
  run::eager_watch = outer_watch_;
  --plain_calls;
}

void note_new_value(OwnName& name, void* tensor, const Value& before, const Value& next) noexcept {
  run::TraceScope* const trace = run::TraceScope::innermost();
  if (trace == nullptr || !next) return;
  try {
    trace->note_new_value(name, tensor, before, next);
  } catch (const std::bad_alloc&) {
    // Without memory for the note the trace itself ends by the next line.
  }
}

std::string missing_input(const Value& x) {
  if (!x || run::trace_in_progress()) return {};
  std::unordered_set<const core::Node*> seen;
  const Value root = core::resolve(x);
  std::vector<const core::Node*> stack{root.node()};
  while (!stack.empty()) {
    const core::Node* node = stack.back();
    stack.pop_back();
    if (!node->symbolic() || !seen.insert(node).second) continue;
    if (node->op() == core::OpId::read && node->inputs().empty()) {
      const auto state = std::get<core::VersionAttributes>(node->attributes()).state.lock();
      if (state != nullptr && !state->assigned()) return state->name();
    }
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  return {};
}

Value value_now(const Value& argument) { return run::is_kept_state(argument) ? core::resolve(argument) : argument; }

CompiledCore::CompiledCore(CompileOptions options)
    : session_(std::make_shared<Session>(std::make_shared<run::CompiledFunction>(std::move(options)))) {}

CompiledCore CompiledCore::session() const {
  CompiledCore other(*this);
  other.session_ = std::make_shared<Session>(run::held(session_.get()).shared());
  return other;
}

void CompiledCore::call(std::span<const Value> arguments, const std::string& layout,
                        const std::function<Results(const std::vector<Value>&)>& function,
                        const std::function<void(Results&)>& take) {
  run::held(session_.get()).call(arguments, layout, function, take);
}

void CompiledCore::observe(const std::function<void()>& function) {
  const auto note = [](void* seen, const std::shared_ptr<core::State>& state) {
    if (state->held().mode() == core::Mode::lazy) *static_cast<bool*>(seen) = true;
  };
  const run::StateObservation observation(note, &works_lazily_);
  function();
}

CompiledCore::Timing::Timing(CompiledCore& core) : session_(core.session_) {
  run::held(session_.get()).time_calls(true);
}
CompiledCore::Timing::~Timing() { session_->time_calls(false); }
GraphProfile CompiledCore::Timing::profile() const { return session_->profile(); }

const MemoryPlan& CompiledCore::plan() const { return run::held(session_.get()).last().executable().plan(); }

std::string CompiledCore::memory_map() const {
  return run::memory_map_of(run::held(session_.get()).last().executable());
}

std::string CompiledCore::dot() const { return run::dot_of(run::held(session_.get()).last().executable()); }

std::string CompiledCore::html() const {
  const run::CompiledSession::Run& last = run::held(session_.get()).last();
  return run::page_of(last.trace->recorded, last.executable(), last.profile.value_or(GraphProfile{}));
}

std::string CompiledCore::chrome_trace() const {
  const run::CompiledSession::Run& last = run::held(session_.get()).last();
  if (!last.profile) throw GraphError(run::no_profile);
  return last.profile->chrome_trace();
}

GraphReport CompiledCore::report() const {
  const run::CompiledSession::Run& last = run::held(session_.get()).last();
  return run::report_of(last.session.session(), last.trace->milliseconds);
}

}  // namespace detail
}  // namespace TYTO_API
