// SPDX-License-Identifier: MIT
// Recordings of sound from WAV files.
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

namespace detail {
Recording<HostArray> read_wav_file(const std::string& path);
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

}  // namespace TYTO_API
