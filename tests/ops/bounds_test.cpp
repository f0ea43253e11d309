// SPDX-License-Identifier: MIT
// Bounds of integer arguments: both ends are accepted, and numbers beyond either, or farther than 64 bits can count,
// are refused.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tyto/tyto.hpp"

namespace bounds {

using namespace tyto;

namespace {

template <class T>
struct Bound {
  std::string function;
  std::int64_t least, greatest;
  std::function<T(std::int64_t)> call;
};

/// What is read tells of faults that only a kernel sees.
template <class T>
void read(const T& x) {
  (void)x.bytes();
}

template <class T>
void check(const Bound<T>& bound) {
  CAPTURE(bound.function);
  CHECK_NOTHROW(read(bound.call(bound.least)));
  CHECK_NOTHROW(read(bound.call(bound.greatest)));
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                         highest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t beyond : {bound.least - 1, bound.greatest + 1, lowest, highest}) {
    CAPTURE(beyond);
    CHECK_THROWS_AS(read(bound.call(beyond)), Error);
  }
}

}  // namespace

BOTH_MODES("elements and counts within a tensor are taken up to both ends, and refused beyond them") {
  using T = Tensor<Mode>;
  const T line{5.0, 3.0, 1.0, 4.0, 2.0}, table = reshape(T::arange(0, 6, 1, DType::f32), {2, 3});
  const auto at = [](std::int64_t i) { return T::full({1}, i, DType::i64); };
  const Bound<T> list[] = {
      {"partition", -5, 4, [&](auto k) { return partition(line, k); }},
      {"argpartition", -5, 4, [&](auto k) { return argpartition(line, k); }},
      {"partition along rows", -2, 1, [&](auto k) { return partition(table, k, 0); }},
      {"topk", 0, 5, [&](auto k) { return topk(line, k).values; }},
      {"topk along rows", 0, 2, [&](auto k) { return topk(table, k, 0).indices; }},
      {"x(i)", -5, 4, [&](auto i) { return line.get({i}); }},
      {"x(all, i)", -3, 2,
       [&](auto i) {
         return table.get({all, i});
       }},
      {"set", -5, 4, [&](auto i) { return set(line, {i}, T(7.0)); }},
      {"x(tensor)", -5, 4, [&](auto i) { return line.get({at(i)}); }},
      {"take", -5, 4, [&](auto i) { return take(line, at(i)); }},
      {"take of many", -5, 4, [&](auto i) { return take(line, T::full({40}, i, DType::i64)); }},
      {"take of rows", -2, 1, [&](auto i) { return take(table, at(i), 0); }},
      {"take_along_axis", -5, 4, [&](auto i) { return take_along_axis(line, at(i), 0); }},
      {"gather", -2, 1,
       [&](auto i) {
         return gather(table, {at(i), at(0)});
       }},
      {"gather, second axis", -3, 2,
       [&](auto i) {
         return gather(table, {at(0), at(i)});
       }},
      {"scatter", -5, 4, [&](auto i) { return scatter(line, {at(i)}, T(7.0)); }},
      {"scatter_add", -5, 4, [&](auto i) { return scatter_add(line, {at(i)}, T(7.0)); }},
      {"unravel_index", 0, 5,
       [&](auto i) {
         return unravel_index(at(i), {2, 3})[0];
       }},
  };
  for (const Bound<T>& bound : list) {
    // Recorded positions are not looked at, as they are not known.
    if (std::is_same_v<Mode, Lazy> && bound.function == "unravel_index") continue;
    check(bound);
  }
}

BOTH_MODES("an axis is counted from either end, and none is beyond the last") {
  using T = Tensor<Mode>;
  const T x = reshape(T::arange(0, 6, 1, DType::f32), {2, 3}) + 1.0;
  const T places = T::zeros({2, 3}, DType::i64);
  const Bound<T> list[] = {
      {"sum", -2, 1, [&](auto a) { return sum(x, Axes(a)); }},
      {"prod", -2, 1, [&](auto a) { return prod(x, Axes(a)); }},
      {"mean", -2, 1, [&](auto a) { return mean(x, Axes(a)); }},
      {"var", -2, 1, [&](auto a) { return var(x, Axes(a)); }},
      {"max", -2, 1, [&](auto a) { return max(x, Axes(a)); }},
      {"any", -2, 1, [&](auto a) { return any(x > 2.0, Axes(a)); }},
      {"logsumexp", -2, 1, [&](auto a) { return logsumexp(x, Axes(a)); }},
      {"argmax", -2, 1, [&](auto a) { return argmax(x, a); }},
      {"cumsum", -2, 1, [&](auto a) { return cumsum(x, a); }},
      {"cumprod", -2, 1, [&](auto a) { return cumprod(x, a); }},
      {"cummax", -2, 1, [&](auto a) { return cummax(x, a); }},
      {"sort", -2, 1, [&](auto a) { return sort(x, a); }},
      {"argsort", -2, 1, [&](auto a) { return argsort(x, a); }},
      {"topk", -2, 1, [&](auto a) { return topk(x, 1, a).values; }},
      {"partition", -2, 1, [&](auto a) { return partition(x, 1, a); }},
      {"softmax", -2, 1, [&](auto a) { return softmax(x, a); }},
      {"log_softmax", -2, 1, [&](auto a) { return log_softmax(x, a); }},
      {"flip", -2, 1, [&](auto a) { return flip(x, Axes(a)); }},
      {"repeat", -2, 1, [&](auto a) { return repeat(x, 2, a); }},
      {"roll", -2, 1, [&](auto a) { return roll(x, {1}, {a}); }},
      {"transpose", -2, 0,
       [&](auto a) {
         return transpose(x, {1, a});
       }},
      {"moveaxis", -2, 1, [&](auto a) { return moveaxis(x, a, 0); }},
      {"swapaxes", -2, 1, [&](auto a) { return swapaxes(x, 0, a); }},
      {"concat", -2, 1,
       [&](auto a) {
         return concat(std::vector<T>{x, x}, a);
       }},
      {"stack", -3, 2,
       [&](auto a) {
         return stack(std::vector<T>{x, x}, a);
       }},
      {"expand_dims", -3, 2, [&](auto a) { return expand_dims(x, Axes(a)); }},
      {"take", -2, 1, [&](auto a) { return take(x, T::zeros({1}, DType::i64), a); }},
      {"take_along_axis", -2, 1, [&](auto a) { return take_along_axis(x, places, a); }},
      {"median", -2, 1, [&](auto a) { return median(x, Axes(a)); }},
      {"diff", -2, 1, [&](auto a) { return diff(x, 1, a); }},
      {"trapezoid", -2, 1, [&](auto a) { return trapezoid(x, a); }},
      {"fft", -2, 1, [&](auto a) { return abs(fft::fft(x, {.axis = a})); }},
      {"l2_norm", -2, 1, [&](auto a) { return l2_norm(x, Axes(a)); }},
      {"split", -2, 1, [&](auto a) { return split(x, 1, a)[0]; }},
  };
  for (const Bound<T>& bound : list) check(bound);
}

BOTH_MODES("shares are taken from 0 to 1, both included") {
  using T = Tensor<Mode>;
  const T line{5.0, 3.0, 1.0, 4.0, 2.0};
  CHECK(quantile(line, 0).template item<float>() == 1);
  CHECK(quantile(line, 1).template item<float>() == 5);
  CHECK(nanquantile(line, 0).template item<float>() == 1);
  CHECK(nanquantile(line, 1).template item<float>() == 5);
  for (const double beyond : {std::nextafter(0.0, -1.0), std::nextafter(1.0, 2.0), double(NAN)}) {
    CAPTURE(beyond);
    CHECK_THROWS_AS(quantile(line, beyond), ValueError);
    CHECK_THROWS_AS(nanquantile(line, beyond), ValueError);
  }
}

}  // namespace bounds
