// SPDX-License-Identifier: MIT
// Graphs in the user's hands: compiled functions, explicit graphs with inputs, outputs and update edges, delay.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/compiled_arguments.hpp"
#include "tyto/memory.hpp"
#include "tyto/passes.hpp"
#include "tyto/profile.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Options of compiling graphs.
struct CompileOptions {
  /// A name of memory_strategies(); the environment variable TYTO_MEMORY replaces "best".
  std::string memory_strategy = "best";
  /// Checks the memory plan by independent code; TYTO_CHECK_PLANS=1 and debug builds do it always.
  bool check_plan = false;
  /// Fills memory that holds nothing with NaN, before a run and after each step, so that a stray read shows in the
  /// results. Slow; TYTO_POISON=1 does it for all graphs.
  bool poison = false;
  /// Checks the results of every operator and throws ValueError at the first NaN, naming the operator, its layer or
  /// NameScope, and the element. Slow, and operators are not fused; TYTO_NAN=1 does it for everything.
  bool check_nan = false;
  /// The same, and for infinities in the result of finite operands; TYTO_NAN=inf does it for everything.
  bool check_infinity = false;
  std::string schedule = "best";  ///< how the order of operators is found: docs/memory.md lists the names
  /// Bytes that the plan may take; 0: as many as it needs. Values are computed twice instead of kept until it fits,
  /// with the same numbers; DeviceError states the smallest peak when nothing helps.
  std::size_t memory_limit = 0;
  /// Most steps that may run at the same time on a CPU, each on one thread: branches whose kernels are too small for
  /// all threads, where it pays as far as shapes tell. Graphs with loops or branches, and those within a memory_limit,
  /// run one step after the other. The numbers are the same; memory that steps use at the same time is not shared.
  int concurrency = 1;
  /// Switches of the graph optimiser: "-cse,+fast_math" turns passes off and on, "cse" alone runs only that one, "none"
  /// runs none; graph_passes() lists the names. The environment variable TYTO_PASSES has the last word.
  std::string passes = {};
  std::ostream* dump = nullptr;  ///< gets the graph's text before the first pass and after each that changed it
};

/// The new value that a state takes at the end of each run.
struct Update {
  Tensor<Lazy> state;  ///< a variable, persistent tensor or placeholder
  Tensor<Lazy> value;  ///< what it becomes
};

/// Notations of formula().
enum class FormulaStyle : std::uint8_t {
  text,   ///< "y = 2 * x^2"
  latex,  ///< lines of an `aligned` environment
};

/// Inputs, outputs and updates of a graph.
struct GraphSpec {
  std::vector<Tensor<Lazy>> inputs = {};   ///< placeholders, in the order in which run(...) takes values
  std::vector<Tensor<Lazy>> outputs = {};  ///< kept and readable after each run
  std::vector<Update> updates = {};        ///< state := value after each run
};

/// How a run updates a state.
struct StateUpdate {
  std::string state;      ///< its name
  std::string rule;       ///< what computes it: the rule of descent, layer or NameScope that it is of, else an operator
  bool in_place = false;  ///< the new value is written where the old one was
};

/// Bytes that a loop or branch copies besides its operators' results.
struct MovedBytes {
  std::string region;             ///< from outside in: "encoder/loop/branch"
  std::string value;              ///< "carry 1", "row 0", "result 0 of arm 2", "operand 3"
  std::string why;                ///< "its next value is a view"
  std::size_t per_iteration = 0;  ///< of the region, which is a loop
  /// Each time the region runs; of a loop whose count is not known the most, if that is at least the length of its
  /// delays.
  std::size_t per_run = 0;
};

/// Report of compiling a graph: sizes, times, and which operators the device left to the CPU.
struct GraphReport {
  std::size_t nodes = 0;           ///< after the passes
  std::size_t steps = 0;           ///< kernels that a run calls
  std::size_t parallel_steps = 0;  ///< of them, those that run concurrently with others (CompileOptions::concurrency)
  std::size_t arena_bytes = 0;     ///< planned: what is computed on the way
  std::size_t state_bytes = 0;     ///< variables and persistent tensors
  std::size_t constant_bytes = 0;  ///< captured or folded
  std::size_t input_bytes = 0;     ///< given at each run
  std::size_t output_bytes = 0;    ///< kept for who reads results
  std::size_t kept_bytes = 0;      ///< between runs: packed weights, and values that incremental runs need
  std::size_t last_run_steps = 0;  ///< steps that the last run took; fewer than `steps` when not all inputs changed
  std::size_t unplanned_allocations = 0;            ///< made by kernels in all runs so far; should be none
  std::vector<std::string> unplanned_by_node = {};  ///< who made them and how many: "conv1/custom: 2"
  double milliseconds = 0;                          ///< spent on order, plan and kernels
  std::vector<std::string> fallbacks = {};          ///< steps that the device leaves to the CPU
  std::vector<StateUpdate> updates = {};            ///< of variables and persistent tensors, in the order of the graph
  std::vector<std::string> collectives = {};        ///< what a run does together with other processes, in order
  std::size_t exchanged_bytes = 0;                  ///< of the tensors in `collectives`, on this process
  std::vector<MovedBytes> moved =
      {};  ///< what loops and branches copy; empty when each value stays where it was computed

  /// All memory that the graph holds while it runs.
  std::size_t total_bytes() const {
    return arena_bytes + state_bytes + constant_bytes + input_bytes + output_bytes + kept_bytes;
  }
  PassReport passes = {};  ///< what the optimiser did
};

/// Sizes and times on a few lines.
std::ostream& operator<<(std::ostream& out, const GraphReport& report);

/// Names what is recorded while it is alive: memory reports, pictures and profiles say "encoder/layer 3/matmul".
/// Scopes nest.
///
///     NameScope scope("encoder");
class NameScope {
 public:
  explicit NameScope(std::string name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  void* state_;
};

/// A recorded computation, run as often as wanted, by one thread at a time; each other thread takes a session().
///
///     Graph g{{.inputs = {x, t}, .outputs = {loss}, .updates = {{w, w_next}}}};
///     g.set(x, xs);  g.set(t, ts);  g.run();  g[loss].item<float>();
class Graph {
 public:
  explicit Graph(const GraphSpec& spec, const CompileOptions& options = {});
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Compiles the graph (order, memory plan, kernels); otherwise the first run() does.
  void prepare();
  /// The same graph for another thread: it shares plan, kernels and states, and has inputs, outputs and an arena of its
  /// own. Sessions run at the same time. Throws GraphError for a graph that updates states.
  Graph session();
  /// The value of an input for the runs to come, cast to the input's element type. The shape must be the input's.
  void set(const Tensor<Lazy>& input, const Tensor<Lazy>& value);
  /// Computes the outputs and the updates. Throws GraphError naming an input that was given no value.
  void run();
  /// An output of the last run. What was read stays as it is when the graph runs again.
  Tensor<Lazy> operator[](const Tensor<Lazy>& output) const;
  /// Outputs by number.
  Tensor<Lazy> output(std::size_t index) const;

  /// Placeholders, in the order given when the graph was made.
  std::vector<Tensor<Lazy>> inputs() const;
  /// How many outputs there are.
  std::size_t output_count() const;
  /// States that are trained.
  std::vector<Tensor<Lazy>> variables() const;
  /// The memory plan: peak, bound, the largest tensors at the peak.
  const MemoryPlan& plan();
  /// Report of compiling the graph: sizes, times, passes.
  GraphReport report();
  /// The memory plan as a picture in SVG: time to the right, addresses upwards, names on hover.
  std::string memory_map();
  /// The graph in Graphviz' language.
  std::string dot();
  /// Runs once, timing every step. Outputs and updates are those of a run like any other.
  GraphProfile profile();
  /// One page for a browser: the graph recorded and optimised, coloured by memory, its schedule, its memory map, and
  /// the profile taken last. It needs no network.
  std::string html();
  /// The profile taken last, for chrome://tracing and Perfetto. Throws GraphError when there is none.
  std::string chrome_trace() const;
  /// The graph as it was recorded: one line a node.
  std::string text() const;
  /// The graph as it was recorded, as mathematics: what each output is ("y = ...") and what each state becomes
  /// ("w <- ..."); what is read twice has a name of its own.
  std::string formula(FormulaStyle style = FormulaStyle::text) const;

  /// The recorded graph, its constants and the contents of its states. Throws GraphError naming a function of this
  /// program (delay) that the graph holds. save_graph() in <tyto/io.hpp> writes a file.
  std::vector<std::byte> to_bytes() const;
  /// A graph made by to_bytes(), anywhere; `name` is what errors call it. Throws IoError for anything else.
  static Graph from_bytes(std::span<const std::byte> bytes, const std::string& name = "graph",
                          const CompileOptions& options = {});

 private:
  struct State;
  explicit Graph(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

namespace detail {

/// Flat results, and the (emptied) structure they came in.
struct Results {
  std::vector<Value> values;
  std::shared_ptr<void> structure = {};
};

/// True while a compiled function called on this thread is part of something larger: of another one that is being
/// traced, or of what a gradient is being taken of.
bool inlined();

/// The name of a placeholder without a value that x depends on, where no function is being traced; else nothing.
std::string missing_input(const Value& x);

/// Traces of one function, by input signature.
class CompiledCore {
 public:
  class Session;

  explicit CompiledCore(CompileOptions options);
  /// With the same traces, for another thread.
  CompiledCore session() const;
  /// Runs the trace made for arguments of these types and shapes, laid out so; `function` makes it when there is none,
  /// from placeholders to results. `take` moves the values out, before another call may begin; the lists stay for it.
  void call(std::span<const Value> arguments, const std::string& layout,
            const std::function<Results(const std::vector<Value>&)>& function,
            const std::function<void(Results&)>& take);
  const MemoryPlan& plan() const;
  /// Report of compiling that trace (lazy mode).
  GraphReport report() const;
  std::string memory_map() const;
  std::string dot() const;
  std::string html() const;
  std::string chrome_trace() const;

  /// A plain call of the function's code, which may call compiled functions again; results of eager operators are
  /// looked at as the options say. Throws GraphError where they call one another without an end, before the stack
  /// overflows.
  class PlainCall {
   public:
    explicit PlainCall(const CompiledCore& core);
    ~PlainCall();
    PlainCall(const PlainCall&) = delete;
    PlainCall& operator=(const PlainCall&) = delete;

   private:
    std::uint8_t outer_watch_;
  };
  /// While alive, calls record the time of their steps; profile() is that of the last call.
  class Timing {
   public:
    explicit Timing(CompiledCore& core);
    ~Timing();
    Timing(const Timing&) = delete;
    Timing& operator=(const Timing&) = delete;
    GraphProfile profile() const;

   private:
    std::shared_ptr<Session> session_;
  };

  /// A function with neither arguments nor results says nothing of its mode: its calls are plain ones, and observed,
  /// until it has touched a lazy state.
  void observe(const std::function<void()>& function);
  bool works_lazily() const { return works_lazily_; }

 private:
  std::shared_ptr<Session> session_;
  bool works_lazily_ = false;
};

// Checks a call of a compiled function by static assertions, so that the compiler prints one message.
template <class F, class... A>
constexpr bool check_lazy_call() {
  constexpr bool fit = std::is_invocable_v<F&, const A&...>;
  static_assert(fit, "in lazy mode the numbers among the arguments are tensors: take `Tensor rate`");
  if constexpr (fit) {
    constexpr bool is_returned = is_result<std::invoke_result_t<F&, const A&...>>;
    static_assert(is_returned, "a compiled function returns a tensor, or a vector, tuple or pair of them, or nothing");
    return is_returned;
  }
  return false;
}
template <class F, class... A>
constexpr bool check_call() {
  constexpr bool are_arguments = (is_argument<A> && ...);
  static_assert(are_arguments, "arguments are tensors, numbers, std::vector<Tensor>, and tuples and pairs of these");
  if constexpr (are_arguments) {
    constexpr bool fit = std::is_invocable_v<F&, decltype(as_value(std::declval<const A&>()))...>;
    // An operator without an address has a body with errors, which are told already, or is a template: a call tells.
    constexpr bool fit_or_told = fit || !requires { &F::operator(); };
    static_assert(fit_or_told, "the compiled function takes other arguments, or one by `Tensor&` (they are values)");
    if constexpr (!fit && fit_or_told) {
      // The compiled function takes other arguments, or one by `Tensor&`: they are values.
      using Result [[maybe_unused]] = decltype(std::declval<F&>()(as_value(std::declval<const A&>())...));
    } else if constexpr (fit && are_lazy<A...>) {
      return check_lazy_call<F, std::decay_t<decltype(as_lazy(std::declval<const A&>()))>...>();
    }
    return fit;
  }
  return false;
}

}  // namespace detail

/// A function made by compile(): called like the original, by one thread at a time and not by what it runs itself. Each
/// other thread takes a session().
template <class F>
class Compiled {
 public:
  Compiled(F function, CompileOptions options) : function_(std::move(function)), core_(std::move(options)) {}

  /// The same function for another thread: it shares traces, plans and weights, and has an arena of its own. Sessions
  /// run at the same time (lazy mode; eager calls run the function's own code). A call whose function updates states
  /// throws GraphError; random numbers are the next ones of the process, whichever session draws them first. Assign to
  /// states that sessions read between their calls, not while one of them runs. Where several threads call at a time
  /// and none should wait or own a session, see SessionPool in tyto/sessions.hpp.
  Compiled session() const { return Compiled(function_, core_.session()); }

  /// Arguments are tensors, lists of tensors, and numbers among them, and tuples and pairs of these. The lengths of
  /// lists are part of the signature.
  template <class... A>
  requires(!(std::is_enum_v<A> || ...))  // layers ask whether a step takes a Phase
      auto
      operator()(const A&... arguments) {
    if constexpr (detail::check_call<F, A...>()) return run(arguments...);
  }

  /// The memory plan of the trace called last (lazy mode).
  const MemoryPlan& plan() const { return core_.plan(); }
  /// Report of compiling that trace (lazy mode).
  GraphReport report() const { return core_.report(); }
  /// Pictures of that trace, as a Graph has them: see there.
  std::string memory_map() const { return core_.memory_map(); }
  std::string dot() const { return core_.dot(); }
  std::string html() const { return core_.html(); }
  std::string chrome_trace() const { return core_.chrome_trace(); }

  /// Calls the function with these arguments and returns the profile of the call, step by step (lazy mode). It is a
  /// call like any other: variables are updated.
  template <class... A>
  GraphProfile profile(const A&... arguments) {
    const detail::CompiledCore::Timing timing(core_);
    (*this)(arguments...);
    return timing.profile();
  }

 private:
  Compiled(F function, detail::CompiledCore core) : function_(std::move(function)), core_(std::move(core)) {}

  template <class... A>
  auto run(const A&... arguments) {
    if constexpr (sizeof...(A) == 0) {
      using Result = std::decay_t<std::invoke_result_t<F&>>;
      if constexpr (detail::gives_lazy<Result>) {
        if (!detail::inlined()) return call();
      } else if constexpr (std::is_void_v<Result>) {
        if (!detail::inlined()) return core_.works_lazily() ? call() : core_.observe([&] { function_(); });
      }
    } else if constexpr (detail::are_lazy<A...>) {
      if (!detail::inlined()) return call(detail::as_lazy(arguments)...);
    }
    const detail::CompiledCore::PlainCall plain(core_);
    return function_(detail::as_value(arguments)...);
  }

  template <class... T>
  auto call(const T&... arguments) {
    using Result = std::invoke_result_t<F&, const T&...>;
    constexpr bool plain = (std::is_same_v<T, Tensor<Lazy>> && ...);
    std::string layout;
    std::conditional_t<plain, std::array<Value, sizeof...(T)>, std::vector<Value>> values{};
    if constexpr (plain) {
      values = {arguments...};
    } else {
      values.swap(kept_list());
      (detail::flatten(arguments, values), ...);
      (detail::lay_out(arguments, layout), ...);
    }
    const auto make = [&](const std::vector<Value>& inputs) {
      return trace<Result>(inputs, std::tuple<T...>(arguments...));
    };
    const auto keep_memory = [&] {
      if constexpr (!plain) {
        values.clear();
        values.swap(kept_list());
      }
    };
    // By reference: what it captures is more than a std::function holds without an allocation, at each call.
    if constexpr (std::is_void_v<Result>) {
      core_.call(values, layout, std::ref(make), [](detail::Results&) {});
      keep_memory();
    } else {
      std::optional<Result> out;
      const auto take = [&](detail::Results& results) {
        out = *static_cast<const Result*>(results.structure.get());
        Value* next = results.values.data();
        detail::restore(*out, next);
      };
      core_.call(values, layout, std::ref(make), std::ref(take));
      keep_memory();
      return *std::move(out);
    }
  }

  /// Memory for the arguments of the next call on this thread; empty between calls.
  static std::vector<Value>& kept_list() {
    thread_local std::vector<Value> list;
    return list;
  }

  /// The function of arguments like these, in which `inputs` stand.
  template <class Result, class Arguments>
  detail::Results trace(std::vector<Value> inputs, Arguments arguments) {
    detail::Results results;
    Value* input = inputs.data();
    detail::restore(arguments, input);
    if constexpr (std::is_void_v<Result>) {
      std::apply(function_, std::move(arguments));
    } else {
      auto structure = std::make_shared<Result>(std::apply(function_, std::move(arguments)));
      detail::flatten(*structure, results.values);
      std::vector<Value> none(results.values.size());
      Value* next = none.data();
      detail::restore(*structure, next);
      results.structure = std::move(structure);
    }
    return results;
  }

  F function_;
  detail::CompiledCore core_;
};

/// Eager mode: the function itself. Lazy mode: traced once for each signature of argument types and shapes, optimised,
/// planned, and from then on run without an allocation. Assignments to variables become update edges.
template <class F>
Compiled<F> compile(F function, CompileOptions options = {}) {
  return Compiled<F>(std::move(function), std::move(options));
}

/// The value of x if it is known now: it depends neither on a placeholder, nor on a state or a draw that may differ in
/// the next run. What an importer must know before it goes on, such as a shape, is mostly made of constants.
template <class M>
std::optional<Tensor<Eager>> known(const Tensor<M>& x);

/// An eager function as one node: computed on the host when the node is evaluated.
template <class M>
[[nodiscard]] Tensor<M> delay(const Shape& shape, DType dtype,
                              std::function<Tensor<Eager>(const std::vector<Tensor<Eager>>&)> function,
                              const std::vector<Tensor<M>>& inputs);

}  // namespace TYTO_API
