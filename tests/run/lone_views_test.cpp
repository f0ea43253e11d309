// SPDX-License-Identifier: MIT
// Views of computed tensors are evaluated without a graph and share the memory of what they view.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>
#include <vector>

using Tensor = tyto::Tensor<tyto::Lazy>;
using tyto::all;
using tyto::slice;
using Numbers = std::vector<float>;

namespace {

Tensor counted() {
  const Tensor x = Tensor::arange(12).astype(tyto::DType::f32).reshape({3, 4}) + 0.0;
  tyto::eval({x});
  return x;
}

/// Where a tensor without gaps begins.
const float* start(const Tensor& x) { return x.data<float>().data(); }

}  // namespace

TEST_CASE("a lone view of a computed lazy tensor shares its memory") {
  const Tensor x = counted();
  const Tensor rows = x(slice(1, 3));
  tyto::eval({rows});
  CHECK(start(rows) == start(x) + 4);
  CHECK(rows.to_vector<float>() == Numbers{4, 5, 6, 7, 8, 9, 10, 11});
  const Tensor deeper = x.reshape({2, 6})(1)(slice(2, 5));
  tyto::eval({deeper});
  CHECK(start(deeper) == start(x) + 8);
  CHECK(deeper.to_vector<float>() == Numbers{8, 9, 10});
  auto sum_of = tyto::compile([](const Tensor& a) { return tyto::sum(a); });
  CHECK(sum_of(x(slice(0, 2))).item<float>() == 28);
  CHECK(sum_of(x(all, slice(1, 3))).item<float>() == 33);
}

TEST_CASE("lone views of every kind show the right elements") {
  const Tensor x = counted();
  const auto numbers = [](const Tensor& view) { return view.to_vector<float>(); };
  CHECK(numbers(x.T()) == Numbers{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(numbers(x.T().reshape({2, 6})) == Numbers{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(numbers(x(slice({}, {}, -1), slice({}, {}, 2))) == Numbers{8, 10, 4, 6, 0, 2});
  CHECK(numbers(tyto::broadcast_to(x(0, slice(0, 2)), {2, 2})) == Numbers{0, 1, 0, 1});
  CHECK(numbers(x(slice(3, 3))).empty());
  CHECK(x.T()(2, 1).item<float>() == 6);
  // Of what is not computed yet, and of several roots at once.
  const Tensor twice = x * 2.0;
  CHECK(numbers(twice(1)) == Numbers{8, 10, 12, 14});
  const Tensor first = x(0), second = twice(0);
  tyto::eval({first, second});
  CHECK(numbers(first) == Numbers{0, 1, 2, 3});
  CHECK(numbers(second) == Numbers{0, 2, 4, 6});
}

TEST_CASE("a lone view keeps its elements when what it showed is written over") {
  Tensor x = counted();
  const Tensor row = x(1);
  tyto::eval({row});
  x(1) = 0.0;
  tyto::eval({x});
  CHECK(row.to_vector<float>() == Numbers{4, 5, 6, 7});
  CHECK(x(1).to_vector<float>() == Numbers{0, 0, 0, 0});

  Tensor state = Tensor::persistent(counted());
  const Tensor before = state(slice(0, 1));
  tyto::eval({before});
  auto step = tyto::compile([&] {
    tyto::assign(state, state + 1.0);
    return tyto::sum(state);
  });
  step();
  step();
  CHECK(before.to_vector<float>() == Numbers{0, 1, 2, 3});
  CHECK(state(0).to_vector<float>() == Numbers{2, 3, 4, 5});
}

TEST_CASE("gradients go through lone views that were read") {
  const Tensor x = counted();
  const Tensor gradient = tyto::grad([](Tensor a) {
    const Tensor row = a(1);
    CHECK(row.to_vector<float>() == Numbers{4, 5, 6, 7});
    return tyto::sum(row * row);
  })(x);
  CHECK(gradient.to_vector<float>() == Numbers{0, 0, 0, 0, 8, 10, 12, 14, 0, 0, 0, 0});
}
