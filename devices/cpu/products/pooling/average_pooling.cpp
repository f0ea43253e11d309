// SPDX-License-Identifier: MIT
// Average pooling in f32 and f64 and its gradient.
#include <algorithm>

#include "devices/cpu/products/pooling/pooling_routine.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

template <class T>
class AveragePooling final : public PoolingRoutine {
 public:
  AveragePooling(const PoolingProblem& problem, const KernelChoice& choice)
      : plan_(problem, choice),
        sums_(tiles<T>(choice.set()).pixel_sums),
        backward_(problem.backward),
        count_padding_(problem.count_padding),
        pitch_(problem.result_pitch != 0 ? problem.result_pitch : problem.channels),
        of_input_(window_pairs_of(plan_.axes, WindowPairs::of_input)) {}

  void run(const PoolingArguments& arguments) const override {
    run_team(plan_.threads, [&](Team team) {
      if (backward_) {
        spread(arguments, team);
      } else {
        gather(arguments, team);
      }
    });
  }

 private:
  // Elements that the average at an output position is divided by; counted axis by axis.
  std::int64_t divisor(std::size_t axis, std::int64_t out) const noexcept {
    return count_padding_ ? plan_.axes[axis].kernel : plan_.of_output[axis].at(out).size();
  }

  void gather(const PoolingArguments& arguments, Team team) const noexcept {
    const std::int64_t channels = plan_.channels;
    const Range mine = share(plan_.batch * product_of(plan_.output), team.member, team.size);
    for_each_run(plan_, mine, [&](const WindowRun& run) {
      T* out = static_cast<T*>(arguments.result) + run.pixel * pitch_;
      const bool seen = fold_windows(plan_, run, static_cast<const T*>(arguments.input), channels, out, pitch_, sums_);
      const std::int64_t seen_by_each = divisor(0, run.at[0]) * divisor(1, run.at[1]) * divisor(2, run.at[2]);
      const auto count = static_cast<T>(std::max<std::int64_t>(seen_by_each, 1));
      for (std::int64_t i = 0; i < run.length; ++i, out += pitch_) {
        if (!seen) std::fill_n(out, channels, T(0));
        for (std::int64_t c = 0; c < channels; ++c) out[c] /= count;
      }
    });
  }

  // Divided by input pixels, so that members write different elements and the order of sums is the same for any team.
  void spread(const PoolingArguments& arguments, Team team) const noexcept {
    const Extents &input = plan_.input, &output = plan_.output;
    const std::int64_t pixels = product_of(input), channels = plan_.channels;
    const Range mine = share(plan_.batch * pixels, team.member, team.size);
    for (std::int64_t pixel = mine.begin; pixel < mine.end; ++pixel) {
      const T* image =
          static_cast<const T*>(arguments.output_gradient) + pixel / pixels * product_of(output) * channels;
      T* out = static_cast<T*>(arguments.result) + pixel * channels;
      std::fill_n(out, channels, T(0));
      for (const auto [tap_z, z] : of_input_[0].at(pixel / (input[2] * input[1]) % input[0])) {
        for (const auto [tap_y, y] : of_input_[1].at(pixel / input[2] % input[1])) {
          for (const auto [tap_x, x] : of_input_[2].at(pixel % input[2])) {
            const T* from = image + ((z * output[1] + y) * output[2] + x) * channels;
            const auto count = static_cast<T>(divisor(0, z) * divisor(1, y) * divisor(2, x));
            for (std::int64_t c = 0; c < channels; ++c) out[c] += from[c] / count;
          }
        }
      }
    }
  }

  PoolingPlan plan_;
  PixelFoldFunction<T> sums_;
  bool backward_, count_padding_;
  std::int64_t pitch_;  // elements from pixel to pixel of a forward result
  AxisWindowPairs of_input_;
};

}  // namespace

std::unique_ptr<PoolingRoutine> prepare_average_pooling(const PoolingProblem& problem, const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return std::make_unique<AveragePooling<double>>(problem, choice);
  return std::make_unique<AveragePooling<float>>(problem, choice);
}

}  // namespace tyto::cpu
