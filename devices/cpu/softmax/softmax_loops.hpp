// The inner loops of softmax and log_softmax: one line, or neighbouring columns, at a time.
#pragma once

#include <cstdint>

#include <tyto/dtype.hpp>

namespace tyto::cpu {

/// Most columns that SoftmaxLoops::columns takes at once.
inline constexpr std::int64_t softmax_columns = 256;

struct SoftmaxLoops {
  /// `count` elements that follow one another, to as many results; both may be the same memory.
  void (*line)(const void* x, void* y, std::int64_t count) = nullptr;
  /// `count` rows of `width` elements; rows lie x_step and y_step elements apart.
  void (*columns)(const void* x, std::int64_t x_step, void* y, std::int64_t y_step, std::int64_t count,
                  std::int64_t width) = nullptr;
};

namespace baseline {
SoftmaxLoops softmax_loops(bool logarithm, DType dtype);
}
namespace avx2 {
SoftmaxLoops softmax_loops(bool logarithm, DType dtype);
}
namespace avx512 {
SoftmaxLoops softmax_loops(bool logarithm, DType dtype);
}

}  // namespace tyto::cpu
