// SPDX-License-Identifier: MIT
// Times Fourier transforms of complex and real lines, and functions of complex numbers, in microseconds on one thread.
//
// Usage: fft_bench — `fft_peers.py` beside it prints the times of NumPy and PyTorch on the same lines.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench/measurement.hpp"
#include "tyto/complex.hpp"
#include "tyto/device.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/fft.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;
using T = Tensor<Eager>;

namespace {

struct Lines {
  std::int64_t count, points;
};
constexpr Lines lines[] = {{1, 256},   {1, 1024},   {1, 65536},  {1, 1000000}, {1000, 16},
                           {1000, 64}, {1000, 100}, {100, 1024}, {100, 997},   {10, 10007}};

double microseconds(const std::function<void()>& work) { return 1e6 * bench::fastest(1, work); }

T random(const Shape& shape, DType type) {
  const DType part = real_type(type);
  const T re = T::normal(shape, {.dtype = part, .key = Key{1, 1}});
  return is_complex(type) ? complex(re, T::normal(shape, {.dtype = part, .key = Key{1, 2}})) : re;
}

void measure_transforms(DType type) {
  std::printf("%s      lines   points        fft       rfft      irfft\n", name_of(type));
  for (const Lines& each : lines) {
    const T z = random({each.count, each.points}, type), x = random({each.count, each.points}, real_type(type));
    const T half = fft::rfft(x);
    std::printf("%14lld %8lld %10.1f %10.1f %10.1f\n", static_cast<long long>(each.count),
                static_cast<long long>(each.points), microseconds([&] { fft::fft(z); }),
                microseconds([&] { fft::rfft(x); }), microseconds([&] { fft::irfft(half, {.n = each.points}); }));
    std::fflush(stdout);
  }
  const T plane = random({512, 512}, type);
  std::printf("512 x 512: %10.1f in both axes, %10.1f in the first\n", microseconds([&] { fft::fft2(plane); }),
              microseconds([&] { fft::fft(plane, {.axis = 0}); }));
}

void measure_functions(std::int64_t count) {
  const T a = random({count}, DType::c64), b = random({count}, DType::c64);
  const std::pair<const char*, std::function<T()>> rows[] = {
      {"add", [&] { return a + b; }},         {"multiply", [&] { return a * b; }}, {"divide", [&] { return a / b; }},
      {"abs", [&] { return abs(a); }},        {"exp", [&] { return exp(a); }},     {"sqrt", [&] { return sqrt(a); }},
      {"log", [&] { return log(a); }},        {"tanh", [&] { return tanh(a); }},   {"asin", [&] { return asin(a); }},
      {"power", [&] { return power(a, b); }}, {"sum", [&] { return sum(a); }},
  };
  std::printf("c64 x %lld:", static_cast<long long>(count));
  for (const auto& [name, work] : rows) std::printf(" %s %.1f", name, microseconds(work));
  std::printf("\n");
}

}  // namespace

int main() {
  threads(1);
  for (const DType type : {DType::c64, DType::c128}) measure_transforms(type);
  for (const std::int64_t count : {10000, 1000000}) measure_functions(count);
  const T m = random({512, 512}, DType::c64);
  std::printf("matmul 512 x 512 c64: %.1f\n", microseconds([&] { matmul(m, m); }));
  return 0;
}
