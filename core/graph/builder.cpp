// SPDX-License-Identifier: MIT
// Makes a node of an operator call: resolves its operands, chooses the mode and applies the shape rule.
#include "core/graph/builder.hpp"

#include <array>

#include "core/graph/op_ids.hpp"
#include "core/graph/state_observation.hpp"
#include "core/graph/tracked_reads.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

std::shared_ptr<const Attributes> share(Attributes attributes) {
  if (std::holds_alternative<NoAttributes>(attributes)) return nullptr;
  return std::make_shared<const Attributes>(std::move(attributes));
}

}  // namespace

void check_attributes(const OpDef& def, const Attributes& attributes) {
  if (attributes.index() != def.attributes) throw_error<GraphError>(def.name, ": attributes of another operator");
}

TensorType elementwise_type(const OpDef& def, std::span<const TensorType* const> inputs) {
  const bool truth = def.domain == Domain::comparison || def.domain == Domain::logical;
  const DType given = inputs.back()->dtype;
  const DType type = truth ? DType::boolean : def.is(Traits::is_real_valued) ? real_type(given) : given;
  TensorType result{type, inputs[0]->shape, false};
  for (const TensorType* input : inputs.subspan(1)) {
    if (result.shape != input->shape) result.shape = broadcast(def.name, result.shape, input->shape);
  }
  return result;
}

std::vector<TensorType> infer_types(const OpDef& def, const Attributes& attributes,
                                    std::span<const TensorType> inputs) {
  const auto check = [&](std::span<const TensorType> types) {
    for (const TensorType& type : types) {
      if (!is_complex(type.dtype)) continue;
      throw_error<TypeError>(def.name, ": elements of type ", type.dtype,
                             " are not accepted; take real, imag or abs of them first");
    }
  };
  const bool refuses = !def.is(Traits::takes_complex);
  if (refuses) check(inputs);
  std::vector<TensorType> results = def.infer(attributes, inputs);
  if (refuses) check(results);
  return results;
}

namespace {

Value record_node(OpId op, Mode mode, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs) {
  const OpDef& def = definition(op);
  const std::size_t count = inputs.size();
  if (static_cast<int>(count) < def.min_inputs || static_cast<int>(count) > def.max_inputs) {
    throw_error<GraphError>(def.name, ": given ", count, " inputs, takes ", def.min_inputs,
                            def.min_inputs == def.max_inputs ? "" : " or more");
  }

  Node* node = nullptr;
  if (is_listed_elementwise(op)) {
    std::array<const TensorType*, 3> types{};
    for (std::size_t i = 0; i < count; ++i) types[i] = &result_of(inputs[i]).type;
    const TensorType result = elementwise_type(def, std::span(types.data(), count));
    node = new Node(op, mode, std::move(attributes), inputs, {&result, 1});
  } else {
    std::vector<TensorType> types;
    if (count > 1) {
      types.reserve(count);
      for (const Value& input : inputs) types.push_back(result_of(input).type);
    }
    const std::span<const TensorType> given =
        count == 1 ? std::span<const TensorType>(&result_of(inputs[0]).type, 1) : std::span<const TensorType>(types);
    check_attributes(def, attributes ? *attributes : no_attributes);
    const std::vector<TensorType> results = infer_types(def, attributes ? *attributes : no_attributes, given);
    node = new Node(op, mode, std::move(attributes), inputs, results);
  }
  return Value(node, 0);
}

}  // namespace

Value record(OpId op, Mode mode, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs) {
  const Label& label = LabelScope::current();
  if (label == nullptr) return record_node(op, mode, std::move(attributes), inputs);
  try {
    Value value = record_node(op, mode, std::move(attributes), inputs);
    value.node()->set_label(label);
    return value;
  } catch (...) {
    rethrow_with_label(label);
  }
}

Value resolve(const Value& value) {
  if (!value) throw_error<GraphError>(empty_tensor, " is used");
  if (value.node()->op() != OpId::state) return value;
  const auto& state = std::get<StateAttributes>(attributes_of(value)).state;
  touch(state);
  Value current = state->current();
  if (!current) {
    throw_error<GraphError>("input '", state->name(), "' of shape ", state->type().shape,
                            " is read before a value was assigned to it");
  }
  if (current.node()->tracked()) note_tracked_read();
  return current;
}

Value version(Mode mode, const std::shared_ptr<State>& state, Array array) {
  auto* node =
      new Node(OpId::read, mode, std::make_shared<const Attributes>(VersionAttributes{state}), {}, {&state->type(), 1});
  Value value(node, 0);
  if (array) {
    note_leaf(array);
    node->result(0).array = std::move(array);
  } else {
    node->set_symbolic(true);
  }
  return value;
}

Value version(const std::shared_ptr<State>& state, const Value& pending) {
  Value input = pending;
  auto* node = new Node(OpId::read, pending.node()->mode(),
                        std::make_shared<const Attributes>(VersionAttributes{state}), {&input, 1}, {&state->type(), 1});
  return Value(node, 0);
}

Mode mode_of(std::span<const Value> inputs) {
  Mode mode = Mode::neutral;
  for (const Value& input : inputs) mode = std::max(mode, input.node()->mode());
  return mode;
}

namespace {

Value emit_given(Mode mode, OpId op, Attributes attributes, std::span<const Value> inputs) {
  constexpr std::size_t usual = 4;
  std::array<Value, usual> few;
  std::vector<Value> many;
  if (inputs.size() > usual) many.resize(inputs.size());
  Value* resolved = inputs.size() > usual ? many.data() : few.data();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) throw_error<GraphError>(definition(op).name, ": input ", i, " is an undefined tensor");
    resolved[i] = resolve(inputs[i]);
  }
  const std::span<Value> operands(resolved, inputs.size());
  return builder_of(std::max(mode, mode_of(operands))).emit(op, share(std::move(attributes)), operands);
}

}  // namespace

Value emit(OpId op, Attributes attributes, std::span<const Value> inputs) {
  return emit_given(Mode::neutral, op, std::move(attributes), inputs);
}

Value emit(OpId op, Attributes attributes, std::initializer_list<Value> inputs) {
  return emit_given(Mode::neutral, op, std::move(attributes), {inputs.begin(), inputs.size()});
}

Value emit(Mode mode, OpId op, Attributes attributes, std::span<const Value> inputs) {
  return emit_given(mode, op, std::move(attributes), inputs);
}

Value emit(Mode mode, OpId op, Attributes attributes, std::initializer_list<Value> inputs) {
  return emit_given(mode, op, std::move(attributes), {inputs.begin(), inputs.size()});
}

bool overwrite(const Value& first, OpId op, const Attributes& attributes, std::span<const Value> others) {
  const Mode mode = std::max(mode_of({&first, 1}), mode_of(others));
  return builder_of(mode).overwrite(first, op, attributes, others);
}

Value emit_resolved(OpId op, std::span<Value> inputs) { return builder_of(mode_of(inputs)).emit(op, nullptr, inputs); }

Value result(const Value& first, std::uint32_t index) { return Value(first.node(), index); }

Value constant(Mode mode, Array array) {
  note_leaf(array);
  const TensorType type{array.dtype, array.view.shape, false};
  auto* node = new Node(OpId::constant, mode, nullptr, {}, {&type, 1});
  Value value(node, 0);
  node->result(0).array = std::move(array);
  return value;
}

}  // namespace tyto::core
