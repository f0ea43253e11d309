// safetensors: the length of a JSON header, the header, and the elements one tensor after the other.
#pragma once

#include "io/byte_source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

NamedList<HostArray> read_safetensors(const ByteSource& source);
/// The tensors of all files that the index at `path` names, which lie beside it.
NamedList<HostArray> read_safetensors_shards(const std::string& path);

}  // namespace tyto::io
