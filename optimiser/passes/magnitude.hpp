// SPDX-License-Identifier: MIT
// Bounds of the absolute values of a constant's elements.
#pragma once

#include <optional>

#include "optimiser/passes/graph_editor.hpp"

namespace tyto::optimiser {

/// Bounds of the absolute values of elements.
struct Magnitude {
  double least = 0;  ///< of those that are not zero; infinity when there are none
  double most = 0;
  bool has_zero = false;
  bool finite = true;  ///< neither infinity nor NaN among them
};

/// Bounds for a floating-point constant, a fill or a view of one, elements outside of the view included. None for
/// anything else.
std::optional<Magnitude> magnitude_of(GraphEditor& editor, core::Port port);

}  // namespace tyto::optimiser
