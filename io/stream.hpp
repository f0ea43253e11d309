// SPDX-License-Identifier: MIT
// Streams: bytes read in order, and a bound on how many still come, so that memory is allocated only if it can be
// filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/byte_source.hpp"

struct z_stream_s;

namespace tyto::io {

class Stream {
 public:
  explicit Stream(std::string name) : name_(std::move(name)) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const std::string& name() const { return name_; }
  /// Fills as much of `target` as there are bytes and returns how much that was.
  virtual std::size_t read_some(std::span<std::byte> target) = 0;
  /// No more bytes than this still come.
  virtual std::uint64_t at_most() const = 0;

  /// Fills all of `target`; throws IoError naming `what` when the stream ends before.
  void read(std::span<std::byte> target, const char* what);
  /// Memory for `size` bytes, filled; throws IoError before allocating when so many cannot come.
  std::vector<std::byte> read_new(std::uint64_t size, const char* what);
  /// Throws IoError when anything is left.
  void expect_end(const char* what);

 private:
  std::string name_;
};

/// A range of a source as it is.
class RangeStream final : public Stream {
 public:
  RangeStream(const ByteSource& source, std::uint64_t offset, std::uint64_t size, std::string name);
  explicit RangeStream(const ByteSource& source) : RangeStream(source, 0, source.size(), source.name()) {}

  std::size_t read_some(std::span<std::byte> target) override;
  std::uint64_t at_most() const override { return end_ - position_; }

 private:
  const ByteSource& source_;
  std::uint64_t position_;
  std::uint64_t end_;
};

/// The most that deflate can make of one byte: 258 bytes of match in two bits.
inline constexpr std::uint64_t deflate_ratio = 1032;

enum class DeflateFormat : std::uint8_t { gzip, raw };

/// A deflated range, inflated: gzip (of any number of members) or the bare data of a zip member.
class InflateStream final : public Stream {
 public:
  InflateStream(const ByteSource& source, std::uint64_t offset, std::uint64_t size, DeflateFormat format,
                std::string name);
  ~InflateStream() override;

  std::size_t read_some(std::span<std::byte> target) override;
  std::uint64_t at_most() const override;

 private:
  RangeStream compressed_;
  DeflateFormat format_;
  std::unique_ptr<z_stream_s> state_;
  std::vector<std::byte> buffer_;
  bool ended_ = false;
};

/// The whole source, inflated when it begins like a gzip file.
std::unique_ptr<Stream> plain_stream(const ByteSource& source);

}  // namespace tyto::io
