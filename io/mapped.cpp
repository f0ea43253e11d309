// SPDX-License-Identifier: MIT
// Maps arrays of npy files into memory.
#include <algorithm>
#include <memory>

#include "core/system/mapped_file.hpp"
#include "io/layout.hpp"
#include "io/npy.hpp"
#include "io/refuse.hpp"

namespace tyto TYTO_API {
namespace detail {

MappedArray map_npy_file(const std::string& path) {
  const io::FileSource file(path);
  io::RangeStream stream(file);
  const io::NpyHeader header = io::read_npy_header(stream);
  if (header.big_endian)
    io::refuse(path, "holds elements in the other order of bytes, as they cannot be mapped; read_npy reads it");
  if (header.column_major && header.shape.size() > 1) {
    io::refuse(path, "is in column-major order, which cannot be mapped; read_npy reads it");
  }
  const std::uint64_t size = io::byte_count(path, header.shape, header.dtype);
  const std::uint64_t begin = file.size() - stream.at_most();
  if (file.size() < begin || file.size() - begin != size) {
    io::refuse(path, "holds ", file.size() - std::min(begin, file.size()), " bytes of elements, ", size,
               " are needed for shape ", to_string(header.shape));
  }
  if (begin % size_of(header.dtype) != 0) {
    io::refuse(path, "has its elements at byte ", begin, ", which cannot be mapped; read_npy reads it");
  }
  if (size == 0) return {{header.dtype, header.shape, {}}, nullptr};
  const auto owner = std::make_shared<const core::MappedFile>(path);
  if (owner->bytes().size() != file.size()) io::refuse(path, "was written while it was read");
  const std::span<const std::byte> bytes = owner->bytes().subspan(static_cast<std::size_t>(begin));
  if (header.dtype == DType::boolean &&
      std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
    io::refuse(path, "holds truths other than 0 and 1, which cannot be mapped; read_npy reads it");
  }
  return {{header.dtype, header.shape, bytes}, owner};
}

}  // namespace detail
}  // namespace TYTO_API
