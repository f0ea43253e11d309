// SPDX-License-Identifier: MIT
// Eager operators one after another: a cached kernel must fit the later call in every respect.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "core/graph/symbol.hpp"
#include "devices/cpu/system/memory.hpp"
#include "engine/prepare/kernel_cache.hpp"
#include "engine/run/devices.hpp"
#include "tyto/tyto.hpp"

namespace eager_test {

namespace {

using Tensor = tyto::Tensor<tyto::Eager>;
using tyto::slice;

std::vector<float> numbers(const Tensor& x) { return x.to_vector<float>(); }

}  // namespace

TEST_CASE("kernels that are used in turn are kept, whatever the shapes") {
  // Each shape meets its own slots of the cache: with one slot a key, two kernels in every few hundred shapes would
  // take each other's.
  for (std::int64_t length = 1; length <= 2000; ++length) {
    const Tensor x = Tensor::arange(length), cast = x.astype(tyto::DType::f32), negative = -cast;
    const auto kernel_of = [](const tyto::Value& value, const tyto::Value& from) {
      const tyto::core::Array* const input = &tyto::core::result_of(from).array;
      return &tyto::run::prepared_operator(*value.node(), {&input, 1}, tyto::run::cpu_device());
    };
    const auto* const first = kernel_of(cast, x);
    const auto* const second = kernel_of(negative, cast);
    REQUIRE(kernel_of(cast, x) == first);
    REQUIRE(kernel_of(negative, cast) == second);
  }
}

TEST_CASE("the same operator on parts that start elsewhere reads each part") {
  const Tensor x = Tensor::arange(0, 12, 1, tyto::DType::f32).reshape({3, 4});
  for (int row = 0; row < 3; ++row) {
    const float first = 4.0f * static_cast<float>(row);
    CHECK(numbers(x(row) * 2.0) == std::vector<float>{2 * first, 2 * first + 2, 2 * first + 4, 2 * first + 6});
    CHECK(x(row).sum().item<float>() == 4 * first + 6);
  }
}

TEST_CASE("the same operator on other strides of one shape reads along them") {
  const Tensor x = Tensor::arange(0, 4, 1, tyto::DType::f32).reshape({2, 2});
  CHECK(numbers(-x) == std::vector<float>{0, -1, -2, -3});
  CHECK(numbers(-x.T()) == std::vector<float>{0, -2, -1, -3});
  CHECK(numbers(-flip(x, 0)) == std::vector<float>{-2, -3, 0, -1});
  CHECK(numbers(x + x.T()) == std::vector<float>{0, 3, 3, 6});
  CHECK(numbers(x.T() + x) == std::vector<float>{0, 3, 3, 6});
  CHECK(numbers(x - x.T()) == std::vector<float>{0, -1, 1, 0});
}

TEST_CASE("one row beside a table, a column beside a table, and a table beside a row are told apart") {
  const Tensor table{{1.0, 2.0}, {3.0, 4.0}};
  const Tensor row{10.0, 20.0};
  CHECK(numbers(table + row) == std::vector<float>{11, 22, 13, 24});
  CHECK(numbers(row + table) == std::vector<float>{11, 22, 13, 24});
  CHECK(numbers(table + row.reshape({2, 1})) == std::vector<float>{11, 12, 23, 24});
  CHECK(numbers(row.reshape({2, 1}) - row) == std::vector<float>{0, -10, 10, 0});
  CHECK(numbers(row - row.reshape({2, 1})) == std::vector<float>{0, 10, -10, 0});
}

TEST_CASE("the same operator with other attributes does what the later ones say") {
  const Tensor x{{1.0, 2.0}, {3.0, 4.0}};
  CHECK(numbers(x.sum(0)) == std::vector<float>{4, 6});
  CHECK(numbers(x.sum(1)) == std::vector<float>{3, 7});
  CHECK(x.sum(0, true).shape() == tyto::Shape{1, 2});
  CHECK(numbers(cumsum(x, 0)) == std::vector<float>{1, 2, 4, 6});
  CHECK(numbers(cumsum(x, 1)) == std::vector<float>{1, 3, 3, 7});
}

TEST_CASE("the same operator on other element types computes in them") {
  const Tensor whole{7, 9};
  const Tensor real{7.0, 9.0};
  CHECK((whole + whole).to_vector<std::int64_t>() == std::vector<std::int64_t>{14, 18});
  CHECK(numbers(real + real) == std::vector<float>{14, 18});
  CHECK((real.astype(tyto::DType::f64) + 0.5).to_vector<double>() == std::vector<double>{7.5, 9.5});
}

TEST_CASE("changing the number of threads between two equal operators changes no result") {
  const int before = tyto::threads();
  const Tensor x = Tensor::arange(0, 100000, 1, tyto::DType::f32);
  tyto::threads(1);
  const std::vector<float> alone = numbers(x * 3.0);
  tyto::threads(2);
  CHECK(numbers(x * 3.0) == alone);
  tyto::threads(before);
}

TEST_CASE("an operator that cannot run leaves its message and the next one works") {
  const Tensor x{1.0, 2.0, 3.0};
  const Tensor other{1.0, 2.0};
  CHECK_THROWS_AS((void)(x + other), tyto::ShapeError);
  CHECK(numbers(x + x) == std::vector<float>{2, 4, 6});
}

TEST_CASE("a result outlives the thread that computed it, and memory goes back where it came from") {
  const std::size_t before = tyto::cpu::allocated_memory();
  {
    Tensor sum;
    std::thread worker([&] {
      const Tensor x{1.0, 2.0};
      for (int i = 0; i < 100; ++i) sum = x + x;
    });
    worker.join();
    CHECK(numbers(sum + sum) == std::vector<float>{4, 8});
    CHECK(tyto::cpu::allocated_memory() > before);
  }
  CHECK(tyto::cpu::allocated_memory() == before);
}

TEST_CASE("one number given twice stands for two inputs of a gradient") {
  const auto product = [](Tensor x, Tensor y) { return x * y; };
  const auto [value, gradients] = tyto::value_and_grad(product, {0, 1})(Tensor(3.0), Tensor(3.0));
  CHECK(value.item<float>() == 9.0f);
  CHECK(gradients[0].item<float>() == 3.0f);
  CHECK(gradients[1].item<float>() == 3.0f);
}

TEST_CASE("an operand that a kernel wants dense is copied from wherever it lies") {
  const Tensor x = Tensor::arange(0, 40, 1, tyto::DType::f32), a{1.0, 2.0, 3.0, 4.0, 5.0};
  for (const std::int64_t start : {0, 3, 10, 3, 30}) {
    for (const std::int64_t step : {2, 1, 3, 2}) {
      std::vector<float> expected(7);
      for (std::int64_t i = 0; i < 5; ++i) {
        for (std::int64_t k = 0; k < 3; ++k) {
          expected[static_cast<std::size_t>(i + k)] += static_cast<float>((i + 1) * (start + k * step));
        }
      }
      CHECK(numbers(tyto::convolve(a, x(slice(start, start + 3 * step, step)))) == expected);
      CHECK(numbers(tyto::convolve(x(slice(start, start + 3 * step, step)), a)) == expected);
    }
  }
}

}  // namespace eager_test
