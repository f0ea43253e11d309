// SPDX-License-Identifier: MIT
// Makes large constants whose contents are held by a State that only their node refers to.
#include "core/graph/held_constant.hpp"

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/array_element.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

Value held_constant(Array array) {
  note_leaf(array);
  // Named as graphs show constants, which needs no contents then.
  const auto state = std::make_shared<State>(State::Kind::persistent,
                                             text(array.dtype, array.view.shape, ' ', first_numbers(array, 4)),
                                             TensorType{array.dtype, array.view.shape, false});
  state->set_current(version(Mode::lazy, state, std::move(array)));
  return Value(new Node(OpId::constant, Mode::lazy, std::make_shared<const Attributes>(StateAttributes{state}), {},
                        {&state->type(), 1}),
               0);
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
