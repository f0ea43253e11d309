// SPDX-License-Identifier: MIT
// Integer quotients and remainders of 64 bits against arithmetic in 128 bits: by one number for all, by many, and by
// every divisor at the limits of reciprocals.
#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace integer_division_test {

using namespace tyto;

namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

struct Divided {
  std::int64_t quotient, remainder, rest;  // rounded down, with the divisor's sign, with the dividend's
};

Divided divided(std::int64_t a, std::int64_t b) {
  if (b == 0) return {0, 0, 0};
  const Wide x = a, y = b, rest = x % y;
  const bool moved = rest != 0 && (rest < 0) != (y < 0);
  const Wide quotient = x / y - (moved ? 1 : 0);
  return {static_cast<std::int64_t>(static_cast<unsigned long long>(quotient)),
          static_cast<std::int64_t>(rest + (moved ? y : 0)), static_cast<std::int64_t>(rest)};
}

/// Numbers round powers of two and the ends, of both signs, and some that nothing predicts.
std::vector<std::int64_t> notable_numbers() {
  std::vector<std::int64_t> list;
  for (int bit = 0; bit < 63; ++bit) {
    for (std::int64_t off = -2; off <= 2; ++off) {
      const std::int64_t number = (std::int64_t{1} << bit) + off;
      list.push_back(number);
      list.push_back(-number);
    }
  }
  for (std::int64_t off = 0; off < 4; ++off) {
    list.push_back(most - off);
    list.push_back(least + off);
  }
  std::uint64_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    list.push_back(static_cast<std::int64_t>(state) >> (i % 60));
  }
  return list;
}

template <class T>
void check(const std::vector<std::int64_t>& dividends, const T& x, const T& divisor, std::int64_t by) {
  const auto quotients = floor_divide(x, divisor).template to_vector<std::int64_t>();
  const auto remainders = remainder(x, divisor).template to_vector<std::int64_t>();
  const auto rests = fmod(x, divisor).template to_vector<std::int64_t>();
  int wrong = 0;
  for (std::size_t i = 0; i < dividends.size(); ++i) {
    const Divided want = divided(dividends[i], by);
    wrong += quotients[i] != want.quotient || remainders[i] != want.remainder || rests[i] != want.rest;
  }
  CAPTURE(by);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("quotients by one number are those of 128-bit arithmetic, whatever the number") {
  using T = Tensor<Eager>;
  const std::vector<std::int64_t> dividends = notable_numbers();
  const T x = T::from(dividends, {static_cast<std::int64_t>(dividends.size())});
  for (const std::int64_t by : notable_numbers()) check(dividends, x, T(by), by);
  for (std::int64_t by = -300; by <= 300; ++by) check(dividends, x, T(by), by);
}

TEST_CASE("quotients by rows of numbers, by columns and in fused loops are the same") {
  using T = Tensor<Eager>;
  const std::vector<std::int64_t> numbers = notable_numbers();
  const auto count = static_cast<std::int64_t>(numbers.size());
  const T x = T::from(numbers, {count});
  const auto both = [](const auto& a, const auto& b) { return floor_divide(a, b) * 2 + remainder(a, b); };
  const T rows = both(x.reshape({1, count}), x.reshape({count, 1}));
  CHECK(array_equal(rows, both(x.reshape({count, 1}), x.reshape({1, count})).T()));
  auto compiled = compile([&](Tensor<Lazy> a, Tensor<Lazy> b) { return both(a, b); });
  using L = Tensor<Lazy>;
  const L y = L::from(numbers, {count});
  const L fused = compiled(y.reshape({1, count}), y.reshape({count, 1}));
  CHECK(fused.to_vector<std::int64_t>() == rows.to_vector<std::int64_t>());
}

}  // namespace integer_division_test
