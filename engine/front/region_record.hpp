// Loops and branches put into the graph, with what their gradients will need.
#pragma once

#include <span>
#include <vector>

#include "core/attributes.hpp"
#include "core/symbol.hpp"

namespace tyto::run {

/// Emits a loop. One that a gradient may be taken of also stacks the carries with which each iteration begins.
/// Returns the results that the attributes speak of, without those stacks.
std::vector<Value> emit_loop(core::IterationAttributes loop, std::span<const Value> operands);

}  // namespace tyto::run
