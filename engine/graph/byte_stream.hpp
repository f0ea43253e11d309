// SPDX-License-Identifier: MIT
// Numbers and texts as bytes, least significant first, and back; what is read is taken for hostile.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::run {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

class ByteWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void number(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void raw(std::span<const std::byte> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    raw(std::as_bytes(std::span(value)));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> finish() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  ByteReader(std::string_view name, std::span<const std::byte> bytes) : name_(name), bytes_(bytes) {}

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    core::throw_error<IoError>(name_, ": at byte ", position_, ": ", parts...);
  }

  std::size_t left() const { return bytes_.size() - position_; }
  std::size_t position() const { return position_; }

  std::span<const std::byte> raw(std::uint64_t size, const char* what) {
    if (size > left()) refuse(what, " takes ", size, " bytes, ", left(), " are left");
    const auto out = bytes_.subspan(position_, static_cast<std::size_t>(size));
    position_ += static_cast<std::size_t>(size);
    return out;
  }
  template <class T>
  requires std::is_arithmetic_v<T> T number(const char* what) {
    T value;
    std::memcpy(&value, raw(sizeof value, what).data(), sizeof value);
    return value;
  }
  bool truth(const char* what) {
    const auto value = number<std::uint8_t>(what);
    if (value > 1) refuse(what, " is ", int{value}, ", neither 0 nor 1");
    return value == 1;
  }
  std::string text(const char* what) {
    const auto size = number<std::uint32_t>(what);
    const auto data = raw(size, what);
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  /// How many things follow that take at least `least` bytes each: never more than there is room for.
  std::uint32_t count(std::size_t least, const char* what) {
    const auto value = number<std::uint32_t>(what);
    if (value > left() / least) refuse(value, " ", what, " do not fit the ", left(), " bytes that are left");
    return value;
  }
  /// While alive, reads are one level of nesting deeper. Refuses more levels than `deepest`.
  class Nesting {
   public:
    Nesting(ByteReader& reader, int deepest) : reader_(reader) {
      if (reader_.depth_ == deepest) reader_.refuse("more than ", deepest, " levels of nesting");
      ++reader_.depth_;
    }
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ByteReader& reader_;
  };

  /// A number below `limit`.
  std::uint32_t index(std::size_t limit, const char* what) {
    const auto value = number<std::uint32_t>(what);
    if (value >= limit) refuse(what, " ", value, " of ", limit);
    return value;
  }

 private:
  std::string_view name_;
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace tyto::run
