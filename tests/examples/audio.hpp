// SPDX-License-Identifier: MIT
// What the examples of <tyto/audio.hpp> take for granted: samples of a recording.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> samples;
}
