// SPDX-License-Identifier: MIT
// Reads a zip archive by its directory.
#include <zlib.h>

#include <algorithm>
#include <numeric>

#include "io/refuse.hpp"
#include "io/zip.hpp"

namespace tyto::io {

namespace {

constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator_signature = 0x07064b50;
constexpr std::uint32_t entry_signature = 0x02014b50;
constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::size_t end_size = 22;
constexpr std::size_t end64_size = 56;
constexpr std::size_t locator_size = 20;
constexpr std::size_t entry_size = 46;
constexpr std::size_t local_size = 30;
constexpr std::size_t longest_comment = 0xffff;
constexpr std::uint16_t zip64_extra = 1;

// Little-endian fields of a record that was read whole.
class Record {
 public:
  explicit Record(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t number(std::size_t offset, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes_[offset + i]);
    return value;
  }
  std::uint32_t u16(std::size_t offset) const { return static_cast<std::uint32_t>(number(offset, 2)); }
  std::uint32_t u32(std::size_t offset) const { return static_cast<std::uint32_t>(number(offset, 4)); }
  std::uint64_t u64(std::size_t offset) const { return number(offset, 8); }

 private:
  std::span<const std::byte> bytes_;
};

struct Directory {
  std::uint64_t members = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

Directory find_directory(const ByteSource& source) {
  const std::size_t tail_size =
      static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), end_size + longest_comment));
  std::vector<std::byte> tail(tail_size);
  source.read(source.size() - tail_size, tail, "the end of a zip archive");
  std::size_t at = tail_size + 1;
  for (std::size_t i = tail_size < end_size ? 0 : tail_size - end_size + 1; i-- > 0;) {
    const Record record{std::span<const std::byte>(tail).subspan(i)};
    if (record.u32(0) == end_signature && i + end_size + record.u16(20) == tail_size) {
      at = i;
      break;
    }
  }
  if (at > tail_size) refuse(source.name(), "is no zip archive (npz), or its end is missing");
  const Record end{std::span<const std::byte>(tail).subspan(at)};
  if (end.u16(4) != 0 || end.u16(6) != 0 || end.u16(8) != end.u16(10)) {
    refuse(source.name(), "is one part of a zip archive in several parts, which is not read");
  }
  Directory directory{end.u16(10), end.u32(12), end.u32(16)};
  const bool wide = directory.members == 0xffff || directory.size == 0xffffffff || directory.offset == 0xffffffff;
  const std::uint64_t end_place = source.size() - tail_size + at;
  if (!wide || end_place < locator_size) return directory;

  std::byte locator_bytes[locator_size];
  source.read(end_place - locator_size, locator_bytes, "the zip64 locator");
  const Record locator(locator_bytes);
  if (locator.u32(0) != locator_signature) return directory;
  std::byte end64_bytes[end64_size];
  source.read(locator.u64(8), end64_bytes, "the zip64 end record");
  const Record end64(end64_bytes);
  if (end64.u32(0) != end64_signature) refuse(source.name(), "has no zip64 end record where its locator points");
  return {end64.u64(32), end64.u64(40), end64.u64(48)};
}

// Fields that did not fit four bytes stand in an extra field, in this order, each only when it did not fit.
void widen(const std::string& file, ZipMember& member, std::uint64_t& local, std::span<const std::byte> extra) {
  constexpr std::uint64_t elsewhere = 0xffffffff;
  while (extra.size() >= 4) {
    const Record head(extra);
    const std::size_t length = head.u16(2);
    if (length > extra.size() - 4) break;
    if (head.u16(0) == zip64_extra) {
      const Record fields(extra.subspan(4));
      std::size_t at = 0;
      for (std::uint64_t* field : {&member.size, &member.compressed_size, &local}) {
        if (*field != elsewhere) continue;
        if (at + 8 > length) refuse(file, "has a zip64 field that is too short for member '", member.name, "'");
        *field = fields.u64(at);
        at += 8;
      }
      return;
    }
    extra = extra.subspan(4 + length);
  }
}

// Where a member's bytes begin: behind its local header, whose name and extra field have lengths of their own.
std::uint64_t data_offset(const ByteSource& source, const std::string& name, std::uint64_t local) {
  std::byte bytes[local_size];
  source.read(local, bytes, "a member's local header");
  const Record header(bytes);
  if (header.u32(0) != local_signature) {
    refuse(source.name(), "has no local header at byte ", local, " where its directory places member '", name, "'");
  }
  return local + local_size + header.u16(26) + header.u16(28);
}

void check_overlap(const ByteSource& source, const std::vector<ZipMember>& members,
                   const std::vector<std::uint64_t>& locals) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return locals[a] < locals[b]; });
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    if (locals[i] < end) refuse(source.name(), "has members that overlap, such as '", members[i].name, "'");
    end = members[i].data + members[i].compressed_size;
  }
}

/// Counts and checks what passes through.
class CheckedStream final : public Stream {
 public:
  CheckedStream(std::unique_ptr<Stream> inner, const ZipMember& member)
      : Stream(inner->name()), inner_(std::move(inner)), checksum_(member.checksum), left_(member.size) {}

  std::size_t read_some(std::span<std::byte> target) override {
    const std::size_t count =
        inner_->read_some(target.first(static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), left_))));
    running_ = checksum_of(running_, target.first(count));
    left_ -= count;
    if (count < target.size()) finish();
    return count;
  }
  std::uint64_t at_most() const override { return std::min(left_, inner_->at_most()); }

 private:
  // The reader has asked for more than there is: now all of it has passed.
  void finish() {
    if (left_ != 0) refuse(name(), "ends ", left_, " bytes before the size that the archive states");
    inner_->expect_end("the size that the archive states");
    if (running_ != checksum_) refuse(name(), "has a wrong checksum: the file is damaged");
  }

  std::unique_ptr<Stream> inner_;
  std::uint32_t checksum_;
  std::uint32_t running_ = 0;
  std::uint64_t left_;
};

}  // namespace

std::vector<ZipMember> read_zip_directory(const ByteSource& source) {
  const Directory place = find_directory(source);
  if (place.offset > source.size() || place.size > source.size() - place.offset ||
      place.members > place.size / entry_size) {
    refuse(source.name(), "states a directory of ", place.members, " members in ", place.size, " bytes from byte ",
           place.offset, " on, the file has ", source.size(), " bytes");
  }
  std::vector<std::byte> directory(static_cast<std::size_t>(place.size));
  source.read(place.offset, directory, "the directory");

  std::vector<ZipMember> members;
  std::vector<std::uint64_t> locals;
  std::span<const std::byte> rest(directory);
  for (std::uint64_t i = 0; i < place.members; ++i) {
    if (rest.size() < entry_size) refuse(source.name(), "has a directory that ends before member ", i);
    const Record entry(rest);
    if (entry.u32(0) != entry_signature) refuse(source.name(), "has a damaged directory at member ", i);
    const std::size_t name_size = entry.u16(28);
    const std::size_t extra_size = entry.u16(30);
    const std::size_t total = entry_size + name_size + extra_size + entry.u16(32);
    if (total > rest.size()) refuse(source.name(), "has a directory that ends within member ", i);
    ZipMember member;
    member.name.assign(reinterpret_cast<const char*>(rest.data() + entry_size), name_size);
    const std::uint32_t method = entry.u16(10);
    if ((entry.u16(8) & 1) != 0) refuse(source.name(), "has the encrypted member '", member.name, "'");
    if (method != 0 && method != 8) {
      refuse(source.name(), "packs member '", member.name, "' by method ", method,
             "; stored (0) and deflated (8) are read");
    }
    member.deflated = method == 8;
    member.checksum = entry.u32(16);
    member.compressed_size = entry.u32(20);
    member.size = entry.u32(24);
    std::uint64_t local = entry.u32(42);
    widen(source.name(), member, local, rest.subspan(entry_size + name_size, extra_size));
    if (local > source.size()) refuse(source.name(), "places member '", member.name, "' behind its end");
    member.data = data_offset(source, member.name, local);
    if (member.data > source.size() || member.compressed_size > source.size() - member.data) {
      refuse(source.name(), "ends within member '", member.name, "' of ", member.compressed_size, " bytes");
    }
    if (!member.deflated && member.size != member.compressed_size) {
      refuse(source.name(), "states two sizes for the stored member '", member.name, "'");
    }
    members.push_back(std::move(member));
    locals.push_back(local);
    rest = rest.subspan(total);
  }
  check_overlap(source, members, locals);
  return members;
}

std::unique_ptr<Stream> open_zip_member(const ByteSource& source, const ZipMember& member) {
  const std::string name = source.name() + ": " + member.name;
  std::unique_ptr<Stream> packed;
  if (member.deflated) {
    packed = std::make_unique<InflateStream>(source, member.data, member.compressed_size, DeflateFormat::raw, name);
  } else {
    packed = std::make_unique<RangeStream>(source, member.data, member.compressed_size, name);
  }
  return std::make_unique<CheckedStream>(std::move(packed), member);
}

}  // namespace tyto::io
