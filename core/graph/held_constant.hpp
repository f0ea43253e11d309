// SPDX-License-Identifier: MIT
// Constants whose contents a state holds that nobody assigns to: they can be released and restored as weights are.
#pragma once

#include <memory>
#include <string>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// A constant of lazy mode. Its node, and its nodes in graphs, have StateAttributes in place of contents.
Value held_constant(Array array);

/// The state that holds a constant's contents; null for all other nodes. Attributes are those of a node of a graph,
/// where no other nodes name states.
std::shared_ptr<State> holder_of(const Node& node);
std::shared_ptr<State> holder_of(const Attributes& attributes);

/// The name of a state in texts; of one without a name the type and first numbers of the constant that it holds. Made
/// on request: for each constant, it would take most of the time of making a tensor from numbers.
std::string shown_name(const State& state);

/// The contents of a constant with these attributes, restored where its state has released them.
Array contents_of_constant(const Attributes& attributes);

/// Whether a view has each element of its operand once, in whatever order.
bool rearranges(OpId view, const Shape& from, const Shape& to);

}  // namespace tyto::core
