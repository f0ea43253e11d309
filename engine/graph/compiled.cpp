// SPDX-License-Identifier: MIT
// Calls of compiled functions: a session binds arguments and states, runs a trace, and hands out the results.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <unordered_set>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/state_observation.hpp"
#include "core/value/text.hpp"
#include "engine/graph/binding.hpp"
#include "engine/graph/compiled_function.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/sharing.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/eager_watch.hpp"
#include "engine/show/page.hpp"
#include "engine/show/profile.hpp"
#include "engine/show/report.hpp"
#include "ops/define.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

class CompiledSession;

namespace {

// A moved-from function has no traces; only another compiled function may be moved to it.
CompiledSession& held(CompiledSession* session) {
  if (session == nullptr) throw GraphError("compile: a compiled function that was moved from is used");
  return *session;
}

constexpr const char* called_while_running =
    "compile: the function is called while it runs, by another thread or by a delayed function of its own; take a "
    "session() for each";

}  // namespace

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
        core::throw_error<GraphError>("compile: ", name_of_argument(layout, i), " is an undefined tensor");
    }
    const std::vector<IntList> orders = orders_of(arguments);
    const auto fits = [&](const Run& run) {
      return CompiledFunction::fits(run.trace->signature, arguments, orders, layout);
    };
    const auto found = std::ranges::find_if(runs_, fits);
    // States that another run keeps bound would be copied before they are written.
    if (!runs_.empty() && found != runs_.begin()) runs_.front().session.release_inputs();
    if (found != runs_.end()) {
      runs_.splice(runs_.begin(), runs_, found);
    } else {
      auto trace = function_->trace_for(arguments, orders, layout, function);
      if (function_->is_shared()) refuse_updates(shared_function, trace->executable->graph());
      runs_.emplace_front(std::move(trace));
      // Each run keeps an arena; of sets of frozen parameters two do, such as those of a GAN's two halves.
      std::size_t sets = 1;
      runs_.remove_if([&](const Run& run) {
        return CompiledFunction::differ_by_parameters(run.trace->signature, runs_.front().trace->signature) &&
               ++sets > 2;
      });
      if (runs_.size() > CompiledFunction::trace_limit) runs_.pop_back();
    }
    if (runs_.size() > packing_limit) std::next(runs_.begin(), packing_limit)->session.release_packed();
    // The function itself too, once there are sessions beside it.
    if (function_->is_shared()) runs_.front().session.read_beside_others();
    take(run(runs_.front(), arguments));
  }

  /// Whether calls record the time of their steps.
  void time_calls(bool timed) {
    timed_ = timed;
    if (timed) was_timed_ = false;
  }
  const GraphProfile& profile() const {
    if (!was_timed_) throw GraphError("compile: a profile is of a call in lazy mode, and this one was none");
    return *last().profile;
  }
  /// The checks of eager results in a plain call, besides those of the environment.
  NumberCheck number_check() const {
    const CompileOptions& options = function_->options();
    return {options.check_nan || options.check_infinity, options.check_infinity};
  }

  const Run& last() const {
    if (runs_.empty())
      throw GraphError(
          "compile: plans, reports and pictures are of calls in lazy mode, and there was none yet (eager calls are "
          "computed line by line)");
    return runs_.front();
  }

 private:
  static constexpr std::size_t packing_limit = 2;  // sizes of one program that keep weights packed

  detail::Results& run(Run& called, std::span<const Value> arguments) {
    std::vector<Value>& values = called.results.values;
    values.clear();  // what an exception may have left would keep outputs from being used again
    Session& session = called.session.session();
    const std::vector<IntList>& orders = called.trace->signature.orders;
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      const core::TensorType& type = argument_type(arguments[i]);
      core::Array array = contents(type.weak ? core::cast_to(arguments[i], passed_as(type)) : arguments[i]);
      if (!orders.empty() && !orders[i].empty()) array.view = core::permute(array.view, orders[i]);
      session.bind(i, array);
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

  // Binds captured placeholders to the values that they have outside at the time of the call.
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

// Public headers do not name tyto::run, since a user's function may have that name.
class CompiledCore::Session : public run::CompiledSession {
  using CompiledSession::CompiledSession;
};

bool inlined() { return run::trace_in_progress() || core::any_tape_open() || run::open_vmaps != 0; }

namespace {
thread_local int plain_calls = 0;
}

CompiledCore::PlainCall::PlainCall(const CompiledCore& core) : outer_watch_(run::known_eager_watch()) {
  constexpr int deepest = 1000;  // a tenth of the usual stack, if each call takes a kilobyte
  if (plain_calls == deepest) {
    core::throw_error<GraphError>("compile: compiled functions call one another ", deepest,
                                  " deep; what calls itself must come to an end by what is known while it is recorded, "
                                  "such as a shape or a counter");
  }
  run::watch_eager_numbers(run::held(core.session_.get()).number_check());
  ++plain_calls;
}

CompiledCore::PlainCall::~PlainCall() {
  run::eager_watch = outer_watch_;
  --plain_calls;
}

std::string missing_input(const Value& x) {
  if (!x || run::trace_in_progress()) return {};
  std::unordered_set<const core::Node*> seen;
  const Value root = core::resolve(x);
  if (!root.node()->symbolic()) return {};
  std::vector<const core::Node*> stack{root.node()};
  while (!stack.empty()) {
    const core::Node* node = stack.back();
    stack.pop_back();
    if (!node->symbolic() || !seen.insert(node).second) continue;
    // The user's own have names; what vmap gives its function has none.
    if (node->op() == core::OpId::read && node->inputs().empty() && node->label() != nullptr) {
      const auto state = std::get<core::VersionAttributes>(node->attributes()).state.lock();
      if (state == nullptr || !state->assigned()) return *node->label();
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
  struct LazyStates {
    bool& seen;
    void touch(const std::shared_ptr<core::State>& state) { seen |= state->held().mode() == core::Mode::lazy; }
  } lazy_states{works_lazily_};
  const core::StateObservation observation(lazy_states);
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

std::string CompiledCore::dot() const {
  const run::CompiledSession::Run& last = run::held(session_.get()).last();
  return run::dot_of(last.trace->recorded, last.executable());
}

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
