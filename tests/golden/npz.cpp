// SPDX-License-Identifier: MIT
// Reads a zip archive by its central directory, inflates its members, and takes the .npy headers apart.
#include "tests/golden/npz.hpp"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>

namespace tyto::golden {
namespace {

using Bytes = std::vector<std::byte>;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw std::runtime_error(where + ": " + what);
}

/// Little-endian reads from a file's bytes, each checked against their end.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  std::span<const std::byte> slice(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) refuse(where_, "ends too early");
    return bytes_.subspan(offset, size);
  }
  std::uint32_t number(std::size_t offset, std::size_t size) const {
    std::uint32_t value = 0;
    const auto field = slice(offset, size);
    for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint32_t>(field[i]) << (8 * i);
    return value;
  }
  std::string text(std::size_t offset, std::size_t size) const {
    const auto field = slice(offset, size);
    return {reinterpret_cast<const char*>(field.data()), field.size()};
  }
  std::size_t size() const { return bytes_.size(); }
  const std::string& where() const { return where_; }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
};

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path.string(), "cannot be opened");
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

Bytes inflate_member(std::span<const std::byte> packed, std::size_t size, const std::string& where) {
  Bytes plain(size);
  z_stream stream{};
  // A negative window says that zip holds raw deflate data, without zlib's own header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) refuse(where, "zlib cannot start");
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.total_out != size) refuse(where, "does not inflate to its stated size");
  return plain;
}

/// The text after 'key': in the header's Python dictionary, from the beginning of the value.
std::string_view header_value(std::string_view header, std::string_view key, const std::string& where) {
  const std::size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) refuse(where, "the .npy header lacks '" + std::string(key) + "'");
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::vector<std::int64_t> parse_shape(std::string_view text, const std::string& where) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) refuse(where, "malformed shape");
  std::vector<std::int64_t> shape;
  for (const char *at = text.data() + 1, *stop = text.data() + end; at < stop;) {
    if (std::isdigit(static_cast<unsigned char>(*at)) == 0) {
      ++at;
      continue;
    }
    std::int64_t length = 0;
    const auto [next, error] = std::from_chars(at, stop, length);
    if (error != std::errc{}) refuse(where, "malformed shape");
    shape.push_back(length);
    at = next;
  }
  return shape;
}

std::string descriptor_of(const std::string& dtype) {
  static const std::map<std::string, std::string> descriptors = {
      {"bool", "|b1"}, {"u8", "|u1"},  {"i8", "|i1"},  {"i16", "<i2"}, {"i32", "<i4"}, {"i64", "<i8"}, {"f16", "<f2"},
      {"bf16", "<u2"}, {"f32", "<f4"}, {"f64", "<f8"}, {"u16", "<u2"}, {"u32", "<u4"}, {"u64", "<u8"}};
  const auto found = descriptors.find(dtype);
  if (found == descriptors.end()) throw std::runtime_error("no element type is called '" + dtype + "'");
  return found->second;
}

Array parse_npy(const Bytes& bytes, const std::string& key, const std::string& where) {
  const Cursor file(bytes, where);
  if (file.text(0, 6) != "\x93NUMPY" || file.number(6, 1) != 1) refuse(where, "is no .npy file of version 1");
  const std::size_t header_size = file.number(8, 2);
  const std::string header = file.text(10, header_size);
  Array array;
  array.dtype = key.substr(0, key.find('_'));
  const std::string expected = "'" + descriptor_of(array.dtype) + "'";
  if (!header_value(header, "descr", where).starts_with(expected)) refuse(where, "is not of the type its key names");
  if (!header_value(header, "fortran_order", where).starts_with("False")) refuse(where, "is not row-major");
  array.shape = parse_shape(header_value(header, "shape", where), where);
  const auto data = file.slice(10 + header_size, file.size() - 10 - header_size);
  if (data.size() != static_cast<std::size_t>(array.count()) * element_size(array.dtype)) {
    refuse(where, "does not hold as many bytes as its shape needs");
  }
  array.bytes.assign(data.begin(), data.end());
  return array;
}

}  // namespace

std::int64_t Array::count() const {
  std::int64_t product = 1;
  for (const std::int64_t length : shape) product *= length;
  return product;
}

std::size_t element_size(const std::string& dtype) {
  return static_cast<std::size_t>(descriptor_of(dtype).back() - '0');
}

std::map<std::string, Array> read_npz(const std::filesystem::path& path) {
  constexpr std::size_t end_record_size = 22;
  constexpr std::uint32_t stored = 0;
  constexpr std::uint32_t deflated = 8;
  const Bytes bytes = read_file(path);
  const Cursor file(bytes, path.string());
  // Our archives have no comment, so the end record is the last thing in the file.
  if (file.size() < end_record_size || file.text(file.size() - end_record_size, 4) != "PK\5\6") {
    refuse(path.string(), "is no zip archive");
  }
  const std::size_t end = file.size() - end_record_size;
  const std::size_t members = file.number(end + 10, 2);
  std::size_t entry = file.number(end + 16, 4);

  std::map<std::string, Array> arrays;
  for (std::size_t i = 0; i < members; ++i) {
    if (file.text(entry, 4) != "PK\1\2") refuse(path.string(), "has a damaged directory");
    const std::uint32_t method = file.number(entry + 10, 2);
    const std::uint32_t checksum = file.number(entry + 16, 4);
    const std::size_t packed_size = file.number(entry + 20, 4);
    const std::size_t size = file.number(entry + 24, 4);
    const std::size_t name_size = file.number(entry + 28, 2);
    const std::size_t local = file.number(entry + 42, 4);
    const std::string name = file.text(entry + 46, name_size);
    entry += 46 + name_size + file.number(entry + 30, 2) + file.number(entry + 32, 2);

    const std::string where = path.string() + ": " + name;
    if (!name.ends_with(".npy")) refuse(where, "is no .npy member");
    const std::size_t data = local + 30 + file.number(local + 26, 2) + file.number(local + 28, 2);
    const auto packed = file.slice(data, packed_size);
    Bytes plain;
    if (method == stored) {
      plain.assign(packed.begin(), packed.end());
    } else if (method == deflated) {
      plain = inflate_member(packed, size, where);
    } else {
      refuse(where, "is packed by a method that is neither 'stored' nor 'deflate'");
    }
    if (crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())) != checksum) {
      refuse(where, "has a wrong checksum");
    }
    const std::string key = name.substr(0, name.size() - 4);
    arrays.emplace(key, parse_npy(plain, key, where));
  }
  return arrays;
}

}  // namespace tyto::golden
