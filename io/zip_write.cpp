// SPDX-License-Identifier: MIT
// Writes a zip archive.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "io/refuse.hpp"
#include "io/zip.hpp"

namespace tyto::io {

namespace {

constexpr std::uint64_t narrow_limit = 0xffffffff;
// The day zip counts from, so that equal contents make equal files.
constexpr std::uint16_t first_day = 1 << 5 | 1;
constexpr std::uint16_t version_plain = 20;
constexpr std::uint16_t version_zip64 = 45;
constexpr std::uint16_t names_are_utf8 = 1 << 11;

class RecordWriter {
 public:
  template <class T>
  RecordWriter& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff));
    }
    return *this;
  }
  RecordWriter& u16(std::uint64_t value) { return put(static_cast<std::uint16_t>(value)); }
  RecordWriter& u32(std::uint64_t value) { return put(static_cast<std::uint32_t>(value)); }
  /// Four bytes for a value that may have moved to the zip64 field.
  RecordWriter& narrow(std::uint64_t value) { return u32(std::min(value, narrow_limit)); }
  RecordWriter& text(const std::string& text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  operator std::span<const std::byte>() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Deflater {
 public:
  Deflater() {
    if (deflateInit2(&state_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw IoError("zlib has no memory to deflate an array");
    }
  }
  ~Deflater() { deflateEnd(&state_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void add(std::span<const std::byte> bytes, std::vector<std::byte>& out, bool last) {
    do {
      const std::size_t part = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      state_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
      state_.avail_in = static_cast<uInt>(part);
      bytes = bytes.subspan(part);
      const int flush = last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        std::byte buffer[1 << 16];
        state_.next_out = reinterpret_cast<Bytef*>(buffer);
        state_.avail_out = sizeof buffer;
        deflate(&state_, flush);
        out.insert(out.end(), buffer, buffer + sizeof buffer - state_.avail_out);
      } while (state_.avail_out == 0);
    } while (!bytes.empty());
  }

 private:
  z_stream state_{};
};

}  // namespace

std::uint32_t checksum_of(std::uint32_t running, std::span<const std::byte> bytes) {
  if (bytes.empty()) return running;  // zlib takes a null pointer, which an empty array may have, for a new beginning
  return static_cast<std::uint32_t>(crc32_z(running, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> head, std::span<const std::byte> body,
                    Compression compression) {
  ZipMember member;
  member.name = name;
  member.deflated = compression == Compression::deflated;
  member.checksum = checksum_of(checksum_of(0, head), body);
  member.size = head.size() + body.size();
  member.compressed_size = member.size;
  std::vector<std::byte> packed;
  if (member.deflated) {
    Deflater deflater;
    deflater.add(head, packed, false);
    deflater.add(body, packed, true);
    member.compressed_size = packed.size();
  }
  const bool wide = std::max(member.size, member.compressed_size) >= narrow_limit;
  const std::uint64_t offset = file_.size();
  RecordWriter header;
  header.u32(0x04034b50).u16(wide ? version_zip64 : version_plain).u16(names_are_utf8).u16(member.deflated ? 8 : 0);
  header.u16(0).u16(first_day).u32(member.checksum);
  header.u32(wide ? narrow_limit : member.compressed_size).u32(wide ? narrow_limit : member.size);
  header.u16(name.size()).u16(wide ? 20 : 0).text(name);
  if (wide) header.u16(1).u16(16).put(member.size).put(member.compressed_size);
  file_.write(header);
  member.data = file_.size();
  if (member.deflated) {
    file_.write(packed);
  } else {
    file_.write(head);
    file_.write(body);
  }
  offsets_.push_back(offset);
  members_.push_back(std::move(member));
}

void ZipWriter::finish() {
  const std::uint64_t directory = file_.size();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const ZipMember& member = members_[i];
    RecordWriter extra;
    std::uint64_t extra_size = 0;
    for (const std::uint64_t field : {member.size, member.compressed_size, offsets_[i]}) {
      if (field < narrow_limit) continue;
      extra.put(field);
      extra_size += 8;
    }
    const std::uint16_t version = extra_size != 0 ? version_zip64 : version_plain;
    RecordWriter entry;
    entry.u32(0x02014b50).u16(version).u16(version).u16(names_are_utf8).u16(member.deflated ? 8 : 0);
    entry.u16(0).u16(first_day).u32(member.checksum).narrow(member.compressed_size).narrow(member.size);
    entry.u16(member.name.size()).u16(extra_size != 0 ? extra_size + 4 : 0).u16(0).u16(0).u16(0).u32(0);
    entry.narrow(offsets_[i]).text(member.name);
    if (extra_size != 0) entry.u16(1).u16(extra_size);
    file_.write(entry);
    file_.write(extra);
  }
  const std::uint64_t end = file_.size();
  const std::uint64_t size = end - directory;
  const std::uint64_t count = members_.size();
  RecordWriter tail;
  if (count >= 0xffff || size >= narrow_limit || directory >= narrow_limit) {
    tail.u32(0x06064b50).put(std::uint64_t{44}).u16(version_zip64).u16(version_zip64).u32(0).u32(0);
    tail.put(count).put(count).put(size).put(directory);
    tail.u32(0x07064b50).u32(0).put(end).u32(1);
  }
  tail.u32(0x06054b50).u16(0).u16(0);
  tail.u16(std::min<std::uint64_t>(count, 0xffff)).u16(std::min<std::uint64_t>(count, 0xffff));
  tail.narrow(size).narrow(directory).u16(0);
  file_.write(tail);
}

}  // namespace tyto::io
