// SPDX-License-Identifier: MIT
// The builders of the two modes: the lazy one records an operator, the eager one also runs it and releases its inputs.
#include <algorithm>
#include <utility>

#include "core/graph/builder.hpp"
#include "engine/front/eager_substitute.hpp"
#include "engine/front/overwrite.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/function_scope.hpp"
#include "engine/graph/trace.hpp"
#include "tyto/tensor.hpp"

namespace tyto::core {

namespace {

// A node between a tracked value and the result of a gradient keeps its inputs for the gradient rules.
bool track(Node& node) {
  TapeId tape = 0;
  for (const Value& input : node.inputs()) {
    const Node& operand = *input.node();
    if (operand.tracked() && (tape == 0 || operand.tape() < tape)) tape = operand.tape();
  }
  if (tape == 0 || definition(node).gradient == nullptr) return false;
  node.set_tape(tape);
  return true;
}

// In a trace nodes computed of numbers alone keep their inputs, so that `rate *= 0.5` is noticed.
bool is_of_numbers_in_trace(const Node& node) {
  const auto is_number = [](const Value& input) { return input.shape().empty(); };
  return run::FunctionScope::innermost() != nullptr && std::ranges::all_of(node.inputs(), is_number);
}

thread_local constinit bool postpones_draws = false;
thread_local constinit Builder* eager_substitute = nullptr;
thread_local constinit Builder* neutral_substitute = nullptr;

class LazyBuilder final : public Builder {
 public:
  Value emit(OpId op, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs) override {
    Value value = record(op, Mode::lazy, std::move(attributes), inputs);
    track(*value.node());
    if (definition(op).is(Traits::effect)) [[unlikely]]
      run::note_effect(value);
    return value;
  }
  bool overwrite(const Value&, OpId, const Attributes&, std::span<const Value>) override { return false; }
};

class EagerBuilder final : public Builder {
 public:
  explicit EagerBuilder(Mode mode) : mode_(mode) {}

  Value emit(OpId op, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs) override {
    Value value = record(op, mode_, std::move(attributes), inputs);
    if (postpones_draws && mode_ == Mode::neutral && definition(op).is(Traits::random)) return value;
    run::apply(*value.node());
    const bool keeps = track(*value.node()) || (mode_ == Mode::neutral && is_of_numbers_in_trace(*value.node()));
    if (!keeps) value.node()->drop_inputs();
    return value;
  }
  bool overwrite(const Value& first, OpId op, const Attributes& attributes, std::span<const Value> others) override {
    return run::overwrite(first, op, attributes, others);
  }

 private:
  Mode mode_;
};

}  // namespace

Builder& builder_of(Mode mode) {
  static LazyBuilder lazy;
  static EagerBuilder eager(Mode::eager);
  static EagerBuilder neutral(Mode::neutral);
  if (mode == Mode::lazy) return lazy;
  if (mode == Mode::neutral) return neutral_substitute == nullptr ? neutral : *neutral_substitute;
  return eager_substitute == nullptr ? eager : *eager_substitute;
}

Builder* exchange_substitute(Mode mode, Builder* substitute) {
  return std::exchange(mode == Mode::neutral ? neutral_substitute : eager_substitute, substitute);
}

bool has_eager_substitute() { return eager_substitute != nullptr; }

}  // namespace tyto::core

namespace tyto TYTO_API {

PostponedDraws::PostponedDraws() : outer_(std::exchange(core::postpones_draws, true)) {}
PostponedDraws::~PostponedDraws() { core::postpones_draws = outer_; }

}  // namespace TYTO_API
