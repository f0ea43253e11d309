// SPDX-License-Identifier: MIT
// Running programs: each step by its row of the operator table, by its function, or by a graph that it holds.
#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "onnx/file/element_types.hpp"
#include "onnx/file/small_floats.hpp"
#include "onnx/program/program.hpp"
#include "tyto/graph.hpp"

namespace tyto::onnx {

namespace {

/// The message without the label of the node, of which a place before it says more.
std::string without_label(std::string message, const std::string& label) {
  if (message.ends_with("/" + label + ")")) message.replace(message.size() - label.size() - 2, message.npos, ")");
  else if (message.ends_with(" (in " + label + ")")) message.resize(message.size() - label.size() - 6);
  return message;
}

std::string label_of(const NodeMessage& node) { return node.name.empty() ? described(node) : std::string(node.name); }

/// Runs `f`; what it throws, of whatever type, names the call's place, a text that only errors make.
template <class F>
auto naming(const OperatorCall& call, const NodeMessage& node, const Limits& limits, const F& f) {
  const auto told = [&](const Error& error) {
    const std::string message = without_label(error.what(), label_of(node)), place = call.where();
    return message.starts_with(place) ? message : core::text(place, ": ", message);
  };
  try {
    return f();
  } catch (const DataDependence&) {
    throw;
  } catch (const ShapeError& error) {
    throw ShapeError(told(error));
  } catch (const TypeError& error) {
    throw TypeError(told(error));
  } catch (const IndexError& error) {
    throw IndexError(told(error));
  } catch (const ValueError& error) {
    throw ValueError(told(error));
  } catch (const GraphError& error) {
    throw GraphError(told(error));
  } catch (const core::AllocationRefused& refused) {
    limits.refuse(call.where(), refused);
  } catch (const std::bad_alloc&) {
    core::throw_error<DeviceError>(call.where(), ": there is no memory for what it makes");
  } catch (const std::length_error&) {
    core::throw_error<DeviceError>(call.where(), ": what it makes is larger than memory can be");
  }
}

// Operators that only move elements keep the stored element type; others set it.
void keep_element_type(const OperatorCall& call, Operand& output) {
  if (output.element_type != 0 || !output.tensor.defined()) return;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const std::int64_t type = call.element_type(i);
    if (is_storage_type(type) && call[i].dtype() == output.tensor.dtype()) output.element_type = type;
  }
}

// Numbers that stand for words, and those of 8 bits and fewer, are moved and cast: whoever computes with them means
// something else.
void check_element_types(const OperatorCall& call, const OperatorRow& row) {
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const std::int64_t type = call.element_type(i);
    if (type == 0 || moves_elements(row)) continue;
    if (call.is_text(i) || (small_float(type) != nullptr && !quantises_elements(row))) {
      call.refuse("computes with elements of type ", element_type_name(type), " (input ", i + 1,
                  "), which are only moved", call.is_text(i) ? " and compared" : ", cast and quantised");
    }
  }
}

}  // namespace

Outputs Program::apply_row(const Step& step, const Slots& slots, std::vector<Operand> inputs, bool lazy) const {
  const bool known =
      !lazy || (!draws_random_numbers(*step.row) && std::all_of(inputs.begin(), inputs.end(), [](const Operand& input) {
        return input.known || !input.there();
      }));
  const OperatorCall call(*step.node, step.row->function, step.version, std::move(inputs), lazy, weights_,
                          *scope_.limits, step.prepared,
                          [&](const GraphMessage& graph) { return body_of(step, graph, slots, lazy); });
  std::optional<NameScope> scope;  // of what is recorded, for errors when it runs
  if (lazy) scope.emplace(label_of(*step.node));
  return naming(call, *step.node, *scope_.limits, [&] {
    check_element_types(call, *step.row);
    Outputs outputs = step.row->apply(call);
    call.check_attributes();
    // Operators with bodies mark known results themselves: a body reads more than the node's inputs.
    if (known && (!lazy || step.bodies.empty())) {
      for (Operand& output : outputs) {
        output = with_tensors(output, [](const Operand& element) {
          Operand with_elements = element;
          with_elements.known = true;
          return with_elements;
        });
      }
    }
    for (Operand& output : outputs) {
      keep_element_type(call, output);
      if (scope_.limits->bounds_bytes() && output.tensor.defined()) {
        scope_.limits->check_result(call.where(), output.tensor);
      }
    }
    return outputs;
  });
}

Body Program::body_of(const Step& step, const GraphMessage& graph, const Slots& slots, bool lazy) const {
  const Program& body = *step.bodies.at(&graph);
  body.check_supported();
  Slots around = body.start();
  bool known = !body.draws(), sequences = false;
  for (const auto& [slot, outside] : body.captures_) {
    const Operand captured = weights_.loaded(slots[static_cast<std::size_t>(outside)], !lazy && !folding_);
    around[static_cast<std::size_t>(slot)] = captured;
    known = known && captured.known;
    sequences = sequences || !captured.tensor.defined();
  }
  return {body.input_slots_.size(),
          body.output_slots_.size(),
          known,
          sequences,
          [&body, around](std::vector<Operand> inputs, bool each_lazy) {
            return body.run_all(body.with_inputs(around, std::move(inputs)), each_lazy);
          },
          [&body, around](std::size_t output, std::vector<Operand> inputs) {
            return body.settled_output(output, body.with_inputs(around, std::move(inputs)));
          }};
}

Slots Program::with_inputs(Slots slots, std::vector<Operand> inputs) const {
  if (inputs.size() != input_slots_.size()) {
    core::throw_error<ShapeError>("a graph of ", input_slots_.size(), " inputs is given ", inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    slots[static_cast<std::size_t>(input_slots_[i])] = std::move(inputs[i]);
  }
  return slots;
}

bool Program::draws() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return (step.row != nullptr && draws_random_numbers(*step.row)) || (step.function && step.function->draws()) ||
           std::any_of(step.bodies.begin(), step.bodies.end(), [](const auto& body) { return body.second->draws(); });
  });
}

// Steps that hold graphs, call functions or draw are not looked into: what they yield counts as unknown.
Operand Program::settled_output(std::size_t output, Slots slots) const {
  const std::int32_t wanted = output_slots_.at(output);
  std::vector<bool> needed(slots.size(), false);
  needed[static_cast<std::size_t>(wanted)] = true;
  std::vector<const Step*> slice;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    if (std::none_of(step.outputs.begin(), step.outputs.end(),
                     [&](std::int32_t slot) { return slot != none && needed[static_cast<std::size_t>(slot)]; })) {
      continue;
    }
    if (step.row == nullptr || !step.bodies.empty() || draws_random_numbers(*step.row)) return {};
    for (const std::int32_t slot : step.inputs) {
      if (slot != none) needed[static_cast<std::size_t>(slot)] = true;
    }
    slice.push_back(&step);
  }
  for (std::size_t i = slice.size(); i-- > 0;) {
    const Step& step = *slice[i];
    for (const std::int32_t slot : step.inputs) {
      if (slot != none && !slots[static_cast<std::size_t>(slot)].known) return {};
    }
    Outputs outputs = apply(step, slots, false);
    for (std::size_t k = 0; k < step.outputs.size() && k < outputs.size(); ++k) {
      if (step.outputs[k] != none) slots[static_cast<std::size_t>(step.outputs[k])] = outputs[k];
    }
  }
  const Operand& settled = slots[static_cast<std::size_t>(wanted)];
  return settled.known ? weights_.loaded(settled) : Operand();
}

Outputs Program::apply(const Step& step, const Slots& slots, bool lazy) const {
  std::vector<Operand> inputs;
  inputs.reserve(step.inputs.size());
  for (const std::int32_t slot : step.inputs) {
    inputs.push_back(slot == none ? Operand()
                                  : weights_.loaded(slots[static_cast<std::size_t>(slot)], !lazy && !folding_));
  }
  if (!step.function) {
    Outputs outputs = apply_row(step, slots, std::move(inputs), lazy);
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      if (step.outputs[k] == none || (k < outputs.size() && (outputs[k].there() || outputs[k].known))) continue;
      refuse(weights_.file(), described(*step.node), ": it has no output ", k + 1, ", which the file names '",
             step.node->outputs[k], "'");
    }
    return outputs;
  }
  const Program& function = *step.function;
  Slots inside = function.start();
  if (inputs.size() > function.input_slots_.size()) {
    refuse(weights_.file(), described(*step.node), ": ", inputs.size(), " inputs for a function of ",
           function.input_slots_.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inside[static_cast<std::size_t>(function.input_slots_[i])] = inputs[i];
  return function.run_all(std::move(inside), lazy);
}

Outputs Program::run_all(Slots slots, bool lazy) const {
  run(slots, 0, steps_.size(), lazy);
  Outputs outputs;
  for (const std::int32_t slot : output_slots_) {
    outputs.push_back(weights_.loaded(slots[static_cast<std::size_t>(slot)]));
  }
  return outputs;
}

void Program::run(Slots& slots, std::size_t begin, std::size_t end, bool lazy) const {
  for (std::size_t i = begin; i < end; ++i) {
    const Step& step = steps_[i];
    Outputs outputs = apply(step, slots, lazy);
    // A function's output may be one that its call left out.
    for (std::size_t k = 0; k < step.outputs.size() && k < outputs.size(); ++k) {
      if (step.outputs[k] != none) slots[static_cast<std::size_t>(step.outputs[k])] = weights_.loaded(outputs[k]);
    }
    for (const std::int32_t slot : step.last_uses) slots[static_cast<std::size_t>(slot)] = {};
  }
}

}  // namespace tyto::onnx
