// SPDX-License-Identifier: MIT
// Powers of matrices: the exponential, whole powers, and chains of products.
#include <limits>

#include "ops/linalg.hpp"
#include "ops/samples.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_expm(const Attributes&, std::span<const TensorType> inputs) {
  check_square("expm", inputs[0]);
  return one(inputs[0].dtype, inputs[0].shape);
}

// The exponential of (A^T G; 0 A^T) has the derivative of exp at A^T in the direction of G in its upper right corner.
std::vector<Value> expm_gradient(const GradientContext& c) {
  const T a = matrix_transpose(T(c.inputs[0])), g = c.gradients[0];
  const std::int64_t size = rows_of(a.shape());
  const auto axis = static_cast<std::size_t>(a.ndim() - 2);
  const T above = concat(std::vector<T>{a, g}, -1), below = concat(std::vector<T>{zeros_like(a), a}, -1);
  const T both = emit(OpId::expm, NoAttributes{}, {concat(std::vector<T>{above, below}, -2)});
  return {part_along(part_along(both, axis, 0, size), axis + 1, size, size)};
}

// Complex matrices A + iB multiply as the real ones (A -B; B A) do, so these have the same power series.
T complex_expm(const T& a) {
  const T along = real(a), up = imag(a);
  const T above = concat(std::vector<T>{along, -up}, -1), below = concat(std::vector<T>{up, along}, -1);
  const T both = emit(OpId::expm, NoAttributes{}, {concat(std::vector<T>{above, below}, -2)});
  const std::int64_t size = rows_of(a.shape());
  const auto axis = static_cast<std::size_t>(a.ndim() - 2);
  const T left = part_along(both, axis + 1, 0, size);
  return complex(T(part_along(left, axis, 0, size)), T(part_along(left, axis, size, size)));
}

}  // namespace

std::span<const OpDef> linalg_power_operators() {
  static const OpDef rows[] = {
      {.id = OpId::expm,
       .doc = "The exponential of a matrix.",
       .infer = infer_expm,
       .gradient = expm_gradient,
       .low = -1,
       .high = 1,
       .sample = [](DType t) -> Value { return linalg::expm(samples::square_matrix(t)); }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto {
namespace linalg TYTO_API {

template <class M>
Tensor<M> expm(const Tensor<M>& a) {
  TYTO_ONCE(expm, a);
  const core::AnyTensor x = core::matrix_operand("expm", a);
  core::check_square("expm", core::TensorType{x.dtype(), x.shape(), false});
  if (is_complex(x.dtype())) return core::complex_expm(x).value();
  return core::emit(core::OpId::expm, core::NoAttributes{}, {x});
}

template <class M>
Tensor<M> matrix_power(const Tensor<M>& a, std::int64_t power) {
  TYTO_ONCE(matrix_power, a, power);
  if (const auto found = core::in_f32(&matrix_power<M>, a, power)) return *found;
  Tensor<M> x = core::given("matrix_power", a);
  if (x.ndim() < 2 || core::rows_of(x.shape()) != core::columns_of(x.shape())) {
    core::throw_error<ShapeError>("matrix_power: matrices must be square, not of shape ", x.shape());
  }
  if (power == 0) return Value(core::identities_like(Value(x)));
  if (power < 0) {
    if (power == std::numeric_limits<std::int64_t>::min()) {
      core::throw_error<ValueError>("matrix_power: power ", power, " is too large");
    }
    x = inv(x);
    power = -power;
  }
  Value product;
  for (;; x = matmul(x, x)) {
    if (power % 2 != 0) product = product ? matmul(Tensor<M>(product), x) : x;
    if ((power /= 2) == 0) return product;
  }
}

// The order by dynamic programming over all ways to set the last pair of parentheses.
template <class M>
Tensor<M> multi_dot(const std::vector<Tensor<M>>& factors) {
  TYTO_ONCE(multi_dot, factors);
  if (factors.size() > 2) {
    const auto again = [](const std::vector<Tensor<M>>& wide) { return multi_dot(wide); };
    if (const auto found = core::in_f32(again, factors)) return *found;
  }
  if (factors.empty()) throw ValueError("multi_dot: there is no matrix to multiply");
  const std::size_t count = factors.size();
  std::vector<Tensor<M>> matrices;
  std::vector<double> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    Tensor<M> x = core::given("multi_dot", factors[i]);
    const bool end = i == 0 || i + 1 == count;
    if (x.ndim() != 2 && !(end && x.ndim() == 1 && count > 1)) {
      core::throw_error<ShapeError>("multi_dot: factor ", i, " of shape ", x.shape(), " is no matrix",
                                    end ? " or vector" : "");
    }
    if (x.ndim() == 1) x = i == 0 ? expand_dims(x, 0) : expand_dims(x, 1);
    if (i > 0 && matrices.back().shape()[1] != x.shape()[0]) {
      core::throw_error<ShapeError>("multi_dot: factors ", i - 1, " and ", i, " of shapes ", factors[i - 1].shape(),
                                    " and ", factors[i].shape(), " do not fit each other");
    }
    lengths.push_back(static_cast<double>(x.shape()[0]));
    matrices.push_back(x);
  }
  lengths.push_back(static_cast<double>(matrices.back().shape()[1]));
  std::vector<std::vector<double>> cost(count, std::vector<double>(count, 0));
  std::vector<std::vector<std::size_t>> cut(count, std::vector<std::size_t>(count, 0));
  for (std::size_t span = 1; span < count; ++span) {
    for (std::size_t first = 0; first + span < count; ++first) {
      const std::size_t last = first + span;
      cost[first][last] = std::numeric_limits<double>::infinity();
      for (std::size_t middle = first; middle < last; ++middle) {
        const double here =
            cost[first][middle] + cost[middle + 1][last] + lengths[first] * lengths[middle + 1] * lengths[last + 1];
        if (here >= cost[first][last]) continue;
        cost[first][last] = here;
        cut[first][last] = middle;
      }
    }
  }
  const auto multiply = [&](const auto& self, std::size_t first, std::size_t last) -> Tensor<M> {
    if (first == last) return matrices[first];
    return matmul(self(self, first, cut[first][last]), self(self, cut[first][last] + 1, last));
  };
  Tensor<M> product = multiply(multiply, 0, count - 1);
  if (factors.back().ndim() == 1 && count > 1) product = squeeze(product, 1);
  if (factors.front().ndim() == 1 && count > 1) product = squeeze(product, 0);
  return product;
}

TYTO_INSTANTIATE_LINALG(expm)
TYTO_INSTANTIATE_LINALG(matrix_power)
#define TYTO_INSTANTIATE_MULTI_DOT(M) template Tensor<M> multi_dot(const std::vector<Tensor<M>>&);
TYTO_INSTANTIATE_MULTI_DOT(Eager)
TYTO_INSTANTIATE_MULTI_DOT(Lazy)
TYTO_INSTANTIATE_MULTI_DOT(Any)
#undef TYTO_INSTANTIATE_MULTI_DOT

}  // namespace TYTO_API
}  // namespace tyto
