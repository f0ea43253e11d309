// SPDX-License-Identifier: MIT
// Sequences and optionals: how they are made and taken apart. Which tensors they hold is decided when a graph is
// recorded.
#include "onnx/program/operators.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Operand known_integer(std::int64_t value) { return {Array::full({}, value, DType::i64), true}; }

Outputs construct(const OperatorCall& call) {
  std::vector<Operand> elements;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    elements.push_back(call.operand(i).with_tensor(call[i], call.known(i)));
  }
  return {Operand::of_sequence(std::move(elements))};
}

Outputs empty_sequence(const OperatorCall& call) {
  call.ignore("dtype");
  return {Operand::of_sequence({})};
}

/// The position that input `i` says, up to `last`, in a sequence of so many; negative ones count from its end.
std::ptrdiff_t position(const OperatorCall& call, std::size_t i, std::size_t count, std::int64_t last) {
  const auto end = static_cast<std::int64_t>(count);
  const std::int64_t at = call.integer_in(i);
  if (last < 0) core::throw_error<IndexError>("position ", at, " in a sequence that is empty");
  if (at < -end || at > last) {
    core::throw_error<IndexError>("position ", at, " in a sequence of ", count, "; they go from ", -end, " to ", last);
  }
  return static_cast<std::ptrdiff_t>(at < 0 ? at + end : at);
}

std::ptrdiff_t last_of(const std::vector<Operand>& elements) { return std::ssize(elements) - 1; }

Outputs element_at(const OperatorCall& call) {
  const std::vector<Operand>& elements = call.sequence(0);
  return {elements[static_cast<std::size_t>(position(call, 1, elements.size(), last_of(elements)))]};
}

// A negative position counts from the end of the sequence as it was.
Outputs with_inserted(const OperatorCall& call) {
  std::vector<Operand> elements = call.sequence(0);
  std::ptrdiff_t at = std::ssize(elements);
  if (call.has(2)) at = position(call, 2, elements.size(), at);
  elements.insert(elements.begin() + at, call.operand(1).with_tensor(call[1], call.known(1)));
  return {Operand::of_sequence(std::move(elements))};
}

Outputs with_erased(const OperatorCall& call) {
  std::vector<Operand> elements = call.sequence(0);
  if (elements.empty()) call.refuse("the sequence is empty: there is nothing to erase");
  const std::ptrdiff_t last = last_of(elements);
  elements.erase(elements.begin() + (call.has(1) ? position(call, 1, elements.size(), last) : last));
  return {Operand::of_sequence(std::move(elements))};
}

Outputs length_of(const OperatorCall& call) {
  return {known_integer(static_cast<std::int64_t>(call.sequence(0).size()))};
}

Outputs concatenated(const OperatorCall& call) {
  const std::int64_t axis = call.integer("axis");
  const bool new_axis = call.integer("new_axis", 0) != 0;
  if (call.sequence(0).empty()) call.refuse("the sequence is empty: its tensors would have no shape");
  std::vector<Array> parts;
  for (const Operand& element : call.sequence(0)) parts.push_back(element.tensor);
  return {new_axis ? stack(parts, axis) : concat(parts, axis)};
}

// The body runs once for each element of the first sequence; further sequences go along, tensors stay as they are.
Outputs mapped(const OperatorCall& call) {
  const Body body = call.body("body");
  if (body.inputs != call.input_count()) {
    call.refuse("its body takes ", body.inputs, " values; with ", call.input_count(), " inputs it must take as many");
  }
  std::vector<std::vector<Operand>> results(body.outputs);
  call.add_iterations(std::ssize(call.sequence(0)));
  for (std::size_t at = 0; at < call.sequence(0).size(); ++at) {
    std::vector<Operand> inputs;
    for (std::size_t i = 0; i < call.input_count(); ++i) {
      if (i > 0 && call.operand(i).sequence == nullptr) {
        inputs.push_back(call.operand(i));
        continue;
      }
      const std::vector<Operand>& elements = call.sequence(i);
      if (elements.size() != call.sequence(0).size()) {
        call.refuse("sequences of ", call.sequence(0).size(), " and ", elements.size(),
                    " tensors; all must be of one length");
      }
      inputs.push_back(elements[at]);
    }
    const Outputs outputs = body.run(std::move(inputs), call.lazy());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!outputs[i].tensor.defined()) call.refuse("its body yields no tensor as output ", i + 1);
      results[i].push_back(outputs[i]);
    }
  }
  Outputs sequences;
  for (std::vector<Operand>& elements : results) sequences.push_back(Operand::of_sequence(std::move(elements)));
  return sequences;
}

Outputs optional(const OperatorCall& call) {
  call.ignore("type");
  return {call.has(std::size_t{0}) ? call.operand(0) : Operand::of_nothing()};
}

Outputs has_element(const OperatorCall& call) {
  return {Operand(Array::full({}, call.has(std::size_t{0}), DType::boolean), true)};
}

Outputs element_of(const OperatorCall& call) {
  if (!call.has(std::size_t{0})) call.refuse("the optional holds nothing");
  return {call.operand(0)};
}

constexpr OperatorRow sequence_table[] = {
    {"ConcatFromSequence", 11, concatenated},
    {"Optional", 15, optional},
    {"OptionalGetElement", 15, element_of},
    {"OptionalHasElement", 15, has_element},
    {"SequenceAt", 11, element_at},
    {"SequenceConstruct", 11, construct},
    {"SequenceEmpty", 11, empty_sequence},
    {"SequenceErase", 11, with_erased},
    {"SequenceInsert", 11, with_inserted},
    {"SequenceLength", 11, length_of},
    {"SequenceMap", 17, mapped},
};

}  // namespace

std::span<const OperatorRow> sequence_rows() { return sequence_table; }

}  // namespace tyto::onnx
