// SPDX-License-Identifier: MIT
// Lists the tensors that hold memory, with the operator that made each and the call in the program.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto TYTO_API {

/// A buffer that tensors hold.
struct LiveTensor {
  std::size_t bytes = 0;     ///< of the memory, which views share
  DType dtype = DType::f32;  ///< of its elements
  Shape shape;               ///< as it was made
  std::string made_by;       ///< the operator, or "data" for what was handed over or computed by a graph
  std::string label;         ///< of the layer or NameScope in which it was made
  std::string where;         ///< the call in the program, as the linker names it: "./train(main+0x1f2)"
};

/// The memory that tensors hold now, largest first. It is recorded where the environment has TYTO_TRACE=1 from the
/// program's start; ValueError elsewhere.
///
///     std::cout << live_tensors();
std::vector<LiveTensor> live_tensors();

/// "256.00 KiB f32(256,256) of matmul in encoder, ./train(main+0x1f2)".
std::ostream& operator<<(std::ostream& out, const LiveTensor& tensor);
/// A line for each.
std::ostream& operator<<(std::ostream& out, const std::vector<LiveTensor>& tensors);

}  // namespace TYTO_API
