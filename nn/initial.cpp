// Initial weights by the fans of their layer.
#include "tyto/nn/initial.hpp"

#include <cmath>

namespace tyto TYTO_API {
namespace nn {

namespace {

Tensor<Any> uniform_within(const Shape& shape, double limit, DType dtype) {
  return Tensor<Any>::uniform(shape, {.low = -limit, .high = limit, .dtype = dtype});
}
Tensor<Any> normal_with(const Shape& shape, double stddev, DType dtype) {
  return Tensor<Any>::normal(shape, {.stddev = stddev, .dtype = dtype});
}

}  // namespace

Tensor<Any> glorot_uniform(const Shape& shape, const Fans& fans, DType dtype) {
  return uniform_within(shape, std::sqrt(6 / (fans.in + fans.out)), dtype);
}
Tensor<Any> glorot_normal(const Shape& shape, const Fans& fans, DType dtype) {
  return normal_with(shape, std::sqrt(2 / (fans.in + fans.out)), dtype);
}
Tensor<Any> he_uniform(const Shape& shape, const Fans& fans, DType dtype) {
  return uniform_within(shape, std::sqrt(6 / fans.in), dtype);
}
Tensor<Any> he_normal(const Shape& shape, const Fans& fans, DType dtype) {
  return normal_with(shape, std::sqrt(2 / fans.in), dtype);
}
Tensor<Any> lecun_uniform(const Shape& shape, const Fans& fans, DType dtype) {
  return uniform_within(shape, 1 / std::sqrt(fans.in), dtype);
}

Initialiser constant_weights(double value) {
  return [value](const Shape& shape, const Fans&, DType dtype) { return Tensor<Any>::full(shape, value, dtype); };
}
Initialiser normal_weights(double stddev) {
  return [stddev](const Shape& shape, const Fans&, DType dtype) { return normal_with(shape, stddev, dtype); };
}
Initialiser uniform_weights(double limit) {
  return [limit](const Shape& shape, const Fans&, DType dtype) { return uniform_within(shape, limit, dtype); };
}

}  // namespace nn
}  // namespace TYTO_API
