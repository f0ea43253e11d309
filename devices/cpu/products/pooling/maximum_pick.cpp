// SPDX-License-Identifier: MIT
// Picking by maxima; needed for second derivatives only, so written for clarity.
#include "devices/cpu/products/pooling/maximum_pick.hpp"

#include <type_traits>

#include <tyto/error.hpp>

namespace tyto::cpu {

namespace {
template <class T>
using float_or_double = std::conditional_t<std::is_same_v<T, double>, double, float>;
}

MaximumPick::MaximumPick(DType dtype, std::int64_t batch, std::int64_t channels, const std::vector<WindowAxis>& axes)
    : dtype_(dtype),
      batch_(batch),
      channels_(channels),
      axes_(three_axes(axes)),
      window_pairs_(std::make_shared<const AxisWindowPairs>(window_pairs_of(axes_, WindowPairs::of_output))) {
  if (!is_floating(dtype)) throw TypeError("max_pool_pick: takes floating types");
}

template <class T>
void MaximumPick::pick(const T* input, const T* values, T* result) const {
  const Extents in{axes_[0].input, axes_[1].input, axes_[2].input};
  const Extents out{axes_[0].output(), axes_[1].output(), axes_[2].output()};
  for (std::int64_t n = 0; n < batch_; ++n) {
    const std::int64_t image = n * product_of(in) * channels_;
    for (std::int64_t z = 0; z < out[0]; ++z) {
      for (std::int64_t y = 0; y < out[1]; ++y) {
        for (std::int64_t x = 0; x < out[2]; ++x) {
          for (std::int64_t c = 0; c < channels_; ++c) {
            std::int64_t best = -1;
            float_or_double<T> top = 0;
            for (const auto [tap_z, at_z] : (*window_pairs_)[0].at(z)) {
              for (const auto [tap_y, at_y] : (*window_pairs_)[1].at(y)) {
                for (const auto [tap_x, at_x] : (*window_pairs_)[2].at(x)) {
                  const std::int64_t at = image + ((at_z * in[1] + at_y) * in[2] + at_x) * channels_ + c;
                  const auto value = static_cast<float_or_double<T>>(input[at]);
                  if (best < 0 || value > top || value != value) best = at, top = value;
                }
              }
            }
            *result++ = best < 0 ? T(0.0F) : values[best];
          }
        }
      }
    }
  }
}

void MaximumPick::run(const void* input, const void* values, void* result) const {
  const auto typed = [&]<class T>(T) {
    pick(static_cast<const T*>(input), static_cast<const T*>(values), static_cast<T*>(result));
  };
  switch (dtype_) {
    case DType::f16: return typed(Half());
    case DType::bf16: return typed(BFloat16());
    case DType::f64: return typed(double());
    default: return typed(float());
  }
}

}  // namespace tyto::cpu
