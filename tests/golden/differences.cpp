// SPDX-License-Identifier: MIT
// Finite differences: the stencil, the points around which it is evaluated, and sums of products.
#include "tests/golden/differences.hpp"

#include <cmath>

#include "tyto/elementwise.hpp"
#include "tyto/shaping.hpp"

namespace tyto::golden {

namespace {

Tensor<Eager> tensor_of(const std::vector<double>& values, const Shape& shape) {
  return Tensor<Eager>::from(values, shape);
}

}  // namespace

double derivative(const std::function<double(double)>& f, double width) {
  return (8 * (f(width) - f(-width)) - (f(2 * width) - f(-2 * width))) / (12 * width);
}

std::vector<double> derivatives(const std::function<std::vector<double>(double)>& f, double width) {
  const std::vector<double> up = f(width), down = f(-width), far_up = f(2 * width), far_down = f(-2 * width);
  std::vector<double> found;
  for (std::size_t i = 0; i < up.size(); ++i) {
    found.push_back((8 * (up[i] - down[i]) - (far_up[i] - far_down[i])) / (12 * width));
  }
  return found;
}

std::vector<double> apart(placed::Dice& dice, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double size = 0.25 + 1.5 * (static_cast<double>(i) + 0.25 * dice.unit()) / static_cast<double>(count);
    values.push_back(dice.below(2) == 0 ? size : -size);
  }
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(i)))]);
  }
  return values;
}

Tensors<Eager> inputs_for_differences(const Case& one, placed::Dice& dice) {
  std::int64_t count = 0;
  for (const Array* input : one.inputs) {
    if (is_floating(dtype_named(input->dtype))) count += input->count();
  }
  const std::vector<double> values = apart(dice, count);
  auto next = values.begin();
  Tensors<Eager> inputs;
  for (const Array* input : one.inputs) {
    const Tensor<Eager> given = golden::tensor_of<Eager>(*input);
    if (!floating(given)) {
      inputs.push_back(given);
      continue;
    }
    inputs.push_back(tensor_of(std::vector<double>(next, next + given.size()), given.shape()));
    next += given.size();
  }
  return inputs;
}

Tensors<Eager> moved(const Tensors<Eager>& x, const Tensors<Eager>& direction, double t) {
  Tensors<Eager> there;
  for (std::size_t i = 0; i < x.size(); ++i) there.push_back(x[i] + t * direction[i]);
  return there;
}

template <class M>
Tensors<M> random_like(const Tensors<M>& tensors, placed::Dice& dice) {
  Tensors<M> found;
  for (const Tensor<M>& each : tensors) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < each.size(); ++i) values.push_back(2 * dice.unit() - 1);
    found.push_back(Tensor<M>::from(values, each.shape()));
  }
  return found;
}
template Tensors<Eager> random_like(const Tensors<Eager>&, placed::Dice&);
template Tensors<Lazy> random_like(const Tensors<Lazy>&, placed::Dice&);

double inner_product(const Tensors<Eager>& a, const Tensors<Eager>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::span<const double> left = a[i].data<double>(), right = b.at(i).data<double>();
    for (std::size_t k = 0; k < left.size(); ++k) total += left[k] * right[k];
  }
  return total;
}

}  // namespace tyto::golden
