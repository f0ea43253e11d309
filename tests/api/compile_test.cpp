// SPDX-License-Identifier: MIT
// Compiled functions: calls give what plain execution gives, call after call, in both modes.
#include <doctest/doctest.h>

#include <algorithm>
#include <complex>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::all;
using tyto::DType;
using tyto::slice;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

BOTH_MODES("a compiled function gives for each call what the function gives") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x, Tensor y) { return matmul(x, y) + x.sum(); });
  const Tensor a = Tensor::arange(4).reshape({2, 2}).astype(DType::f32);
  const Tensor b = Tensor::eye(2);
  CHECK(numbers(f(a, b)) == Numbers{6, 7, 8, 9});
  CHECK(numbers(f(b, b)) == Numbers{3, 2, 2, 3});
  CHECK(numbers(f(a, b)) == Numbers{6, 7, 8, 9});
}

BOTH_MODES("one compiled function serves several shapes and types") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x * 2 + static_cast<int>(x.size()); });
  CHECK(numbers(f(Tensor{1, 2})) == Numbers{4, 6});
  CHECK(f(Tensor{1, 2}).dtype() == DType::i64);
  CHECK(numbers(f(Tensor{{1.5, 2.0, 3.0}})) == Numbers{6, 7, 9});
  CHECK(f(Tensor{1.5}).dtype() == DType::f32);
  CHECK(numbers(f(Tensor::full({}, 3.0))) == Numbers{7});
  CHECK(numbers(f(Tensor::zeros({0, 4}))).empty());
  CHECK(numbers(f(Tensor{1, 2})) == Numbers{4, 6});
}

BOTH_MODES("more shapes than are kept still give the right results") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x.sum() + static_cast<double>(x.size()); });
  for (int round = 0; round < 2; ++round) {
    for (int n = 1; n < 40; ++n) CHECK(f(Tensor::ones({n})).template item<float>() == static_cast<float>(2 * n));
  }
}

BOTH_MODES("arguments are lists, tuples and pairs of tensors and numbers as well") {
  using Tensor = tyto::Tensor<Mode>;
  using List = std::vector<Tensor>;
  int calls = 0;
  auto f = tyto::compile([&](List a, const List& b, std::pair<Tensor, Tensor> bounds) {
    ++calls;
    Tensor total = bounds.first * 1.0;
    for (const Tensor& each : a) total += each;
    for (const Tensor& each : b) total -= each * bounds.second;
    return List{total, total * 2.0};
  });
  const Tensor one{1.0, 2.0}, ten{10.0, 20.0};
  const std::pair bounds(Tensor{100.0, 100.0}, Tensor(0.5));
  for (int i = 0; i < 2; ++i) {
    CHECK(numbers(f(List{one, ten}, List{ten}, bounds)[1]) == Numbers{212, 224});
    // As many tensors, shared out otherwise.
    CHECK(numbers(f(List{one}, List{ten, ten}, bounds)[0]) == Numbers{91, 82});
    CHECK(numbers(f(List{}, List{}, bounds)[0]) == Numbers{100, 100});
  }
  CHECK(calls == (std::is_same_v<Mode, tyto::Lazy> ? 3 : 6));
}

BOTH_MODES("tuples hold lists and numbers, and a function of whatever tells arguments apart by their form") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](auto first, auto second) {
    using First = decltype(first);
    if constexpr (std::is_same_v<First, Tensor>) return first - second;
    else if constexpr (std::tuple_size_v<First> == 2) return std::get<0>(first)[0] + std::get<1>(first) * second;
    else return std::get<0>(first) + std::get<1>(first) + std::get<2>(first) * second;
  });
  const Tensor x{1.0, 2.0}, y{3.0, 5.0};
  for (int i = 0; i < 2; ++i) {
    CHECK(numbers(f(x, y)) == Numbers{-2, -3});
    CHECK(numbers(f(std::tuple(std::vector{x}, y), y)) == Numbers{10, 27});
    CHECK(numbers(f(std::tuple(std::vector{x}, 2), y)) == Numbers{7, 12});
    CHECK(numbers(f(std::tuple(x, x, x), y)) == Numbers{5, 14});
  }
}

BOTH_MODES("a complex number is an argument, and yields to the tensors that it meets") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x, Tensor z) { return x * z; });
  for (const double imaginary : {2.0, -3.0}) {
    const Tensor y = f(Tensor{1.0, 2.0}, std::complex<double>(0.5, imaginary));
    CHECK(y.dtype() == DType::c64);
    CHECK(numbers(real(y)) == Numbers{0.5, 1});
    CHECK(numbers(imag(y)) == Numbers{imaginary, 2 * imaginary});
  }
}

BOTH_MODES("what a compiled function does to its list of arguments leaves variables as they are") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor::ones({2}), "w");
  auto f = tyto::compile([](std::vector<Tensor> list) {
    list[0] += 1;
    return list[0];
  });
  CHECK(numbers(f(std::vector{w})) == Numbers{2, 2});
  CHECK(numbers(w) == Numbers{1, 1});
}

TEST_CASE("a compiled function names the place of an argument in its list") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor x(1.0);
  auto f = tyto::compile([](Tensor a, std::vector<Tensor> list) { return a + list[0]; });
  CHECK_THROWS_WITH_AS((void)f(x, std::vector{x, Tensor()}), "compile: argument 2[1] is an undefined tensor",
                       tyto::GraphError);
  auto g = tyto::compile([](std::tuple<std::vector<Tensor>, Tensor> a, Tensor b) { return std::get<1>(a) + b; });
  CHECK_THROWS_WITH_AS((void)g(std::tuple(std::vector{x, x}, Tensor()), x),
                       "compile: argument 1[1] is an undefined tensor", tyto::GraphError);
  CHECK_THROWS_WITH_AS((void)g(std::tuple(std::vector{x, Tensor()}, x), x),
                       "compile: argument 1[0][1] is an undefined tensor", tyto::GraphError);
  CHECK_THROWS_WITH_AS((void)g(std::tuple(std::vector{x}, x), Tensor()), "compile: argument 2 is an undefined tensor",
                       tyto::GraphError);
}

BOTH_MODES("results come back in the form in which the function returns them") {
  using Tensor = tyto::Tensor<Mode>;
  auto pair = tyto::compile([](Tensor x) { return std::pair(x + 1, x.sum()); });
  auto [next, total] = pair(Tensor{1.0, 2.0});
  CHECK(numbers(next) == Numbers{2, 3});
  CHECK(numbers(total) == Numbers{3});

  auto tuple = tyto::compile([](Tensor x) { return std::tuple(x, std::vector<Tensor>{x * 2, x * 3}, x(0)); });
  auto [same, many, first] = tuple(Tensor{4.0, 5.0});
  CHECK(numbers(same) == Numbers{4, 5});
  REQUIRE(many.size() == 2);
  CHECK(numbers(many[1]) == Numbers{12, 15});
  CHECK(numbers(first) == Numbers{4});

  auto none = tyto::compile([](Tensor) { return std::vector<Tensor>(); });
  CHECK(none(Tensor{1.0}).empty());
}

BOTH_MODES("a function that returns nothing still updates its states") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor total = Tensor::persistent(Tensor::zeros({2}));
  auto add = tyto::compile([&](Tensor x) { assign(total, total + x); });
  add(Tensor{1.0, 2.0});
  add(Tensor{10.0, 20.0});
  CHECK(numbers(total) == Numbers{11, 22});
}

BOTH_MODES("results are held across later calls") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return std::vector<Tensor>{x * 2, std::as_const(x)(slice(1, 3)), x}; });
  std::vector<std::vector<Tensor>> held;
  for (int i = 0; i < 4; ++i) held.push_back(f(Tensor::full({3}, static_cast<double>(i), DType::f32)));
  for (std::size_t i = 0; i < 4; ++i) {
    const auto n = static_cast<double>(i);
    CHECK(numbers(held[i][0]) == Numbers{2 * n, 2 * n, 2 * n});
    CHECK(numbers(held[i][1]) == Numbers{n, n});
    CHECK(numbers(held[i][2]) == Numbers{n, n, n});
  }
}

BOTH_MODES("the same result twice, and an argument as result, are each their own") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) {
    const Tensor y = x + 1;
    return std::vector<Tensor>{y, y, x, x, Tensor::ones({2}), y.reshape({2, 1})};
  });
  Tensor argument{1.0, 2.0};
  std::vector<Tensor> results = f(argument);
  results[0](0) = 50;
  argument(1) = 70;
  CHECK(numbers(results[1]) == Numbers{2, 3});
  CHECK(numbers(results[2]) == Numbers{1, 2});
  CHECK(numbers(results[3]) == Numbers{1, 2});
  CHECK(numbers(results[4]) == Numbers{1, 1});
  CHECK(numbers(results[5]) == Numbers{2, 3});
}

BOTH_MODES("what a compiled function captures is read as it is when the function is first called") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor pending = Tensor{1.0, 2.0} * 3.0;
  const Tensor weights = Tensor::variable(Tensor{10.0, 10.0});
  auto f = tyto::compile([pending, weights](Tensor x) { return x * pending + weights; });
  CHECK(numbers(f(Tensor{1.0, 1.0})) == Numbers{13, 16});
  assign(weights, Tensor{0.0, 0.0});  // a state is read anew at each call
  CHECK(numbers(f(Tensor{2.0, 2.0})) == Numbers{6, 12});
  CHECK(numbers(pending) == Numbers{3, 6});
}

BOTH_MODES("states made of one tensor are written each by itself, and the tensor stays as it was") {
  using Tensor = tyto::Tensor<Mode>;
  Tensor start{1.0, 2.0};
  const Tensor early = start * 1.0;  // pending in lazy mode
  const Tensor a = Tensor::variable(start), b = Tensor::variable(start), rest = Tensor::persistent(early);
  auto step = tyto::compile([&](Tensor x) {
    assign(a, a + x);
    assign(b, b * x);
    assign(rest, rest - x);
    return a + b;
  });
  CHECK(numbers(step(Tensor{10.0, 10.0})) == Numbers{21, 32});
  CHECK(numbers(step(Tensor{10.0, 10.0})) == Numbers{121, 222});
  start(0) = 7;
  CHECK(numbers(step(Tensor{1.0, 1.0})) == Numbers{122, 223});
  CHECK(numbers(a) == Numbers{22, 23});
  CHECK(numbers(b) == Numbers{100, 200});
  CHECK(numbers(rest) == Numbers{-20, -19});
  CHECK(numbers(start) == Numbers{7, 2});
  CHECK(numbers(early) == Numbers{1, 2});
}

BOTH_MODES("compiled functions may call compiled functions") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor count = Tensor::persistent(Tensor::zeros({}));
  auto inner = tyto::compile([&](Tensor x) {
    assign(count, count + 1);
    return x * 2;
  });
  auto outer = tyto::compile([&](Tensor x) { return inner(inner(x)) + count; });
  CHECK(numbers(outer(Tensor{1.0})) == Numbers{6});
  CHECK(numbers(outer(Tensor{1.0})) == Numbers{8});
  CHECK(numbers(inner(Tensor{5.0})) == Numbers{10});
  CHECK(numbers(count) == Numbers{5});
}

BOTH_MODES("a call's results may be arguments of the next call") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x * 2 + 1; });
  Tensor x = Tensor::zeros({3});
  for (int i = 0; i < 10; ++i) x = f(x);
  CHECK(numbers(x) == Numbers{1023, 1023, 1023});
}

BOTH_MODES("an argument may be a view, a borrowed array, a variable or not yet computed") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) {
    x(0) = -1;
    return x * 10;
  });
  const Tensor base = Tensor::arange(6).astype(DType::f32).reshape({2, 3});
  CHECK(numbers(f(base.T()(all, 1))) == Numbers{-10, 40, 50});
  const std::vector<float> mine{7, 8, 9};
  CHECK(numbers(f(Tensor::borrow(mine.data(), {3}))) == Numbers{-10, 80, 90});
  CHECK(mine[0] == 7.0f);
  const Tensor variable = Tensor::variable(Tensor{1.0, 2.0, 3.0});
  CHECK(numbers(f(variable)) == Numbers{-10, 20, 30});
  CHECK(numbers(variable) == Numbers{1, 2, 3});
  CHECK(numbers(f(base(1) + 1)) == Numbers{-10, 50, 60});
  CHECK(numbers(base) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a compiled function draws anew at each call, the same numbers in both modes") {
  const auto run = []<class Mode>(Mode) {
    using Tensor = tyto::Tensor<Mode>;
    tyto::seed(11);
    auto f = tyto::compile([](Tensor x) {
      const Tensor unused = Tensor::uniform({100});
      const Tensor noise = Tensor::normal({2});
      const Tensor more = Tensor::uniform({2});
      return std::pair(x + more, noise);
    });
    Numbers out;
    for (int i = 0; i < 3; ++i) {
      const auto [a, b] = f(Tensor{0.0, 0.0});
      for (const double number : numbers(a)) out.push_back(number);
      for (const double number : numbers(b)) out.push_back(number);
      for (const double number : numbers(Tensor::uniform({1}))) out.push_back(number);
    }
    CHECK(tyto::random_state().draws == 12);
    return out;
  };
  const Numbers eager = run(tyto::Eager());
  CHECK(eager == run(tyto::Lazy()));
  for (std::size_t i = 0; i < eager.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(eager[i] != eager[j]);
  }
}

BOTH_MODES("keys given by hand make a compiled function repeat itself") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x) { return x + Tensor::uniform({2}, {.key = tyto::Key{1, 2}}); });
  const Numbers first = numbers(f(Tensor{0.0, 0.0}));
  CHECK(numbers(f(Tensor{0.0, 0.0})) == first);
  CHECK(numbers(Tensor::uniform({2}, {.key = tyto::Key{1, 2}})) == first);
}

TEST_CASE("a compiled function draws anew beside a scalar operand as well") {
  const auto masks = []<class Mode>(Mode) {
    using Tensor = tyto::Tensor<Mode>;
    tyto::seed(11);
    auto f = tyto::compile([](Tensor x) { return x * dropout_mask(Tensor(1.0f), 0.5); });
    Numbers out;
    for (int call = 0; call < 12; ++call) out.push_back(numbers(f(Tensor::ones({1})))[0]);
    return out;
  };
  const Numbers drawn = masks(tyto::Lazy());
  CHECK(drawn == masks(tyto::Eager()));
  CHECK(std::count(drawn.begin(), drawn.end(), 0.0) > 0);
  CHECK(std::count(drawn.begin(), drawn.end(), 2.0) > 0);
}

TEST_CASE("a compiled function cannot start the random sequence anew") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  auto f = tyto::compile([](Tensor x) {
    tyto::seed(3);
    return x + Tensor::uniform({1});
  });
  CHECK_THROWS_WITH_AS(f(Tensor{0.0}),
                       "seed: a compiled function cannot move the random sequence; do it before the call, or give the "
                       "draws a key",
                       tyto::GraphError);
}

BOTH_MODES("what a traced function throws leaves states and the random sequence as they were") {
  using Tensor = tyto::Tensor<Mode>;
  tyto::seed(2);
  const Tensor a = Tensor::variable(Tensor{1.0});
  const Tensor b = Tensor::variable(Tensor{5.0});
  bool stop = true;
  auto f = tyto::compile([&](Tensor x) {
    const Tensor drawn = Tensor::uniform({1});
    if (stop) throw Stopped("on the way");
    assign(a, a + x + 0.0 * drawn);
    assign(b, a * 2);
    return a + b;
  });
  const std::uint64_t before = tyto::random_state().draws;
  CHECK_THROWS_AS(f(Tensor{1.0}), Stopped);
  if (std::is_same_v<Mode, tyto::Lazy>) CHECK(tyto::random_state().draws == before);
  CHECK(numbers(a) == Numbers{1});
  CHECK(numbers(b) == Numbers{5});
  stop = false;
  CHECK(numbers(f(Tensor{1.0})) == Numbers{6});
  CHECK(numbers(a) == Numbers{2});
  CHECK(numbers(b) == Numbers{4});
}

BOTH_MODES("a compiled function with neither arguments nor results updates its states") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor a = Tensor::variable(Tensor{1.0}), b = Tensor::variable(Tensor{0.0});
  int calls = 0;
  auto f = tyto::compile([&] {
    ++calls;
    assign(b, b + a);
    assign(a, a * 2.0);
  });
  for (int i = 0; i < 10; ++i) f();
  CHECK(numbers(a) == Numbers{1024});
  CHECK(numbers(b) == Numbers{1023});
  // Eagerly each call runs the code. In lazy mode the first shows that the states are lazy, the second is traced.
  CHECK(calls == (std::is_same_v<Mode, tyto::Lazy> ? 2 : 10));
}

TEST_CASE("a compiled function without arguments and results sees its states behind those of another one") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor a = Tensor::variable(Tensor{1.0}), b = Tensor::variable(Tensor{1.0});
  auto inner = tyto::compile([&] { assign(a, a * 2.0); });
  int calls = 0;
  auto outer = tyto::compile([&] {
    ++calls;
    inner();
    assign(b, b + a);
  });
  for (int i = 0; i < 5; ++i) outer();
  CHECK(numbers(a) == Numbers{32});
  CHECK(numbers(b) == Numbers{1 + 2 + 4 + 8 + 16 + 32});
  CHECK(calls == 2);
}

TEST_CASE("a compiled function without arguments, results and states is called as it is") {
  int calls = 0;
  auto f = tyto::compile([&] { ++calls; });
  for (int i = 0; i < 3; ++i) f();
  CHECK(calls == 3);
}

TEST_CASE("a traced function that throws after its assignments has made none") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor a = Tensor::variable(Tensor{1.0});
  auto f = tyto::compile([&](Tensor x) -> Tensor {
    assign(a, a + x);
    throw Stopped("too late");
  });
  CHECK_THROWS_AS(f(Tensor{1.0}), Stopped);
  CHECK(numbers(a) == Numbers{1});
  CHECK(numbers(a + 1.0) == Numbers{2});
}

BOTH_MODES("a compiled function reads a captured placeholder as it was assigned last") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor scale = Tensor::placeholder({2}, DType::f32, "scale");
  auto f = tyto::compile([&](Tensor x) { return x * scale; });
  CHECK_THROWS_WITH_AS(f(Tensor{1.0, 2.0}), doctest::Contains("'scale'"), tyto::GraphError);
  assign(scale, Tensor{3.0, 5.0});
  CHECK(numbers(f(Tensor{1.0, 2.0})) == Numbers{3, 10});
  assign(scale, Tensor{-1.0, 1.0});
  CHECK(numbers(f(Tensor{1.0, 2.0})) == Numbers{-1, 2});
  CHECK(numbers(f(Tensor{4.0, 4.0})) == Numbers{-4, 4});
}

TEST_CASE("reading an argument while the function is traced is an error that says so") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  auto f = tyto::compile([](Tensor x) { return x.sum().item<float>() > 0 ? x : -x; });
  CHECK_THROWS_WITH_AS(f(Tensor{1.0}),
                       "input 'argument 1' of shape (1,) is read while a compiled function is recorded, which happens "
                       "once for all calls and before it has a value; choose by where() instead",
                       tyto::GraphError);
  const Tensor state = Tensor::variable(Tensor{1.0}, "gate");
  auto g = tyto::compile([&](Tensor x) { return state.item<float>() > 0 ? x : -x; });
  CHECK_THROWS_WITH_AS(g(Tensor{1.0}), doctest::Contains("'gate' of shape (1,) is read while a compiled function"),
                       tyto::GraphError);
}

TEST_CASE("a compiled function that was moved from says so, and a copy shares its traces") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor total = Tensor::variable(Tensor{0.0});
  auto first = tyto::compile([&](Tensor x) {
    assign(total, total + x);
    return total + 0.0;
  });
  auto copy = first;
  CHECK(numbers(first(Tensor{1.0})) == Numbers{1});
  CHECK(numbers(copy(Tensor{2.0})) == Numbers{3});
  auto second = std::move(first);
  CHECK(numbers(second(Tensor{4.0})) == Numbers{7});
  const char* told = "compile: a compiled function that was moved from is used";
  CHECK_THROWS_WITH_AS(first(Tensor{1.0}), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(first.plan(), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(first.report(), told, tyto::GraphError);
  CHECK(numbers(total) == Numbers{7});
}

TEST_CASE("an empty result of a compiled function is an error") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  auto f = tyto::compile([](Tensor x) { return std::pair(x, Tensor()); });
  CHECK_THROWS_WITH_AS(f(Tensor{1.0}), "compile: a result of the function is an undefined tensor", tyto::GraphError);
}

BOTH_MODES("a batch that does not divide the samples is one more shape") {
  using Tensor = tyto::Tensor<Mode>;
  auto mean_of = tyto::compile([](Tensor x) { return x.mean(0); });
  const Tensor samples = Tensor::arange(20).astype(DType::f32).reshape({20, 1});
  double sum = 0;
  for (std::int64_t start = 0; start < 20; start += 7) {
    const Tensor batch = samples(slice(start, std::min<std::int64_t>(start + 7, 20)));
    sum += numbers(mean_of(batch))[0] * static_cast<double>(batch.shape()[0]);
  }
  CHECK(sum == doctest::Approx(190));
}

BOTH_MODES("a scalar operand given to a compiled function takes the element type of the tensors it meets there") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](const Tensor& x, const Tensor& s) { return x * s; });
  const Tensor half = Tensor{1.0, 2.0}.astype(DType::f16);
  const Tensor fine = Tensor{1.0, 2.0}.astype(DType::f64);
  CHECK(f(half, Tensor(0.5)).dtype() == DType::f16);
  CHECK(f(Tensor(3), half).dtype() == DType::f16);
  CHECK(f(half, Tensor::full({}, 0.5)).dtype() == DType::f32);
  CHECK(numbers(f(half, Tensor(0.25))) == Numbers{0.25, 0.5});
  // With all digits of the number where there is room for them.
  CHECK(numbers(f(fine, Tensor(0.1))) == Numbers{0.1, 0.2});
  CHECK(f(Tensor(3.0), Tensor(2)).dtype() == DType::f32);
  CHECK(f(Tensor(3), Tensor(2)).dtype() == DType::i64);
  CHECK(numbers(f(Tensor(3), Tensor(2.5))) == Numbers{7.5});
}

BOTH_MODES("an integer scalar operand given to a compiled function is compared as it is, and a limit of clip") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor{1, 200, 255}.astype(DType::u8);
  auto below = tyto::compile([](const Tensor& v, const Tensor& n) { return v < n; });
  auto clipped =
      tyto::compile([](const Tensor& v, const Tensor& least, const Tensor& most) { return clip(v, least, most); });
  CHECK(numbers(below(x, Tensor(300))) == Numbers{1, 1, 1});
  CHECK(numbers(below(x, Tensor(-1))) == Numbers{0, 0, 0});
  CHECK(numbers(below(x, Tensor(201))) == Numbers{1, 1, 0});
  CHECK(numbers(below(Tensor(200), x)) == Numbers{0, 0, 1});
  CHECK(numbers(clipped(x, Tensor(-1), Tensor(300))) == Numbers{1, 200, 255});
  CHECK(numbers(clipped(x, Tensor(100), Tensor(201))) == Numbers{100, 200, 201});
  CHECK(clipped(x, Tensor(-1), Tensor(300)).dtype() == DType::u8);
}

BOTH_MODES("a function without arguments is compiled as well") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w = Tensor::variable(Tensor{1.0}, "w");
  int traced = 0;
  auto f = tyto::compile([&] {
    ++traced;
    assign(w, w * 2);
    return std::tuple(w + 1, std::pair(w * 10, std::vector<Tensor>{w}));
  });
  for (const double expected : {2.0, 4.0, 8.0}) {
    const auto [one, rest] = f();
    CHECK(numbers(one) == Numbers{expected + 1});
    CHECK(numbers(rest.first) == Numbers{expected * 10});
    CHECK(numbers(rest.second[0]) == Numbers{expected});
  }
  CHECK(traced == (std::is_same_v<Mode, tyto::Lazy> ? 1 : 3));
}

TEST_CASE("a compiled function that is called by what it runs itself says so") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  using Plain = tyto::Tensor<tyto::Eager>;
  std::function<Plain(const std::vector<Plain>&)> inner = [](auto& in) { return in[0]; };
  auto f = tyto::compile([&](const Tensor& x) {
    return tyto::delay<tyto::Lazy>({1}, DType::f32, [&](auto& in) { return inner(in); }, {x}) + 1;
  });
  CHECK(numbers(f(Tensor{1.0})) == Numbers{2});
  inner = [&](auto& in) {
    f(Tensor{2.0});
    return in[0];
  };
  CHECK_THROWS_WITH_AS(f(Tensor{1.0}), doctest::Contains("is called while it runs"), tyto::GraphError);
  inner = [](auto& in) { return in[0] * 3; };
  CHECK(numbers(f(Tensor{1.0})) == Numbers{4});
}

BOTH_MODES("a number is added to the inner product of two vectors") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor w{1.0, 2.0, 3.0}, x{4.0, 5.0, 6.0}, b(0.5);
  auto dense = tyto::compile([](Tensor a, Tensor c, Tensor shift) { return dot(a, c) + shift; });
  CHECK(numbers(dense(w, x, b)) == Numbers{32.5});
  CHECK(numbers(dense(w, x, Tensor::full({}, 0.5))) == Numbers{32.5});
  CHECK(numbers(dense(w, x, Tensor{0.5})) == Numbers{32.5});
  auto shifted = tyto::compile([](Tensor a, Tensor c, Tensor shift) { return relu(dot(a, c) - shift); });
  CHECK(numbers(shifted(w, x, b)) == Numbers{31.5});
  CHECK(numbers(shifted(w, -x, b)) == Numbers{0});
}

BOTH_MODES("a compiled function that calls itself without an end is told so before the stack overflows") {
  using Tensor = tyto::Tensor<Mode>;
  std::function<Tensor(Tensor)> endless;
  endless = tyto::compile([&](Tensor x) { return endless(x + 1.0); });
  CHECK_THROWS_WITH_AS(endless(Tensor{1.0}),
                       "compile: compiled functions call one another 1000 deep; what calls itself must come to an end "
                       "by what is known while it is recorded, such as a shape or a counter",
                       tyto::GraphError);
  // By way of another one, and again after the error.
  std::function<Tensor(Tensor)> there, back;
  there = tyto::compile([&](Tensor x) { return back(x) * 2.0; });
  back = tyto::compile([&](Tensor x) { return there(x) + 1.0; });
  CHECK_THROWS_AS(there(Tensor{1.0}), tyto::GraphError);
  CHECK_THROWS_AS(back(Tensor{1.0}), tyto::GraphError);
  // One that comes to an end by its shape is recorded.
  std::function<Tensor(Tensor)> halved;
  halved = tyto::compile([&](Tensor x) {
    if (x.size() == 1) return x;
    const std::vector<Tensor> halves = split(x, 2);
    return halved(halves[0]) + 10.0 * halved(halves[1]);
  });
  CHECK(numbers(halved(Tensor{1.0, 2.0, 3.0, 4.0})) == Numbers{1 + 20 + 30 + 400});
}
