// SPDX-License-Identifier: MIT
// Records steps that must see elements as operators that run on the host.
#include "onnx/program/recording.hpp"

#include <cstring>

#include "tyto/custom.hpp"
#include "tyto/device.hpp"
#include "tyto/graph.hpp"

namespace tyto::onnx {

namespace {

/// One step of a program, run at once.
struct StepAtOnce {
  const Program& program;
  std::size_t step;
  RecordedModel model;
  Slots around = {};                        // what it reads and what is known
  std::vector<std::int32_t> operands = {};  // slots that it reads and that are not
  Layout layout = {};                       // of these
  Layout results = {};
  std::vector<ArrayType> types = {};

  std::vector<Operand> outputs(const Slots& slots) const {
    std::vector<Operand> made;
    for (const std::int32_t slot : program.steps()[step].outputs) {
      if (slot != Program::none) made.push_back(slots[static_cast<std::size_t>(slot)]);
    }
    return made;
  }

  void run(HostInputs inputs, HostResults out) const {
    const DeviceScope host("cpu");
    std::vector<Value> values;
    for (const HostInput& input : inputs) {
      values.push_back(
          Array::from_bytes(input.bytes().data(), static_cast<std::int64_t>(input.size()), input.shape(), input.dtype())
              .value());
    }
    Slots slots = around;
    std::vector<Operand> given = operands_from(layout, values, true);
    for (std::size_t i = 0; i < given.size(); ++i) slots[static_cast<std::size_t>(operands[i])] = std::move(given[i]);
    model.limits.within(model.file, [&] { program.run(slots, step, step + 1, false); });
    const std::vector<Operand> made = outputs(slots);
    const std::vector<Value> results_now = values_of(made);
    bool fits = layout_of(made) == results && results_now.size() == out.size();
    for (std::size_t i = 0; fits && i < out.size(); ++i) {
      const Array result(results_now[i]);
      fits = result.shape() == out[i].shape() && result.dtype() == out[i].dtype();
      if (fits) std::memcpy(out[i].bytes().data(), result.bytes().data(), out[i].bytes().size());
    }
    if (fits) return;
    core::throw_error<GraphError>(described(*program.steps()[step].node),
                                  ": its results have other shapes than with the values that the graph was made for");
  }
};

void record_at_once(const Program& program, std::size_t step, Slots& recorded, const Slots& values,
                    const RecordedModel& model) {
  const auto at_once = std::make_shared<StepAtOnce>(StepAtOnce{program, step, model});
  at_once->around.resize(recorded.size());
  std::vector<Operand> read;
  for (const std::int32_t slot : program.read_by(step, step + 1)) {
    const Operand& operand = recorded[static_cast<std::size_t>(slot)];
    if (operand.known) {
      at_once->around[static_cast<std::size_t>(slot)] = operand;
    } else {
      at_once->operands.push_back(slot);
      read.push_back(operand);
    }
  }
  at_once->layout = layout_of(read);
  const std::vector<Operand> made = at_once->outputs(values);
  at_once->results = layout_of(made);
  for (const Value& result : values_of(made)) at_once->types.push_back({result.dtype(), result.shape()});
  std::vector<Tensor<Lazy>> inputs;
  for (const Value& value : values_of(read)) inputs.emplace_back(value);
  const NodeMessage& node = *program.steps()[step].node;
  const NameScope scope(described(node));
  const CustomOp op = custom_op({.name = std::string(node.operator_name),
                                 .inputs = inputs.size(),
                                 .results = [at_once](ArrayTypes) { return at_once->types; },
                                 .host = [at_once](HostInputs in, HostResults out) { at_once->run(in, out); },
                                 .half = true});
  std::vector<Value> results;
  for (const Tensor<Lazy>& result : op.apply(inputs)) results.push_back(result.value());
  std::vector<Operand> operands = operands_from(at_once->results, results, false);
  std::size_t next = 0;
  for (const std::int32_t slot : program.steps()[step].outputs) {
    if (slot != Program::none) recorded[static_cast<std::size_t>(slot)] = std::move(operands[next++]);
  }
}

}  // namespace

void record_for_values(const Program& program, Slots& recorded, Slots values, const RecordedModel& model) {
  std::size_t computed = 0;  // steps that ran on the values
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    try {
      program.run(recorded, i, i + 1, true);
    } catch (const DataDependence&) {
      program.run(values, computed, i + 1, false);
      computed = i + 1;
      record_at_once(program, i, recorded, values, model);
      for (const std::int32_t slot : program.steps()[i].last_uses) recorded[static_cast<std::size_t>(slot)] = {};
    }
  }
}

}  // namespace tyto::onnx
