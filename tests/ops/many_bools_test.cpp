// SPDX-License-Identifier: MIT
// Operators over bools, few and many of them, dense and not: different loops compute them.
#include <cstdint>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;

BOTH_MODES("logical operators on few and many bools, dense or not, go element by element") {
  using T = Tensor<Mode>;
  for (const std::int64_t count : {5, 4095, 4096, 5003, 100001}) {
    CAPTURE(count);
    const T a = equal(T::arange(count) * 7 % 5 % 2, 0), b = equal(T::arange(count) % 3, 0);
    const auto check = [&](const T& found, const auto& expected) {
      std::vector<bool> wanted;
      for (std::int64_t i = 0; i < count; ++i) wanted.push_back(expected(i * 7 % 5 % 2 == 0, i % 3 == 0));
      CHECK(found.template to_vector<bool>() == wanted);
    };
    check(logical_not(a), [](bool x, bool) { return !x; });
    check(logical_and(a, b), [](bool x, bool y) { return x && y; });
    check(logical_or(a, b), [](bool x, bool y) { return x || y; });
    check(logical_xor(a, b), [](bool x, bool y) { return x != y; });
    check(bitwise_and(a, b), [](bool x, bool y) { return x && y; });
    check(equal(a, b), [](bool x, bool y) { return x == y; });
    check(flip(logical_not(flip(a))), [](bool x, bool) { return !x; });
    check(logical_and(a, true), [](bool x, bool) { return x; });
  }
}
