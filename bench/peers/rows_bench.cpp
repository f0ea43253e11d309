// SPDX-License-Identifier: MIT
// Every line of docs/numpy.md with large operands, in eager mode on one thread: reads "ROW COUNT KIND" lines and
// answers each with the nanoseconds of the processor that one call takes and the elements of its result, or with why
// there is none. rows_peers.py asks, and measures the peers in between.
#include <algorithm>
#include <cmath>
#include <complex>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

namespace {

using namespace tyto;
using Tensor = tyto::Tensor<tyto::Eager>;

/// Seconds of this process' one thread: what else the machine does is not counted.
double seconds_of(const std::function<void()>& call, int calls) {
  const std::clock_t begin = std::clock();
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double fastest(const std::function<void()>& call) {
  const double first = seconds_of(call, 1);
  if (first > 0.5) return first;
  const int calls = static_cast<int>(std::clamp(0.01 / std::max(seconds_of(call, 1), 1e-9), 1.0, 10000.0));
  double best = seconds_of(call, calls);
  for (int round = 0; round < 3; ++round) best = std::min(best, seconds_of(call, calls));
  return best / calls;
}

/// Numbers from 0 to 2^32 that nothing predicts, as rows_peers.py makes them.
Tensor scattered(std::int64_t count) {
  constexpr std::int64_t range = std::int64_t{1} << 32;
  const Tensor i = Tensor::arange(count) * std::int64_t{2654435761} % range;
  return bitwise_xor(i, right_shift(i, 15)) * std::int64_t{1103515245} % range;
}

/// The inputs of the lines of the page, of about `count` elements.
struct Operands {
  Tensor x, a, b, c, v, m, z;

  Operands(std::int64_t count, bool floats) {
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count)));
    const auto reals = [](std::int64_t n) { return (scattered(n).astype(DType::f32) - 2147483648.0) / 16777216.0; };
    const auto numbers = [&](std::int64_t n) { return floats ? reals(n) : scattered(n) % n - n / 2; };
    x = numbers(side * side).reshape({side, side});
    a = reals(side * side).reshape({side, side}) / 128;
    b = reals(side);
    c = matmul(a.T(), a) / static_cast<double>(side) + Tensor::eye(side);
    v = numbers(count);
    m = equal(scattered(count) % 2, 0);
    z = Tensor(reals(count)).astype(DType::c64) * std::complex<double>(1, 2);
  }
};

template <class F>
std::int64_t elements_of(const F& row) {
  using Result = decltype(row());
  if constexpr (std::is_void_v<Result>) {
    row();
    return -1;
  } else {
    const auto result = row();
    if constexpr (std::is_base_of_v<Tensor, std::decay_t<Result>>) return result.size();
    else return -1;
  }
}

struct Rows : Operands {
  std::vector<std::function<std::int64_t()>> list;

  Rows(std::int64_t count, bool floats) : Operands(count, floats) {
#define LET(other, name, ...)
#define OBJECT(other, type, name, ...)
#define SECTION(title)
#define ROW(other, value, ...) list.push_back([this] { return elements_of([&] { return __VA_ARGS__; }); });
#define CHANGE(other, value, name, ...)
#define EAGER ROW
#include "docs/generate/numpy_rows.inc"
#undef LET
#undef OBJECT
#undef SECTION
#undef ROW
#undef CHANGE
#undef EAGER
  }
};

}  // namespace

int main() {
  tyto::threads(1);
  // A line whose result grows with the square of its operands shall fail instead of taking the machine with it.
  const rlimit memory{rlim_t{6} << 30, rlim_t{6} << 30};
  setrlimit(RLIMIT_AS, &memory);
  std::unique_ptr<Rows> rows;
  std::string made_for;
  std::size_t row = 0;
  std::string kind;
  for (std::int64_t count = 0; std::cin >> row >> count >> kind;) {
    if (const std::string wanted = kind + std::to_string(count); wanted != made_for) {
      rows = std::make_unique<Rows>(count, kind == "floats");
      made_for = wanted;
    }
    try {
      const auto& call = rows->list.at(row);
      const std::int64_t elements = call();
      const double nanoseconds = fastest([&] { (void)call(); }) * 1e9;
      std::cout << nanoseconds << ' ' << elements << std::endl;
    } catch (const std::exception& error) {
      std::string reason = error.what();
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      std::cout << "- " << reason << std::endl;
    }
  }
}
