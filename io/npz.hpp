// NumPy's .npz: a zip archive of .npy members.
#pragma once

#include "io/byte_source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

NamedList<HostArray> read_npz(const ByteSource& source);

}  // namespace tyto::io
