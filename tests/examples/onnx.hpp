// What examples in <tyto/onnx.hpp> take for given.
#pragma once

#include <tyto/onnx.hpp>

namespace context {

extern tyto::Tensor<tyto::Lazy> x;

}  // namespace context
