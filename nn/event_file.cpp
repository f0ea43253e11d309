// SPDX-License-Identifier: MIT
// Records after TensorFlow's record_writer.cc, messages after event.proto and summary.proto.
#include "nn/event_file.hpp"

#include <bit>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <type_traits>

#include "core/system/path.hpp"
#include "core/value/text.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

// Field numbers of the messages, and the wire types of protocol buffers.
constexpr unsigned event_seconds = 1, event_step = 2, event_version = 3, event_summary = 5;
constexpr unsigned summary_value = 1, value_tag = 1, value_number = 2;
constexpr unsigned wire_varint = 0, wire_64 = 1, wire_bytes = 2, wire_32 = 5;

template <class T>
std::string little_endian(T value) {
  static_assert(std::is_unsigned_v<T>);
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(unsigned field, unsigned wire) { return varint(field << 3 | wire); }
std::string bytes_field(unsigned field, std::string_view bytes) {
  return key(field, wire_bytes) + varint(bytes.size()) + std::string(bytes);
}

/// CRC-32C (Castagnoli), bit by bit: a record is some hundred bytes.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
  }
  return ~crc;
}

/// Records hold checksums turned and shifted, so that a checksum of what holds checksums is none of those.
std::string masked_checksum(std::string_view bytes) {
  return little_endian<std::uint32_t>(std::rotr(crc32c(bytes), 15) + 0xa282ead8u);
}

std::string record(const std::string& data) {
  const std::string length = little_endian<std::uint64_t>(data.size());
  return length + masked_checksum(length) + data + masked_checksum(data);
}

std::string now() {
  const std::chrono::duration<double> seconds = std::chrono::system_clock::now().time_since_epoch();
  return key(event_seconds, wire_64) + little_endian(std::bit_cast<std::uint64_t>(seconds.count()));
}

}  // namespace

EventFile::EventFile(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(core::path_of(folder), error);
  if (error) core::throw_error<IoError>(folder, ": cannot be made: ", error.message());
  // The name is how TensorBoard knows such files. Several processes may begin one in the same instant.
  const auto instant = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(instant).count();
  std::random_device entropy;
  do path_ = core::text(folder, "/events.out.tfevents.", seconds, ".tyto.", entropy());
  while (std::filesystem::exists(core::path_of(path_)));
  append(now() + bytes_field(event_version, "brain.Event:2"));
}

void EventFile::add(std::int64_t step, const Figures& figures) const {
  std::string summary;
  for (const Named<double>& figure : figures) {
    const auto number = std::bit_cast<std::uint32_t>(static_cast<float>(figure.value));
    summary += bytes_field(summary_value,
                           bytes_field(value_tag, figure.name) + key(value_number, wire_32) + little_endian(number));
  }
  append(now() + key(event_step, wire_varint) + varint(static_cast<std::uint64_t>(step)) +
         bytes_field(event_summary, summary));
}

void EventFile::append(const std::string& event) const {
  std::ofstream file(core::path_of(path_), std::ios::binary | std::ios::app);
  file << record(event);
  file.close();
  if (!file) core::throw_error<IoError>(path_, ": cannot be written");
}

}  // namespace nn
}  // namespace TYTO_API
