// Data sets of pictures: the IDX format of MNIST and the binary format of CIFAR-10.
#pragma once

#include <utility>

#include "io/source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

HostArray read_idx(const Source& source);
/// Images (count, 32, 32, 3) and labels (count,).
std::pair<HostArray, HostArray> read_cifar10(const Source& source);

}  // namespace tyto::io
