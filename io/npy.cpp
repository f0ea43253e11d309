// SPDX-License-Identifier: MIT
// Reads and writes arrays as .npy bytes.
#include "io/npy.hpp"
#include "core/value/text.hpp"

#include <cstring>
#include <string_view>

#include "io/atomic_file.hpp"
#include "io/layout.hpp"
#include "io/npy_header.hpp"
#include "io/refuse.hpp"

namespace tyto::io {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t preamble = 8;  // magic and version
// A header says little; more is a trick to make parsing expensive.
constexpr std::uint32_t longest_npy_header = 1 << 16;

std::uint32_t header_number(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

}  // namespace

NpyHeader read_npy_header(Stream& stream) {
  std::byte start[preamble];
  stream.read(start, "the npy preamble");
  if (std::memcmp(start, magic.data(), magic.size()) != 0) {
    const bool archive = std::memcmp(start, "PK", 2) == 0;
    refuse(stream.name(), "is no npy file: it lacks the magic \\x93NUMPY", archive ? "; read_npz reads archives" : "");
  }
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) refuse(stream.name(), "is npy of version ", version, "; versions 1 to 3 are read");
  std::byte length[4];
  const std::span<std::byte> field(length, version == 1 ? 2 : 4);
  stream.read(field, "the npy header's length");
  const std::uint32_t header_size = header_number(field);
  if (header_size > longest_npy_header) {
    refuse(stream.name(), "has an npy header of ", header_size, " bytes; ", longest_npy_header, " are allowed");
  }
  const std::vector<std::byte> text = stream.read_new(header_size, "the npy header");
  return parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, stream.name());
}

HostArray read_npy(Stream& stream) {
  const NpyHeader header = read_npy_header(stream);
  HostArray array{header.dtype, header.shape, {}};
  const std::uint64_t size = byte_count(stream.name(), header.shape, header.dtype);
  array.bytes = stream.read_new(size, ("the array of shape " + to_string(header.shape)).c_str());
  const std::size_t width = size_of(header.dtype);
  if (header.big_endian) swap_bytes(array.bytes, size_of(real_type(header.dtype)));
  if (header.column_major && header.shape.size() > 1) {
    array.bytes = within_memory(stream.name(), "a row-major copy of the array", size,
                                [&] { return row_major(array.bytes, header.shape, width); });
  }
  if (header.dtype == DType::boolean) normalise_booleans(array.bytes);
  return array;
}

std::vector<std::byte> npy_header(const HostArrayView& array) {
  std::string dictionary = npy_dictionary(array.dtype, array.shape);
  constexpr std::size_t alignment = 64;
  constexpr std::size_t longest_version_1 = 0xffff;
  // Version 1 counts the header's length in two bytes, version 2 in four.
  int version = 1;
  std::size_t fixed = preamble + 2;
  if (dictionary.size() + fixed + alignment > longest_version_1) {
    version = 2;
    fixed = preamble + 4;
  }
  const std::size_t total = (fixed + dictionary.size() + 1 + alignment - 1) / alignment * alignment;
  dictionary.resize(total - fixed - 1, ' ');
  dictionary += '\n';
  std::vector<std::byte> bytes(total);
  std::memcpy(bytes.data(), magic.data(), magic.size());
  bytes[6] = static_cast<std::byte>(version);
  for (std::size_t i = preamble, rest = dictionary.size(); i < fixed; ++i, rest >>= 8) {
    bytes[i] = static_cast<std::byte>(rest & 0xff);
  }
  std::memcpy(bytes.data() + fixed, dictionary.data(), dictionary.size());
  return bytes;
}

void check_array(const std::string& file, const HostArrayView& array) {
  if (byte_count(file, array.shape, array.dtype) != array.bytes.size()) {
    core::throw_error<ShapeError>(file, ": ", array.bytes.size(), " bytes do not fill shape ", to_string(array.shape),
                                  " of ", name_of(array.dtype));
  }
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

HostArray read_npy_file(const std::string& path) {
  const io::FileSource file(path);
  io::RangeStream stream(file);
  HostArray array = io::read_npy(stream);
  stream.expect_end("the array");
  return array;
}

void write_npy_file(const std::string& path, const HostArrayView& array) {
  io::check_array(path, array);
  io::AtomicFile file(path);
  file.write(io::npy_header(array));
  file.write(array.bytes);
  file.commit();
}

}  // namespace detail
}  // namespace TYTO_API
