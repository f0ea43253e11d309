// SPDX-License-Identifier: MIT
// The ways in which a trial's program is run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/comparison.hpp"
#include "tests/fuzz/trial.hpp"

namespace tyto::fuzz {

/// The differences that a way of running may make.
enum class Faith {
  plan,      // nothing: bit for bit what the graph without passes gives
  all,       // nothing but gradients of zero behind regions: the same kernels get the same numbers
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

/// Those on the CPU; `runs`: how often the trial's program is run.
std::vector<Way> ways_of(const Trial& trial, std::size_t runs);

/// Inputs of a run: those of the run before, some changed.
void change(std::vector<Data>& inputs, const Material& material, std::size_t run);

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

/// Line by line: eager mode, or lazy mode reading what it needs.
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

/// As one graph, run again and again on inputs of which some change. Recorded anew for each way of running it: a read
/// that was recorded before a state got another value from outside keeps the old one.
class Recorded {
 public:
  Recorded(const Trial& trial, const Material& material);

  const Program<Lazy>& program() const { return program_; }

  History run(const Way& way, TrialCount& count) const;

  /// Several as one graph, which compiles what they need at once.
  static std::vector<History> run_together(std::span<const Recorded* const> list, const Way& way, TrialCount& count);

  /// Written to bytes and read again, where no function of the user's stands in the way.
  std::optional<History> saved(std::size_t runs) const;

 private:
  const Trial& trial_;
  const Material& material_;
  std::vector<Tensor<Lazy>> inputs_;
  std::vector<Tensor<Lazy>> states_;
  Program<Lazy> program_;
  std::vector<Update> updates_;
};

/// The number of times that each operator was recorded, in bodies of loops and arms of branches too, by OpId.
std::vector<std::size_t> operators_of(const Program<Lazy>& program);

}  // namespace tyto::fuzz
