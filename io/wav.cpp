// SPDX-License-Identifier: MIT
// WAV: "RIFF", a size, "WAVE", then chunks of a name, a size and bytes, padded to even lengths; little-endian.
#include "io/wav.hpp"

#include <bit>
#include <cstring>
#include <optional>

#include "io/refuse.hpp"
#include "io/stream.hpp"

namespace tyto::io {

namespace {

// Programs that write into a pipe cannot know the size beforehand, and state one from here on: the rest of the file.
constexpr std::uint64_t unknown_size = 0x7ffff000;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

struct SampleFormat {
  std::uint64_t encoding = 0;
  std::uint64_t channels = 0;
  std::uint64_t rate = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t bits = 0;

  std::uint64_t sample_bytes() const { return bits / 8; }
};

SampleFormat read_format(const std::string& file, std::span<const std::byte> chunk) {
  const auto field = [&](std::size_t at, std::size_t width) { return little_endian(chunk.subspan(at, width)); };
  if (chunk.size() < 16) refuse(file, "has a format chunk of ", chunk.size(), " bytes; it takes 16 at least");
  SampleFormat format{field(0, 2), field(2, 2), field(4, 4), field(12, 2), field(14, 2)};
  if (format.encoding == extensible) {
    if (chunk.size() < 40) refuse(file, "has an extended format chunk of ", chunk.size(), " bytes; it takes 40");
    format.encoding = field(24, 2);
  }
  const bool integers = format.encoding == integer_samples &&
                        (format.bits == 8 || format.bits == 16 || format.bits == 24 || format.bits == 32);
  if (!integers && !(format.encoding == float_samples && format.bits == 32)) {
    refuse(file, "holds samples of ", format.bits, " bits in encoding ", format.encoding,
           "; read are integers (1) of 8, 16, 24 and 32 bits and floating-point numbers (3) of 32");
  }
  if (format.channels == 0) refuse(file, "states no channels");
  if (format.rate == 0) refuse(file, "states no frames in a second");
  if (format.frame_bytes != format.channels * format.sample_bytes()) {
    refuse(file, "states frames of ", format.frame_bytes, " bytes; ", format.channels, " channels of ", format.bits,
           " bits take ", format.channels * format.sample_bytes());
  }
  return format;
}

float sample_of(std::span<const std::byte> bytes, const SampleFormat& format) {
  const std::uint64_t raw = little_endian(bytes);
  if (format.encoding == float_samples) return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  // Samples of one byte are unsigned, about 128; all others are in two's complement.
  if (format.bits == 8) return (static_cast<float>(raw) - 128) / 128;
  // The sign comes from the highest byte when it is moved to the top of 32 bits, and the scale is the same for all.
  const std::uint32_t top = static_cast<std::uint32_t>(raw) << (32 - format.bits);
  return static_cast<float>(static_cast<std::int32_t>(top)) / 2147483648.0F;
}

HostArray samples_of(const std::string& file, std::span<const std::byte> data, const SampleFormat& format) {
  if (data.size() % format.frame_bytes != 0) {
    refuse(file, "holds ", data.size(), " bytes of samples, no multiple of a frame's ", format.frame_bytes);
  }
  const std::size_t width = format.sample_bytes(), count = data.size() / width;
  const auto frames = static_cast<std::int64_t>(data.size() / format.frame_bytes);
  HostArray array{DType::f32, {frames, static_cast<std::int64_t>(format.channels)}, {}};
  const std::uint64_t bytes = std::uint64_t{count} * sizeof(float);
  within_memory(file, "the recording", bytes, [&] { array.bytes.resize(bytes); });
  for (std::size_t i = 0; i < count; ++i) {
    const float sample = sample_of(data.subspan(i * width, width), format);
    std::memcpy(array.bytes.data() + i * sizeof(float), &sample, sizeof(float));
  }
  return array;
}

}  // namespace

Recording<HostArray> read_wav(const ByteSource& source) {
  const std::string& file = source.name();
  RangeStream stream(source);
  std::byte begin[12];
  stream.read(begin, "the WAV header");
  if (std::memcmp(begin, "RIFF", 4) != 0 || std::memcmp(begin + 8, "WAVE", 4) != 0) {
    refuse(file, "is no WAV file: it must begin with RIFF, four bytes, and WAVE");
  }
  std::optional<SampleFormat> format;
  while (stream.at_most() > 0) {
    std::byte head[8];
    stream.read(head, "the head of a WAV chunk");
    std::uint64_t size = little_endian(std::span(head).subspan(4));
    if (std::memcmp(head, "data", 4) == 0) {
      if (!format) refuse(file, "holds samples before the chunk 'fmt ' that describes them");
      if (size >= unknown_size && size > stream.at_most()) {
        size = stream.at_most() / format->frame_bytes * format->frame_bytes;
      }
      return {samples_of(file, stream.read_new(size, "the samples"), *format), static_cast<std::int64_t>(format->rate)};
    }
    const bool describes = std::memcmp(head, "fmt ", 4) == 0;
    const std::vector<std::byte> chunk = stream.read_new(size, "a WAV chunk");
    if (describes) format = read_format(file, chunk);
    std::byte padding[1];
    if (size % 2 != 0) (void)stream.read_some(padding);
  }
  refuse(file, "holds no samples: the chunk 'data' is missing");
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

Recording<HostArray> read_wav_file(const std::string& path) { return io::read_wav(io::FileSource(path)); }

}  // namespace detail
}  // namespace TYTO_API
