// SPDX-License-Identifier: MIT
// Names from core/graph that passes use unqualified.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/operator.hpp"

namespace tyto::optimiser {

using core::Graph;
using core::GraphNode;
using core::OpDef;
using core::OpId;
using core::Port;
using core::Traits;

}  // namespace tyto::optimiser
