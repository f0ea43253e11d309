// SPDX-License-Identifier: MIT
// Reads and writes safetensors files.
#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/atomic_file.hpp"
#include "io/layout.hpp"
#include "io/npy.hpp"
#include "io/refuse.hpp"
#include "io/stream.hpp"

namespace tyto::io {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, dtype_count> safetensors_names = {
    "BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64", "C64", "C128", "U16", "U32", "U64"};
// The limit that the format itself sets.
constexpr std::uint64_t longest_safetensors_header = 100'000'000;
constexpr std::string_view metadata = "__metadata__";

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin;
  std::uint64_t end;
};

std::uint64_t unsigned_of(const Json& value, const std::string& where, const char* what) {
  if (!value.is_number_unsigned()) refuse(where, what, " holds ", value.dump(), ", expected an integer from 0 on");
  return value.get<std::uint64_t>();
}

Entry parse_entry(const std::string& where, const std::string& name, const Json& value) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets")) {
    refuse(where, "is described without 'dtype', 'shape' and 'data_offsets'");
  }
  Entry entry{name, DType::f32, {}, 0, 0};
  const Json& type = value["dtype"];
  const auto found =
      std::find(safetensors_names.begin(), safetensors_names.end(), type.is_string() ? type.get<std::string>() : "");
  if (found == safetensors_names.end()) {
    refuse(where, "has the element type ", type.dump(), "; known are BOOL U8 I8 I16 I32 I64 F16 BF16 F32 F64 C64 C128");
  }
  entry.dtype = static_cast<DType>(found - safetensors_names.begin());
  if (!value["shape"].is_array()) refuse(where, "has no list of lengths as 'shape'");
  for (const Json& length : value["shape"]) {
    const std::uint64_t number = unsigned_of(length, where, "'shape'");
    if (number > static_cast<std::uint64_t>(INT64_MAX)) refuse(where, "has the length ", number, ", beyond 63 bits");
    entry.shape.push_back(static_cast<std::int64_t>(number));
  }
  const Json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) refuse(where, "has no pair as 'data_offsets'");
  entry.begin = unsigned_of(offsets[0], where, "'data_offsets'");
  entry.end = unsigned_of(offsets[1], where, "'data_offsets'");
  const std::uint64_t size = byte_count(where, entry.shape, entry.dtype);
  if (entry.end < entry.begin || entry.end - entry.begin != size) {
    refuse(where, "occupies bytes ", entry.begin, " to ", entry.end, ", its shape ", to_string(entry.shape), " needs ",
           size, " bytes");
  }
  return entry;
}

std::vector<Entry> parse_header(const ByteSource& source, std::span<const std::byte> text) {
  const char* begin = reinterpret_cast<const char*>(text.data());
  // The parser recurses, so the depth is limited: a tensor's lengths are the deepest that the format has.
  constexpr int deepest = 3;
  bool too_deep = false;
  const Json header = Json::parse(
      begin, begin + text.size(),
      [&](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > deepest;
        return !too_deep;
      },
      false);
  if (too_deep || header.is_discarded() || !header.is_object()) {
    refuse(source.name(), "has a header that is no JSON object of tensors");
  }
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == metadata) continue;
    entries.push_back(parse_entry(source.name() + ": " + name, name, value));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  return entries;
}

}  // namespace

StoredArrays list_safetensors(std::shared_ptr<const ByteSource> source) {
  RangeStream stream(*source);
  std::byte length[8];
  stream.read(length, "the header's length");
  std::uint64_t header_size = 0;
  for (std::size_t i = 8; i-- > 0;) header_size = header_size << 8 | std::to_integer<std::uint64_t>(length[i]);
  if (header_size > longest_safetensors_header) {
    refuse(source->name(), "is no safetensors file: its header would have ", header_size, " bytes; ",
           longest_safetensors_header, " are allowed");
  }
  const std::vector<std::byte> text = stream.read_new(header_size, "the header");
  const std::uint64_t data = sizeof length + header_size, size = source->size() - data;
  StoredArrays arrays;
  std::uint64_t at = 0;
  for (const Entry& entry : parse_header(*source, text)) {
    // No gaps and no overlaps, as the format demands, so the tensors are as large as the file and no larger.
    if (entry.begin != at) {
      refuse(source->name(), "places '", entry.name, "' at byte ", entry.begin, " of its data, expected ", at);
    }
    if (entry.end > size) {
      refuse(source->name(), "ends too early: ", entry.name, " needs ", entry.end - entry.begin, " bytes, there are ",
             "no more than ", size - at);
    }
    const auto read = [source, data, entry] {
      RangeStream range(*source, data + entry.begin, entry.end - entry.begin, source->name());
      HostArray array{entry.dtype, entry.shape, range.read_new(entry.end - entry.begin, entry.name.c_str())};
      if (entry.dtype == DType::boolean) normalise_booleans(array.bytes);
      return array;
    };
    arrays.push_back({entry.name, {entry.dtype, entry.shape, read}});
    at = entry.end;
  }
  if (at != size) refuse(source->name(), "has bytes left over after the last tensor");
  return arrays;
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

NamedList<StoredArray> open_safetensors_file(const std::string& path) {
  if (path.ends_with(".json")) return io::list_safetensors_shards(path);
  return io::list_safetensors(std::make_shared<const io::FileSource>(path));
}
NamedList<HostArray> read_safetensors_file(const std::string& path) {
  return io::read_all(open_safetensors_file(path));
}

void write_safetensors_file(const std::string& path, const NamedList<HostArrayView>& arrays) {
  io::Json header = io::Json::object();
  std::uint64_t at = 0;
  for (const Named<HostArrayView>& array : arrays) {
    io::check_array(path + ": " + array.name, array.value);
    if (array.name == io::metadata || header.contains(array.name)) {
      io::refuse(path, "two tensors are named '", array.name, "', or the name is reserved");
    }
    io::Json& entry = header[array.name];
    entry["dtype"] = io::safetensors_names[static_cast<std::size_t>(array.value.dtype)];
    entry["shape"] = io::Json(std::vector<std::int64_t>(array.value.shape.begin(), array.value.shape.end()));
    entry["data_offsets"] = {at, at + array.value.bytes.size()};
    at += array.value.bytes.size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const io::Json::exception&) {
    io::refuse(path, "a tensor's name is not valid UTF-8");
  }
  // Elements begin at a multiple of 8 bytes.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::byte length[8];
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i) & 0xff);
  io::AtomicFile file(path);
  file.write(length);
  file.write(std::as_bytes(std::span(text)));
  for (const Named<HostArrayView>& array : arrays) file.write(array.value.bytes);
  file.commit();
}

}  // namespace detail
}  // namespace TYTO_API
