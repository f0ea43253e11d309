// SPDX-License-Identifier: MIT
// The header of a .npy file, parsed.
#pragma once

#include <string>
#include <string_view>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto::io {

struct NpyHeader {
  DType dtype = DType::f32;
  bool big_endian = false;
  bool column_major = false;
  Shape shape;
};

/// Parses the dictionary {'descr': ..., 'fortran_order': ..., 'shape': ...}; `file` is for messages.
NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// The dictionary for a little-endian array in row-major order.
std::string npy_dictionary(DType dtype, const Shape& shape);

}  // namespace tyto::io
