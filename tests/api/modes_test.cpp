// SPDX-License-Identifier: MIT
// One program, two modes: every case is written once, runs eagerly and lazily, and is compared with expected numbers.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::all;
using tyto::DType;
using tyto::ellipsis;
using tyto::newaxis;
using tyto::slice;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("views of views read the elements they name") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::arange(24).reshape({2, 3, 4});
  CHECK(numbers(x(1)) == Numbers{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  CHECK(numbers(x(all, 1, slice({}, {}, -2))) == Numbers{7, 5, 19, 17});
  CHECK(numbers(x(ellipsis, -1)) == Numbers{3, 7, 11, 15, 19, 23});
  CHECK(x(newaxis, ellipsis, newaxis).shape() == tyto::Shape{1, 2, 3, 4, 1});
  CHECK(numbers(x.T()(slice(1, 3), 0, 1)) == Numbers{13, 14});
  CHECK(numbers(x.transpose({1, 0, 2})(2).reshape({-1})) == Numbers{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(numbers(flip(x, 2)(0, 0)) == Numbers{3, 2, 1, 0});
}

BOTH_MODES("set leaves its operand as it was") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor y = set(x, {1, slice(0, 2)}, 7.0);
  CHECK(numbers(x) == Numbers{0, 0, 0, 0, 0, 0});
  CHECK(numbers(y) == Numbers{0, 0, 0, 7, 7, 0});
}

BOTH_MODES("assigning to a part rebinds the tensor and nothing else") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::arange(6).reshape({2, 3});
  const Tensor before = x;
  const Tensor view = std::as_const(x)(1);
  x(1) = 9;
  x(all, 0) += 100;
  CHECK(numbers(x) == Numbers{100, 1, 2, 109, 9, 9});
  CHECK(numbers(before) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(numbers(view) == Numbers{3, 4, 5});
}

BOTH_MODES("a part can be assigned from another part of the same tensor") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::arange(6);
  x(slice(1, {})) = x(slice(0, 5));
  CHECK(numbers(x) == Numbers{0, 0, 1, 2, 3, 4});
  x(slice({}, {}, -1)) = x;
  CHECK(numbers(x) == Numbers{4, 3, 2, 1, 0, 0});
}

BOTH_MODES("a loop with parts assigned builds a table") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor fibonacci = Tensor::zeros({10}, DType::i64);
  fibonacci(1) = 1;
  for (int i = 2; i < 10; ++i) fibonacci(i) = fibonacci(i - 1) + fibonacci(i - 2);
  CHECK(numbers(fibonacci) == Numbers{0, 1, 1, 2, 3, 5, 8, 13, 21, 34});
}

BOTH_MODES("control flow may follow values that are read") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::full({}, 27, DType::i64);
  int steps = 0;
  while (x.template item<std::int64_t>() != 1) {
    x = (x % 2 == 0) ? floor_divide(x, 2) : 3 * x + 1;
    ++steps;
  }
  CHECK(steps == 111);
}

BOTH_MODES("intermediate values that are held keep their values") {
  using Tensor = tyto::Tensor<Mode>;
  std::vector<Tensor> held;
  Tensor x = Tensor{1.0, 2.0};
  for (int i = 0; i < 5; ++i) {
    x = x * 2.0;
    held.push_back(x);
  }
  CHECK(numbers(x + 1.0) == Numbers{33, 65});
  for (int i = 0; i < 5; ++i) CHECK(numbers(held[static_cast<std::size_t>(i)])[0] == std::pow(2.0, i + 1));
}

BOTH_MODES("reading twice gives the same, and reading part first changes nothing") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::arange(4);
  const Tensor a = x + 1;
  const Tensor b = a * a;
  const Tensor c = b - a;
  CHECK(numbers(b(2)) == Numbers{9});
  CHECK(numbers(c) == Numbers{0, 2, 6, 12});
  CHECK(numbers(a) == Numbers{1, 2, 3, 4});
  CHECK(numbers(c) == Numbers{0, 2, 6, 12});
  CHECK(numbers(c + b) == Numbers{1, 6, 15, 28});
  CHECK(numbers(b) == Numbers{1, 4, 9, 16});
}

BOTH_MODES("the memory behind data() stays while its tensor lives") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor x = Tensor::ones({3});
  const Tensor y = x * 2.0;
  const std::span<const float> seen = y.template data<float>();
  for (int i = 0; i < 20; ++i) {
    x = x + 1.0;
    (void)numbers(x * y);
  }
  CHECK(seen[0] == 2.0f);
  CHECK(seen[2] == 2.0f);
}

BOTH_MODES("the caller's own array is read once and never written") {
  using Tensor = tyto::Tensor<Mode>;
  std::vector<float> mine{1, 2, 3};
  const Tensor copied = Tensor::from(mine, {3});
  mine[0] = 50;
  CHECK(numbers(copied) == Numbers{1, 2, 3});
  const std::array<double, 3> array{4, 5, 6};
  const float old[] = {7, 8};
  CHECK(numbers(Tensor::from(array, {3})) == Numbers{4, 5, 6});
  CHECK(Tensor::from(array, {3}).dtype() == DType::f64);
  CHECK(numbers(Tensor::from(old, {1, 2})) == Numbers{7, 8});
  CHECK(numbers(Tensor::from(std::span(mine), {3})) == Numbers{50, 2, 3});
  CHECK(numbers(Tensor::from({0.1, 0.2}, {2})) == Numbers{0.1, 0.2});  // f64, unlike Tensor{0.1, 0.2}

  bool released = false;
  {
    Tensor lent = Tensor::borrow(mine.data(), {3}, [&] { released = true; });
    const Tensor view = std::as_const(lent)(slice(0, 2));
    lent(1) = 99;
    lent += 1;
    CHECK(numbers(lent) == Numbers{51, 100, 4});
    CHECK(numbers(view * 2) == Numbers{100, 4});
    CHECK(mine == std::vector<float>{50, 2, 3});
  }
  tyto::trim_memory();
  CHECK(released);
}

BOTH_MODES("numbers, empty axes and tensors of rank 0 go through everything") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor none = Tensor::zeros({0, 3});
  CHECK(numbers(none + 1).empty());
  CHECK(numbers(none.sum()) == Numbers{0});
  CHECK(numbers(none.sum(0)) == Numbers{0, 0, 0});
  CHECK(none.T().reshape({3, 0, 2}).shape() == tyto::Shape{3, 0, 2});
  CHECK(numbers(matmul(none.T(), none)) == Numbers(9, 0.0));
  const Tensor one = Tensor::full({}, 5.0);
  CHECK(numbers(one.reshape({1, 1})(0)) == Numbers{5});
  CHECK(numbers(broadcast_to(one, {2, 2})) == Numbers{5, 5, 5, 5});
  CHECK(numbers(tyto::concat<Mode>({none, Tensor::ones({1, 3})})) == Numbers{1, 1, 1});
}

BOTH_MODES("errors come with the line that is wrong") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_AS(matmul(x, x), tyto::ShapeError);
  CHECK_THROWS_AS(x + Tensor::zeros({4}), tyto::ShapeError);
  CHECK_THROWS_AS(x(2), tyto::IndexError);
  CHECK_THROWS_AS(x.template data<double>(), tyto::TypeError);
  CHECK_THROWS_AS(x.template item<float>(), tyto::ShapeError);
  CHECK_THROWS_AS(Tensor() + x, tyto::GraphError);
  CHECK_THROWS_AS(set(x, {0}, Tensor()), tyto::GraphError);
  CHECK_THROWS_AS(set(Tensor(), {0}, x), tyto::GraphError);
  CHECK_THROWS_AS(tyto::eval<Mode>({Tensor()}), tyto::GraphError);
  CHECK_THROWS_AS(reshape(Tensor(), {1}), tyto::GraphError);
  CHECK_THROWS_AS(tyto::concat<Mode>({x, Tensor()}), tyto::GraphError);
  CHECK_THROWS_AS(Tensor::variable(Tensor()), tyto::GraphError);
}

// Assignments to a part of a constant, or to a part of a part, do not compile.
template <class T>
using Part = decltype(std::declval<T>()(0));
static_assert(std::is_assignable_v<tyto::Tensor<tyto::Lazy>&, double>);
static_assert(std::is_assignable_v<Part<tyto::Tensor<tyto::Lazy>&>, double>);
static_assert(!std::is_assignable_v<Part<const tyto::Tensor<tyto::Lazy>&>, double>);
static_assert(!std::is_assignable_v<Part<tyto::Tensor<tyto::Lazy>>, double>);
static_assert(!std::is_assignable_v<const tyto::Tensor<tyto::Eager>, tyto::Tensor<tyto::Eager>>);

// The whole set of draws, after one seed.
template <class Mode>
Numbers all_draws() {
  using Tensor = tyto::Tensor<Mode>;
  tyto::seed(7);
  std::vector<Tensor> draws{Tensor::uniform({3}),
                            Tensor::normal({3}),
                            Tensor::bernoulli({5}),
                            Tensor::integers({4}, {.low = -5, .high = 5}),
                            Tensor::gamma({3}, {.shape = 0.5}),
                            Tensor::exponential({3}),
                            Tensor::permutation(6),
                            Tensor::truncated_normal({3}),
                            dropout_mask(Tensor::ones({4}), 0.5),
                            choice(Tensor::arange(10), 4, false),
                            categorical(Tensor::zeros({2, 3}), 2),
                            Tensor::uniform({2}, {.key = tyto::Key{3, 4}}),
                            Tensor::uniform({2})};
  Numbers out;
  // Read from the last to the first: the order of drawing counts, not that of reading.
  for (std::size_t i = draws.size(); i-- > 0;) {
    for (const double number : numbers(draws[i])) out.push_back(number);
  }
  return out;
}

// The power function rounds otherwise than x * x and 1 / x, which are computed where 2 or -1 is written.
TEST_CASE("a power of two or minus one is the square or reciprocal in both modes") {
  const auto powers = []<class Mode>(Mode) {
    const auto x = tyto::Tensor<Mode>::linspace(-3.3, 3.7, 20011).astype(DType::f32);
    return std::pair(power(x, 2.0).template to_vector<float>(), power(x, -1.0).template to_vector<float>());
  };
  CHECK(powers(tyto::Eager()) == powers(tyto::Lazy()));
  const auto x = tyto::Tensor<tyto::Eager>::linspace(-3.3, 3.7, 20011).astype(DType::f32);
  CHECK(all(equal(power(x, 2), x * x)).item<bool>());
  CHECK(all(equal(power(x, -1), 1.0 / x)).item<bool>());
}

TEST_CASE("one seed gives the same numbers in both modes, in whatever order they are read") {
  CHECK(all_draws<tyto::Eager>() == all_draws<tyto::Lazy>());
}

BOTH_MODES("a draw that was read stays the number it was") {
  using Tensor = tyto::Tensor<Mode>;
  tyto::seed(1);
  const Tensor u = Tensor::uniform({4});
  const Tensor twice = u * 2.0;
  const Numbers first = numbers(u);
  const Numbers doubled = numbers(twice);
  CHECK(numbers(u) == first);
  for (std::size_t i = 0; i < 4; ++i) CHECK(doubled[i] == 2 * first[i]);
  CHECK(numbers(Tensor::uniform({4})) != first);
}

BOTH_MODES("a position of the sequence that is set back repeats what was drawn since") {
  using Tensor = tyto::Tensor<Mode>;
  tyto::seed(5);
  (void)numbers(Tensor::uniform({2}));
  const tyto::RandomState here = tyto::random_state();
  const Numbers once = numbers(Tensor::normal({3}));
  tyto::random_state(here);
  CHECK(numbers(Tensor::normal({3})) == once);
}

BOTH_MODES("a delayed function is called for its value and not again") {
  using Tensor = tyto::Tensor<Mode>;
  using Host = tyto::Tensor<tyto::Eager>;
  int calls = 0;
  const Tensor x = Tensor{1.0, 2.0};
  const Tensor y = tyto::delay<Mode>({2}, DType::f32,
                                     [&calls](const std::vector<Host>& in) {
                                       ++calls;
                                       return in[0] * 10.0;
                                     },
                                     {x});
  CHECK(numbers(y + 1.0) == Numbers{11, 21});
  CHECK(numbers(y) == Numbers{10, 20});
  CHECK(numbers(y * 2.0) == Numbers{20, 40});
  CHECK(calls == 1);
}

BOTH_MODES("what a delayed function throws arrives at the reader, and the rest still works") {
  using Tensor = tyto::Tensor<Mode>;
  using Host = tyto::Tensor<tyto::Eager>;
  const Tensor x = Tensor{1.0, 2.0};
  const auto read = [&] {
    const Tensor bad = tyto::delay<Mode>(
        {2}, DType::f32, [](const std::vector<Host>&) -> Host { throw std::runtime_error("no weather today"); }, {x});
    return numbers(bad + x);
  };
  CHECK_THROWS_WITH_AS(read(), "'delay': no weather today", tyto::GraphError);
  CHECK(numbers(x + 1.0) == Numbers{2, 3});
}

// NumPy and PyTorch give the empty result at once; tables a row would take terabytes here.
BOTH_MODES("empty results cost nothing, however long their other axes are") {
  using Tensor = tyto::Tensor<Mode>;
  const std::int64_t far = std::int64_t{1} << 40;
  const Tensor images = Tensor::zeros({1, 2, far, 0});
  CHECK(upsample(images, 2).shape() == tyto::Shape{1, 4, 2 * far, 0});
  CHECK(numbers(upsample(images, 2)).empty());
  CHECK(numbers(upsample(images, 2, tyto::Resampling::bilinear)).empty());
  CHECK(numbers(max_pool(images, 2)).empty());
  CHECK(numbers(average_pool(images, 2)).empty());
  CHECK(numbers(max_pool(Tensor::zeros({0, 2, far, 1}), 2)).empty());
  CHECK(numbers(matmul(Tensor::zeros({0, far}), Tensor::zeros({far, 0}))).empty());
  for (const DType type : {DType::f32, DType::i32, DType::f16}) {
    const Tensor none = Tensor::zeros({0, 2, far, 1}, type);
    const Tensor kernel = Tensor::ones({1, 2, 1, 4}, type);
    CHECK(numbers(convolution(none, kernel)).empty());
    CHECK(numbers(tyto::compile([&](Tensor x) { return relu(convolution(x, kernel)); })(none)).empty());
  }
}
