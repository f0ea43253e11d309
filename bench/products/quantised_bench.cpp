// SPDX-License-Identifier: MIT
// Products with weights of few bits against the same product of f32, and against how fast memory is read.
//
// Usage: quantised_bench [THREADS [ROWS COLUMNS DEPTH]]
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

#include "bench/measurement.hpp"

namespace {

using namespace tyto;
using L = Tensor<Lazy>;

struct Extents {
  std::int64_t rows, columns, depth;
};

// A layer whose f32 weights fit in caches and one whose do not, and what lies between a column and a vector of words.
constexpr Extents all_extents[] = {{1, 1024, 1024}, {8, 1024, 1024},   {128, 1024, 1024}, {1, 4096, 4096},
                                   {8, 4096, 4096}, {128, 4096, 4096}, {1, 4096, 64},     {1, 4096, 96}};

// Bytes a second, of memory too large for caches.
double read_speed(int threads) {
  const std::int64_t count = std::int64_t{1} << 26;
  const Tensor<Eager> memory = Tensor<Eager>::ones({count});
  return static_cast<double>(count) * 4 / bench::fastest(threads, [&] { sum(memory); });
}

/// One product, its weights constant.
std::function<void()> product(const L& rows, const L& result) {
  auto graph = std::make_shared<Graph>(GraphSpec{.inputs = {rows}, .outputs = {result}});
  return [graph, rows, given = L::ones(rows.shape())] {
    graph->set(rows, given);  // or the run would have nothing to do
    graph->run();
  };
}

void report(int threads, const Extents& e, double speed) {
  const L weights = L::constant(L::normal({e.columns, e.depth}, {.key = Key{1, 2}}));
  std::vector<std::function<void()>> bodies;
  std::vector<double> bytes;
  const auto add = [&](const auto& result, double weight_bytes) {
    const L rows = L::placeholder({e.rows, e.depth}, DType::f32, "rows");
    bodies.push_back(product(rows, result(rows)));
    bytes.push_back(weight_bytes);
  };
  const auto elements = static_cast<double>(e.columns * e.depth);
  add([&](const L& rows) { return matmul(rows, transpose(weights)); }, elements * 4);
  for (const std::int64_t bits : {8, 4, 2}) {
    const QuantisedWeights<Lazy> few = quantise(weights, {.bits = bits, .block = 32});
    const QuantisedWeights<Lazy> stored{L::constant(few.numbers), L::constant(few.scales), {}, bits};
    add([&](const L& rows) { return quantised_matmul(rows, stored); },
        elements * static_cast<double>(bits) / 8 + elements / 32 * 4);
  }
  const std::vector<double> seconds = bench::compare(threads, bodies, 1.0);
  std::printf("%4lld x %4lld x %4lld", static_cast<long long>(e.rows), static_cast<long long>(e.columns),
              static_cast<long long>(e.depth));
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    std::printf("  %8.1f", seconds[i] * 1e6);
    if (i > 0) std::printf(" %5.2f", seconds[i] / seconds[0]);
    std::printf(" %4.0f%%", 100 * bytes[i] / seconds[i] / speed);
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** values) {
  if (count > 1) threads(std::atoi(values[1]));
  const int used = threads();
  const double speed = read_speed(used);
  std::printf(
      "%d threads, memory is read at %.1f GB/s; microseconds, times those of f32, weights read, %% of that\n"
      "rows, columns, depth           f32             8 bits             4 bits             2 bits\n",
      used, speed * 1e-9);
  if (count == 5) {
    report(used, {std::atoll(values[2]), std::atoll(values[3]), std::atoll(values[4])}, speed);
    return 0;
  }
  for (const Extents& extents : all_extents) report(used, extents, speed);
}
