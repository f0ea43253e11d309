// SPDX-License-Identifier: MIT
// Finds performance cliffs: the cost of an element to a chain of operators in shapes, layouts and types that are
// neighbours of contiguous f32[600, 600], in both modes on one thread. Prints cells above twice the neighbour's cost.
//
// Usage: neighbours_bench [CHAIN [VARIANT]] prints every cell of the chains and variants whose names hold these words.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/tyto.hpp>

#include "bench/process_usage.hpp"

namespace {

using namespace tyto;
using bench::thread_seconds;

/// Seconds of one call: the fastest of many short runs, since other load can only add time.
double fastest(const std::function<void()>& call) {
  call();
  call();
  double best = std::numeric_limits<double>::infinity();
  const double begin = thread_seconds();
  while (thread_seconds() - begin < 0.02) {
    const double start = thread_seconds();
    call();
    best = std::min(best, thread_seconds() - start);
  }
  return best;
}

template <class M>
struct Chain {
  const char* name;
  Tensor<M> (*run)(const Tensor<M>& a, const Tensor<M>& b);
  bool floats = false;  // means something for floating-point numbers only
};

#define CHAIN(name, ...)                                                           \
  {                                                                                \
    name, [](const T& a, [[maybe_unused]] const T& b) -> T { return __VA_ARGS__; } \
  }
#define FLOAT_CHAIN(name, ...)                                                           \
  {                                                                                      \
    name, [](const T& a, [[maybe_unused]] const T& b) -> T { return __VA_ARGS__; }, true \
  }
template <class M, class T = Tensor<M>>
std::vector<Chain<M>> chains() {
  return {CHAIN("a + b", a + b),
          CHAIN("a * b + a", a * b + a),
          CHAIN("a >= b", a >= b),
          CHAIN("a * a * a - a * 2 + 1", a * a * a - a * 2 + 1),
          CHAIN("fmin", fmin(a, b)),
          CHAIN("where", where(greater(a, b), a, b)),
          CHAIN("bitwise_and of comparisons", bitwise_and(greater(a, b), greater(b, 0))),
          CHAIN("astype f32", a.astype(DType::f32) * 2),
          FLOAT_CHAIN("exp", exp(a)),
          FLOAT_CHAIN("tanh(a) * b", tanh(a) * b),
          FLOAT_CHAIN("sqrt(abs(a))", sqrt(abs(a))),
          CHAIN("sum of all", sum(a)),
          CHAIN("sum((a - b) ^ 2)", sum((a - b) * (a - b))),
          FLOAT_CHAIN("l2_norm", l2_norm(a)),
          CHAIN("max of all", max(a)),
          CHAIN("any of all", any(equal(a, 9999))),
          CHAIN("sum, axis 0", sum(a, {0})),
          CHAIN("max, axis 0", max(a, {0})),
          CHAIN("sum, axis 1", sum(a, {1})),
          CHAIN("mean, axis 1", mean(a, {1})),
          CHAIN("prod, axis 1", prod(a, {1})),
          CHAIN("max, axis 1", max(a, {1})),
          CHAIN("any, axis 1", any(a, {1})),
          CHAIN("argmax, axis 1", argmax(a, 1)),
          FLOAT_CHAIN("var, axis 1", var(a, {1})),
          FLOAT_CHAIN("logsumexp, axis 1", logsumexp(a, {1})),
          FLOAT_CHAIN("softmax, axis 1", softmax(a, 1)),
          FLOAT_CHAIN("layer norm", (a - mean(a, {1}, true)) / sqrt(var(a, {1}, true) + 1e-5)),
          CHAIN("a - max, axis 1", a - max(a, {1}, true)),
          CHAIN("cumsum, axis 1", cumsum(a, 1)),
          CHAIN("sort, axis 1", sort(a, 1)),
          CHAIN("concat, axis 0", concat({a, a}, 0)),
          CHAIN("transposed copy", a.T() + 0)};
}

enum class Layout { rows, transposed, one_transposed, strided, reversed, row_of_b, column_of_b };

struct Variant {
  const char* name;
  Shape shape;
  DType dtype = DType::f32;
  Layout layout = Layout::rows;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {{"base", {600, 600}},
                                           {"odd sides", {599, 601}},
                                           {"20 x 20", {20, 20}},
                                           {"rows of 1", {360000, 1}},
                                           {"rows of 2", {180000, 2}},
                                           {"rows of 3", {120000, 3}},
                                           {"rows of 17", {21176, 17}},
                                           {"rows of 60", {6000, 60}},
                                           {"one row", {1, 360000}},
                                           {"three rows", {3, 120000}},
                                           {"transposed", {600, 600}, DType::f32, Layout::transposed},
                                           {"one transposed", {600, 600}, DType::f32, Layout::one_transposed},
                                           {"every second column", {600, 600}, DType::f32, Layout::strided},
                                           {"reversed", {600, 600}, DType::f32, Layout::reversed},
                                           {"b a row", {600, 600}, DType::f32, Layout::row_of_b},
                                           {"b a column", {600, 600}, DType::f32, Layout::column_of_b},
                                           {"f64", {600, 600}, DType::f64},
                                           {"f64 transposed", {600, 600}, DType::f64, Layout::transposed},
                                           {"f64 rows of 1", {360000, 1}, DType::f64},
                                           {"f64 rows of 3", {120000, 3}, DType::f64},
                                           {"f16", {600, 600}, DType::f16},
                                           {"i32", {600, 600}, DType::i32},
                                           {"i32 transposed", {600, 600}, DType::i32, Layout::transposed},
                                           {"i32 rows of 1", {360000, 1}, DType::i32},
                                           {"i64", {600, 600}, DType::i64},
                                           {"u8", {600, 600}, DType::u8},
                                           {"u8 transposed", {600, 600}, DType::u8, Layout::transposed}};
  return all;
}

/// Numbers between -5 and 5 that nothing predicts.
template <class M>
Tensor<M> scattered(const Shape& shape, DType dtype, std::int64_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(shape[0] * shape[1]));
  std::uint64_t state = static_cast<std::uint64_t>(seed);
  for (float& number : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<float>(state >> 40) * 0x1p-24f * 10 - 5;
  }
  return Tensor<M>::from(numbers, shape).astype(dtype);
}

template <class M>
Tensor<M> operand(const Variant& variant, std::int64_t number) {
  const Shape& shape = variant.shape;
  const Tensor<M> dense = scattered<M>(shape, variant.dtype, number);
  switch (variant.layout) {
    case Layout::rows: return dense;
    case Layout::transposed: return dense.T();
    case Layout::one_transposed: return number == 1 ? dense.T() : dense;
    case Layout::strided: return scattered<M>({shape[0], 2 * shape[1]}, variant.dtype, number)(all, slice({}, {}, 2));
    case Layout::reversed: return dense(all, slice({}, {}, -1));
    case Layout::row_of_b: return number == 1 ? dense : dense(slice(0, 1));
    case Layout::column_of_b: return number == 1 ? dense : dense(all, slice(0, 1));
  }
  return dense;
}

/// Nanoseconds an element of `a`.
double cost(const Chain<Eager>& chain, const Variant& variant) {
  const Tensor<Eager> a = operand<Eager>(variant, 1), b = operand<Eager>(variant, 2);
  return fastest([&] { chain.run(a, b); }) * 1e9 / static_cast<double>(a.size());
}

double cost(const Chain<Lazy>& chain, const Variant& variant) {
  Tensor<Lazy> a = operand<Lazy>(variant, 1), b = operand<Lazy>(variant, 2);
  eval({a, b});
  auto compiled = compile([&](const Tensor<Lazy>& x, const Tensor<Lazy>& y) { return chain.run(x, y); });
  return fastest([&] { compiled(a, b); }) * 1e9 / static_cast<double>(a.size());
}

template <class M>
void measure(const char* mode, std::string_view chain_words, std::string_view variant_words, bool all) {
  const std::vector<Chain<M>> list = chains<M>();
  for (const Chain<M>& chain : list) {
    if (std::string_view(chain.name).find(chain_words) == std::string_view::npos) continue;
    const double base = cost(chain, variants().front());
    for (const Variant& variant : variants()) {
      if (std::string_view(variant.name).find(variant_words) == std::string_view::npos) continue;
      if (chain.floats && variant.dtype != DType::f16 && variant.dtype != DType::f32 && variant.dtype != DType::f64)
        continue;
      const double nanoseconds = cost(chain, variant);
      const double wider = std::max(1.0, static_cast<double>(size_of(variant.dtype)) / 4);
      const double ratio = nanoseconds / base / wider;
      if (!all && ratio <= 2) continue;
      std::printf("%-6s %-28s %-20s %8.3f ns an element, base %6.3f, %6.1f x\n", mode, chain.name, variant.name,
                  nanoseconds, base, ratio);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  threads(1);
  const char* chain = count > 1 ? arguments[1] : "";
  const char* variant = count > 2 ? arguments[2] : "";
  std::puts("cost relative to f32[600, 600]; types of 8 bytes are allowed twice its cost");
  measure<Eager>("eager", chain, variant, count > 1);
  measure<Lazy>("lazy", chain, variant, count > 1);
}
