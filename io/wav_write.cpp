// SPDX-License-Identifier: MIT
// WAV files written: the format chunk, the count of frames for all but the plainest format, and the samples.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/value/text.hpp"
#include "io/atomic_file.hpp"
#include "io/wav.hpp"

namespace tyto::io {

namespace {

constexpr std::uint64_t largest_field = std::numeric_limits<std::uint32_t>::max();

/// The tail of the GUID in an extended format chunk, which begins with the encoding of samples.
constexpr std::string_view encoding_tail("\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 14);

struct SampleLayout {
  std::uint64_t encoding;
  int bits;
};

/// Speakers: the front centre, or front left and right; which ones more channels are for nobody says.
std::uint64_t speakers_of(std::int64_t count) { return count == 1 ? 4 : count == 2 ? 3 : 0; }

SampleLayout layout_of(WavFormat format) {
  switch (format) {
    case WavFormat::u8: return {integer_samples, 8};
    case WavFormat::i16: return {integer_samples, 16};
    case WavFormat::i24: return {integer_samples, 24};
    case WavFormat::i32: return {integer_samples, 32};
    case WavFormat::f32: return {float_samples, 32};
  }
  core::throw_error<ValueError>("write_wav: unknown WavFormat ", static_cast<int>(format));
}

class LittleEndianBytes {
 public:
  void number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
  }
  void name(std::string_view text) {
    for (const char letter : text) bytes_.push_back(static_cast<std::byte>(letter));
  }
  void reserve(std::uint64_t size) { bytes_.reserve(static_cast<std::size_t>(size)); }
  /// Room for so many more bytes, whose contents are yet to be written.
  std::byte* room(std::uint64_t size) {
    bytes_.resize(bytes_.size() + static_cast<std::size_t>(size));
    return bytes_.data() + bytes_.size() - size;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Full scale is two to the power of one bit less, of which the positive end does not exist.
std::uint64_t integer_of(float sample, int bits) {
  const double scale = std::ldexp(1.0, bits - 1);
  const auto level = static_cast<std::int64_t>(std::min(std::nearbyint(sample * scale), scale - 1));
  return static_cast<std::uint64_t>(bits == 8 ? level + 128 : level);
}

template <int Bits>
void write_samples(const HostArrayView& samples, std::int64_t width, bool integers, std::byte* to) {
  for (std::size_t i = 0; i < samples.bytes.size(); i += sizeof(float), to += Bits / 8) {
    float sample = 0;
    std::memcpy(&sample, samples.bytes.data() + i, sizeof sample);
    if (integers && !(std::abs(sample) <= 1)) {
      const auto at = static_cast<std::int64_t>(i / sizeof(float));
      core::throw_error<ValueError>("write_wav: sample ", sample, " of channel ", at % width, " in frame ", at / width,
                                    " is beyond -1 to 1; clip(x, -1, 1) limits it, and WavFormat::f32 ", "keeps it");
    }
    const std::uint64_t level = integers ? integer_of(sample, Bits) : std::bit_cast<std::uint32_t>(sample);
    for (int byte = 0; byte < Bits / 8; ++byte) to[byte] = static_cast<std::byte>(level >> (8 * byte) & 0xff);
  }
}

}  // namespace

std::vector<std::byte> wav_bytes(const HostArrayView& samples, std::int64_t rate, WavFormat format) {
  const auto [encoding, bits] = layout_of(format);
  const Shape& shape = samples.shape;
  if (samples.dtype != DType::f32) {
    core::throw_error<TypeError>("write_wav: the samples must be f32, not ", samples.dtype,
                                 "; cast(x, DType::f32) makes them so");
  }
  constexpr std::int64_t most_channels = std::numeric_limits<std::uint16_t>::max();
  const std::int64_t channels = shape.size() == 1 ? 1 : shape.size() == 2 ? shape[1] : 0;
  if (channels < 1 || channels > most_channels / (bits / 8)) {
    core::throw_error<ShapeError>("write_wav: the samples must be (frames,) or (frames, channels) with 1 to ",
                                  most_channels / (bits / 8), " channels, not of shape ", shape);
  }
  const auto frame_bytes = static_cast<std::uint64_t>(channels * (bits / 8));
  if (rate < 1 || static_cast<std::uint64_t>(rate) > largest_field / frame_bytes) {
    core::throw_error<ValueError>("write_wav: the rate must be 1 to ", largest_field / frame_bytes,
                                  " frames in a second, not ", rate);
  }
  const bool integers = encoding == integer_samples;
  // More channels than two, and integers of more bits than 16, take the extended format (WAVE_FORMAT_EXTENSIBLE).
  const bool extends = channels > 2 || (integers && bits > 16);
  const std::uint64_t tag = extends ? extensible : encoding;
  const bool is_plain = tag == integer_samples;
  const std::uint64_t format_size = is_plain ? 16 : extends ? 40 : 18;  // all but the plain one state what follows
  const std::uint64_t count_size = is_plain ? 0 : 12;
  const auto frames = static_cast<std::uint64_t>(shape[0]);
  const std::uint64_t before_samples = 4 + 8 + format_size + count_size + 8;
  if (frames > (largest_field - before_samples - 1) / frame_bytes) {
    core::throw_error<ValueError>("write_wav: ", frames, " frames of ", frame_bytes,
                                  " bytes are more than the 4 GiB that a WAV file can state");
  }
  const std::uint64_t data_size = frames * frame_bytes, padding = data_size % 2;

  LittleEndianBytes out;
  out.reserve(8 + before_samples + data_size + padding);
  out.name("RIFF");
  out.number(before_samples + data_size + padding, 4);
  out.name("WAVEfmt ");
  out.number(format_size, 4);
  out.number(tag, 2);
  out.number(static_cast<std::uint64_t>(channels), 2);
  out.number(static_cast<std::uint64_t>(rate), 4);
  out.number(static_cast<std::uint64_t>(rate) * frame_bytes, 4);
  out.number(frame_bytes, 2);
  out.number(static_cast<std::uint64_t>(bits), 2);
  if (!is_plain) {
    out.number(extends ? 22 : 0, 2);
    if (extends) {
      out.number(static_cast<std::uint64_t>(bits), 2);
      out.number(speakers_of(channels), 4);
      out.number(encoding, 2);
      out.name(encoding_tail);
    }
    out.name("fact");
    out.number(4, 4);
    out.number(frames, 4);
  }
  out.name("data");
  out.number(data_size, 4);
  std::byte* const to = out.room(data_size);
  if (bits == 8) write_samples<8>(samples, channels, integers, to);
  else if (bits == 16) write_samples<16>(samples, channels, integers, to);
  else if (bits == 24) write_samples<24>(samples, channels, integers, to);
  else write_samples<32>(samples, channels, integers, to);
  if (padding != 0) out.number(0, 1);
  return out.take();
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

void write_wav_file(const std::string& path, const HostArrayView& samples, std::int64_t rate, WavFormat format) {
  const std::vector<std::byte> bytes = io::wav_bytes(samples, rate, format);
  io::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace detail
}  // namespace TYTO_API
