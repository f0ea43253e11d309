// SPDX-License-Identifier: MIT
// Tables of a Fourier transform of lines of one length: roots of unity, and for lengths with a large prime factor a
// chirp and its transform.
#pragma once

#include <cstdint>

#include "devices/opencl/runtime/launch_plan.hpp"
#include "tyto/dtype.hpp"

namespace tyto::opencl {

/// Numbers as pairs of real and imaginary part, all in one table; the members say where each part begins.
struct FourierTables {
  std::int64_t points = 1;  // what the passes transform: the line's length, or a power of two for a chirp
  bool chirped = false;
  std::int64_t roots = 0;   // e^(-2 pi i k / points) for each k
  std::int64_t halves = 0;  // e^(-2 pi i k / (2 length)) for k up to the length, where asked for
  std::int64_t chirp = 0;   // e^(-pi i k^2 / length)
  std::int64_t kernel = 0;  // the transform of the inverse chirp, divided by `points`
  Table contents;
};

/// Tables in f32 or f64 for lines of `length` complex points.
FourierTables fourier_tables(std::int64_t length, bool with_halves, DType dtype);

}  // namespace tyto::opencl
