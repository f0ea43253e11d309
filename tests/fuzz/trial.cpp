// The ways a trial's program is run, and what each must agree with.
#include "tests/fuzz/trial.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_set>

#include "core/graph.hpp"
#include "core/op_ids.hpp"
#include "core/text.hpp"
#include "tests/fuzz/comparison.hpp"
#include "tests/fuzz/rounding_errors.hpp"

namespace tyto::fuzz {

namespace {

// How much a way of running may change.
enum class Faith {
  plan,      // nothing: bit for bit what the graph without passes gives
  all,       // nothing but slopes of zero behind regions: the same kernels get the same numbers
  bits,      // also signs that IEEE 754 leaves open
             // (where views cross the borders of regions, `all` what `layout` may, and `bits` is told from there on)
  layout,    // the order in which products and sums add, where operands come to lie otherwise
  rounding,  // rounding, and what rounding decides
  stabler,   // rounding, and NaN and infinity where eager mode overflows; such programs are told by `rounding`
};

struct Way {
  std::string name;
  CompileOptions options;
  Faith faith;
  std::size_t runs;  // how many of the trial's runs
};

// What docs/optimiser.md promises of each pass; of others, rounding.
const std::map<std::string, Faith> promises{
    {"dead_code", Faith::bits},     {"cse", Faith::bits},          {"algebra", Faith::layout},
    {"fuse", Faith::bits},          {"reshapes", Faith::bits},     {"views", Faith::layout},
    {"constants", Faith::layout},   {"transposes", Faith::layout}, {"stability", Faith::stabler},
    {"reductions", Faith::stabler}, {"scaling", Faith::stabler},   {"fma", Faith::stabler},
};

std::vector<Way> ways(const Trial& trial, std::size_t runs) {
  std::vector<Way> list{
      {"no passes", {.check_plan = true, .passes = "none"}, Faith::all, runs},
      {"no passes, poisoned",
       {.memory_strategy = "bump", .check_plan = true, .poison = true, .passes = "none"},
       Faith::plan,
       3},
      {"all passes", {.check_plan = true, .passes = "all"}, Faith::stabler, runs},
      {"honest passes", {.check_plan = true, .passes = "all,-stability,-reductions,-scaling,-fma"}, Faith::rounding, 3},
      {"all passes, poisoned", {.check_plan = true, .poison = true, .passes = "all"}, Faith::stabler, 3},
      {"fast mathematics", {.check_plan = true, .passes = "all,+fast_math"}, Faith::stabler, 1},
  };
  for (const PassDescription& pass : graph_passes()) {
    if (pass.name == "fast_math") continue;
    const auto promise = promises.find(pass.name);
    list.push_back({"pass " + pass.name,
                    {.check_plan = true, .passes = pass.name},
                    promise == promises.end() ? Faith::rounding : promise->second,
                    2});
  }
  for (const MemoryStrategy& strategy : memory_strategies()) {
    // The solver takes its time; now and then is often enough.
    if (!strategy.available || (strategy.name == "mip" && trial.seed % 40 != 0)) continue;
    list.push_back({"plan by " + std::string(strategy.name),
                    {.memory_strategy = std::string(strategy.name), .check_plan = true, .passes = "none"},
                    Faith::plan,
                    1});
  }
  if (trial.regions) {
    // What plans are held against, the two that differ most, and three of all, so that neighbouring seeds go through
    // all.
    std::vector<Way> few{list[0], list[1], list[4]};
    for (std::size_t i = 0; i < 3; ++i) few.push_back(list[(trial.seed * 3 + i) % list.size()]);
    return few;
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
  bool finite = true;
  bool dense_borders = true;
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
    finite = finite && program.finite;
    dense_borders = dense_borders && program.dense_borders;
    if (run == 0 && first != nullptr) *first = program;
  }
  if (first != nullptr) {
    first->finite = finite;
    first->dense_borders = dense_borders;
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

  History run(const Way& way, TrialCount& count) const {
    seed(trial_.seed);
    const Recorded* const alone = this;
    return run_together({&alone, 1}, way, count).front();
  }

  // Several as one graph, which compiles what they need at once.
  static std::vector<History> run_together(std::span<const Recorded* const> list, const Way& way, TrialCount& count) {
    std::vector<Tensor<Lazy>> inputs, outputs;
    std::vector<Update> updates;
    for (const Recorded* each : list) {
      inputs.insert(inputs.end(), each->inputs_.begin(), each->inputs_.end());
      outputs.insert(outputs.end(), each->program_.outputs.begin(), each->program_.outputs.end());
      updates.insert(updates.end(), each->updates_.begin(), each->updates_.end());
    }
    Graph graph{{.inputs = inputs, .outputs = outputs, .updates = updates}, way.options};
    for (const Recorded* each : list) {
      for (std::size_t i = 0; i < each->inputs_.size(); ++i) {
        graph.set(each->inputs_[i], each->material_.inputs[i].template tensor<Lazy>());
      }
    }
    std::vector<History> histories(list.size());
    for (std::size_t run = 0; run < way.runs; ++run) {
      for (const Recorded* each : list) {
        if (run == 0) break;
        for (const Material::Change& c : each->material_.changes[run - 1]) {
          graph.set(each->inputs_[c.input], c.value.tensor<Lazy>());
        }
      }
      graph.run();
      std::size_t next = 0;
      for (std::size_t k = 0; k < list.size(); ++k) {
        Snapshot now;
        for (std::size_t i = 0; i < list[k]->program_.outputs.size(); ++i) {
          now.outputs.push_back(Data::of(graph.output(next++)));
        }
        for (const Tensor<Lazy>& state : list[k]->states_) now.states.push_back(Data::of(state));
        histories[k].push_back(std::move(now));
      }
    }
    count.runs += way.runs * list.size();
    const GraphReport report = graph.report();
    for (const PassSummary& pass : report.passes.passes) {
      for (const RuleCount& rule : pass.rules) count.rules[rule.rule] += rule.count;
    }
    for (const std::string& fallback : report.fallbacks) ++count.fallbacks[fallback];
    return histories;
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

void count_operators(const core::Graph& graph, std::vector<std::size_t>& times) {
  for (const core::GraphNode& node : graph.nodes()) {
    ++times[static_cast<std::size_t>(node.op)];
    for (const core::Region& region : core::regions_of(graph.attributes(node))) count_operators(region.graph(), times);
  }
}

// How often each operator was recorded, in bodies of loops and arms of branches too, by OpId.
std::vector<std::size_t> operators_of(const Program<Lazy>& program) {
  std::vector<std::size_t> times(core::op_count);
  std::vector<core::Node*> stack;
  for (const Tensor<Lazy>& x : program.outputs) stack.push_back(x.value().node());
  for (const Tensor<Lazy>& x : program.updates) stack.push_back(x.value().node());
  std::unordered_set<core::Node*> seen;
  while (!stack.empty()) {
    core::Node* node = stack.back();
    stack.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    ++times[static_cast<std::size_t>(node->op())];
    for (const core::Region& region : core::regions_of(node->attributes())) count_operators(region.graph(), times);
    for (const Value& input : node->inputs()) stack.push_back(input.node());
  }
  return times;
}

// Whether something adds up in an order that depends on how its operands lie.
bool adds_up(const std::vector<std::size_t>& times) {
  using enum core::OpId;
  for (const core::OpDef& def : core::op_table()) {
    if (times[static_cast<std::size_t>(def.id)] > 0 && def.is(core::Traits::reduction)) return true;
  }
  for (const core::OpId op : {matmul, quantised_matmul, convolution, convolution_input_gradient,
                              convolution_kernel_gradient, softmax, log_softmax, attention, attention_gradient}) {
    if (times[static_cast<std::size_t>(op)] > 0) return true;
  }
  return false;
}

// The most that a function of OpenCL 1.2 may be off by, in last places: pow, in section 7.4 of its specification.
constexpr double documented_places = 16;

constexpr std::size_t runs_on_device = 3;

// Histories of the program with operands moved by chance, made when they are first asked for.
class NoisyHistories {
 public:
  enum class Kind {
    rounded,   // as kernels round
    resloped,  // open slopes alone
    resigned,  // open slopes and signs alone
    summed,    // as operators are off that round once an operation and add in any order
    computed,  // as operators of another device may be off
  };

  NoisyHistories(const Trial& trial, const Material& material, std::size_t runs, Kind kind, bool alike = true)
      : trial_(trial), material_(material), runs_(runs), kind_(kind), alike_(alike) {}

  const std::vector<History>& at_least(std::size_t count) {
    while (histories_.size() < count) {
      const std::uint64_t number = histories_.size() + 1;
      // Small and larger moves in turn: some decisions hang on the last place alone, some sums on many terms.
      const double places = kind_ != Kind::rounded ? 0 : number % 3 == 0 ? 16 : number % 3 == 1 ? 1 : 4;
      const Noise noise{.places = places,
                        .alike = alike_ && number / 3 % 2 == 1,
                        .open_signs = kind_ != Kind::resloped,
                        .open_slopes = kind_ == Kind::resloped || kind_ == Kind::resigned,
                        .seed = trial_.seed * 1000 + number};
      std::optional<RoundingErrors> errors;
      if (kind_ == Kind::summed) errors.emplace(1, noise.seed);
      if (kind_ == Kind::computed) errors.emplace(documented_places, noise.seed);
      histories_.push_back(line_by_line<Eager>(trial_, material_, runs_, noise));
    }
    return histories_;
  }

 private:
  const Trial& trial_;
  const Material& material_;
  std::size_t runs_;
  Kind kind_;
  bool alike_;
  std::vector<History> histories_;
};

// Whether a sign that IEEE 754 leaves open can be seen: that of a NaN by `copysign` alone, as -(x - y) and y - x have
// different ones, that of a zero that is the larger of 0 and -0 by what divides by it.
bool shows_open_signs(const std::vector<std::size_t>& times) {
  if (times[static_cast<std::size_t>(core::OpId::copysign)] > 0) return true;
  return std::ranges::any_of(core::op_table(), [&](const core::OpDef& def) {
    return is_extreme(def.id) && times[static_cast<std::size_t>(def.id)] > 0;
  });
}

// Whether slopes of zero can be where eager mode has none (docs/semantics.md).
bool has_regions(const std::vector<std::size_t>& times) {
  using enum core::OpId;
  return times[static_cast<std::size_t>(loop)] > 0 || times[static_cast<std::size_t>(branch)] > 0;
}

// What eager mode gave, and what may differ from it.
class Judge {
 public:
  Judge(const Trial& trial, const Material& material, const History& expected, const Program<Eager>& program,
        const std::vector<std::size_t>& times, const Excuses& excuses = {})
      : expected_(expected),
        finite_(program.finite),
        dense_borders_(program.dense_borders),
        excuses_(excuses),
        adds_up_(adds_up(times)),
        shows_open_signs_(shows_open_signs(times)),
        shows_open_slopes_(has_regions(times)),
        rounded_(trial, material, expected.size(), NoisyHistories::Kind::rounded, excuses.equals_alike),
        resloped_(trial, material, expected.size(), NoisyHistories::Kind::resloped),
        resigned_(trial, material, expected.size(), NoisyHistories::Kind::resigned),
        summed_(trial, material, expected.size(), NoisyHistories::Kind::summed),
        computed_(trial, material, expected.size(), NoisyHistories::Kind::computed) {}

  /// Of a history from another device. Errors are drawn up to the largest that operators may make, so of n programs
  /// with such errors the largest effect is below an eighth of what one error can do with a probability of 8^-n; where
  /// many have a say, their effects add up by chance in the same way.
  std::string verdict_of_device(Faith faith, const History& found, TrialCount& count) {
    std::string text = difference(expected_, found);
    if (text.empty() || (faith == Faith::stabler && !finite_)) return {};
    for (const std::size_t enough : few_first) {
      text = beyond_rounding(computed_, enough, 1, resigned_, found);
      if (!text.empty()) continue;
      ++count.within_rounding;
      break;
    }
    return text;
  }

  /// What is wrong with the history of a way of running, or nothing.
  std::string verdict(Faith faith, const History& found, TrialCount& count) {
    std::string text = difference(expected_, found);
    if (text.empty()) return text;
    if (faith == Faith::stabler && !finite_) return {};
    const bool lies_otherwise = faith == Faith::layout || (faith < Faith::layout && !dense_borders_);
    const bool rounds = faith > Faith::layout || (lies_otherwise && adds_up_);
    const bool by_signs = faith != Faith::all && shows_open_signs_;
    if (!rounds && !by_signs && !shows_open_slopes_) return text;
    NoisyHistories& choices = by_signs ? resigned_ : resloped_;
    for (const std::size_t enough : few_first) {
      text = rounds ? beyond_rounding(rounded_, enough, 4, choices, found)
                    : difference_beyond_choices(expected_, found, choices.at_least(enough));
      if (!text.empty() && rounds && excuses_.operators_off) text = beyond_rounding(summed_, enough, 4, choices, found);
      if (!text.empty()) continue;
      ++(rounds ? count.within_rounding : count.by_choices);
      break;
    }
    return text;
  }

  /// Of a way that changes no bits, where views crossed the borders of regions: they are dense in both graphs.
  std::string verdict_of_bits(const History& without_passes, const History& found, TrialCount& count) {
    const std::string text = difference(without_passes, found);
    return text.empty() || !shows_open_signs_ ? text : verdict(Faith::bits, found, count);
  }

 private:
  // Histories: nearly always few explain what there is to explain.
  static constexpr std::size_t few_first[] = {6, 30, 150};

  // What neither rounding explains nor, behind regions, slopes that are open.
  std::string beyond_rounding(NoisyHistories& noisy, std::size_t enough, double places, NoisyHistories& choices,
                              const History& found) {
    const std::string text = difference(expected_, found, noisy.at_least(enough), places);
    if (text.empty() || !shows_open_slopes_) return text;
    return difference(expected_, found, noisy.at_least(enough), places, choices.at_least(enough));
  }

  const History& expected_;
  bool finite_;
  bool dense_borders_;
  Excuses excuses_;
  bool adds_up_;
  bool shows_open_signs_;
  bool shows_open_slopes_;
  NoisyHistories rounded_;
  NoisyHistories resloped_;
  NoisyHistories resigned_;
  NoisyHistories summed_;
  NoisyHistories computed_;
};

}  // namespace

Trial trial_of(std::uint64_t seed) {
  Dice dice(seed * 7919);
  const std::int64_t moves = dice.one_in(20)  ? dice.between(60, 200)
                             : dice.one_in(3) ? dice.between(20, 60)
                                              : dice.between(2, 20);
  return {seed, moves};
}

Trial region_trial_of(std::uint64_t seed) {
  Dice dice(seed * 7927);
  return {seed, dice.between(1, 6), true};
}

Trial device_trial_of(std::uint64_t seed) {
  Dice dice(seed * 7933);
  return {seed, dice.between(1, 6)};
}

std::optional<std::string> fault_of(const Trial& trial, TrialCount& count, const Excuses& excuses) {
  std::string way_name = "drawing";
  const auto fault = [&](const std::string& text) {
    return core::text("seed ", trial.seed, trial.regions ? " of regions, " : ", ", trial.moves, " moves, ", way_name,
                      ": ", text);
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
    const std::vector<std::size_t> times = operators_of(recorded.program());
    count.operators.resize(times.size());
    for (std::size_t op = 0; op < times.size(); ++op) {
      count.operators[op] += times[op];
      count.nodes += times[op];
    }
    ++count.graphs;
    for (const std::string& line : program.transcript) count.refused += line.find(" -> ") == std::string::npos;
    Judge judge(trial, material, expected, program, times, excuses);
    way_name = "read line by line";
    const History lazily = line_by_line<Lazy>(trial, material, 2, {});
    if (std::string text = judge.verdict(Faith::layout, lazily, count); !text.empty()) return fault(text);
    way_name = "saved";
    if (std::optional<History> saved = Recorded(trial, material).saved(2)) {
      for (std::size_t run = 0; run < saved->size(); ++run)
        (*saved)[run].states = expected[run].states;  // not given out
      // A file holds constants densely, whatever views of which arrays they were.
      if (std::string text = judge.verdict(Faith::layout, *saved, count); !text.empty()) return fault(text);
    }
    History without_passes;
    for (const Way& way : ways(trial, runs)) {
      way_name = way.name;
      History found = Recorded(trial, material).run(way, count);
      std::string text;
      if (way.faith == Faith::plan) text = difference_in_bits(without_passes, found);
      else if (way.faith == Faith::bits && !program.dense_borders)
        text = judge.verdict_of_bits(without_passes, found, count);
      else text = judge.verdict(way.faith, found, count);
      if (!text.empty()) return fault(text);
      if (way.faith == Faith::all) without_passes = std::move(found);
    }
  } catch (const std::exception& error) {
    return fault(error.what());
  }
  return std::nullopt;
}

namespace {

const Way ways_on_device[] = {
    {"no passes", {.check_plan = true, .passes = "none"}, Faith::rounding, runs_on_device},
    {"all passes", {.check_plan = true, .passes = "all"}, Faith::stabler, runs_on_device},
};

// A trial's program recorded for a device, and what it should give there.
class OnDevice {
 public:
  OnDevice(const std::string& device, const Trial& trial)
      : trial_(trial),
        material_(material_of(trial)),
        expected_(line_by_line<Eager>(trial_, material_, runs_on_device, {}, &program_)),
        scope_(std::in_place, device),
        recorded_(trial_, material_),
        times_(operators_of(recorded_.program())) {
    scope_.reset();
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  const Trial& trial() const { return trial_; }
  const Recorded& recorded() const { return recorded_; }

  /// Whether it draws from the random sequence, which another program beside it would move on.
  bool draws() const {
    return std::ranges::any_of(core::op_table(), [&](const core::OpDef& def) {
      return def.is(core::Traits::random) && times_[static_cast<std::size_t>(def.id)] > 0;
    });
  }

  std::string verdict(const Way& way, const History& found, TrialCount& count) {
    count.operators.resize(times_.size());
    for (std::size_t op = 0; op < times_.size(); ++op) {
      count.operators[op] += times_[op];
      count.nodes += times_[op];
    }
    ++count.graphs;
    Judge judge(trial_, material_, expected_, program_, times_);
    return judge.verdict_of_device(way.faith, found, count);
  }

 private:
  Trial trial_;
  Material material_;
  Program<Eager> program_;
  History expected_;
  std::optional<DeviceScope> scope_;
  Recorded recorded_;
  std::vector<std::size_t> times_;
};

}  // namespace

namespace {

std::optional<std::string> fault_on(const std::string& device, const Trial& trial, const Way& way, TrialCount& count) {
  const auto fault = [&](const std::string& text) {
    return core::text("seed ", trial.seed, trial.regions ? " of regions, " : ", ", trial.moves, " moves, ", way.name,
                      " on ", device, ": ", text);
  };
  try {
    OnDevice program(device, trial);
    History found;
    {
      const DeviceScope scope(device);
      found = program.recorded().run(way, count);
    }
    if (std::string text = program.verdict(way, found, count); !text.empty()) return fault(text);
  } catch (const std::exception& error) {
    return fault(error.what());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_on(const std::string& device, const Trial& trial, TrialCount& count) {
  for (const Way& way : ways_on_device) {
    if (std::optional<std::string> fault = fault_on(device, trial, way, count)) return fault;
  }
  return std::nullopt;
}

std::vector<std::string> faults_on(const std::string& device, std::span<const Trial> trials, TrialCount& count) {
  std::vector<std::string> faults;
  for (const Way& way : ways_on_device) {
    const auto alone = [&](const Trial& trial) {
      const std::optional<std::string> fault = fault_on(device, trial, way, count);
      if (fault) faults.push_back(*fault + "\n" + smallest_fault(trial, device));
      return fault.has_value();
    };
    std::vector<std::unique_ptr<OnDevice>> programs;
    std::vector<const Recorded*> recorded;
    for (const Trial& trial : trials) {
      try {
        auto program = std::make_unique<OnDevice>(device, trial);
        if (!program->draws()) {
          recorded.push_back(&program->recorded());
          programs.push_back(std::move(program));
          continue;
        }
      } catch (const std::exception&) {
        // told below
      }
      alone(trial);
    }
    std::vector<History> found;
    try {
      const DeviceScope scope(device);
      if (!recorded.empty()) found = Recorded::run_together(recorded, way, count);
    } catch (const std::exception& error) {
      bool told = false;
      for (const auto& program : programs) told = alone(program->trial()) || told;
      if (!told) faults.push_back(core::text("programs as one graph: ", error.what()));
    }
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::string text = programs[k]->verdict(way, found[k], count);
      if (text.empty()) continue;
      const std::uint64_t seed = programs[k]->trial().seed;
      if (!alone(programs[k]->trial())) faults.push_back(core::text("seed ", seed, ", beside others: ", text));
    }
  }
  return faults;
}

std::string smallest_fault(const Trial& trial, const std::string& device) {
  for (std::int64_t moves = 1; moves <= trial.moves; ++moves) {
    TrialCount count;
    const Trial smaller{trial.seed, moves, trial.regions};
    const std::optional<std::string> fault =
        device == "cpu" ? fault_of(smaller, count) : fault_on(device, smaller, count);
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
