// SPDX-License-Identifier: MIT
// Carries that change places through views, and the registers of a carried line that are shifted one by one in either
// order: compilers that write carries back one after the other lose values here.
#include <doctest/doctest.h>

#include <array>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/flow/programs.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace registers {

using flow_programs::whole;
using tyto::all;
using tyto_test::doubles;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("two carries change places through transposes and reshapes, for every count") {
  using T = tyto::Tensor<Mode>;
  using Two = std::pair<T, T>;
  auto f = tyto::compile([](T n, T a, T b) {
    const auto [x, y] = fori_loop(0, n, Two(a, b), [](const T&, const Two& s) {
      return Two(s.second.T(), reshape(reshape(s.first, {4}), {2, 2}));
    });
    return stack(std::vector<T>{x, y});
  });
  std::array<double, 4> a{1, 2, 3, 4}, b{5, 6, 7, 8};
  const T first = doubles<T>({1, 2, 3, 4}, {2, 2}), second = doubles<T>({5, 6, 7, 8}, {2, 2});
  for (std::int64_t n = 0; n < 9; ++n) {
    CAPTURE(n);
    Numbers expected(a.begin(), a.end());
    expected.insert(expected.end(), b.begin(), b.end());
    CHECK(numbers(f(whole<T>(n), first, second)) == expected);
    const std::array<double, 4> before = a;
    a = {b[0], b[2], b[1], b[3]};
    b = before;
  }
}

BOTH_MODES("a register of four is shifted in order, which moves each value, and in reverse, which spreads the last") {
  using T = tyto::Tensor<Mode>;
  const auto shifted = [](bool reverse) {
    return tyto::compile([reverse](T n, T x) {
      return fori_loop(0, n, x, [reverse](const T& i, const T& c) {
        T line = c;
        for (std::int64_t k = 0; k < 3; ++k) {
          const std::int64_t at = reverse ? 2 - k : k;
          line = set(line, {at}, line(at + 1));
        }
        return set(line, {3}, i.astype(tyto::DType::f64));
      });
    });
  };
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    auto f = shifted(reverse);
    std::array<double, 4> line{10, 20, 30, 40};
    for (std::int64_t n = 0; n < 9; ++n) {
      CAPTURE(n);
      CHECK(numbers(f(whole<T>(n), doubles<T>({10, 20, 30, 40}, {4}))) == Numbers(line.begin(), line.end()));
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t at = reverse ? 2 - k : k;
        line[at] = line[at + 1];
      }
      line[3] = static_cast<double>(n);
    }
  }
}

}  // namespace registers
