// SPDX-License-Identifier: MIT
// IDX: two zero bytes, a type, a rank, big-endian lengths, big-endian elements.
#include "io/images.hpp"
#include "io/layout.hpp"
#include "io/refuse.hpp"
#include "io/stream.hpp"

namespace tyto::io {

namespace {

DType idx_type(const std::string& file, int code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0b: return DType::i16;
    case 0x0c: return DType::i32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: refuse(file, "has the IDX element type ", code, "; known are 8, 9, 11, 12, 13 and 14");
  }
}

}  // namespace

HostArray read_idx(const ByteSource& source) {
  const std::unique_ptr<Stream> stream = plain_stream(source);
  std::byte magic[4];
  stream->read(magic, "the IDX header");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    refuse(source.name(), "is no IDX file: it must begin with two bytes of zero");
  }
  HostArray array;
  array.dtype = idx_type(source.name(), std::to_integer<int>(magic[2]));
  const std::vector<std::byte> lengths =
      stream->read_new(4 * std::to_integer<std::uint64_t>(magic[3]), "the IDX header's list of lengths");
  for (std::size_t at = 0; at < lengths.size(); at += 4) {
    std::int64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<std::int64_t>(lengths[at + i]);
    array.shape.push_back(length);
  }
  const std::uint64_t size = byte_count(source.name(), array.shape, array.dtype);
  array.bytes = stream->read_new(size, ("the array of shape " + to_string(array.shape)).c_str());
  stream->expect_end("the array");
  swap_bytes(array.bytes, size_of(array.dtype));
  return array;
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

HostArray read_idx_file(const std::string& path) { return io::read_idx(io::FileSource(path)); }

}  // namespace detail
}  // namespace TYTO_API
