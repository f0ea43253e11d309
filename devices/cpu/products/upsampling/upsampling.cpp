// SPDX-License-Identifier: MIT
// Up-sampling as a weighted sum along each axis: forward and gradient are the same loop over different weights.
#include "devices/cpu/products/upsampling/upsampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <tyto/error.hpp>

#include "core/value/text.hpp"
#include "devices/cpu/products/half_routine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

using UpsamplingRoutine = Routine<UpsamplingArguments>;

namespace {

std::int64_t nearest(std::int64_t out, std::int64_t in_extent, std::int64_t out_extent) noexcept {
  return std::min(out * in_extent / out_extent, in_extent - 1);
}

// Source coordinates and their weights for each coordinate of the result along one axis.
class AxisWeights {
 public:
  struct Part {
    std::int64_t at;
    double weight;
  };

  AxisWeights(UpsamplingKind kind, bool backward, std::int64_t in_extent, std::int64_t out_extent) {
    std::vector<std::vector<Part>> lists(static_cast<std::size_t>(backward ? in_extent : out_extent));
    const auto add = [&](std::int64_t in, std::int64_t out, double weight) {
      if (weight != 0) lists[static_cast<std::size_t>(backward ? in : out)].push_back({backward ? out : in, weight});
    };
    for (std::int64_t out = 0; in_extent > 0 && out < out_extent; ++out) {
      if (kind == UpsamplingKind::nearest) {
        add(nearest(out, in_extent, out_extent), out, 1.0);
        continue;
      }
      const double scale = static_cast<double>(in_extent) / static_cast<double>(out_extent);
      const double place = std::max((static_cast<double>(out) + 0.5) * scale - 0.5, 0.0);
      const std::int64_t below = std::min(static_cast<std::int64_t>(place), in_extent - 1);
      const std::int64_t above = std::min(below + 1, in_extent - 1);
      const double weight = place - static_cast<double>(below);
      if (above == below) {
        add(below, out, 1.0);
      } else {
        add(below, out, 1.0 - weight);
        add(above, out, weight);
      }
    }
    starts_.push_back(0);
    for (const auto& list : lists) {
      parts_.insert(parts_.end(), list.begin(), list.end());
      starts_.push_back(parts_.size());
    }
  }

  const Part* begin(std::int64_t coordinate) const noexcept {
    return parts_.data() + starts_[static_cast<std::size_t>(coordinate)];
  }
  const Part* end(std::int64_t coordinate) const noexcept { return begin(coordinate + 1); }

 private:
  std::vector<Part> parts_;
  std::vector<std::size_t> starts_;
};

int threads_of(const UpsamplingProblem& p, const KernelChoice& choice) {
  if (choice.threads > 0) return choice.threads;
  const double elements = static_cast<double>(p.batch * p.channels) *
                          static_cast<double>(std::max(p.in_height * p.in_width, p.out_height * p.out_width));
  return threads_for(elements);  // about a nanosecond each
}

template <class T>
class WeightedUpsampling final : public UpsamplingRoutine {
 public:
  WeightedUpsampling(const UpsamplingProblem& p, const KernelChoice& choice)
      : batch_(p.batch),
        channels_(p.channels),
        height_(p.backward ? p.in_height : p.out_height),
        width_(p.backward ? p.in_width : p.out_width),
        source_height_(p.backward ? p.out_height : p.in_height),
        source_width_(p.backward ? p.out_width : p.in_width),
        source_pitch_(p.source_pitch != 0 ? p.source_pitch : p.channels),
        result_pitch_(p.result_pitch != 0 ? p.result_pitch : p.channels),
        threads_(threads_of(p, choice)),
        rows_(p.kind, p.backward, p.in_height, p.out_height),
        columns_(p.kind, p.backward, p.in_width, p.out_width) {}

  void run(const UpsamplingArguments& arguments) const override {
    run_team(threads_, [&](Team team) {
      const Range mine = share(batch_ * height_, team.member, team.size);
      for (std::int64_t line = mine.begin; line < mine.end; ++line) {
        const T* image =
            static_cast<const T*>(arguments.source) + line / height_ * source_height_ * source_width_ * source_pitch_;
        T* out = static_cast<T*>(arguments.result) + line * width_ * result_pitch_;
        for (std::int64_t x = 0; x < width_; ++x, out += result_pitch_) sum(image, line % height_, x, out);
      }
    });
  }

 private:
  void sum(const T* image, std::int64_t y, std::int64_t x, T* out) const noexcept {
    std::fill_n(out, channels_, T(0));
    for (auto row = rows_.begin(y); row != rows_.end(y); ++row) {
      for (auto column = columns_.begin(x); column != columns_.end(x); ++column) {
        const T* from = image + (row->at * source_width_ + column->at) * source_pitch_;
        const T weight = static_cast<T>(row->weight * column->weight);
        for (std::int64_t c = 0; c < channels_; ++c) out[c] += weight * from[c];
      }
    }
  }

  std::int64_t batch_, channels_, height_, width_, source_height_, source_width_, source_pitch_, result_pitch_;
  int threads_;
  AxisWeights rows_, columns_;
};

class NearestCopy final : public UpsamplingRoutine {
 public:
  NearestCopy(const UpsamplingProblem& problem, const KernelChoice& choice)
      : p_(problem),
        pixel_bytes_(static_cast<std::size_t>(problem.channels) * size_of(problem.dtype)),
        source_step_(bytes_between(problem, problem.source_pitch)),
        result_step_(bytes_between(problem, problem.result_pitch)),
        threads_(threads_of(problem, choice)) {}

  void run(const UpsamplingArguments& arguments) const override {
    run_team(threads_, [&](Team team) {
      const Range mine = share(p_.batch * p_.out_height, team.member, team.size);
      for (std::int64_t line = mine.begin; line < mine.end; ++line) {
        const std::int64_t row =
            line / p_.out_height * p_.in_height + nearest(line % p_.out_height, p_.in_height, p_.out_height);
        for (std::int64_t x = 0; x < p_.out_width; ++x) {
          const std::int64_t from = row * p_.in_width + nearest(x, p_.in_width, p_.out_width);
          std::memcpy(static_cast<std::byte*>(arguments.result) +
                          static_cast<std::size_t>(line * p_.out_width + x) * result_step_,
                      static_cast<const std::byte*>(arguments.source) + static_cast<std::size_t>(from) * source_step_,
                      pixel_bytes_);
        }
      }
    });
  }

 private:
  static std::size_t bytes_between(const UpsamplingProblem& p, std::int64_t pitch) {
    return static_cast<std::size_t>(pitch != 0 ? pitch : p.channels) * size_of(p.dtype);
  }

  UpsamplingProblem p_;
  std::size_t pixel_bytes_;
  std::size_t source_step_, result_step_;  // bytes from pixel to pixel
  int threads_;
};

}  // namespace

Upsampling prepare_upsampling(const UpsamplingProblem& p, const KernelChoice& choice) {
  if (p.batch < 0 || p.channels < 0 || p.in_height < 0 || p.in_width < 0 || p.out_height < 0 || p.out_width < 0) {
    throw ValueError("upsampling: extents must not be negative");
  }
  if ((p.in_height == 0 || p.in_width == 0) && p.batch * p.channels * p.out_height * p.out_width != 0) {
    core::throw_error<ValueError>("upsampling: an empty image of ", p.in_height, " x ", p.in_width,
                                  " pixels cannot become ", p.out_height, " x ", p.out_width);
  }
  if (p.kind == UpsamplingKind::nearest && !p.backward) return Upsampling(std::make_shared<NearestCopy>(p, choice));
  if (!is_floating(p.dtype)) {
    core::throw_error<TypeError>("upsampling: bilinear and gradients need a floating type, got ", name_of(p.dtype));
  }
  if (is_half(p.dtype)) {
    using Half = HalfRoutine<UpsamplingArguments>;
    const std::int64_t images = p.batch * p.channels;
    const std::int64_t in = images * p.in_height * p.in_width, out = images * p.out_height * p.out_width;
    const std::vector<Half::Operand> operands{{&UpsamplingArguments::source, p.backward ? out : in}};
    auto in_f32 = std::make_unique<WeightedUpsampling<float>>(p, choice);
    return Upsampling(
        std::make_shared<Half>(p.dtype, threads_of(p, choice), std::move(in_f32), operands, p.backward ? in : out));
  }
  if (p.dtype == DType::f64) return Upsampling(std::make_shared<WeightedUpsampling<double>>(p, choice));
  return Upsampling(std::make_shared<WeightedUpsampling<float>>(p, choice));
}

}  // namespace tyto::cpu
