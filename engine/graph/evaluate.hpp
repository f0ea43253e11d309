// SPDX-License-Identifier: MIT
// Evaluates values: one operator at once in eager mode, and what lazy values depend on.
#pragma once

#include <span>

#include "core/graph/symbol.hpp"

namespace tyto::run {

/// Computes a node's results from its evaluated inputs, now.
void apply(core::Node& node);

/// Computes the listed values, and with them every value on the way that somebody else holds.
void evaluate(std::span<const Value> values);

/// Whether the value is the same in every run: made of constants and of nothing else.
bool is_known(const Value& value);
/// Whether it is a draw from a settled key that nobody has read yet.
bool is_pending_draw(const Value& value);

/// Contents of a value, computed first when needed. A state gives its newest version.
core::Array contents(const Value& value);

}  // namespace tyto::run
