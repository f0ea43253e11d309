// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/audio.hpp>: samples of a recording.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> samples;
}
