// SPDX-License-Identifier: MIT
// Recordings in WAV files, against what SciPy reads from them, and each way that such a file can be wrong.
#include <doctest/doctest.h>

#include <tyto/audio.hpp>
#include <tyto/io.hpp>

#include "io/wav.hpp"
#include "tests/io/bytes.hpp"

namespace tyto::io_tests {
namespace {

std::string number(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string chunk(const std::string& name, const std::string& bytes) {
  return name + number(bytes.size(), 4) + bytes + std::string(bytes.size() % 2, '\0');
}

std::string format(std::uint64_t encoding, std::uint64_t channels, std::uint64_t bits, std::uint64_t frame_bytes) {
  return number(encoding, 2) + number(channels, 2) + number(8000, 4) + number(8000 * frame_bytes, 4) +
         number(frame_bytes, 2) + number(bits, 2);
}

std::string file_of(const std::string& chunks) { return "RIFF" + number(4 + chunks.size(), 4) + "WAVE" + chunks; }

Recording<HostArray> wav(const std::string& text) {
  const Bytes bytes = bytes_of(text);
  return io::read_wav(io::MemorySource("x.wav", bytes));
}

}  // namespace

TEST_CASE("WAV files of every encoding hold what SciPy reads from them") {
  const NamedList<Tensor<Eager>> wanted = read_npz(data("wavs.npz"));
  for (const char* name : {"mono_u8", "stereo_16", "stereo_24", "stereo_32", "mono_float"}) {
    CAPTURE(name);
    const auto [samples, rate] = read_wav(data("wavs/" + std::string(name) + ".wav"));
    const Tensor<Eager>& want = wanted[name];
    CHECK(samples.shape() == want.shape());
    CHECK(samples.to_vector<float>() == want.to_vector<float>());
    CHECK(rate == wanted[std::string(name) + "_rate"].item<std::int64_t>());
  }
}

TEST_CASE("WAV files of pipes, with further chunks, and with an extended format are read") {
  const std::string mono = chunk("fmt ", format(1, 1, 16, 2));
  const std::vector<float> halves{0.5F, -0.5F};
  const std::string samples = number(0x4000, 2) + number(0xc000, 2);
  CHECK(elements<float>(wav(file_of(chunk("LIST", "odd") + mono + chunk("data", samples))).samples) == halves);
  CHECK(elements<float>(wav(file_of(mono + "data" + number(0xffffffff, 4) + samples + "!")).samples) == halves);
  const std::string extended =
      format(0xfffe, 1, 16, 2) + number(22, 2) + number(16, 2) + number(4, 4) + number(1, 2) + std::string(14, '\1');
  CHECK(elements<float>(wav(file_of(chunk("fmt ", extended) + chunk("data", samples))).samples) == halves);
  CHECK(wav(file_of(mono + chunk("data", ""))).samples.shape == Shape{0, 1});
}

TEST_CASE("each way a WAV file can be wrong is told") {
  const auto refused = [](const std::string& text, const char* message) {
    CHECK_THROWS_WITH_AS(wav(text), doctest::Contains(message), IoError);
  };
  const std::string stereo = chunk("fmt ", format(1, 2, 16, 4));
  refused("RIFF", "x.wav: ends too early: the WAV header needs 12 bytes, there are 4");
  refused("RIFX1234WAVE", "is no WAV file: it must begin with RIFF, four bytes, and WAVE");
  refused(file_of(""), "holds no samples: the chunk 'data' is missing");
  refused(file_of(stereo + "dat"), "the head of a WAV chunk needs 8 bytes");
  refused(file_of(chunk("data", "abcd")), "holds samples before the chunk 'fmt ' that describes them");
  refused(file_of(stereo + "data" + number(8, 4) + "abcd"), "the samples needs 8 bytes, there are no more than 4");
  refused(file_of(stereo + chunk("data", "abc")), "holds 3 bytes of samples, no multiple of a frame's 4");
  refused(file_of(chunk("fmt ", "short")), "has a format chunk of 5 bytes; it takes 16 at least");
  refused(file_of(chunk("fmt ", format(0xfffe, 1, 16, 2))), "has an extended format chunk of 16 bytes; it takes 40");
  refused(file_of(chunk("fmt ", format(2, 1, 4, 1))), "holds samples of 4 bits in encoding 2; read are integers (1)");
  refused(file_of(chunk("fmt ", format(1, 0, 16, 0))), "states no channels");
  refused(file_of(chunk("fmt ", format(1, 2, 16, 3))), "states frames of 3 bytes; 2 channels of 16 bits take 4");
  std::string silent = format(1, 1, 16, 2);
  silent.replace(4, 4, 4, '\0');
  refused(file_of(chunk("fmt ", silent)), "states no frames in a second");
}

}  // namespace tyto::io_tests
