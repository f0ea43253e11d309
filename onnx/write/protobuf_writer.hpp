// SPDX-License-Identifier: MIT
// Writes Protobuf's wire format: fields one after the other, messages as bytes within messages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tyto::onnx {

class ProtobufWriter {
 public:
  /// The bytes written so far.
  const std::string& bytes() const { return bytes_; }

  void integer(std::uint32_t field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void single(std::uint32_t field, float value) {
    key(field, 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xff);
  }
  void text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const ProtobufWriter& value) { text(field, value.bytes_); }
  /// Fields of one message may be written one behind the other.
  void append(const ProtobufWriter& more) { bytes_ += more.bytes_; }

 private:
  void key(std::uint32_t field, std::uint32_t wire) { varint(std::uint64_t{field} << 3 | wire); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace tyto::onnx
