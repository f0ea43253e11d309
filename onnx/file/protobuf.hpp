// SPDX-License-Identifier: MIT
// Protobuf's wire format, read in place: fields of a message one after the other, every length checked before it is
// used.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/file/message.hpp"

namespace tyto::onnx {

/// A message's bytes, the fields of which next() visits. Nothing is copied; what it yields points into the bytes.
class ProtobufReader {
 public:
  /// Messages nest at most so deep; ONNX's own schema needs four levels for each graph inside of a graph.
  static constexpr int deepest = 64;

  /// `file` is what errors call it and must outlive the reader.
  ProtobufReader(const std::string& file, std::span<const std::byte> bytes, int depth = 0)
      : file_(&file), bytes_(bytes), depth_(depth) {
    if (depth > deepest) refuse(file, "messages nest more than ", deepest, " deep");
  }

  /// Goes to the next field; false behind the last one.
  bool next() {
    if (bytes_.empty()) return false;
    const std::uint64_t key = take_varint();
    if (key >> 3 == 0 || key >> 3 > 536'870'911)
      refuse(*file_, "is no ONNX model, or damaged: it has a field ", key >> 3);
    field_ = static_cast<std::uint32_t>(key >> 3);
    wire_ = static_cast<Wire>(key & 7);
    switch (wire_) {
      case Wire::varint: number_ = take_varint(); break;
      case Wire::fixed64: payload_ = take(8); break;
      case Wire::bytes: payload_ = take(take_varint()); break;
      case Wire::fixed32: payload_ = take(4); break;
      default:
        // Groups (3 and 4) are no part of ONNX, and their nesting has no length that could be checked.
        refuse(*file_, "is no ONNX model, or damaged: field ", field_, " has the wire type ", key & 7,
               "; known are 0, 1, 2 and 5");
    }
    return true;
  }

  std::uint32_t field() const { return field_; }

  std::int64_t integer() const {
    expect(Wire::varint);
    return static_cast<std::int64_t>(number_);
  }
  float single() const {
    expect(Wire::fixed32);
    return fixed<float>(payload_);
  }
  std::span<const std::byte> bytes() const {
    expect(Wire::bytes);
    return payload_;
  }
  std::string_view text() const {
    expect(Wire::bytes);
    return {reinterpret_cast<const char*>(payload_.data()), payload_.size()};
  }
  /// The field as a message of its own.
  ProtobufReader message() const {
    expect(Wire::bytes);
    return ProtobufReader(*file_, payload_, depth_ + 1);
  }

  /// Appends a repeated number: one element, or a packed run of them.
  void append_to(std::vector<std::int64_t>& list) const {
    if (wire_ != Wire::bytes) return list.push_back(integer());
    for (ProtobufReader packed(*file_, payload_, depth_); !packed.bytes_.empty();) {
      list.push_back(static_cast<std::int64_t>(packed.take_varint()));
    }
  }
  template <class T>
  requires std::is_floating_point_v<T>
  void append_to(std::vector<T>& list) const {
    if (wire_ != Wire::bytes) {
      expect(sizeof(T) == 4 ? Wire::fixed32 : Wire::fixed64);
    } else if (payload_.size() % sizeof(T) != 0) {
      refuse(*file_, "field ", field_, " packs ", payload_.size(), " bytes, no multiple of ", sizeof(T));
    }
    for (std::size_t at = 0; at < payload_.size(); at += sizeof(T)) list.push_back(fixed<T>(payload_.subspan(at)));
  }

 private:
  enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  void expect(Wire wire) const {
    if (wire_ != wire) {
      refuse(*file_, "field ", field_, " has the wire type ", static_cast<int>(wire_), ", expected ",
             static_cast<int>(wire));
    }
  }

  std::uint64_t take_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(take(1)[0]);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    refuse(*file_, "holds an integer of more than 64 bits");
  }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size()) {
      refuse(*file_, "ends inside of a message: ", count, " bytes are announced, ", bytes_.size(), " are there");
    }
    const std::span<const std::byte> taken = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  // The wire is little-endian.
  template <class T>
  static T fixed(std::span<const std::byte> bytes) {
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) bits = bits << 8 | std::to_integer<unsigned char>(bytes[i]);
    return std::bit_cast<T>(bits);
  }

  const std::string* file_;
  std::span<const std::byte> bytes_;  // not read yet
  int depth_;
  std::uint32_t field_ = 0;
  Wire wire_ = Wire::varint;
  std::uint64_t number_ = 0;
  std::span<const std::byte> payload_;
};

}  // namespace tyto::onnx
