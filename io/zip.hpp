// SPDX-License-Identifier: MIT
// Zip archives, as far as arrays need them: stored and deflated members, zip64, checksums; no encryption, no parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/stream.hpp"
#include "tyto/io.hpp"

namespace tyto::io {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t data = 0;  // where the packed bytes begin in the file
};

/// The members by the archive's directory. Each is within the file and none overlaps another, so that what they
/// inflate to is bounded by the size of the file.
std::vector<ZipMember> read_zip_directory(const ByteSource& source);

/// The archive's checksum of bytes behind those that gave `running`.
std::uint32_t checksum_of(std::uint32_t running, std::span<const std::byte> bytes);

/// A member's contents. expect_end() on it also checks size and checksum.
std::unique_ptr<Stream> open_zip_member(const ByteSource& source, const ZipMember& member);

/// Writes members one after the other and the directory behind them.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}
  /// A member of two parts, one written behind the other.
  void add(const std::string& name, std::span<const std::byte> head, std::span<const std::byte> body,
           Compression compression);
  void finish();

 private:
  AtomicFile& file_;
  std::vector<ZipMember> members_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace tyto::io
