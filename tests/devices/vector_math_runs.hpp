// SPDX-License-Identifier: MIT
// The vector mathematics as loops over runs, one table an instruction set: what its test and its benchmark call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tyto::test {

template <class T>
struct UnaryRun {
  const char* name;
  void (*run)(const T* x, T* y, std::size_t n);
};

template <class T>
struct BinaryRun {
  const char* name;
  void (*run)(const T* a, const T* b, T* y, std::size_t n);
};

/// Tables end with a row of nulls; those of one kind have the same rows for every instruction set.
struct VectorMathRuns {
  const UnaryRun<float>* unary_f32;
  const UnaryRun<double>* unary_f64;
  const BinaryRun<float>* binary_f32;
  const BinaryRun<double>* binary_f64;
  const UnaryRun<std::int32_t>* unary_i32;
  const UnaryRun<std::int64_t>* unary_i64;
  const BinaryRun<std::int32_t>* binary_i32;
  const BinaryRun<std::int64_t>* binary_i64;
};

namespace baseline {
extern const VectorMathRuns vector_math_runs;
}
namespace avx2 {
extern const VectorMathRuns vector_math_runs;
}
namespace avx512 {
extern const VectorMathRuns vector_math_runs;
}

}  // namespace tyto::test
