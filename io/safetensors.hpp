// safetensors: the length of a JSON header, the header, and the elements one tensor after the other.
#pragma once

#include "io/source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

NamedList<HostArray> read_safetensors(const Source& source);

}  // namespace tyto::io
