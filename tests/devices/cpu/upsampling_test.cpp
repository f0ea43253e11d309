// SPDX-License-Identifier: MIT
// Up-sampling and its gradients against the definition, and against values worked out by hand.
#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/products/upsampling/upsampling.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

// Weight of an input coordinate in an output coordinate, by the definition of each kind.
double weight(UpsamplingKind kind, std::int64_t in, std::int64_t out, std::int64_t in_extent, std::int64_t out_extent) {
  const double scale = static_cast<double>(in_extent) / static_cast<double>(out_extent);
  if (kind == UpsamplingKind::nearest) return in == out * in_extent / out_extent ? 1.0 : 0.0;
  const double place =
      std::clamp((static_cast<double>(out) + 0.5) * scale - 0.5, 0.0, static_cast<double>(in_extent - 1));
  return std::max(0.0, 1.0 - std::abs(place - static_cast<double>(in)));
}

template <class T>
void check_upsampling(const UpsamplingProblem& p, int threads, Draw& draw) {
  const std::int64_t in_pixels = p.in_height * p.in_width, out_pixels = p.out_height * p.out_width;
  const std::int64_t pitch = p.result_pitch == 0 ? p.channels : p.result_pitch;
  const std::int64_t source_pitch = p.source_pitch == 0 ? p.channels : p.source_pitch;
  Fenced<T> source(p.batch * source_pitch * (p.backward ? out_pixels : in_pixels)),
      result(p.batch * pitch * (p.backward ? in_pixels : out_pixels));
  source.draw(draw);
  const Fenced<T> before = result.copy();
  const Upsampling upsampling = prepare_upsampling(p, {Implementation::own, {}, threads});
  Bytes workspace(upsampling.workspace_bytes());
  upsampling.run({source.data(), result.data(), workspace.data()});
  std::int64_t wrong = 0;
  const std::int64_t height = p.backward ? p.in_height : p.out_height, width = p.backward ? p.in_width : p.out_width;
  const std::int64_t from_height = p.backward ? p.out_height : p.in_height,
                     from_width = p.backward ? p.out_width : p.in_width;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const std::int64_t c = i % pitch, x = i / pitch % width, y = i / (pitch * width) % height;
    const std::int64_t n = i / (pitch * width * height);
    if (c >= p.channels) {  // between the pixels
      wrong += std::memcmp(&result[i], &before[i], sizeof(T)) != 0;
      continue;
    }
    double want = 0, magnitude = 0;
    for (std::int64_t v = 0; v < from_height; ++v) {
      for (std::int64_t u = 0; u < from_width; ++u) {
        const double share =
            p.backward
                ? weight(p.kind, y, v, p.in_height, p.out_height) * weight(p.kind, x, u, p.in_width, p.out_width)
                : weight(p.kind, v, y, p.in_height, p.out_height) * weight(p.kind, u, x, p.in_width, p.out_width);
        if (share == 0) continue;
        const double term = share * as_double(source[((n * from_height + v) * from_width + u) * source_pitch + c]);
        want += term;
        magnitude += std::abs(term);
      }
    }
    wrong += !is_sum(result[i], want, magnitude, 40);
  }
  CHECK(wrong == 0);
}

template <class T>
void check_drawn_upsamplings(int cases) {
  for (int number = 0; number < cases; ++number) {
    Draw draw(static_cast<std::uint64_t>(number) + 5000 * static_cast<std::uint64_t>(dtype_of<T>));
    UpsamplingProblem p;
    p.dtype = dtype_of<T>;
    p.batch = draw.of({0, 1, 2});
    p.channels = draw.of({0, 1, 3, 20});
    p.in_height = draw.of({1, 2, 3, 5});
    p.in_width = draw.of({1, 2, 4, 7});
    p.out_height = draw.of({1, 2, 6, 9, 10});
    p.out_width = draw.of({0, 3, 4, 8, 13});
    for (const UpsamplingKind kind : {UpsamplingKind::nearest, UpsamplingKind::bilinear}) {
      for (const bool backward : {false, true}) {
        if (std::is_integral_v<T> && (backward || kind == UpsamplingKind::bilinear)) continue;
        p.kind = kind;
        p.backward = backward;
        p.source_pitch = sizeof(T) > 2 && draw.coin() ? p.channels + draw.below(9) : 0;
        p.result_pitch = sizeof(T) > 2 && draw.coin() ? p.channels + draw.below(9) : 0;
        CAPTURE(number);
        CAPTURE(backward);
        CAPTURE(static_cast<int>(kind));
        check_upsampling<T>(p, static_cast<int>(1 + draw.below(3)), draw);
      }
    }
  }
}

}  // namespace

TEST_CASE("up-sampling and its gradients are right for drawn sizes and types") {
  check_drawn_upsamplings<float>(60);
  check_drawn_upsamplings<double>(30);
  check_drawn_upsamplings<Half>(20);
  check_drawn_upsamplings<BFloat16>(20);
  check_drawn_upsamplings<std::uint8_t>(10);
  check_drawn_upsamplings<std::int64_t>(10);
}

TEST_CASE("bilinear up-sampling takes pixel centres at halves and holds the border") {
  UpsamplingProblem p;
  p.kind = UpsamplingKind::bilinear;
  p.in_width = 2;
  p.out_width = 4;
  const float source[2] = {1, 2};
  float result[4];
  prepare_upsampling(p).run({source, result, nullptr});
  CHECK(result[0] == 1.0f);
  CHECK(result[1] == 1.25f);
  CHECK(result[2] == 1.75f);
  CHECK(result[3] == 2.0f);
}

TEST_CASE("up-sampling refuses what it cannot do with what was wrong") {
  UpsamplingProblem p;
  p.in_height = 0;
  p.out_height = 2;
  CHECK_THROWS_WITH_AS(prepare_upsampling(p), "upsampling: an empty image of 0 x 1 pixels cannot become 2 x 1",
                       ValueError);
  p.in_height = 1;
  p.kind = UpsamplingKind::bilinear;
  p.dtype = DType::i16;
  CHECK_THROWS_WITH_AS(prepare_upsampling(p), "upsampling: bilinear and gradients need a floating type, got i16",
                       TypeError);
}

}  // namespace tyto::cpu
