// SPDX-License-Identifier: MIT
// Files of many arrays as a list of names with arrays that are read on demand.
#pragma once

#include <memory>

#include "io/byte_source.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

using StoredArrays = NamedList<tyto::detail::StoredArray>;

/// Reads all of them.
inline NamedList<HostArray> read_all(const StoredArrays& stored) {
  NamedList<HostArray> arrays;
  arrays.reserve(stored.size());
  for (const auto& array : stored) arrays.push_back({array.name, array.value.read()});
  return arrays;
}

/// A source that somebody else keeps.
inline std::shared_ptr<const ByteSource> borrowed(const ByteSource& source) {
  return {std::shared_ptr<const void>(), &source};
}

}  // namespace tyto::io
