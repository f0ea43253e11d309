// SPDX-License-Identifier: MIT
// WAV: RIFF chunks, of which one describes the samples and one holds them.
#pragma once

#include "io/byte_source.hpp"
#include "tyto/audio.hpp"

namespace tyto::io {

Recording<HostArray> read_wav(const ByteSource& source);

}  // namespace tyto::io
