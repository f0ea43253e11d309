// Where an operand of a program lies that computes range after range.
#pragma once

#include <cstddef>

namespace tyto::cpu {

/// Where the element 0 of an operand would lie while rows are computed from row 0 on. A buffer that holds no more than
/// the rows computed together begins with the first of them, whichever that is.
struct Placed {
  std::byte* start = nullptr;
  std::size_t row_bytes = 0;  // of a buffer: its bytes a row; otherwise 0
};

}  // namespace tyto::cpu
