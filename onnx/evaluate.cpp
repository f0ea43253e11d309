// Running programs: each step by its row of the operator table, by its function, or by a graph that it holds.
#include <algorithm>

#include "onnx/program.hpp"

namespace tyto::onnx {

namespace {

/// Runs `f`; what it throws, of whatever type, names the place.
template <class F>
auto naming(const std::string& place, const F& f) {
  const auto told = [&](const Error& error) {
    const std::string message = error.what();
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
  }
}

}  // namespace

Outputs Program::apply_row(const Step& step, const Slots& slots, std::vector<Operand> inputs, bool lazy) const {
  const bool known =
      !lazy || (!draws_random_numbers(*step.row) && std::all_of(inputs.begin(), inputs.end(), [](const Operand& input) {
        return input.known || !input.tensor.defined();
      }));
  const OperatorCall call(*step.node, step.version, std::move(inputs), lazy, weights_, [&](const GraphMessage& graph) {
    Program& body = *step.bodies.at(&graph);
    body.check_supported();
    Slots inside = body.start();
    for (const auto& [slot, outside] : body.captures_) {
      inside[static_cast<std::size_t>(slot)] = slots[static_cast<std::size_t>(outside)];
    }
    return body.run_all(std::move(inside), lazy);
  });
  return naming(call.where(), [&] {
    Outputs outputs = step.row->apply(call);
    call.check_attributes();
    // What holds a graph says for itself what is known: the graph reads more than the node's inputs.
    if (known && (!lazy || step.bodies.empty())) {
      for (Operand& output : outputs) output.known = true;
    }
    return outputs;
  });
}

Outputs Program::apply(const Step& step, const Slots& slots, bool lazy) const {
  std::vector<Operand> inputs;
  for (const std::int32_t slot : step.inputs) {
    inputs.push_back(slot == none ? Operand() : slots[static_cast<std::size_t>(slot)]);
  }
  if (!step.function) return apply_row(step, slots, std::move(inputs), lazy);
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
  for (const std::int32_t slot : output_slots_) outputs.push_back(slots[static_cast<std::size_t>(slot)]);
  return outputs;
}

void Program::run(Slots& slots, std::size_t begin, std::size_t end, bool lazy) const {
  for (std::size_t i = begin; i < end; ++i) {
    const Step& step = steps_[i];
    Outputs outputs = apply(step, slots, lazy);
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      if (step.outputs[k] == none) continue;
      const bool optional = step.function != nullptr;  // a function's output may be one that its call left out
      if (!optional && (k >= outputs.size() || !outputs[k].tensor.defined())) {
        refuse(weights_.file(), described(*step.node), ": it has no output ", k + 1, ", which the file names '",
               step.node->outputs[k], "'");
      }
      if (k < outputs.size()) slots[static_cast<std::size_t>(step.outputs[k])] = std::move(outputs[k]);
    }
    for (const std::int32_t slot : step.last_uses) slots[static_cast<std::size_t>(slot)] = {};
  }
}

}  // namespace tyto::onnx
