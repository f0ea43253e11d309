// SPDX-License-Identifier: MIT
// Recordings in WAV files, against what SciPy reads from them, and each way that such a file can be wrong.
#include <doctest/doctest.h>

#include <cmath>

#include <tyto/audio.hpp>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

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

TEST_CASE_TEMPLATE("samples are written to the bytes that SciPy and Python's wave write", Mode, Eager, Lazy) {
  using T = Tensor<Mode>;
  const Folder folder;
  const NamedList<T> values = read_npz<T>(data("wavs.npz"));
  const auto writes = [&](const char* name, WavFormat format) {
    CAPTURE(name);
    const T samples = values[name];
    const auto rate = values[std::string(name) + "_rate"].template item<std::int64_t>();
    write_wav(folder / "x.wav", samples, rate, format);
    return text_of_file(folder / "x.wav");
  };
  const auto file = [](const char* name) { return text_of_file(data("wavs/" + std::string(name) + ".wav")); };
  CHECK(writes("stereo_16", WavFormat::i16) == file("stereo_16"));
  // Of more than 16 bits, or more than two channels, with the chunks of WAVE_FORMAT_EXTENSIBLE, which SciPy reads
  // alone.
  const auto extended = [](const std::string& plain, const std::string& bits_and_speakers,
                           const std::string& encoding) {
    const std::string fields = plain.substr(22, 14), data = plain.substr(plain.find("data"));
    const std::string guid = encoding + std::string("\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 14);
    const std::string frames = number((data.size() - 8) / static_cast<unsigned char>(fields[10]), 4);
    return file_of(chunk("fmt ", number(0xfffe, 2) + fields + number(22, 2) + bits_and_speakers + guid) +
                   chunk("fact", frames)) +
           data;
  };
  const auto with_size = [](std::string text) { return text.replace(4, 4, number(text.size() - 8, 4)); };
  CHECK(writes("stereo_24", WavFormat::i24) ==
        with_size(extended(file("stereo_24"), number(24, 2) + number(3, 4), number(1, 2))));
  const T wide = T::zeros({2, 3});
  write_wav(folder / "x.wav", wide, 8000);
  const std::string plain = file_of(chunk("fmt ", format(1, 3, 16, 6)) + chunk("data", std::string(12, '\0')));
  CHECK(text_of_file(folder / "x.wav") == with_size(extended(plain, number(16, 2) + number(0, 4), number(1, 2))));
  write_wav(folder / "x.wav", wide, 8000, WavFormat::f32);
  CHECK(text_of_file(folder / "x.wav").substr(20, 2) == number(0xfffe, 2));
  CHECK(text_of_file(folder / "x.wav").substr(44, 2) == number(3, 2));
  CHECK(read_wav<T>(folder / "x.wav").samples.shape() == Shape{2, 3});
  CHECK(writes("mono_float", WavFormat::f32) == file("mono_float"));
  // RIFF pads chunks to even lengths, which SciPy leaves out behind the 25 bytes of this one.
  std::string padded = file("mono_u8") + '\0';
  padded.replace(4, 4, number(padded.size() - 8, 4));
  CHECK(writes("mono_u8", WavFormat::u8) == padded);

  // One axis is one channel, and 16 bits are what is written unless told otherwise.
  const T mono = values["stereo_16"](all, 0);
  write_wav(folder / "x.wav", mono, 8000);
  const auto [samples, rate] = read_wav<T>(folder / "x.wav");
  CHECK(samples.shape() == Shape{25, 1});
  CHECK(samples.template to_vector<float>() == mono.template to_vector<float>());
  CHECK(rate == 8000);
}

TEST_CASE("samples become the nearest level, the even one of two, and full scale the highest") {
  const auto bytes = [](const std::vector<float>& samples, WavFormat format) {
    const HostArrayView view{
        DType::f32, {static_cast<std::int64_t>(samples.size())}, std::as_bytes(std::span(samples))};
    const std::vector<std::byte> file = io::wav_bytes(view, 8000, format);
    const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
    return text.substr(text.find("data") + 8);
  };
  const float level = 1 / 32768.0F;
  CHECK(bytes({1, -1, 0, level, 0.5F * level, 1.5F * level, -1.5F * level, 0.51F * level}, WavFormat::i16) ==
        number(0x7fff, 2) + number(0x8000, 2) + number(0, 2) + number(1, 2) + number(0, 2) + number(2, 2) +
            number(0xfffe, 2) + number(1, 2));
  CHECK(bytes({1, -1, 0, 0.5F}, WavFormat::u8) == std::string("\xff\x00\x80\xc0", 4));
  CHECK(bytes({1, -1, 0.5F, -0x1p-24F}, WavFormat::i32) ==
        number(0x7fffffff, 4) + number(0x80000000, 4) + number(0x40000000, 4) + number(0xffffff80, 4));
  CHECK(bytes({}, WavFormat::i16).empty());
}

TEST_CASE_TEMPLATE("what a WAV file cannot hold is refused before one appears", Mode, Eager, Lazy) {
  using T = Tensor<Mode>;
  const Folder folder;
  const std::string path = folder / "x.wav";
  const T two = T::zeros({4, 2});
  CHECK_THROWS_WITH_AS(write_wav(path, cast(two, DType::i16), 8000),
                       "write_wav: the samples must be f32, not i16; cast(x, DType::f32) makes them so", TypeError);
  CHECK_THROWS_WITH_AS(
      write_wav(path, T::zeros({2, 4, 2}), 8000),
      "write_wav: the samples must be (frames,) or (frames, channels) with 1 to 32767 channels, not of "
      "shape (2,4,2)",
      ShapeError);
  CHECK_THROWS_AS(write_wav(path, T::zeros({}), 8000), ShapeError);
  CHECK_THROWS_AS(write_wav(path, T::zeros({4, 0}), 8000), ShapeError);
  CHECK_THROWS_AS(write_wav(path, T::zeros({1, 65536}), 8000, WavFormat::u8), ShapeError);
  CHECK_THROWS_WITH_AS(write_wav(path, two, 0), "write_wav: the rate must be 1 to 1073741823 frames in a second, not 0",
                       ValueError);
  CHECK_THROWS_AS(write_wav(path, two, 1073741824), ValueError);
  CHECK_THROWS_AS(write_wav(path, two, -1), ValueError);
  const T loud{{0.0F, 1.0F}, {-1.0F, -1.5F}};
  CHECK_THROWS_WITH_AS(
      write_wav(path, loud, 8000),
      "write_wav: sample -1.5 of channel 1 in frame 1 is beyond -1 to 1; clip(x, -1, 1) limits it, and "
      "WavFormat::f32 keeps it",
      ValueError);
  CHECK_THROWS_WITH_AS(write_wav(path, T{NAN}, 8000), doctest::Contains("sample nan of channel 0 in frame 0"),
                       ValueError);
  CHECK(!std::filesystem::exists(path));
  write_wav(path, loud, 8000, WavFormat::f32);
  CHECK(read_wav<T>(path).samples.template to_vector<float>() == std::vector<float>{0, 1, -1, -1.5F});
  CHECK_THROWS_WITH_AS(write_wav("/nowhere/x.wav", two, 8000), doctest::Contains("/nowhere/x.wav: cannot be written: "),
                       IoError);
}

}  // namespace tyto::io_tests
