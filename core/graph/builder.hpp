// SPDX-License-Identifier: MIT
// The one interface between the modes: emitting an operator. The lazy builder records it; the eager builder runs it as
// well.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/label.hpp"
#include "core/graph/operator.hpp"

namespace tyto TYTO_API {
struct Key;
}

namespace tyto::core {

class Builder {
 public:
  virtual ~Builder() = default;
  /// Applies an operator whose operands, which are moved from, are of the right count and types. Returns its first
  /// result.
  virtual Value emit(OpId op, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs) = 0;
  /// Computes the result in `first`'s memory, which the operator must allow (InPlace::update_first_input). False, with
  /// nothing done, where a node is to be recorded or somebody else could see that memory.
  virtual bool overwrite(const Value& first, OpId op, const Attributes& attributes, std::span<const Value> others) = 0;
};

/// The builder of a mode. Defined in engine/front.
Builder& builder_of(Mode mode);

/// Applies an operator in the mode of its inputs (lazy if any is lazy). Reading a state reads its newest version.
/// Throws what the operator's shape rule throws.
Value emit(OpId op, Attributes attributes, std::span<const Value> inputs);
Value emit(OpId op, Attributes attributes, std::initializer_list<Value> inputs);

/// The same in a given mode.
Value emit(Mode mode, OpId op, Attributes attributes, std::span<const Value> inputs);

/// Applies an operator without attributes to operands that are no states and that are moved from: the short way of
/// element-wise operators.
Value emit_resolved(OpId op, std::span<Value> inputs);

/// Applies an operator without inputs, or with inputs of no mode, in a given mode.
Value emit(Mode mode, OpId op, Attributes attributes, std::initializer_list<Value> inputs = {});

/// For `x(i) = v`: in eager mode writes just the part into the first operand, when the handle given here is all that
/// holds it; see Builder::overwrite.
bool overwrite(const Value& first, OpId op, const Attributes& attributes, std::span<const Value> others);

/// The other results of the node that `first` is the first result of.
Value result(const Value& first, std::uint32_t index);

/// The node that `op` would make, without running anything: shape rule applied, nothing else. Moves from the inputs.
Value record(OpId op, Mode mode, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs);

/// A weakly typed number of no mode.
Value weak_scalar(const Scalar& value);

/// A leaf with contents.
Value constant(Mode mode, Array array);
/// Called with the contents of each leaf, on any thread. Defined in engine/run, which lists live tensors where that is
/// asked for.
void note_leaf(const Array& array);

/// Random numbers of the given distribution: from the key, or the next draw of the process-wide sequence. Defined in
/// engine/graph, which keeps the sequence.
Value draw(Mode mode, OpId op, RandomAttributes attributes, const std::optional<Key>& key);
/// Takes `count` draws off the process-wide sequence, as that many calls of draw without a key would: a function that
/// has seen elements may do without them, and both modes go on at the same random numbers.
void skip_draws(Mode mode, std::int64_t count);

/// Possible origins of an undefined tensor, for errors that name one.
inline constexpr std::string_view empty_tensor = "an undefined tensor (default-constructed or moved from)";

/// Gradients of loops and branches: regions of their own. Defined in engine/front, which records them.
std::vector<Value> branch_gradient(const GradientContext& context);
std::vector<Value> loop_gradient(const GradientContext& context);

/// `value` itself, or the version that a read sees now when it stands for a state.
Value resolve(const Value& value);

/// A version of a state: with contents, or (empty array) the input of a graph to come.
Value version(Mode mode, const std::shared_ptr<State>& state, Array array);

/// The version of a state that is `pending`'s value, once that is computed.
Value version(const std::shared_ptr<State>& state, const Value& pending);

/// Mode in which an operator on these inputs works.
Mode mode_of(std::span<const Value> inputs);

}  // namespace tyto::core
