// SPDX-License-Identifier: MIT
// Reads NumPy's .npz archives for the goldens, on its own, so that the library's reader can be checked against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tyto::golden {

/// An array as it lies in a file: element type by name ("f32", "bf16", ...), shape, and row-major bytes.
struct Array {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  std::int64_t count() const;
};

/// Bytes of one element of a type given by name; throws for a name that is none.
std::size_t element_size(const std::string& dtype);

/// Every array of an archive by key. The element type is what stands before the first '_' of the key, since .npy has no
/// name for bf16. Throws std::runtime_error, naming file and member, for anything malformed.
std::map<std::string, Array> read_npz(const std::filesystem::path& path);

}  // namespace tyto::golden
