// SPDX-License-Identifier: MIT
// A graph as mathematics: what each output and each state's next value is, in text or LaTeX.
#pragma once

#include <string>

#include "core/graph/graph.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

std::string formula_of(const core::Graph& graph, FormulaStyle style);

}  // namespace tyto::run
