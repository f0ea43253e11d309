// SPDX-License-Identifier: MIT
// NumPy's .npy: a magic, a header that is a Python dictionary, and the elements.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "io/npy_header.hpp"
#include "io/stream.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

/// Reads what stands before the elements.
NpyHeader read_npy_header(Stream& stream);

/// Reads one array; what follows it in the stream is left there.
HostArray read_npy(Stream& stream);

/// Everything that stands before the elements, padded so that they begin at a multiple of 64 bytes.
std::vector<std::byte> npy_header(const HostArrayView& array);

/// Throws ShapeError when an array has other than as many bytes as its shape needs.
void check_array(const std::string& file, const HostArrayView& array);

}  // namespace tyto::io
