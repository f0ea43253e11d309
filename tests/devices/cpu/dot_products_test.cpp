// SPDX-License-Identifier: MIT
// Dot products of every length, for every instruction set: small integers, whose sums are exact in any order.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "tests/support/guarded_pages.hpp"

namespace tyto::cpu::dot_products_test {

namespace {

template <class T>
class LastElements : public tyto::testing::AtTheEnd<T> {
 public:
  LastElements(std::int64_t count, std::int64_t first) : tyto::testing::AtTheEnd<T>(count) {
    for (std::int64_t i = 0; i < count; ++i) this->data()[i] = static_cast<T>((7 * i + first) % 11 - 5);
  }
};

struct Case {
  std::int64_t steps, columns;
  int rows;   ///< 0: each column has a row of its own
  bool adds;  ///< a bias and what stands in the result already, between limits
};

template <class T>
void check(const TileSet<T>& set, const Case& c) {
  CAPTURE(c.steps);
  CAPTURE(c.columns);
  CAPTURE(c.rows);
  CAPTURE(c.adds);
  const bool own = c.rows == 0;
  const std::int64_t lines = own ? c.columns : c.rows, results = own ? 1 : c.rows;
  const LastElements<T> x(lines * c.steps, 3), y(c.columns * c.steps, 8), bias(c.columns, 1);
  std::vector<T> out(static_cast<std::size_t>(results * c.columns), T(2));
  std::vector<const T*> rows;
  std::vector<std::int64_t> offsets;
  for (std::int64_t r = 0; r < results; ++r) {
    rows.push_back(x.data() + r * c.steps);
    offsets.push_back(r * c.columns);
  }
  DotArguments<T> t;
  t.rows = rows.data();
  t.row_count = static_cast<int>(results);
  t.row_step = own ? c.steps : 0;
  t.b = y.data();
  t.b_step = c.steps;
  t.steps = c.steps;
  t.columns = c.columns;
  t.c = out.data();
  t.c_offsets = offsets.data();
  if (c.adds) {
    t.bias = bias.data();
    t.accumulate = true;
    t.limits = {T(-20), T(30)};
  }
  set.dots(t);
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < results; ++r) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      std::int64_t expected = 0;
      for (std::int64_t i = 0; i < c.steps; ++i) {
        expected += static_cast<std::int64_t>(x.data()[(own ? j : r) * c.steps + i] * y.data()[j * c.steps + i]);
      }
      if (c.adds) {
        expected += static_cast<std::int64_t>(bias.data()[j]) + 2;
        expected = expected < -20 ? -20 : expected > 30 ? 30 : expected;
      }
      wrong += out[static_cast<std::size_t>(r * c.columns + j)] != static_cast<T>(expected);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("dot products of every length read their operands and no further", T, float, double) {
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    CAPTURE(name_of(set));
    for (std::int64_t steps = 0; steps <= 150; steps += steps < 40 ? 1 : 11) {
      for (const std::int64_t columns : {1, 3, 4, 9}) {
        for (int rows = 0; rows <= dot_rows; ++rows) {
          check(tiles<T>(set), {steps, columns, rows, false});
          check(tiles<T>(set), {steps, columns, rows, true});
        }
      }
    }
  }
}

}  // namespace tyto::cpu::dot_products_test
