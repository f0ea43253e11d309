// SPDX-License-Identifier: MIT
// Recordings of sound read from WAV files and written to them.
#pragma once

#include <cstdint>
#include <string>

#include "tyto/host_array.hpp"

namespace tyto TYTO_API {

/// Sound as f32 (frames, channels), full scale being -1 to 1, and how many frames there are in a second.
template <class T>
struct Recording {
  T samples;              ///< (frames, channels), from -1 to 1
  std::int64_t rate = 0;  ///< samples per second
};

/// Encodings of samples in a WAV file: integers of so many bits (those of 8 unsigned) or floating-point numbers.
enum class WavFormat : std::uint8_t { u8, i16, i24, i32, f32 };

namespace detail {
Recording<HostArray> read_wav_file(const std::string& path);
void write_wav_file(const std::string& path, const HostArrayView& samples, std::int64_t rate, WavFormat format);
}  // namespace detail

/// A WAV file: integers of 8, 16, 24 or 32 bits or floating-point numbers of 32, with any number of channels. Chunks
/// other than format and data are passed over. Throws IoError for damaged files and for other encodings.
///
///     const auto [samples, rate] = read_wav<Tensor>("speech.wav");
///     const Tensor mono = mean(samples, {1});
template <class T = Tensor<Eager>>
Recording<T> read_wav(const std::string& path) {
  const Recording<HostArray> read = detail::read_wav_file(path);
  return {to_tensor<T>(read.samples), read.rate};
}

/// Writes f32 samples (frames,) or (frames, channels) and how many frames there are in a second. For integers full
/// scale is -1 to 1, and what is beyond it or NaN is a ValueError; f32 takes any number.
///
///     write_wav("speech.wav", clip(samples, -1, 1), 16000);
template <class M>
void write_wav(const std::string& path, const Tensor<M>& samples, std::int64_t rate,
               WavFormat format = WavFormat::i16) {
  detail::write_wav_file(path, detail::view_of("write_wav", samples), rate, format);
}

}  // namespace TYTO_API
