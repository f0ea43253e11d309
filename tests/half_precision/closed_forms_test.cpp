// SPDX-License-Identifier: MIT
// Results in half precision with known values, whose squares, sums and powers exceed the range of f16.
#include <doctest/doctest.h>

#include <cmath>

#include <tyto/nn.hpp>
#include <tyto/sessions.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

namespace half_precision {

namespace {

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

template <class M>
Tensor<M> f16(const Numbers& elements) {
  return Tensor<M>(elements).astype(DType::f16);
}

/// To half a unit in the last place of f16.
void check(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected[i]) <= std::abs(expected[i]) * 0x1.01p-11);
  }
}

template <class M>
void check(const Tensor<M>& found, const Numbers& expected) {
  CHECK(found.dtype() == DType::f16);
  check(numbers(found), expected);
}

}  // namespace

TEST_CASE_TEMPLATE("norms of f16 are finite where their squares are not", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = f16<M>({300, 400});
  check(linalg::norm(x), {500});
  check(linalg::matrix_norm(reshape(x, {1, 2})), {500});
  check(linalg::vector_norm(x), {500});
  check(linalg::vector_norm(x, 3), {449.7941445});
  check(linalg::vector_norm(x, 6), {411.0998906});
  check(l2_norm(x), {500});
  check(x / linalg::norm(x), {0.6, 0.8});
  check(grad([](const T& v) { return linalg::norm(v); })(x), {0.6, 0.8});
  check(grad([](const T& v) { return linalg::vector_norm(v, 3); })(x), {0.4448590, 0.7908604});
  // The second derivative along (1, 0): (1 - u u^T) / 500.
  const auto gradient = [](const T& v) {
    return sum(grad([](const T& w) { return linalg::norm(w); })(v) * f16<M>({1, 0}));
  };
  check(grad(gradient)(x), {0.00128, -0.00096});
}

TEST_CASE_TEMPLATE("averages, angles and pools of f16 are finite where their sums are not", M, Eager, Lazy) {
  using T = Tensor<M>;
  check(average(f16<M>({60000, 60000}), f16<M>({1, 1})), {60000});
  check(average(f16<M>({1e-4, 3e-4}), f16<M>({1e-4, 1e-4})), {2e-4});
  check(nn::cosine_similarity(f16<M>({300, 400}), f16<M>({300, 400})), {1});
  check(nn::cosine_similarity(f16<M>({3e-5, 4e-5}), f16<M>({4e-5, 3e-5})), {0.96});
  check(nn::PowerPool(2, 2)(T::full({1, 2, 2, 1}, 200).astype(DType::f16)), {400});
  check(mean_squared_error(f16<M>({300, 0, 0, 0}), f16<M>({0, 0, 0, 0})), {22500});
  check(linalg::cov(f16<M>({-200, 0, 200})), {40000});
  check(mean(f16<M>({60000, 60000})), {60000});
}

/// What goes to one place of f16: of sums of ones a total of f16 stands still at 2048.
template <class M>
void check_repeated_places() {
  using T = Tensor<M>;
  const T nowhere = T::zeros({3000}, DType::i64), zeros = f16<M>({0, 7}), ones = T::ones({3000}, DType::f16);
  check(scatter_add(zeros, {nowhere}, ones), {3000, 7});
  check(scatter_add(zeros, {nowhere}, T::full({3000}, 1e-4).astype(DType::f16)), {3000 * 0x1.a36p-14, 7});
  check(scatter_multiply(f16<M>({1, 7}), {nowhere}, T::full({3000}, 1 + 0x1p-10).astype(DType::f16)),
        {18.6950339, 7});  // (1 + 1/1024)^3000
  const auto rows = [&](const T& x) { return sum(take(x, nowhere, 0)); };
  check(grad(rows)(zeros), {3000, 0});
  const auto coordinates = [&](const T& x) { return sum(x(nowhere)); };
  check(grad(coordinates)(zeros), {3000, 0});
}

TEST_CASE_TEMPLATE("elements of f16 that go to one position are added up in f32", M, Eager, Lazy) {
  check_repeated_places<M>();
}

TEST_CASE_TEMPLATE("gradients of f16 are clipped by norms that are no numbers of f16", M, Eager, Lazy) {
  const std::vector<Tensor<M>> long_ones{f16<M>({60000, 0}), f16<M>({0, 60000})};
  check(nn::clip_by_global_norm(long_ones, 1)[1], {0, 0.70710678});
  check(nn::clip_by_norm(std::vector<Tensor<M>>{f16<M>({60000, 60000})}, 1)[0], {0.70710678, 0.70710678});
  check(nn::clip_by_global_norm(long_ones, 1e-3)[0], {7.0710678e-4, 0});
}

TEST_CASE_TEMPLATE("f16 and f32 meet in f32, f16 and bf16 as well", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T half = f16<M>({300, 400}), single = T{300.0, 400.0}, other = single.astype(DType::bf16);
  for (const T& second : {single, other}) {
    const T found = nn::squared_error(half, 2.0 * second, nn::Reduction::none);
    CHECK(found.dtype() == DType::f32);
    CHECK(numbers(found) == Numbers{90000, 160000});
  }
  CHECK(nn::squared_error(half, 2.0 * half).dtype() == DType::f16);
  CHECK(average(half, T{1, 2}).dtype() == DType::f16);  // integers yield
}

TEST_CASE("a graph reads f16 as f32 on the way: no copy of an operand in f32 is stored") {
  using T = Tensor<Lazy>;
  // Without machine code that sums several things at once, a thread stores a block of rows; the rest of them none.
  constexpr std::int64_t rows = 16384, columns = 1024, bytes = rows * columns * 2;
  const ThreadLimit limit(1);
  const T x = T::placeholder({rows, columns}, DType::f16), y = T::placeholder({rows, columns}, DType::f16);
  const auto planned = [&](const T& result) {
    Graph graph({.inputs = {x, y}, .outputs = {result}});
    const GraphReport report = graph.report();
    return static_cast<std::int64_t>(report.arena_bytes + report.output_bytes);
  };
  // Of numbers made of all elements, or of rows, a few; of those made of each, the result alone.
  constexpr std::int64_t few = bytes / 16;
  CHECK(planned(linalg::norm(x)) < few);
  CHECK(planned(linalg::vector_norm(x, 3, 1)) < few);
  CHECK(planned(x / linalg::norm(x)) < bytes + few);
  CHECK(planned(average(x, y)) < few);
  CHECK(planned(nanvar(x, 1)) < few);
  CHECK(planned(stddev(x, 1)) < few);
  CHECK(planned(stddev(x, 1, true, 1)) < few);
  CHECK(planned(nn::cosine_similarity(x, y)) < few);
  CHECK(planned(nn::huber(x, y)) < few);
  CHECK(planned(nn::binary_cross_entropy_with_logits(x, y)) < few);
  CHECK(planned(nn::gelu_tanh(x)) < bytes + few);
  CHECK(planned(nn::LayerNorm({.shape = {columns}})(x)) < bytes + few);
  CHECK(planned(distributions::Normal<T>{y, 2.0}.log_prob(x)) < bytes + few);
  CHECK(planned(nn::clip_by_global_norm(std::vector<T>{x, y}, 1)[0]) < bytes + few);
  const auto gradient = [&](const T& v) { return linalg::norm(v); };
  CHECK(planned(grad(gradient)(x)) < bytes + few);
}

bool has_opencl() {
  for (const DeviceInfo& device : devices()) {
    if (device.name.starts_with("opencl")) return true;
  }
  return false;
}

TEST_CASE("elements of f16 that go to one position are added up in f32 on the OpenCL device") {
  if (!has_opencl()) return;
  const DeviceScope device("opencl");
  check_repeated_places<Lazy>();
}

TEST_CASE("norms of f16 on the OpenCL device") {
  if (!has_opencl()) return;
  const DeviceScope device("opencl");
  const Tensor<Lazy> x = f16<Lazy>({300, 400});
  check(linalg::norm(x), {500});
  check(average(f16<Lazy>({60000, 60000}), f16<Lazy>({1, 1})), {60000});
  check(grad([](const Tensor<Lazy>& v) { return linalg::norm(v); })(x), {0.6, 0.8});
}

}  // namespace half_precision
