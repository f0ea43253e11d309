// SPDX-License-Identifier: MIT
// safetensors: the length of a JSON header, the header, and the elements one tensor after the other.
#pragma once

#include "io/stored_arrays.hpp"

namespace tyto::io {

/// The tensors of a file, each read when it is asked for.
StoredArrays list_safetensors(std::shared_ptr<const ByteSource> source);
inline NamedList<HostArray> read_safetensors(const ByteSource& source) {
  return read_all(list_safetensors(borrowed(source)));
}
/// The tensors of all files that the index at `path` names, which lie beside it.
StoredArrays list_safetensors_shards(const std::string& path);

}  // namespace tyto::io
