// SPDX-License-Identifier: MIT
// Prints a graph as mathematics, in text or LaTeX: what each output and each state's next value is.
#pragma once

#include <string>

#include "core/graph/graph.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

std::string formula_of(const core::Graph& graph, FormulaStyle style);

}  // namespace tyto::run
