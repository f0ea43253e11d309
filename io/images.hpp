// SPDX-License-Identifier: MIT
// Data sets of pictures: the IDX format of MNIST and the binary format of CIFAR-10.
#pragma once

#include <utility>

#include "io/byte_source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

HostArray read_idx(const ByteSource& source);
/// Images (count, 32, 32, 3) and labels (count,).
std::pair<HostArray, HostArray> read_cifar10(const ByteSource& source);

}  // namespace tyto::io
