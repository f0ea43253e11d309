// SPDX-License-Identifier: MIT
// Makes large constants whose contents are held by a State that only their node refers to.
#include "core/graph/held_constant.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/array_element.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

constexpr std::int64_t shown_numbers = 4;

/// A state without a name of its own. It keeps its first numbers when it releases its contents.
class Holder final : public State {
 public:
  explicit Holder(const Array& array) : State(Kind::persistent, "", {array.dtype, array.view.shape, false}) {
    const std::int64_t count = std::min(array.view.count(), shown_numbers);
    for (std::int64_t i = 0; i < count; ++i) first_[static_cast<std::size_t>(i)] = element_of(array, i);
  }
  std::string shown() const {
    const std::int64_t count = element_count(type().shape);
    const auto numbers = std::span(first_).first(static_cast<std::size_t>(std::min(count, shown_numbers)));
    return text(type().dtype, type().shape, ' ', first_numbers(numbers, count <= shown_numbers));
  }

 private:
  std::array<Scalar, shown_numbers> first_;
};

}  // namespace

Value held_constant(Array array) {
  note_leaf(array);
  const auto state = std::make_shared<Holder>(array);
  state->set_current(version(Mode::lazy, state, std::move(array)));
  return Value(new Node(OpId::constant, Mode::lazy, std::make_shared<const Attributes>(StateAttributes{state}), {},
                        {&state->type(), 1}),
               0);
}

std::string shown_name(const State& state) {
  const bool holds_constant = state.kind() == State::Kind::persistent && state.name().empty();
  return holds_constant ? static_cast<const Holder&>(state).shown() : state.name();
}

std::shared_ptr<State> holder_of(const Node& node) {
  return node.op() == OpId::constant ? holder_of(node.attributes()) : nullptr;
}

std::shared_ptr<State> holder_of(const Attributes& attributes) {
  const auto* const held = std::get_if<StateAttributes>(&attributes);
  return held == nullptr ? nullptr : held->state;
}

Array contents_of_constant(const Attributes& attributes) {
  const std::shared_ptr<State> holder = holder_of(attributes);
  return holder ? contents_of(holder->current()) : std::get<ConstantAttributes>(attributes).array;
}

bool rearranges(OpId view, const Shape& from, const Shape& to) {
  const bool moves = view == OpId::reshape || view == OpId::transpose || view == OpId::flip;
  return moves && element_count(from) == element_count(to);
}

}  // namespace tyto::core
