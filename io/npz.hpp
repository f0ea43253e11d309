// SPDX-License-Identifier: MIT
// NumPy's .npz: a zip archive of .npy members.
#pragma once

#include "io/stored_arrays.hpp"

namespace tyto::io {

/// The arrays of an archive, each read when it is asked for.
StoredArrays list_npz(std::shared_ptr<const ByteSource> source);
inline NamedList<HostArray> read_npz(const ByteSource& source) { return read_all(list_npz(borrowed(source))); }

}  // namespace tyto::io
