// SPDX-License-Identifier: MIT
// Runs trials by their seeds, and reports their failures.
#include "tests/fuzz/trial.hpp"

#include <algorithm>
#include <memory>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "tests/fuzz/judge.hpp"
#include "tests/fuzz/runs.hpp"

namespace tyto::fuzz {

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
    for (const Way& way : ways_of(trial, runs)) {
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

constexpr std::size_t runs_on_device = 3;

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

  /// Whether it draws from the random sequence, which another program run at the same time would advance.
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
