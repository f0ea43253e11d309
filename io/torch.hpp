// Checkpoints of PyTorch (torch.save since version 1.6): a zip archive of a pickle and the memory that tensors look at.
#pragma once

#include "io/byte_source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

/// All tensors, by the keys that lead to them, joined by dots.
NamedList<HostArray> read_torch(const ByteSource& source);

}  // namespace tyto::io
