// SPDX-License-Identifier: MIT
// Checkpoints of PyTorch (torch.save since version 1.6): a zip archive of a pickle and the memory that tensors look at.
#pragma once

#include "io/stored_arrays.hpp"

namespace tyto::io {

/// Lists all tensors, not yet read, by the keys that lead to them, joined by dots.
StoredArrays list_torch(std::shared_ptr<const ByteSource> source);
NamedList<HostArray> read_torch(const ByteSource& source);

}  // namespace tyto::io
