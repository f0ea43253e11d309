// SPDX-License-Identifier: MIT
// WAV: RIFF chunks, of which one describes the samples and one holds them.
#pragma once

#include <cstdint>
#include <vector>

#include "io/byte_source.hpp"
#include "tyto/audio.hpp"

namespace tyto::io {

/// Encodings of samples, and the one that says that an extended format chunk states it.
constexpr std::uint64_t integer_samples = 1, float_samples = 3, extensible = 0xfffe;

Recording<HostArray> read_wav(const ByteSource& source);
/// The bytes of a file. Throws TypeError, ShapeError or ValueError when it cannot hold the samples.
std::vector<std::byte> wav_bytes(const HostArrayView& samples, std::int64_t rate, WavFormat format);

}  // namespace tyto::io
