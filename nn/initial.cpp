// SPDX-License-Identifier: MIT
// Draws initial weights by the fans of their layer.
#include "tyto/nn/initial.hpp"

#include <algorithm>
#include <cmath>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/linalg.hpp"

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

Initialiser truncated_normal_weights(double stddev) {
  return [stddev](const Shape& shape, const Fans&, DType dtype) {
    return Tensor<Any>::truncated_normal(shape, {.stddev = stddev, .dtype = dtype});
  };
}

Initialiser orthogonal_weights(double gain) {
  return [gain](const Shape& shape, const Fans&, DType dtype) {
    if (shape.size() < 2) {
      core::throw_error<ShapeError>("orthogonal_weights: the shape ", shape, " must have at least 2 axes");
    }
    const std::int64_t columns = shape.back(), rows = element_count(shape) / std::max<std::int64_t>(columns, 1);
    const bool wide = rows < columns;
    const Shape tall = wide ? Shape{columns, rows} : Shape{rows, columns};
    const linalg::QR<Any> parts = linalg::qr(normal_with(tall, 1, statistics_type(dtype)));
    // Without the signs of r the matrix drawn would depend on the factorisation's choice of signs.
    const Tensor<Any> q = parts.q * sign(diag(parts.r));
    return cast(reshape(wide ? transpose(q) : q, shape) * gain, dtype);
  };
}

}  // namespace nn
}  // namespace TYTO_API
