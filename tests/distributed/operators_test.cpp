// SPDX-License-Identifier: MIT
// The operators that communicate: values and gradients against closed forms, in both modes and for every element type.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
using tyto::DType;
using tyto::Shape;

/// 1 + 2 + ... + n.
double triangle(int n) { return n * (n + 1) / 2.0; }

template <class T>
std::vector<double> numbers(const T& x) {
  return x.astype(DType::f64).template to_vector<double>();
}

template <class T>
void check_sums_and_extremes(const d::Group& group) {
  const int n = group.size(), own = group.rank() + 1;
  for (const DType type : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64,
                           DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(type);
    const T x = (T{1, 2, 3} * own).astype(type);
    CHECK(d::all_reduce(x).dtype() == type);
    CHECK(numbers(d::all_reduce(x)) == std::vector<double>{triangle(n), 2 * triangle(n), 3 * triangle(n)});
    CHECK(numbers(d::all_reduce(x, d::Reduce::min)) == std::vector<double>{1, 2, 3});
    CHECK(numbers(d::all_reduce(x, d::Reduce::max)) == std::vector<double>{1.0 * n, 2.0 * n, 3.0 * n});
    CHECK(numbers(d::all_reduce(x, d::Reduce::mean))[1] == doctest::Approx(n + 1.0).epsilon(0.01));
  }
  const T whole = d::all_reduce(T{1, 2}.astype(DType::i32) * own, d::Reduce::mean);
  CHECK(whole.dtype() == DType::f32);
  const T truths = T{0, own == 1 ? 1 : 0, 1}.astype(DType::boolean);
  CHECK(numbers(d::all_reduce(truths, d::Reduce::max)) == std::vector<double>{0, 1, 1});
  CHECK(numbers(d::all_reduce(truths, d::Reduce::min)) == std::vector<double>{0, n == 1 ? 1.0 : 0.0, 1});
  CHECK_THROWS_WITH_AS(d::all_reduce(truths),
                       "all_reduce: truths are not added; cast them to integers, or ask for min or max",
                       tyto::TypeError);
  const T z = complex(T{1.0, 2.0} * own, T{-1.0, 0.5} * own);
  CHECK(numbers(real(d::all_reduce(z))) == std::vector<double>{triangle(n), 2 * triangle(n)});
  CHECK(numbers(imag(d::all_reduce(z))) == std::vector<double>{-triangle(n), 0.5 * triangle(n)});
  CHECK_THROWS_AS(d::all_reduce(z, d::Reduce::max), tyto::TypeError);

  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const T special = T{own == 1 ? nan : 1.0, own == 1 ? infinity : -2.0, -0.0};
  for (const DType type : {DType::f32, DType::f64}) {
    const auto least = numbers(d::all_reduce(special.astype(type), d::Reduce::min));
    const auto largest = numbers(d::all_reduce(special.astype(type), d::Reduce::max));
    CHECK(std::isnan(least[0]));
    CHECK(std::isnan(largest[0]));
    CHECK(least[1] == (n == 1 ? infinity : -2.0));
    CHECK(largest[1] == infinity);
  }
  CHECK(d::all_reduce(T::zeros({0, 3})).shape() == Shape{0, 3});
  CHECK(d::all_reduce(T(2.0 * own)).template item<double>() == 2 * triangle(n));
  // Strided operands, and more than a piece of them.
  const T matrix = reshape(T::arange(6), {2, 3}).astype(DType::f32) * own;
  CHECK(numbers(d::all_reduce(transpose(matrix))) == numbers(transpose(matrix) * (triangle(n) / own)));
  const std::int64_t many = 300001;
  const T line = T::arange(many).astype(DType::f64) * own;
  CHECK(numbers(d::all_reduce(line)) == numbers(T::arange(many).astype(DType::f64) * triangle(n)));
}

/// Equal numbers, zeros by their signs, or two NaN.
bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
void check_extremes_of_zeros_and_nan(const d::Group& group) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto values_of = [&](int rank) {
    const double zero = rank % 2 == 0 ? 0.0 : -0.0;
    return std::vector<double>{zero,
                               -zero,
                               rank == 0 ? nan : 1,
                               rank == group.size() - 1 ? nan : 1,
                               rank == 1 ? nan : zero,
                               std::copysign(nan, rank % 2 == 0 ? 1 : -1),
                               rank == 0 ? 0.0 : rank};
  };
  // Of two: a NaN if there is one, the first of equals.
  const auto least = [](double a, double b) { return a <= b || std::isnan(a) ? a : b; };
  const auto largest = [](double a, double b) { return a >= b || std::isnan(a) ? a : b; };
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(type);
    std::vector<double> smallest = values_of(0), greatest = smallest;
    T by_minimum = T(smallest).astype(type), by_maximum = by_minimum;
    for (int rank = 1; rank < group.size(); ++rank) {
      const std::vector<double> next = values_of(rank);
      std::ranges::transform(smallest, next, smallest.begin(), least);
      std::ranges::transform(greatest, next, greatest.begin(), largest);
      by_minimum = minimum(by_minimum, T(next).astype(type));
      by_maximum = maximum(by_maximum, T(next).astype(type));
    }
    const T own = T(values_of(group.rank())).astype(type);
    const auto check = [&](d::Reduce how, const std::vector<double>& expected, const T& of_library) {
      const T reduced = d::all_reduce(own, how);
      CHECK(std::ranges::equal(numbers(reduced), expected, same_number));
      CHECK(std::ranges::equal(numbers(of_library), expected, same_number));
      // Rank 0's bits are everybody's.
      const T first = d::broadcast(reduced);
      CHECK(std::ranges::equal(first.bytes(), reduced.bytes()));
    };
    check(d::Reduce::min, smallest, by_minimum);
    check(d::Reduce::max, greatest, by_maximum);
  }
}

template <class T>
void check_moves(const d::Group& group) {
  const int n = group.size(), rank = group.rank();
  for (const DType type : {DType::boolean, DType::u8, DType::f16, DType::f32, DType::f64, DType::c64, DType::c128}) {
    CAPTURE(type);
    const T own = T{rank, rank + 1}.astype(type);
    std::vector<double> all;
    for (int i = 0; i < n; ++i) {
      for (const int each : {i, i + 1}) all.push_back(type == DType::boolean ? (each != 0) : each);
    }
    const T gathered = d::all_gather(own);
    CHECK(gathered.dtype() == type);
    CHECK(gathered.shape() == Shape{2 * n});
    CHECK(numbers(real(gathered)) == all);
    const int last = n - 1;
    CHECK(numbers(real(d::broadcast(own, last))) == std::vector<double>(all.end() - 2, all.end()));
    CHECK(numbers(real(d::barrier(own))) == numbers(real(own)));
  }
  CHECK(d::all_gather(T(3.0)).shape() == Shape{n});
  CHECK(d::all_gather(T::zeros({2, 0})).shape() == Shape{2 * n, 0});
  CHECK(d::all_gather(T::zeros({2, 3})).shape() == Shape{2 * n, 3});
  // Part i of the sum is on rank i; of one piece, and of several.
  for (const std::int64_t rows : {2, 100003}) {
    const T x = reshape(T::arange(n * rows * 2), {n * rows, 2}).astype(DType::f32) * (rank + 1);
    const T sum = d::reduce_scatter(x);
    CHECK(sum.shape() == Shape{rows, 2});
    const T expected =
        reshape(T::arange(rank * rows * 2, (rank + 1) * rows * 2), {rows, 2}).astype(DType::f32) * triangle(n);
    CHECK(allclose(sum, expected, 1e-6, 0));
  }
  CHECK_THROWS_AS(d::broadcast(T{1}, n), tyto::IndexError);
  if (n > 1) CHECK_THROWS_AS(d::reduce_scatter(T::ones({n + 1})), tyto::ShapeError);
}

template <class T>
void check_gradients(const d::Group& group) {
  const int n = group.size(), rank = group.rank();
  // Each process has a loss of its own; a gradient is that of their sum.
  const T x = T{1.0, 2.0, 4.0} * (rank + 1.0);
  const T weights = T{1.0, 3.0, 5.0} * (rank + 1.0);
  const T total = T{1.0, 3.0, 5.0} * triangle(n);
  const auto gradient = [&](const auto& f) {
    return numbers(tyto::grad([&](T at) { return sum(f(at) * weights); })(x));
  };
  CHECK(gradient([](T at) { return d::all_reduce(at); }) == numbers(total));
  CHECK(gradient([](T at) { return d::barrier(at); }) == numbers(weights));
  CHECK(gradient([](T at) { return d::broadcast(at, 0); }) == numbers(total * (rank == 0 ? 1.0 : 0.0)));
  CHECK(gradient([](T at) { return d::all_reduce(at, d::Reduce::max); }) ==
        numbers(total * (rank == n - 1 ? 1.0 : 0.0)));
  CHECK(gradient([](T at) { return d::all_reduce(at, d::Reduce::min); }) == numbers(total * (rank == 0 ? 1.0 : 0.0)));
  // A broadcast of what another one handed out, from another process.
  CHECK(gradient([&](T at) { return d::broadcast(d::broadcast(at, 0) * 2.0, n - 1); }) ==
        numbers(total * (rank == 0 ? 2.0 : 0.0)));
  for (const tyto::DType half : {tyto::DType::f16, tyto::DType::bf16}) {
    CHECK(gradient([&](T at) { return d::broadcast(at.astype(half), 0).astype(tyto::DType::f32); }) ==
          numbers(total * (rank == 0 ? 1.0 : 0.0)));
    CHECK(gradient([&](T at) {
            return sum(d::all_gather(reshape(at.astype(half), {1, 3})).astype(tyto::DType::f32), {0});
          }) == numbers(total));
  }
  const auto means = gradient([](T at) { return d::all_reduce(at, d::Reduce::mean); });
  for (std::size_t i = 0; i < means.size(); ++i) CHECK(means[i] == doctest::Approx(numbers(total)[i] / n));
  // Ties share evenly.
  const auto tied = numbers(tyto::grad([&](T at) { return sum(d::all_reduce(at, d::Reduce::max)); })(T{7.0}));
  CHECK(tied[0] == doctest::Approx(1.0));
  // Process r weighs row i of what is gathered by (r + 1) * i.
  const auto rows = numbers(tyto::grad([&](T at) {
    return sum(d::all_gather(reshape(at, {1, 3})) * reshape(T::arange(n), {n, 1}) * (rank + 1.0));
  })(x));
  CHECK(rows == std::vector<double>(3, triangle(n) * rank));
  // The part that process i keeps is weighed by i + 1 there.
  const T parts = T::ones({2 * n});
  const auto scattered = numbers(tyto::grad([&](T at) { return sum(d::reduce_scatter(at)) * (rank + 1.0); })(parts));
  for (std::size_t i = 0; i < scattered.size(); ++i) CHECK(scattered[i] == static_cast<double>(i / 2 + 1));
}

// Whether a result is returned, and whether it depends on an example.
template <class T>
void check_vmap_refuses() {
  const auto refused = [](const std::string& call, const auto& function) {
    const std::string told = "vmap: " + call + " works on what processes have as a whole; call it outside of vmap";
    CHECK_THROWS_WITH_AS(tyto::vmap(function)(T::ones({2, 3})), told.c_str(), tyto::GraphError);
  };
  const T outside = T::ones({3});
  refused("all_reduce", [](T at) { return d::all_reduce(at); });
  refused("all_reduce", [](T at) {
    d::all_reduce(at);
    return at;
  });
  refused("all_reduce", [&](T at) { return at + d::all_reduce(outside); });
  refused("barrier", [&](T at) {
    d::barrier(outside);
    return at;
  });
  refused("average", [](T at) { return d::average(at, 2); });
  refused("all_reduce", tyto::grad([](T at) { return sum(d::all_reduce(at)); }));
  const T made = d::all_reduce(outside);
  CHECK(numbers(tyto::vmap([&](T at) { return at + made; })(T::ones({1, 3}))) == numbers(made + 1.0));
  // Recorded outside, read inside.
  const T later = d::all_reduce(outside);
  std::vector<double> read;
  (void)tyto::vmap([&](T at) {
    read = numbers(later);
    return at;
  })(T::ones({1, 3}));
  CHECK(read == std::vector<double>(3, d::start().size()));
}

template <class T>
void check_averages(const d::Group& group) {
  const int n = group.size(), own = group.rank() + 1;
  // Process r has r samples of value r: their mean is the sum of squares by the sum.
  double squares = 0;
  for (int i = 1; i <= n; ++i) squares += i * i;
  const T mean = d::average(T(1.0 * own), own);
  CHECK(mean.template item<double>() == doctest::Approx(squares / triangle(n)));
  CHECK_THROWS_WITH_AS(d::average(T{1, 2}, own), doctest::Contains("average: the mean of i64 is no i64"),
                       tyto::TypeError);
  const T halves = d::average(T(1.0 * own).astype(tyto::DType::f16), own);
  CHECK(halves.dtype() == tyto::DType::f16);
  CHECK(halves.template item<double>() == doctest::Approx(squares / triangle(n)).epsilon(1e-3));
  const std::vector<T> both = d::average(std::vector<T>{T{1.0 * own}, T{2.0 * own, 0.0}}, own);
  CHECK(both[0].template item<double>() == doctest::Approx(squares / triangle(n)));
  CHECK(numbers(both[1])[0] == doctest::Approx(2 * squares / triangle(n)));
  CHECK(d::average(T{1.0, 2.0}.astype(DType::f32), 3).dtype() == DType::f32);
}

}  // namespace

TEST_CASE("rank: operators" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  CHECK(group.size() == std::stoi(given("EXPECTED_SIZE")));
  using Eager = tyto::Tensor<tyto::Eager>;
  using Lazy = tyto::Tensor<tyto::Lazy>;
  check_sums_and_extremes<Eager>(group);
  check_sums_and_extremes<Lazy>(group);
  check_extremes_of_zeros_and_nan<Eager>(group);
  check_extremes_of_zeros_and_nan<Lazy>(group);
  check_moves<Eager>(group);
  check_moves<Lazy>(group);
  check_vmap_refuses<Eager>();
  check_vmap_refuses<Lazy>();
  check_gradients<Eager>(group);
  check_gradients<Lazy>(group);
  check_averages<Eager>(group);
  check_averages<Lazy>(group);
  // Draws are rank 0's, there, and others elsewhere; two states that differ become those of rank 0.
  tyto::seed(5);
  const Eager plain = Eager::uniform({4});
  tyto::seed(5);
  d::separate_draws();
  const Eager drawn = d::all_gather(Eager::uniform({1, 4}));
  for (int i = 0; i < group.size(); ++i) {
    for (int j = 0; j <= i; ++j) {
      CHECK(tyto::array_equal(std::as_const(drawn)(i), std::as_const(drawn)(j)) == (i == j));
    }
  }
  CHECK(tyto::array_equal(std::as_const(drawn)(0), plain));
  const Lazy state = Lazy::variable(Lazy{1.0 * group.rank(), 2.0}, "w");
  d::broadcast_states({tyto::Tensor<tyto::Any>(state)}, group.size() - 1);
  CHECK(numbers(state) == std::vector<double>{group.size() - 1.0, 2.0});
  group.barrier();
}

TEST_CASE("operators that communicate compute what all processes have, with their gradients") {
  with_each_mpi([](const std::string& mpi) {
    for (const int processes : {1, 2, 3, 4}) {
      const Ran ran = run_case(mpi, processes, "rank: operators", "EXPECTED_SIZE=" + std::to_string(processes));
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
  });
}

TEST_CASE("in a group of one the operators change nothing and leave no step behind") {
  const d::Group group = d::start();
  CHECK(group.size() == 1);
  CHECK(group.rank() == 0);
  CHECK(group.transport() == "single");
  check_sums_and_extremes<tyto::Tensor<tyto::Eager>>(group);
  check_extremes_of_zeros_and_nan<tyto::Tensor<tyto::Lazy>>(group);
  check_moves<tyto::Tensor<tyto::Eager>>(group);
  check_vmap_refuses<tyto::Tensor<tyto::Eager>>();
  check_vmap_refuses<tyto::Tensor<tyto::Lazy>>();
  check_gradients<tyto::Tensor<tyto::Lazy>>(group);
  check_averages<tyto::Tensor<tyto::Lazy>>(group);
  using T = tyto::Tensor<tyto::Lazy>;
  auto step = tyto::compile([](T x) {
    d::barrier(x);
    return d::broadcast(d::all_reduce(d::reduce_scatter(d::all_gather(x)))) * 2.0;
  });
  CHECK(step(T{1.0, 2.0}).to_vector<float>() == std::vector<float>{2, 4});
  CHECK(step.report().steps == 1);
}

TEST_CASE("rank: OpenCL" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const auto check = [&]<class T>(const T&) {
    const tyto::DeviceScope device("opencl");
    const T x = T{1.0, 2.0, 3.0} * (group.rank() + 1.0);
    auto step = tyto::compile([](T at) { return d::all_gather(d::all_reduce(at * 2.0) + 1.0); });
    CHECK(numbers(step(x)) == std::vector<double>{7, 13, 19, 7, 13, 19});
    CHECK(numbers(d::broadcast(x, 1)) == std::vector<double>{2, 4, 6});
  };
  check(tyto::Tensor<tyto::Eager>());
  check(tyto::Tensor<tyto::Lazy>());
  group.barrier();
}

TEST_CASE("tensors on the OpenCL device are sent by way of the host") {
  if (tyto::devices().size() == 1) {
    MESSAGE("skipped: there is no OpenCL device");
    return;
  }
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: OpenCL");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: effects" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  using T = tyto::Tensor<tyto::Lazy>;
  auto step = tyto::compile([](T x) {
    d::barrier(x);                                       // read by nobody
    const T a = d::all_reduce(x), b = d::all_reduce(x);  // equal, and two
    d::all_reduce(T::ones({3}));                         // constant, and read by nobody
    return a + b;
  });
  for (int i = 1; i <= 3; ++i) {
    CHECK(step(T{1.0 * i}).item<double>() == 2.0 * i * group.size());
  }
  // The three sums are one call of all their operands.
  CHECK(step.report().collectives == std::vector<std::string>{"barrier of f32(1,)", "all_reduce(sum) of f32(5,)"});
  CHECK(step.report().exchanged_bytes == 5 * sizeof(float));
  std::ostringstream text;
  text << step.report();
  CHECK(contains(text.str(), "\n  exchanged with other processes each run 20 B\n"));
  CHECK(step.report().unplanned_allocations == 0);
  auto branching = tyto::compile([](T x) {
    return tyto::cond(
        x > 0.0, [](T v) { return d::all_reduce(v); }, [](T v) { return v; }, x);
  });
  CHECK_THROWS_WITH_AS(branching(T(1.0)),
                       "all_reduce: the body of a loop or branch cannot communicate, since processes may run it "
                       "differently often; call it before or after",
                       tyto::GraphError);
  group.barrier();
}

TEST_CASE("collective calls are never merged, folded or dropped, and are refused in a loop") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: effects");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

}  // namespace distributed_tests
