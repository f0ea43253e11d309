// safetensors: the length of a JSON header, the header, and the elements one tensor after the other.
#pragma once

#include "io/byte_source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

NamedList<HostArray> read_safetensors(const ByteSource& source);

}  // namespace tyto::io
