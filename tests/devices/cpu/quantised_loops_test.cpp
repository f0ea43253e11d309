// SPDX-License-Identifier: MIT
// Loops over weights of few bits of every instruction set against the same sums in double precision.
#include <bit>
#include <cmath>

#include <doctest/doctest.h>

#include "devices/cpu/products/quantised/quantised_loops.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu::quantised_loops_test {

using namespace testing;

namespace {

struct Case {
  int bits;
  std::int64_t block, depth, columns;
  bool zeros;

  std::int64_t blocks() const { return (depth + block - 1) / block; }
  std::int64_t column_bytes() const { return blocks() * block * bits / 8; }
};

/// Weights that end where their memory does.
struct Weights {
  Case of;
  Fenced<std::uint8_t> numbers;
  Fenced<float> scales, points;

  Weights(const Case& c, Draw& draw)
      : of(c), numbers(c.columns * c.column_bytes()), scales(c.columns * c.blocks()), points(c.columns * c.blocks()) {
    for (std::int64_t i = 0; i < c.columns * c.column_bytes(); ++i) {
      numbers[i] = static_cast<std::uint8_t>(draw.below(256));
    }
    scales.draw(draw);
    for (std::int64_t i = 0; i < c.columns * c.blocks(); ++i) points[i] = static_cast<float>(draw.below(1 << c.bits));
  }

  const float* scales_of(std::int64_t j) const { return &scales[j * of.blocks()]; }
  const float* points_of(std::int64_t j) const { return of.zeros ? &points[j * of.blocks()] : nullptr; }

  float at(std::int64_t j, std::int64_t k) const {
    const std::int64_t in_byte = 8 / of.bits, block = j * of.blocks() + k / of.block;
    const int number = numbers[j * of.column_bytes() + k / in_byte] >> (k % in_byte * of.bits) & ((1 << of.bits) - 1);
    const float zero = of.zeros ? points[block] : static_cast<float>(1 << (of.bits - 1));
    return (static_cast<float>(number) - zero) * scales[block];
  }
};

template <class F>
void for_each_case(const F& check) {
  Draw draw(5);
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    CAPTURE(name_of(set));
    const QuantisedLoops loops = quantised_loops(set);
    for (const int bits : {2, 4, 8}) {
      for (const std::int64_t block : {16, 32, 64, 256}) {
        for (const std::int64_t depth : {1, 16, 33, 100, 256, 300, 517}) {
          for (const bool zeros : {false, true}) {
            const Case c{bits, block, depth, loops.columns, zeros};
            CAPTURE(bits);
            CAPTURE(block);
            CAPTURE(depth);
            CAPTURE(zeros);
            check(loops, c, draw);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("dot products with weights of few bits are those with the numbers that they stand for") {
  for_each_case([](const QuantisedLoops& loops, const Case& c, Draw& draw) {
    const Weights weights(c, draw);
    const std::int64_t numbers_in_vector = loops.lanes * (32 / c.bits);
    const std::int64_t vectors = (c.depth + numbers_in_vector - 1) / numbers_in_vector;
    for (int rows = 1; rows <= most_quantised_rows; ++rows) {
      Fenced<float> a(rows * c.depth), arranged(rows * vectors * numbers_in_vector), y(rows * c.columns);
      a.draw(draw);
      QuantisedDots d;
      d.bits = c.bits;
      d.words_shift = std::countr_zero(static_cast<std::uint64_t>(c.block * c.bits / 32));
      d.depth = c.depth;
      d.a = &arranged[0];
      d.a_row = vectors * numbers_in_vector;
      d.rows = rows;
      d.columns = static_cast<int>(c.columns);
      d.c = &y[0];
      d.c_row = c.columns;
      for (int r = 0; r < rows; ++r) {
        loops.arrange(c.bits, &a[r * c.depth], c.depth, vectors, &arranged[r * d.a_row]);
      }
      for (std::int64_t j = 0; j < c.columns; ++j) {
        d.numbers[j] = &weights.numbers[j * c.column_bytes()];
        d.scales[j] = weights.scales_of(j);
        d.zeros[j] = weights.points_of(j);
      }
      loops.dots(d);
      std::int64_t wrong = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t j = 0; j < c.columns; ++j) {
          double sum = 0, size = 0;
          for (std::int64_t k = 0; k < c.depth; ++k) {
            const double product = static_cast<double>(a[r * c.depth + k]) * static_cast<double>(weights.at(j, k));
            sum += product;
            size += std::abs(product);
          }
          wrong += !(std::abs(static_cast<double>(y[r * c.columns + j]) - sum) <= 1e-6 * size);
        }
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("panels of weights of few bits hold the numbers that they stand for, bit for bit") {
  for_each_case([](const QuantisedLoops& loops, const Case& given, Draw& draw) {
    Case c = given;
    c.columns = loops.lanes;
    const Weights weights(c, draw);
    for (const std::int64_t first : {0, 8, 40}) {
      if (first >= c.depth) continue;
      const std::int64_t pitch = loops.lanes + 3;
      Fenced<float> to((c.depth - first - 1) * pitch + loops.lanes);
      QuantisedPanel p;
      p.bits = c.bits;
      p.block = c.block;
      p.numbers = &weights.numbers[0];
      p.first = first;
      p.steps = c.depth - first;
      p.first_block = first / c.block;
      p.to = &to[0];
      p.pitch = pitch;
      for (std::int64_t j = 0; j < c.columns; ++j) {
        p.offsets[j] = static_cast<std::int32_t>(j * c.column_bytes());
        p.scales[j] = weights.scales_of(j) + p.first_block;
        p.zeros[j] = c.zeros ? weights.points_of(j) + p.first_block : nullptr;
      }
      loops.panel(p);
      std::int64_t wrong = 0;
      for (std::int64_t k = first; k < c.depth; ++k) {
        for (std::int64_t j = 0; j < c.columns; ++j) {
          wrong += std::bit_cast<std::uint32_t>(to[(k - first) * pitch + j]) !=
                   std::bit_cast<std::uint32_t>(weights.at(j, k));
        }
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("packed numbers are unpacked from any of them on") {
  const std::uint8_t packed[] = {0xb1, 0x4e, 0x27};
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    const QuantisedLoops loops = quantised_loops(set);
    float to[5] = {};
    loops.unpack(4, packed, 1, 5, to);
    CHECK(std::vector<float>(to, to + 5) == std::vector<float>{11, 14, 4, 7, 2});
    loops.unpack(2, packed, 4, 5, to);
    CHECK(std::vector<float>(to, to + 5) == std::vector<float>{2, 3, 0, 1, 3});
    loops.unpack(8, packed, 0, 3, to);
    CHECK(std::vector<float>(to, to + 3) == std::vector<float>{177, 78, 39});
  }
}

}  // namespace tyto::cpu::quantised_loops_test
