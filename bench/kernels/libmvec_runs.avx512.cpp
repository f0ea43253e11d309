// SPDX-License-Identifier: MIT
// Loops over glibc's AVX-512 functions, which are found by name in libmvec.so.1.
#include "bench/kernels/libmvec_runs.hpp"

#include <dlfcn.h>
#include <immintrin.h>

#include <initializer_list>

namespace tyto::bench {
namespace {

// One function at a time is timed; the loop finds it here.
__m512 (*function_f32)(__m512) = nullptr;
__m512d (*function_f64)(__m512d) = nullptr;

void* symbol(const char* prefix, const char* name, const char* suffix) {
  static void* const library = dlopen("libmvec.so.1", RTLD_NOW);
  char text[64];
  std::size_t length = 0;
  for (const char* part : {prefix, name, suffix}) {
    while (*part != '\0' && length + 1 < sizeof text) text[length++] = *part++;
  }
  text[length] = '\0';
  return library == nullptr ? nullptr : dlsym(library, text);
}

void loop_f32(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 16) _mm512_storeu_ps(y + i, function_f32(_mm512_loadu_ps(x + i)));
}
void loop_f64(const double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 8) _mm512_storeu_pd(y + i, function_f64(_mm512_loadu_pd(x + i)));
}

}  // namespace

void (*libmvec_f32(const char* name))(const float*, float*, std::size_t) {
  function_f32 = reinterpret_cast<__m512 (*)(__m512)>(symbol("_ZGVeN16v_", name, "f"));
  return function_f32 == nullptr ? nullptr : loop_f32;
}
void (*libmvec_f64(const char* name))(const double*, double*, std::size_t) {
  function_f64 = reinterpret_cast<__m512d (*)(__m512d)>(symbol("_ZGVeN8v_", name, ""));
  return function_f64 == nullptr ? nullptr : loop_f64;
}

}  // namespace tyto::bench
