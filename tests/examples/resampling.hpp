// What the examples of <tyto/resampling.hpp> take for granted: an image.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
extern const tyto::Tensor<tyto::Lazy> image;
}
