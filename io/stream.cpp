// SPDX-License-Identifier: MIT
// Streams over ranges of bytes and over deflated ranges.
#include "io/stream.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "io/refuse.hpp"

namespace tyto::io {

void Stream::read(std::span<std::byte> target, const char* what) {
  const std::size_t got = read_some(target);
  if (got != target.size()) {
    refuse(name_, "ends too early: ", what, " needs ", target.size(), " bytes, there are ", got);
  }
}

std::vector<std::byte> Stream::read_new(std::uint64_t size, const char* what) {
  if (size > at_most()) {
    refuse(name_, "ends too early: ", what, " needs ", size, " bytes, there are no more than ", at_most());
  }
  std::vector<std::byte> bytes =
      within_memory(name_, what, size, [&] { return std::vector<std::byte>(static_cast<std::size_t>(size)); });
  read(bytes, what);
  return bytes;
}

void Stream::expect_end(const char* what) {
  std::byte one[1];
  if (read_some(one) != 0) refuse(name_, "has bytes left over after ", what);
}

RangeStream::RangeStream(const ByteSource& source, std::uint64_t offset, std::uint64_t size, std::string name)
    : Stream(std::move(name)), source_(source), position_(offset), end_(offset + size) {
  if (offset > source.size() || size > source.size() - offset) {
    refuse(this->name(), "ends too early: ", size, " bytes from byte ", offset, " on are needed, the file has ",
           source.size());
  }
}

std::size_t RangeStream::read_some(std::span<std::byte> target) {
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), at_most()));
  source_.read(position_, target.first(count), "its contents");
  position_ += count;
  return count;
}

InflateStream::InflateStream(const ByteSource& source, std::uint64_t offset, std::uint64_t size, DeflateFormat format,
                             std::string name)
    : Stream(name),
      compressed_(source, offset, size, std::move(name)),
      format_(format),
      state_(std::make_unique<z_stream_s>()),
      buffer_(std::size_t{1} << 16) {
  // zlib tells the wrappings apart by the window: negative for none, 16 added for gzip.
  const int window = format == DeflateFormat::raw ? -MAX_WBITS : MAX_WBITS + 16;
  if (inflateInit2(state_.get(), window) != Z_OK) refuse(this->name(), "zlib has no memory to inflate it");
}

InflateStream::~InflateStream() { inflateEnd(state_.get()); }

std::uint64_t InflateStream::at_most() const {
  if (ended_) return 0;
  const std::uint64_t packed = compressed_.at_most() + state_->avail_in;
  constexpr std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / deflate_ratio - 1;
  // One byte more for what zlib has taken in but not yet put out, a window at most.
  return std::min(packed + 1, limit) * deflate_ratio + (std::uint64_t{1} << MAX_WBITS);
}

std::size_t InflateStream::read_some(std::span<std::byte> target) {
  std::size_t done = 0;
  while (done < target.size() && !ended_) {
    if (state_->avail_in == 0) {
      state_->avail_in = static_cast<uInt>(compressed_.read_some(buffer_));
      state_->next_in = reinterpret_cast<Bytef*>(buffer_.data());
    }
    const bool dry = state_->avail_in == 0;
    const std::size_t room = std::min<std::size_t>(target.size() - done, std::numeric_limits<uInt>::max());
    state_->next_out = reinterpret_cast<Bytef*>(target.data() + done);
    state_->avail_out = static_cast<uInt>(room);
    const int status = inflate(state_.get(), Z_NO_FLUSH);
    const std::size_t made = room - state_->avail_out;
    done += made;
    if (status == Z_STREAM_END) {
      const bool more = state_->avail_in != 0 || compressed_.at_most() != 0;
      if (format_ == DeflateFormat::raw && more) refuse(name(), "has bytes left over after its deflated data");
      // A gzip file may be several, one after the other.
      if (!more || inflateReset(state_.get()) != Z_OK) ended_ = true;
    } else if (status == Z_BUF_ERROR && dry && made == 0) {
      refuse(name(), "ends in the middle of its deflated data");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      refuse(name(), "does not inflate: ", state_->msg != nullptr ? state_->msg : "damaged data");
    }
  }
  return done;
}

std::unique_ptr<Stream> plain_stream(const ByteSource& source) {
  std::byte first[2] = {};
  if (source.size() >= 2) source.read(0, first, "its first bytes");
  if (first[0] == std::byte{0x1f} && first[1] == std::byte{0x8b}) {
    return std::make_unique<InflateStream>(source, 0, source.size(), DeflateFormat::gzip, source.name());
  }
  return std::make_unique<RangeStream>(source);
}

}  // namespace tyto::io
