// NumPy's .npz: a zip archive of .npy members.
#pragma once

#include "io/source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

NamedList<HostArray> read_npz(const Source& source);

}  // namespace tyto::io
