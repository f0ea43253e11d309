// SPDX-License-Identifier: MIT
// Profiles of runs: the time, bytes and operations of each step.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tyto/error.hpp"

namespace tyto TYTO_API {

/// One step of a run. Bytes are those of its operands, read or written once each; operations are multiplications and
/// additions of products and convolutions, and one an element of everything else.
struct StepProfile {
  std::string name;                ///< the operator
  std::string label;               ///< of the layer or NameScope; "LABEL/gradient of OP" of gradients
  std::string members;             ///< of fused operators: "multiply+add+exp"
  double milliseconds = 0;         ///< of one run
  std::int64_t bytes = 0;          ///< read and written
  std::int64_t operations = 0;     ///< arithmetic, as counted for the operator
  std::int64_t multiply_adds = 0;  ///< of its matrix products and convolutions, within loops and branches too
};

/// A run, step by step.
struct GraphProfile {
  std::vector<StepProfile> steps;  ///< in the order in which they ran
  double milliseconds = 0;         ///< of the whole run
  /// For chrome://tracing and Perfetto.
  std::string chrome_trace() const;
};

/// A table, the costliest operators first, with GB/s and Gop/s; then one of the layers, where there are any.
std::ostream& operator<<(std::ostream& out, const GraphProfile& profile);

}  // namespace TYTO_API
