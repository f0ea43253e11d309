// SPDX-License-Identifier: MIT
// Nanoseconds an element of each vector function, for each instruction set, beside libm and libmvec: vector_math_bench
// [name...].
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#if TYTO_HAVE_X86_ISA
#include "bench/kernels/libmvec_runs.hpp"
#endif
#include "devices/cpu/system/instruction_set.hpp"
#include "tests/devices/vector_math_runs.hpp"

namespace {

using namespace tyto;

constexpr std::size_t count = 4096;

/// The best of many rounds: other programs can only make a round slower.
template <class Body>
double nanoseconds_an_element(Body body) {
  double best = 1e300;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) body();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count() / (4.0 * count));
  }
  return best;
}

template <class T>
struct Libm {
  const char* name;
  T (*one)(T);
  T (*two)(T, T);
};

#define TYTO_LIBM_ONE(f) {#f, [](T x) { return std::f(x); }, nullptr},
#define TYTO_LIBM_TWO(f) {#f, nullptr, [](T x, T y) { return std::f(x, y); }},
template <class T>
const std::vector<Libm<T>>& libm() {
  // clang-format off
  static const std::vector<Libm<T>> rows = {
      TYTO_LIBM_ONE(exp) TYTO_LIBM_ONE(exp2) TYTO_LIBM_ONE(expm1) TYTO_LIBM_ONE(sinh) TYTO_LIBM_ONE(cosh)
      TYTO_LIBM_ONE(tanh) TYTO_LIBM_ONE(log) TYTO_LIBM_ONE(log2) TYTO_LIBM_ONE(log10) TYTO_LIBM_ONE(log1p)
      TYTO_LIBM_ONE(asinh) TYTO_LIBM_ONE(acosh) TYTO_LIBM_ONE(atanh) TYTO_LIBM_ONE(sin) TYTO_LIBM_ONE(cos)
      TYTO_LIBM_ONE(tan) TYTO_LIBM_ONE(asin) TYTO_LIBM_ONE(acos) TYTO_LIBM_ONE(atan) TYTO_LIBM_ONE(cbrt)
      TYTO_LIBM_ONE(sqrt) TYTO_LIBM_ONE(erf) TYTO_LIBM_ONE(erfc) TYTO_LIBM_ONE(lgamma)
      TYTO_LIBM_TWO(pow) TYTO_LIBM_TWO(atan2) TYTO_LIBM_TWO(hypot) TYTO_LIBM_TWO(fmod)};
  // clang-format on
  return rows;
}

/// The libm function that a loop computes; sin_run is of sin.
template <class T>
Libm<T> libm_of(const char* name) {
  for (const Libm<T>& row : libm<T>()) {
    const std::size_t length = std::strlen(row.name);
    if (std::strncmp(row.name, name, length) == 0 &&
        (name[length] == '\0' || std::strcmp(name + length, "_run") == 0)) {
      return row;
    }
  }
  return {nullptr, nullptr, nullptr};
}

std::vector<const test::VectorMathRuns*> sets;

bool wanted(const char* name, int argc, char** argv) {
  return argc < 2 || std::any_of(argv + 1, argv + argc, [&](const char* one) { return std::strcmp(one, name) == 0; });
}

void show(double value) {
  if (value > 0) {
    std::printf(" %9.3f", value);
  } else {
    std::printf(" %9s", "-");
  }
}

template <class T>
void measure(const test::UnaryRun<T>* test::VectorMathRuns::*table,
             const test::BinaryRun<T>* test::VectorMathRuns::*pairs, int argc, char** argv) {
  std::mt19937 random(1);
  // Within the domain of every function; acosh and log alone want more than 0, which the second half gives.
  std::uniform_real_distribution<T> uniform(T(0.01), T(0.99)), spread(1, 4);
  std::vector<T> x(count), big(count), other(count), y(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = uniform(random), big[i] = spread(random), other[i] = spread(random);
  const auto in_domain = [&](const char* name) -> const std::vector<T>& {
    const bool unit = std::strcmp(name, "asin") == 0 || std::strcmp(name, "acos") == 0 ||
                      std::strcmp(name, "atanh") == 0 || std::strcmp(name, "erfinv") == 0;
    return unit ? x : big;
  };
  for (std::size_t row = 0; (sets[0]->*table)[row].name != nullptr; ++row) {
    const char* name = (sets[0]->*table)[row].name;
    if (!wanted(name, argc, argv)) continue;
    const std::vector<T>& input = in_domain(name);
    std::printf("%-18s f%-3zu", name, sizeof(T) * 8);
    for (std::size_t set = 0; set < 3; ++set) {
      show(set < sets.size()
               ? nanoseconds_an_element([&] { (sets[set]->*table)[row].run(input.data(), y.data(), count); })
               : 0);
    }
    const Libm<T> scalar = libm_of<T>(name);
    show(scalar.one != nullptr ? nanoseconds_an_element([&] {
      for (std::size_t i = 0; i < count; ++i) y[i] = scalar.one(input[i]);
    })
                               : 0);
    double vector = 0;
#if TYTO_HAVE_X86_ISA
    if (sets.size() == 3 && scalar.name != nullptr) {
      auto* const run = [&] {
        if constexpr (sizeof(T) == 4) {
          return bench::libmvec_f32(scalar.name);
        } else {
          return bench::libmvec_f64(scalar.name);
        }
      }();
      if (run != nullptr) vector = nanoseconds_an_element([&] { run(input.data(), y.data(), count); });
    }
#endif
    show(vector);
    std::printf("\n");
  }
  for (std::size_t row = 0; (sets[0]->*pairs)[row].name != nullptr; ++row) {
    const char* name = (sets[0]->*pairs)[row].name;
    if (!wanted(name, argc, argv)) continue;
    std::printf("%-18s f%-3zu", name, sizeof(T) * 8);
    for (std::size_t set = 0; set < 3; ++set) {
      show(set < sets.size() ? nanoseconds_an_element(
                                   [&] { (sets[set]->*pairs)[row].run(big.data(), other.data(), y.data(), count); })
                             : 0);
    }
    const Libm<T> scalar = libm_of<T>(name);
    show(scalar.two != nullptr ? nanoseconds_an_element([&] {
      for (std::size_t i = 0; i < count; ++i) y[i] = scalar.two(big[i], other[i]);
    })
                               : 0);
    show(0);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  sets.push_back(&test::baseline::vector_math_runs);
#if TYTO_HAVE_X86_ISA
  if (cpu::widest_instruction_set() >= cpu::InstructionSet::avx2) sets.push_back(&test::avx2::vector_math_runs);
  if (cpu::widest_instruction_set() >= cpu::InstructionSet::avx512) sets.push_back(&test::avx512::vector_math_runs);
#endif
  std::printf("%-23s%9s %9s %9s %9s %9s   (ns an element, %zu elements in cache)\n", "", "baseline", "avx2", "avx512",
              "libm", "libmvec", count);
  measure<float>(&test::VectorMathRuns::unary_f32, &test::VectorMathRuns::binary_f32, argc, argv);
  measure<double>(&test::VectorMathRuns::unary_f64, &test::VectorMathRuns::binary_f64, argc, argv);
}
