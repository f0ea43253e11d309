// SPDX-License-Identifier: MIT
// Placeholders, persistent tensors and variables.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/graph/symbol.hpp"

namespace tyto::run {

/// The handle of a new state without contents.
Value make_state(core::Mode mode, core::State::Kind kind, std::string name, core::TensorType type);

/// Whether the array fills a buffer that was not borrowed.
bool is_a_buffer_of_its_own(const core::Array& array);

/// A constant. Lazy ones that products may pack are held by a state (core/graph/held_constant.hpp).
Value make_constant(core::Mode mode, const core::Array& array);
/// The same in a graph that stays as it was recorded.
core::Port add_constant(core::GraphBuilder& builder, const core::Array& array);
/// A copy of the contents of a constant with these attributes.
core::Array constant_to_copy(const core::Attributes& attributes);

/// The state a handle stands for; throws GraphError naming `function`, and the cure, when it stands for none.
std::shared_ptr<core::State> state_behind(const Value& handle, std::string_view function, std::string_view cure = {});

/// Whether the value stands for a variable or a persistent tensor, which compound assignment assigns to.
bool is_kept_state(const Value& value);

/// Makes `given` the state's newest version.
void assign_state(const Value& handle, const Value& given);
/// The same for a value that is known to have the state's type.
void assign_version(const std::shared_ptr<core::State>& state, core::Mode mode, const Value& value);

/// Whether the state keeps its contents between runs: a variable or persistent tensor.
bool is_kept(const core::State& state);

/// The value that was assigned to a state, of the version that stands for it.
Value assigned_value(const Value& version);

/// A list, of this thread, of versions assigned while a gradient was being taken of what they depend on. The tape that
/// takes them off the list releases their inputs.
void record_version(const Value& version);
std::vector<Value> take_recorded_versions();

}  // namespace tyto::run
