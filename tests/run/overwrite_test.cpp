// SPDX-License-Identifier: MIT
// Writing a part of a tensor: in place where nobody else can see its memory, on a copy where somebody can.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>
#include <vector>

#include "core/graph/symbol.hpp"

namespace tyto {
namespace {

using E = Tensor<Eager>;
using L = Tensor<Lazy>;

std::vector<float> numbers(const E& x) { return x.to_vector<float>(); }

/// Where the elements lie, without a share in them.
const void* address(const E& x) { return core::result_of(x.value()).array.buffer->memory(); }

}  // namespace

TEST_CASE("eager: assigning to a part of a tensor that nobody else holds writes there and nowhere else") {
  E x = E::arange(0, 6, 1, DType::f32) + 1;
  const void* const home = address(x);
  x(1) = 10;
  x(slice({}, {}, 2)) = E({-1.0F, -2.0F, -3.0F});
  CHECK(numbers(x) == std::vector<float>{-1, 10, -2, 4, -3, 6});
  CHECK(address(x) == home);
}

TEST_CASE("eager: whoever shares the memory keeps the old numbers") {
  SUBCASE("a second handle") {
    E x = E::zeros({3}) + 1;
    const E y = x;
    x(0) = 5;
    CHECK(numbers(x) == std::vector<float>{5, 1, 1});
    CHECK(numbers(y) == std::vector<float>{1, 1, 1});
  }
  SUBCASE("a view") {
    E x = E::zeros({2, 2}) + 1;
    const E row = x(1), transposed = x.transpose();
    x(1, 0) = 5;
    CHECK(numbers(x) == std::vector<float>{1, 1, 5, 1});
    CHECK(numbers(row) == std::vector<float>{1, 1});
    CHECK(numbers(transposed) == std::vector<float>{1, 1, 1, 1});
  }
  SUBCASE("a part kept from the left side") {
    E x = E::zeros({3}) + 1;
    auto part = x(slice(0, 2));
    x(0) = 9;
    CHECK(numbers(part) == std::vector<float>{1, 1});
    CHECK(numbers(x) == std::vector<float>{9, 1, 1});
  }
  SUBCASE("a span that was read out") {
    E x = E::zeros({3}) + 1;
    const auto seen = x.data<float>();
    const E keep = x;
    x(0) = 9;
    CHECK(seen[0] == 1);
    CHECK(numbers(x) == std::vector<float>{9, 1, 1});
  }
  SUBCASE("lent memory") {
    const float lent[3] = {1, 2, 3};
    E x = E::borrow(lent, {3});
    x(0) = 9;
    CHECK(lent[0] == 1);
    CHECK(numbers(x) == std::vector<float>{9, 2, 3});
  }
  SUBCASE("a variable's contents") {
    const E w = E::variable(E::zeros({3}) + 1, "w");
    E x = w + 0;
    const E again = w;
    x(0) = 2;
    CHECK(numbers(w + 0) == std::vector<float>{1, 1, 1});
    CHECK(numbers(x) == std::vector<float>{2, 1, 1});
  }
}

TEST_CASE("eager: a value that is a view of the tensor itself is read before it is overwritten") {
  E x = E::arange(0, 5, 1, DType::f32);
  x(slice(1, 5)) = x(slice(0, 4));
  CHECK(numbers(x) == std::vector<float>{0, 0, 1, 2, 3});
  x(slice({}, {}, -1)) = x;
  CHECK(numbers(x) == std::vector<float>{3, 2, 1, 0, 0});
  x(slice(0, 2)) += x(slice(3, 5)) + 10;
  CHECK(numbers(x) == std::vector<float>{13, 12, 1, 0, 0});
}

TEST_CASE("eager: positions given by tensors and masks are written in place, too") {
  E x = E::zeros({4, 2}) + 1;
  const void* const home = address(x);
  x(Tensor<Eager>{2, 0}) = E({{5.0F, 6.0F}, {7.0F, 8.0F}});
  CHECK(address(x) == home);
  CHECK(numbers(x) == std::vector<float>{7, 8, 1, 1, 5, 6, 1, 1});
  x(x > 6) = 0;
  CHECK(numbers(x) == std::vector<float>{0, 0, 1, 1, 5, 6, 1, 1});
  x(all, Tensor<Eager>{1}) = -1;
  CHECK(numbers(x) == std::vector<float>{0, -1, 1, -1, 5, -1, 1, -1});
}

TEST_CASE("eager: a refused assignment leaves the tensor as it was") {
  E x = E::zeros({3}) + 1;
  CHECK_THROWS_AS(x(slice(0, 2)) = E({1.0F, 2.0F, 3.0F}), ShapeError);
  CHECK_THROWS_AS((x(Tensor<Eager>{0, 7}) = 2), IndexError);
  CHECK(numbers(x) == std::vector<float>{1, 1, 1});
}

TEST_CASE("eager: gradients see the assignment") {
  const auto f = [](const E& x) {
    E y = x * 2;
    y(0) = 0;
    return (y * y).sum();
  };
  CHECK(numbers(grad(f)(E({1.0F, 2.0F, 3.0F}))) == std::vector<float>{0, 16, 24});
}

TEST_CASE("lazy: set_slice and scatter take over a dying operand's memory") {
  constexpr std::int64_t n = 1 << 12;
  auto chain = compile([](L x) {
    L y = exp(x);
    for (int i = 0; i < 5; ++i) y(slice(i, i + 1)) = static_cast<float>(i);
    y = scatter(y, {L{7, 8}}, L{1.0F, 2.0F});
    y = scatter_add(y, {L{7, 7}}, L{1.0F, 2.0F});
    return (y * 2).sum();
  });
  CHECK(chain(L::zeros({n})).item<float>() == 2.0F * (0 + 1 + 2 + 3 + 4 + (n - 7) + (1 + 3) + 2));
  // One storage for y through all its versions; the rest are a few numbers.
  CHECK(chain.plan().height < static_cast<std::int64_t>(n * sizeof(float)) + 4096);
  CHECK(chain.plan().naive < static_cast<std::int64_t>(2 * n * sizeof(float)));
}

TEST_CASE("lazy: an operand with a reader still to come is not overwritten") {
  auto f = compile([](L x) {
    L y = exp(x);
    L z = y;
    z(0) = 5;
    return std::pair(z, y + z);
  });
  const auto [z, sum] = f(L::zeros({3}));
  CHECK(z.to_vector<float>() == std::vector<float>{5, 1, 1});
  CHECK(sum.to_vector<float>() == std::vector<float>{6, 2, 2});
}

TEST_CASE("lazy: a row that is added to all rows is not overwritten by the first of them") {
  // The row lies where its whole does, which has the size of the result and is read for the last time.
  auto f = compile([](L x, L y) { return cumsum(exp(x)(0) - y, 1); }, {.passes = "none"});
  const L x = log(L{{1.0F, 2.0F, 4.0F}, {8.0F, 8.0F, 8.0F}, {9.0F, 9.0F, 9.0F}});
  const L y{{1.0F, 0.0F, 2.0F}, {0.0F, 1.0F, 0.0F}, {2.0F, 0.0F, 1.0F}};
  const std::vector<float> got = f(x, y).to_vector<float>(), expected{0, 2, 4, 1, 2, 6, -1, 1, 4};
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]));
}

TEST_CASE("lazy: an operand that is also the value is not overwritten") {
  auto f = compile([](L x) {
    L y = exp(x);
    y(slice(1, 4)) = y(slice(0, 3));
    L w = y * 1;
    w(slice({}, {}, -1)) = w;
    return w;
  });
  const L x = log(L{1.0F, 2.0F, 4.0F, 8.0F});
  const std::vector<float> got = f(x).to_vector<float>();
  const std::vector<float> expected{4, 2, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) CHECK(got[i] == doctest::Approx(expected[i]));
}

TEST_CASE("lazy: a state with a part replaced is updated in place") {
  constexpr std::int64_t n = 1 << 12;
  const L cache = L::persistent(L::zeros({n}), "cache");
  auto push = compile([&](L value, L at) {
    L next = cache;
    next = scatter(next + 0 * value.sum(), {at}, value);
    L direct = scatter(L(cache), {at}, value);
    assign(cache, direct);
    return next.sum();
  });
  (void)push(L{2.0F}, L{5});
  (void)push(L{3.0F}, L{6});
  CHECK(cache.sum().item<float>() == 5);

  auto lean = compile([&](L value, L at) {
    assign(cache, scatter(L(cache), {at}, value));
    return value;
  });
  (void)lean(L{4.0F}, L{5});
  CHECK(lean.plan().height < 4096);
  CHECK(cache(slice(5, 7)).to_vector<float>() == std::vector<float>{4, 3});
}

}  // namespace tyto

TEST_CASE("wider results do not go over narrow elements that are part of a memory of their size") {
  using T = tyto::Tensor<tyto::Lazy>;
  const T x = T::placeholder({1040});
  // Half of the elements in twice the width: as many bytes as the memory that they are read from.
  const T half = copy(cast(x, tyto::DType::f16)).get({tyto::slice(0, 520)});
  const T wide = cast(half, tyto::DType::f32) * 2.0f + 1.0f;
  tyto::Graph graph{{.inputs = {x}, .outputs = {flip(cumsum(wide, 0))}}, {.passes = "fuse"}};
  graph.set(x, T::ones({1040}));
  graph.run();
  CHECK(graph.output(0).to_vector<float>()[0] == 520 * 3.0f);
}

namespace {

/// Rows made by operators that join no group, normalised, and read by another that joins none: the group's result lies
/// over what it normalises.
template <class M>
std::vector<float> normalised(int kind, const char* passes) {
  using T = tyto::Tensor<M>;
  auto f = tyto::compile(
      [kind](T p, T q) {
        T x = matmul(p, q);
        if (kind == 1) x = transpose(expand_dims(x, 2), {0, 2, 1});  // an axis of length 1 with a stride of its own
        if (kind == 2) x = cast(reshape(tile(cast(q.get({0}) * 4.0, tyto::DType::i32), {37}), {37, 53}), x.dtype());
        const T sums = x + T::full({1}, 0.25f);
        T y = (sums - mean(sums, {-1}, true)) / (var(sums, {-1}, true) + 0.5f);
        if (kind == 1) y = y * x;
        return roll(y, {1}, {-1});
      },
      {.passes = passes});
  const T a = reshape(T::linspace(-1, 1, 37 * 7), {37, 7});
  const T b = reshape(T::linspace(-2, 1, 7 * 53), {7, 53});
  return ravel(f(a, b)).template to_vector<float>();
}

}  // namespace

TEST_CASE("lazy: normalised rows lie over what they were made of when that has been read") {
  for (const int kind : {0, 1, 2}) {
    CAPTURE(kind);
    CHECK(normalised<tyto::Lazy>(kind, "fuse") == normalised<tyto::Eager>(kind, ""));
  }
}
