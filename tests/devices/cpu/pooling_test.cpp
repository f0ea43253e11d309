// SPDX-License-Identifier: MIT
// Pooling and its gradients for drawn geometries against nested loops over the definition.
#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/products/pooling/pooling.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

// Calls window(output element, input elements under the window, taps of the whole window).
template <class Window>
void for_each_window(const PoolingProblem& p, const Window& window) {
  WindowAxis axes[3];
  for (std::size_t axis = 0; axis < p.axes.size(); ++axis) axes[3 - p.axes.size() + axis] = p.axes[axis];
  const std::int64_t out[3] = {axes[0].output(), axes[1].output(), axes[2].output()};
  const auto at = [&](int axis, std::int64_t position, std::int64_t tap) {
    return position * axes[axis].stride + tap * axes[axis].dilation - axes[axis].pad_before;
  };
  const auto inside = [&](int axis, std::int64_t coordinate) {
    return coordinate >= 0 && coordinate < axes[axis].input;
  };
  for (std::int64_t number = 0; number < p.batch * out[0] * out[1] * out[2] * p.channels; ++number) {
    const std::int64_t c = number % p.channels, pixel = number / p.channels;
    const std::int64_t x = pixel % out[2], y = pixel / out[2] % out[1], z = pixel / (out[2] * out[1]) % out[0];
    const std::int64_t n = pixel / (out[2] * out[1] * out[0]);
    std::vector<std::int64_t> under;
    for (std::int64_t kz = 0; kz < axes[0].kernel; ++kz) {
      for (std::int64_t ky = 0; ky < axes[1].kernel; ++ky) {
        for (std::int64_t kx = 0; kx < axes[2].kernel; ++kx) {
          const std::int64_t iz = at(0, z, kz), iy = at(1, y, ky), ix = at(2, x, kx);
          if (!inside(0, iz) || !inside(1, iy) || !inside(2, ix)) continue;
          under.push_back((((n * axes[0].input + iz) * axes[1].input + iy) * axes[2].input + ix) * p.channels + c);
        }
      }
    }
    window(number, under, axes[0].kernel * axes[1].kernel * axes[2].kernel);
  }
}

template <class T>
bool is_nan(T value) {
  return std::isnan(as_double(value));
}

template <class T>
void check_pooling(const PoolingProblem& p, const KernelChoice& choice, Draw& draw) {
  std::int64_t in_size = p.batch * p.channels, out_size = in_size;
  for (const WindowAxis& axis : p.axes) in_size *= axis.input, out_size *= axis.output();
  Fenced<T> input(in_size), gradient(out_size), result(p.backward ? in_size : out_size);
  input.draw(draw);
  gradient.draw(draw);
  // Equal values and NaN decide whose gradient it is.
  for (std::int64_t i = 0; i + 1 < in_size; ++i) {
    if (draw.below(4) == 0) input[i + 1] = input[i];
    if constexpr (!std::is_integral_v<T>) {
      if (draw.below(50) == 0) input[i] = T(std::numeric_limits<float>::quiet_NaN());
    }
  }
  const Pooling pooling = prepare_pooling(p, choice);
  Bytes workspace(pooling.workspace_bytes());
  pooling.run({input.data(), gradient.data(), result.data(), workspace.data()});

  std::vector<double> sum(static_cast<std::size_t>(result.size())), magnitude(sum);
  std::int64_t wrong = 0;
  for_each_window(p, [&](std::int64_t out, const std::vector<std::int64_t>& under, std::int64_t taps) {
    if (p.kind == PoolingKind::maximum) {
      std::int64_t greatest = -1;
      for (const std::int64_t i : under) {
        if (greatest < 0 || as_double(input[i]) > as_double(input[greatest]) || is_nan(input[i])) greatest = i;
      }
      if (p.backward) {
        if (greatest < 0) return;
        sum[static_cast<std::size_t>(greatest)] += as_double(gradient[out]);
        magnitude[static_cast<std::size_t>(greatest)] += std::abs(as_double(gradient[out]));
      } else if (greatest < 0) {
        if constexpr (std::is_integral_v<T>) {
          wrong += result[out] != std::numeric_limits<T>::lowest();
        } else {
          wrong += as_double(result[out]) != -std::numeric_limits<double>::infinity();
        }
      } else if (is_nan(input[greatest])) {
        wrong += !is_nan(result[out]);
      } else {
        wrong += as_double(result[out]) != as_double(input[greatest]);
      }
      return;
    }
    const std::int64_t counted = p.count_padding ? taps : static_cast<std::int64_t>(under.size());
    double total = 0, size = 0;
    for (const std::int64_t i : under) {
      if (p.backward) {
        sum[static_cast<std::size_t>(i)] += as_double(gradient[out]) / static_cast<double>(counted);
        magnitude[static_cast<std::size_t>(i)] += std::abs(as_double(gradient[out])) / static_cast<double>(counted);
      } else {
        total += as_double(input[i]) / static_cast<double>(counted);
        size += std::abs(as_double(input[i])) / static_cast<double>(counted);
      }
    }
    if (!p.backward) wrong += std::isnan(total) ? !is_nan(result[out]) : !is_sum(result[out], total, size, taps + 1);
  });
  if (p.backward) {
    for (std::int64_t i = 0; i < in_size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      wrong += !is_sum(result[i], sum[at], magnitude[at], 64);
    }
  }
  CHECK(wrong == 0);
}

template <class T>
void check_drawn_poolings(int cases) {
  constexpr bool floating = !std::is_integral_v<T>;
  for (int number = 0; number < cases; ++number) {
    Draw draw(static_cast<std::uint64_t>(number) + 3000 * static_cast<std::uint64_t>(dtype_of<T>));
    PoolingProblem p;
    p.dtype = dtype_of<T>;
    p.batch = draw.of({0, 1, 2, 3});
    p.channels = draw.of({0, 1, 3, 10, 17, 28, 64, 70, 130});
    const std::int64_t rank = 1 + draw.below(3);
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      p.axes.push_back({rank == 1 ? draw.of({0, 1, 30}) : draw.of({1, 4, 7, 8}), draw.of({1, 2, 3}), draw.of({1, 2, 3}),
                        draw.of({1, 1, 2}), draw.below(3), draw.below(3)});
    }
    for (const PoolingKind kind : {PoolingKind::maximum, PoolingKind::average}) {
      for (const bool backward : {false, true}) {
        if (!floating && (backward || kind == PoolingKind::average)) continue;
        p.kind = kind;
        p.backward = backward;
        p.count_padding = draw.coin();
        CAPTURE(number);
        CAPTURE(backward);
        CAPTURE(static_cast<int>(kind));
        check_pooling<T>(p, {Implementation::own, {}, static_cast<int>(1 + draw.below(3))}, draw);
      }
    }
  }
}

PoolingProblem line(std::int64_t input, std::int64_t kernel, std::int64_t stride) {
  PoolingProblem p;
  p.axes = {{input, kernel, stride, 1, 0, 0}};
  return p;
}

}  // namespace

TEST_CASE("pooling and its gradients are right for drawn geometries and types") {
  check_drawn_poolings<float>(60);
  check_drawn_poolings<double>(30);
  check_drawn_poolings<Half>(20);
  check_drawn_poolings<BFloat16>(20);
  check_drawn_poolings<std::uint8_t>(10);
  check_drawn_poolings<std::int8_t>(10);
  check_drawn_poolings<std::int16_t>(10);
  check_drawn_poolings<std::int32_t>(10);
  check_drawn_poolings<std::int64_t>(10);
  check_drawn_poolings<bool>(10);
}

TEST_CASE("the gradient of a maximum goes to the first of equal elements") {
  PoolingProblem p = line(4, 4, 4);
  p.backward = true;
  const float input[4] = {1, 5, 5, 2}, gradient[1] = {3};
  float result[4];
  prepare_pooling(p).run({input, gradient, result, nullptr});
  CHECK(result[0] == 0);
  CHECK(result[1] == 3);
  CHECK(result[2] == 0);
  CHECK(result[3] == 0);
}

TEST_CASE("not-a-number under a window is its maximum") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float input[4] = {1, nan, 7, 2};
  float result[2];
  prepare_pooling(line(4, 2, 2)).run({input, nullptr, result, nullptr});
  CHECK(std::isnan(result[0]));
  CHECK(result[1] == 7);
}

TEST_CASE("averages of integers and gradients of integer maxima are refused") {
  PoolingProblem p = line(4, 2, 2);
  p.dtype = DType::i32;
  p.kind = PoolingKind::average;
  CHECK_THROWS_WITH_AS(prepare_pooling(p), "pooling: averages and gradients need a floating type, got i32", TypeError);
  p.axes[0].stride = 0;
  CHECK_THROWS_WITH_AS(prepare_pooling(p), "pooling: stride and dilation must be at least 1, got 0 and 1", ValueError);
}

}  // namespace tyto::cpu
