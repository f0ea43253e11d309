// The ways a trial's program is run, and what each must agree with.
#include "tests/fuzz/trial.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "engine/core/operator.hpp"
#include "engine/core/text.hpp"
#include "tests/fuzz/comparison.hpp"

namespace tyto::fuzz {

namespace {

// How much a way of running may change.
enum class Faith {
  bits,      // nothing
  rounding,  // rounding, and what rounding decides
  stabler,   // rounding, and NaN and infinity where eager mode overflows on its way
};

struct Way {
  std::string name;
  CompileOptions options;
  Faith faith;
  std::size_t runs;  // how many of the trial's runs
};

// Passes that docs/optimiser.md promises to keep every bit.
const std::set<std::string> exact_passes{"dead_code", "views", "constants", "transposes", "cse", "fuse"};

std::vector<Way> ways(const Trial& trial, std::size_t runs) {
  std::vector<Way> list{
      {"no passes", {.check_plan = true, .passes = "none"}, Faith::bits, runs},
      {"no passes, poisoned",
       {.memory_strategy = "bump", .check_plan = true, .poison = true, .passes = "none"},
       Faith::bits,
       3},
      {"all passes", {.check_plan = true, .passes = "all"}, Faith::stabler, runs},
      {"honest passes", {.check_plan = true, .passes = "all,-stability,-reductions,-scaling"}, Faith::rounding, 3},
      {"all passes, poisoned", {.check_plan = true, .poison = true, .passes = "all"}, Faith::stabler, 3},
      {"fast mathematics", {.check_plan = true, .passes = "all,+fast_math"}, Faith::stabler, 1},
  };
  for (const PassDescription& pass : graph_passes()) {
    if (pass.name == "fast_math") continue;
    const bool exact = exact_passes.contains(pass.name);
    const bool nearer = pass.name == "stability" || pass.name == "reductions" || pass.name == "scaling";
    list.push_back({"pass " + pass.name,
                    {.check_plan = true, .passes = pass.name},
                    exact    ? Faith::bits
                    : nearer ? Faith::stabler
                             : Faith::rounding,
                    2});
  }
  for (const MemoryStrategy& strategy : memory_strategies()) {
    // The solver takes its time; now and then is often enough.
    if (!strategy.available || (strategy.name == "mip" && trial.seed % 40 != 0)) continue;
    list.push_back({"plan by " + std::string(strategy.name),
                    {.memory_strategy = std::string(strategy.name), .check_plan = true, .passes = "none"},
                    Faith::bits,
                    1});
  }
  return list;
}

// Inputs of a run: those of the run before, some changed.
void change(std::vector<Data>& inputs, const Material& material, std::size_t run) {
  if (run == 0) return;
  for (const Material::Change& c : material.changes[run - 1]) inputs[c.input] = c.value;
}

template <class M>
std::vector<Tensor<M>> tensors_of(const std::vector<Data>& list) {
  std::vector<Tensor<M>> made;
  for (const Data& data : list) made.push_back(data.tensor<M>());
  return made;
}

template <class M>
std::vector<Tensor<M>> states_of(const Material& material) {
  std::vector<Tensor<M>> states;
  for (const Data& data : material.states) states.push_back(Tensor<M>::variable(data.tensor<M>()));
  return states;
}

// Line by line: eager mode, or lazy mode reading what it needs.
template <class M>
History line_by_line(const Trial& trial, const Material& material, std::size_t runs, const Noise& noise,
                     Program<M>* first = nullptr) {
  seed(trial.seed);
  History history;
  std::vector<Data> inputs = material.inputs;
  const std::vector<Tensor<M>> states = states_of<M>(material);
  for (std::size_t run = 0; run < runs; ++run) {
    change(inputs, material, run);
    const Program<M> program = program_of<M>(trial, tensors_of<M>(inputs), states, noise);
    Snapshot now;
    for (std::size_t i = 0; i < states.size(); ++i) assign(states[i], program.updates[i]);
    for (const Tensor<M>& output : program.outputs) now.outputs.push_back(Data::of(output));
    for (const Tensor<M>& state : states) now.states.push_back(Data::of(state));
    history.push_back(std::move(now));
    if (run == 0 && first != nullptr) *first = program;
  }
  return history;
}

// As one graph, run again and again on inputs of which some change. Recorded anew for each way of running it: a read
// that was recorded before a state got another value from outside keeps the old one.
class Recorded {
 public:
  Recorded(const Trial& trial, const Material& material) : trial_(trial), material_(material) {
    for (std::size_t i = 0; i < material.inputs.size(); ++i) {
      const Data& data = material.inputs[i];
      inputs_.push_back(Tensor<Lazy>::placeholder(data.shape, data.dtype, core::text("input ", i)));
    }
    states_ = states_of<Lazy>(material);
    program_ = program_of<Lazy>(trial, inputs_, states_);
    for (std::size_t i = 0; i < states_.size(); ++i) updates_.push_back({states_[i], program_.updates[i]});
  }

  const Program<Lazy>& program() const { return program_; }

  History run(const Way& way) const {
    seed(trial_.seed);
    Graph graph{{.inputs = inputs_, .outputs = program_.outputs, .updates = updates_}, way.options};
    std::vector<Data> inputs = material_.inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) graph.set(inputs_[i], inputs[i].tensor<Lazy>());
    History history;
    for (std::size_t run = 0; run < way.runs; ++run) {
      change(inputs, material_, run);
      if (run > 0) {
        for (const Material::Change& c : material_.changes[run - 1]) {
          graph.set(inputs_[c.input], c.value.tensor<Lazy>());
        }
      }
      graph.run();
      Snapshot now;
      for (std::size_t i = 0; i < program_.outputs.size(); ++i) now.outputs.push_back(Data::of(graph.output(i)));
      for (const Tensor<Lazy>& state : states_) now.states.push_back(Data::of(state));
      history.push_back(std::move(now));
    }
    return history;
  }

  // Written to bytes and read again, where no function of the user's stands in the way.
  std::optional<History> saved(std::size_t runs) const {
    std::vector<std::byte> bytes;
    try {
      bytes = Graph{{.inputs = inputs_, .outputs = program_.outputs, .updates = updates_}}.to_bytes();
    } catch (const GraphError&) {
      return std::nullopt;
    }
    Graph graph = Graph::from_bytes(bytes, "saved", {.check_plan = true, .passes = "none"});
    seed(trial_.seed);
    std::vector<Data> inputs = material_.inputs;
    History history;
    for (std::size_t run = 0; run < runs; ++run) {
      change(inputs, material_, run);
      const std::vector<Tensor<Lazy>> places = graph.inputs();
      for (std::size_t i = 0; i < places.size(); ++i) graph.set(places[i], inputs[i].tensor<Lazy>());
      graph.run();
      Snapshot now;
      for (std::size_t i = 0; i < graph.output_count(); ++i) now.outputs.push_back(Data::of(graph.output(i)));
      history.push_back(std::move(now));
    }
    return history;
  }

 private:
  const Trial& trial_;
  const Material& material_;
  std::vector<Tensor<Lazy>> inputs_;
  std::vector<Tensor<Lazy>> states_;
  Program<Lazy> program_;
  std::vector<Update> updates_;
};

void count_operators(const Program<Lazy>& program, TrialCount& count) {
  count.operators.resize(core::op_count);
  std::vector<core::Node*> stack;
  for (const Tensor<Lazy>& x : program.outputs) stack.push_back(x.value().node());
  for (const Tensor<Lazy>& x : program.updates) stack.push_back(x.value().node());
  std::unordered_set<core::Node*> seen;
  while (!stack.empty()) {
    core::Node* node = stack.back();
    stack.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    ++count.operators[static_cast<std::size_t>(node->op())];
    ++count.nodes;
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
}

// Histories of the program with operands moved by chance, made when they are first asked for.
class NoisyHistories {
 public:
  NoisyHistories(const Trial& trial, const Material& material, std::size_t runs)
      : trial_(trial), material_(material), runs_(runs) {}

  const std::vector<History>& at_least(std::size_t count) {
    while (histories_.size() < count) {
      const std::uint64_t number = histories_.size() + 1;
      // Small and larger moves in turn: some decisions hang on the last place alone, some sums on many terms.
      const double places = number % 3 == 0 ? 16 : number % 3 == 1 ? 1 : 4;
      histories_.push_back(line_by_line<Eager>(trial_, material_, runs_, {places, trial_.seed * 1000 + number}));
    }
    return histories_;
  }

 private:
  const Trial& trial_;
  const Material& material_;
  std::size_t runs_;
  std::vector<History> histories_;
};

std::string judge(const Way& way, bool finite, const History& expected, const History& found, NoisyHistories& noisy,
                  TrialCount& count) {
  std::string text = difference(expected, found);
  if (text.empty() || way.faith == Faith::bits) return text;
  if (way.faith == Faith::stabler && !finite) return {};
  // Few first: nearly always they explain what there is to explain.
  for (const std::size_t enough : {std::size_t{6}, std::size_t{30}, std::size_t{150}}) {
    text = difference(expected, found, noisy.at_least(enough));
    if (text.empty()) {
      ++count.within_rounding;
      return {};
    }
  }
  return text;
}

}  // namespace

Trial trial_of(std::uint64_t seed) {
  Dice dice(seed * 7919);
  const std::int64_t moves = dice.one_in(20)  ? dice.between(60, 200)
                             : dice.one_in(3) ? dice.between(20, 60)
                                              : dice.between(2, 20);
  return {seed, moves};
}

std::optional<std::string> fault_of(const Trial& trial, TrialCount& count) {
  std::string way_name = "drawing";
  const auto fault = [&](const std::string& text) {
    return core::text("seed ", trial.seed, ", ", trial.moves, " moves, ", way_name, ": ", text);
  };
  try {
    const Material material = material_of(trial);
    const std::size_t runs = material.changes.size() + 1;
    Program<Eager> program;
    way_name = "eager";
    const History expected = line_by_line<Eager>(trial, material, runs, {}, &program);
    way_name = "recording";
    const Recorded recorded(trial, material);
    if (recorded.program().transcript != program.transcript) return fault("the modes draw different programs");
    count_operators(recorded.program(), count);
    ++count.graphs;
    for (const std::string& line : program.transcript) count.refused += line.find(" -> ") == std::string::npos;
    way_name = "read line by line";
    if (std::string text = difference(expected, line_by_line<Lazy>(trial, material, 2, {})); !text.empty()) {
      return fault(text);
    }
    way_name = "saved";
    if (const std::optional<History> saved = Recorded(trial, material).saved(2)) {
      History outputs_only(expected.begin(), expected.begin() + 2);
      for (Snapshot& now : outputs_only) now.states.clear();
      if (std::string text = difference(outputs_only, *saved); !text.empty()) return fault(text);
    }
    NoisyHistories noisy(trial, material, runs);
    for (const Way& way : ways(trial, runs)) {
      way_name = way.name;
      const History found = Recorded(trial, material).run(way);
      count.runs += found.size();
      if (std::string text = judge(way, program.finite, expected, found, noisy, count); !text.empty())
        return fault(text);
    }
  } catch (const std::exception& error) {
    return fault(error.what());
  }
  return std::nullopt;
}

std::string smallest_fault(const Trial& trial) {
  for (std::int64_t moves = 1; moves <= trial.moves; ++moves) {
    TrialCount count;
    const Trial smaller{trial.seed, moves};
    const std::optional<std::string> fault = fault_of(smaller, count);
    if (!fault) continue;
    std::string text = *fault;
    const Material material = material_of(smaller);
    for (const Data& data : material.inputs) text += core::text("\n  input ", data.dtype, " ", data.shape);
    for (const Data& data : material.states) text += core::text("\n  state ", data.dtype, " ", data.shape);
    const Recorded recorded(smaller, material);
    for (const std::string& line : recorded.program().transcript) text += "\n  " + line;
    return text;
  }
  return "no prefix of the program goes wrong";
}

}  // namespace tyto::fuzz
