// SPDX-License-Identifier: MIT
// Permuted tensors as arguments of compiled functions: bound as they lie in memory, with the results of eager mode.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::all;
using tyto::DType;
using tyto::IntList;
using tyto::slice;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("transposed arguments of every type give the function's results") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x{{1, 0, 2}}, w{{1, 2, 3}, {4, 5, 6}};
  auto product = tyto::compile([](Tensor a, Tensor b) { return matmul(a, b); });
  auto mixed = tyto::compile([](Tensor a, Tensor b) { return sum(a * b - b, 0); });
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i32, DType::i64}) {
    CAPTURE(type);
    const Tensor a = x.astype(type), b = w.astype(type);
    CHECK(numbers(product(a, b.T())) == Numbers{7, 16});
    CHECK(numbers(product(b, a.T())) == Numbers{7, 16});
    CHECK(numbers(product(b.T(), b)) == Numbers{17, 22, 27, 22, 29, 36, 27, 36, 45});
    CHECK(numbers(mixed(b, b)) == Numbers{12, 22, 36});
    CHECK(numbers(mixed(b.T(), b.T())) == Numbers{8, 62});
    CHECK(numbers(mixed(b.T(), copy(b.T()))) == Numbers{8, 62});
  }
  const Tensor flags{{true, false, true}, {false, false, true}};
  auto both = tyto::compile([](Tensor a) { return std::pair(all(a, 1), !a); });
  CHECK(numbers(both(flags.T()).first) == Numbers{0, 0, 1});
  CHECK(numbers(both(flags.T()).second) == Numbers{0, 1, 1, 1, 0, 0});
}

BOTH_MODES("arguments of one and three axes, and of axes of length one and zero, are permuted in any order") {
  using Tensor = tyto::Tensor<Mode>;
  auto twice = tyto::compile([](Tensor a) { return 2 * a; });
  auto last = tyto::compile([](Tensor a) { return sum(a, -1); });
  const Tensor x = Tensor::arange(24).reshape({2, 3, 4});
  const std::int64_t lengths[] = {2, 3, 4}, strides[] = {12, 4, 1};
  for (const IntList& order : {IntList{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    CAPTURE(order);
    Numbers doubled, sums;
    const auto axis = [&](std::size_t i) { return static_cast<std::size_t>(order[i]); };
    for (std::int64_t i = 0; i < lengths[axis(0)]; ++i) {
      for (std::int64_t j = 0; j < lengths[axis(1)]; ++j) {
        sums.push_back(0);
        for (std::int64_t k = 0; k < lengths[axis(2)]; ++k) {
          const auto element = static_cast<double>(i * strides[axis(0)] + j * strides[axis(1)] + k * strides[axis(2)]);
          doubled.push_back(2 * element);
          sums.back() += element;
        }
      }
    }
    CHECK(numbers(twice(transpose(x, order))) == doubled);
    CHECK(numbers(last(transpose(x, order))) == sums);
  }
  CHECK(numbers(last(Tensor::arange(4).T())) == Numbers{6});
  CHECK(numbers(last(Tensor::zeros({0, 4}).T())) == Numbers{0, 0, 0, 0});
  CHECK(numbers(last(Tensor::zeros({4, 0}).T())).empty());
  CHECK(numbers(last(Tensor::zeros({2, 0, 3}).T())) == Numbers(0));
  CHECK(numbers(last(Tensor::arange(3).reshape({1, 3}).T())) == Numbers{0, 1, 2});
  const Tensor unit = Tensor::arange(6).reshape({2, 1, 3});
  CHECK(numbers(twice(unit.T())) == Numbers{0, 6, 2, 8, 4, 10});
  CHECK(numbers(last(transpose(unit, {1, 2, 0}))) == Numbers{3, 5, 7});
}

BOTH_MODES("arguments that are parts, repeated, reversed or stepped through give the function's results") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor a) { return sum(a * 1.0, 1); });
  const Tensor x = Tensor::arange(12).reshape({3, 4});
  CHECK(numbers(f(x(slice(1, 3)).T())) == Numbers{12, 14, 16, 18});  // whole rows, behind an offset
  CHECK(numbers(f(x(all, slice(1, 3)).T())) == Numbers{15, 18});
  CHECK(numbers(f(broadcast_to(x(0), {2, 4}).T())) == Numbers{0, 2, 4, 6});
  CHECK(numbers(f(flip(x, 0).T())) == Numbers{12, 15, 18, 21});
}

BOTH_MODES("a transposed argument is differentiated, returned and changed in the function as any other") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  auto gradient = tyto::compile([](Tensor a) { return tyto::grad([](Tensor b) { return sum(b * b); })(a); });
  CHECK(gradient(x.T()).shape() == tyto::Shape{3, 2});
  CHECK(numbers(gradient(x.T())) == Numbers{2, 8, 4, 10, 6, 12});
  auto changed = tyto::compile([](Tensor a) {
    const Tensor before = a;
    a(0) = -1;
    a *= 2;
    return std::pair(a, before);
  });
  const auto [after, before] = changed(x.T());
  CHECK(numbers(after) == Numbers{-2, -2, 4, 10, 6, 12});
  CHECK(numbers(before) == Numbers{1, 4, 2, 5, 3, 6});
  CHECK(numbers(x) == Numbers{1, 2, 3, 4, 5, 6});
}

BOTH_MODES("a view of a state as argument keeps its elements while the function updates the state") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{{1.0, 2.0}, {3.0, 4.0}});
  auto f = tyto::compile([&](Tensor a) {
    assign(w, w * 2.0);
    return a + w;
  });
  for (double scale : {1.0, 2.0, 4.0}) {
    CHECK(numbers(f(w.T())) == Numbers{3 * scale, 7 * scale, 8 * scale, 12 * scale});
    CHECK(numbers(w) == Numbers{2 * scale, 4 * scale, 6 * scale, 8 * scale});
  }
}

TEST_CASE("a function is recorded once for each order of axes in memory, and axes of length one have none") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  int recorded = 0;
  auto f = tyto::compile([&](Tensor a) {
    ++recorded;
    return a * 2;
  });
  const Tensor x = Tensor::arange(4).reshape({2, 2}), row = Tensor::arange(3).reshape({1, 3});
  for (int i = 0; i < 10; ++i) {
    CHECK(numbers(f(x)) == Numbers{0, 2, 4, 6});
    CHECK(numbers(f(x.T())) == Numbers{0, 4, 2, 6});
  }
  CHECK(recorded == 2);
  f(copy(row.T()));
  CHECK(recorded == 3);
  f(row.T());
  CHECK(recorded == 3);
  auto session = f.session();
  CHECK(numbers(session(x.T())) == Numbers{0, 4, 2, 6});
  CHECK(recorded == 3);
}

TEST_CASE("sums over permuted arguments have the same bits in both modes") {
  using Eager = tyto::Tensor<tyto::Eager>;
  using Lazy = tyto::Tensor<tyto::Lazy>;
  const auto check = [](auto f) {
    const auto compiled = tyto::compile(f);
    for (const DType type : {DType::f32, DType::f64}) {
      for (const IntList& order : {IntList{2, 1, 0}, {2, 0, 1}, {0, 2, 1}}) {
        const Eager x = Eager::normal({9, 20, 33}, {.dtype = type, .key = tyto::Key{1, 2}});
        const Lazy y = Lazy::from(numbers(x), x.shape()).astype(type);
        tyto::eval({y});  // a view of what is still to be computed would be computed row-major
        auto once = compiled;
        CHECK(numbers(f(transpose(x, order))) == numbers(once(transpose(y, order))));
      }
    }
  };
  check([](auto a) { return sum(a); });
  check([](auto a) { return sum(a, 0); });
  check([](auto a) { return mean(exp(a), -1); });
  check([](auto a) { return softmax(a, 1); });
  check([](auto a) { return matmul(a, matrix_transpose(a)); });
  check([](auto a) { return var(a, 0); });
}
