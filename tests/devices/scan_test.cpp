// SPDX-License-Identifier: MIT
// Running sums, products, minima and maxima against element-by-element loops.
#include <doctest/doctest.h>

#include <string>

#include "core/graph/op_ids.hpp"
#include "tests/support/placed_tensor.hpp"

namespace scan_test {

using namespace tyto;
using namespace tyto::placed;
using core::OpId;
using core::ScanAttributes;
using placed::Tensor;

namespace {

std::vector<double> scan(OpId op, const ScanAttributes& attributes, const Tensor& x, DType out) {
  return run(cpu::scan_kernels(), op, attributes, {x}, {{out, x.shape()}})[0].values();
}

DType scan_type(OpId op, DType dtype) {
  return is_floating(dtype) || op == OpId::cummin || op == OpId::cummax ? dtype : DType::i64;
}

long double step(OpId op, long double carry, long double value) {
  switch (op) {
    case OpId::cumsum: return carry + value;
    case OpId::cumprod: return carry * value;
    case OpId::cummin: return value < carry || value != value ? value : carry;
    default: return value > carry || value != value ? value : carry;
  }
}

double start(OpId op) {
  return op == OpId::cumsum ? 0 : op == OpId::cumprod ? 1 : op == OpId::cummin ? infinity : -infinity;
}

}  // namespace

TEST_CASE("running sums of a small matrix along either axis") {
  const Tensor x = tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(scan(OpId::cumsum, {1, false, false}, x, DType::f32) == std::vector<double>{1, 3, 6, 4, 9, 15});
  CHECK(scan(OpId::cumsum, {0, false, false}, x, DType::f32) == std::vector<double>{1, 2, 3, 5, 7, 9});
  CHECK(scan(OpId::cumsum, {1, true, false}, x, DType::f32) == std::vector<double>{0, 1, 3, 0, 4, 9});
  CHECK(scan(OpId::cumsum, {1, false, true}, x, DType::f32) == std::vector<double>{6, 5, 3, 15, 11, 6});
  CHECK(scan(OpId::cumsum, {1, true, true}, x, DType::f32) == std::vector<double>{5, 3, 0, 11, 6, 0});
  CHECK(scan(OpId::cumprod, {1, false, false}, x, DType::f32) == std::vector<double>{1, 2, 6, 4, 20, 120});
}

TEST_CASE("running sums of integers are 64 bits wide") {
  CHECK(scan(OpId::cumsum, {0, false, false}, tensor(DType::u8, {3}, {200, 200, 200}), DType::i64) ==
        std::vector<double>{200, 400, 600});
  CHECK(scan(OpId::cumsum, {0, false, false}, tensor(DType::boolean, {3}, {1, 1, 0}), DType::i64) ==
        std::vector<double>{1, 2, 2});
  CHECK(scan(OpId::cumprod, {0, false, false}, tensor(DType::i8, {3}, {-100, 100, 3}), DType::i64) ==
        std::vector<double>{-100, -10000, -30000});
}

TEST_CASE("a running minimum or maximum is NaN from the first NaN on") {
  const Tensor x = tensor(DType::f32, {5}, {3, 1, not_a_number, 0, 9});
  const std::vector<double> low = scan(OpId::cummin, {0, false, false}, x, DType::f32);
  CHECK(low[0] == 3);
  CHECK(low[1] == 1);
  for (std::size_t i = 2; i < 5; ++i) CHECK(low[i] != low[i]);
  CHECK(scan(OpId::cummax, {0, false, false}, tensor(DType::i32, {4}, {1, 3, 2, 5}), DType::i32) ==
        std::vector<double>{1, 3, 3, 5});
}

TEST_CASE("a long running sum of f32 keeps its last digits") {
  const std::int64_t count = 100000;
  Tensor x = dense(DType::f32, {count});
  for (std::int64_t i = 0; i < count; ++i) x.set({i}, 0.1);
  const double tenth = rounded(DType::f32, 0.1);
  CHECK(close(scan(OpId::cumsum, {0, false, false}, x, DType::f32).back(), tenth * static_cast<double>(count), 1e-7));
}

TEST_CASE("long running sums of 16 bits are those of f32, carried from block to block, each rounded to 16 bits") {
  Dice dice(31);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const Shape& shape : {Shape{2600}, Shape{3, 1500}, Shape{1500, 3}, Shape{5, 700}, Shape{40, 1100}}) {
      for (const Layout layout : every_layout) {
        const Tensor x = random(dice, dtype, shape, layout, -3, 4);
        const auto rank = static_cast<std::int64_t>(shape.size());
        const ScanAttributes attributes{dice.below(rank), dice.below(2) == 0, dice.below(2) == 0};
        const auto axis = static_cast<std::size_t>(attributes.axis);
        const std::vector<double> got = scan(OpId::cumsum, attributes, x, dtype);
        std::vector<double> want(got.size());
        Shape lines = shape;
        lines[axis] = 1;
        std::int64_t step = 1;
        for (std::size_t i = axis + 1; i < shape.size(); ++i) step *= shape[i];
        each_index(lines, [&](IntList at) {
          std::int64_t first = 0;
          for (std::size_t i = 0; i < shape.size(); ++i) first = first * shape[i] + at[i];
          double carry = 0;
          for (std::int64_t i = 0; i < shape[axis]; ++i) {
            at[axis] = attributes.reverse ? shape[axis] - 1 - i : i;
            const double before = carry;
            carry += x.at(at);
            // Exact in f64; f32 rounds it, and 16 bits what f32 holds.
            want[static_cast<std::size_t>(first + at[axis] * step)] =
                rounded(dtype, rounded(DType::f32, attributes.exclusive ? before : carry));
          }
        });
        CHECK(got == want);
      }
    }
  }
}

namespace {

void check_scan(OpId op, const ScanAttributes& attributes, const Tensor& x) {
  const Shape& shape = x.shape();
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const DType out = scan_type(op, x.dtype());
  const std::vector<double> got = scan(op, attributes, x, out);
  // Sums of f64 round at every step; the narrower types are carried in f64 and round once.
  const double allowed = !is_floating(out) ? 0 : epsilon(out) * (out == DType::f64 ? 1000 : 2);
  std::size_t at = 0;
  each_index(shape, [&](const IntList& index) {
    long double carry = start(op);
    const std::int64_t end = index[axis], length = shape[axis];
    for (std::int64_t i = attributes.reverse ? length - 1 : 0; i != end; i += attributes.reverse ? -1 : 1) {
      IntList from = index;
      from[axis] = i;
      carry = step(op, carry, x.at(from));
    }
    if (!attributes.exclusive) carry = step(op, carry, x.at(index));
    if (!close(got[at], static_cast<double>(carry), allowed, allowed)) {
      FAIL(std::string(name_of(x.dtype())) << " " << to_string(shape) << " axis " << axis << " at " << to_string(index)
                                           << ": " << got[at] << ", not " << static_cast<double>(carry));
    }
    ++at;
  });
}

}  // namespace

TEST_CASE("every scan, type, layout, axis and direction agrees with a plain loop") {
  Dice dice(30);
  for (const OpId op : {OpId::cumsum, OpId::cumprod, OpId::cummin, OpId::cummax}) {
    for (const DType dtype : every_dtype) {
      for (const Layout layout : every_layout) {
        for (int rank = 1; rank <= 4; ++rank) {
          const Shape shape = random_shape(dice, rank, rank < 3 ? 300 / (rank * rank) : 6);
          const bool product = op == OpId::cumprod;
          const Tensor x =
              random(dice, dtype, shape, layout, product ? (is_floating(dtype) ? 0.9 : -1.2) : -3, product ? 1.1 : 3);
          const ScanAttributes attributes{dice.below(rank), dice.below(2) == 0, dice.below(2) == 0};
          // Nothing comes before the first element of an exclusive minimum but the type's own extreme.
          if (attributes.exclusive && (op == OpId::cummin || op == OpId::cummax) && !is_floating(dtype)) continue;
          check_scan(op, attributes, x);
        }
      }
    }
  }
}

TEST_CASE("scans of many short lines, NaN among them, agree with a plain loop") {
  Dice dice(32);
  for (const OpId op : {OpId::cumsum, OpId::cumprod, OpId::cummin, OpId::cummax}) {
    for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i8, DType::i64}) {
      for (std::int64_t length = 1; length <= 9; ++length) {
        const Layout layout = every_layout[dice.below(6)];
        Tensor x = random(dice, dtype, {1100, length}, layout, -1, 1);
        if (is_floating(dtype)) x.set({dice.below(1100), dice.below(length)}, not_a_number);
        const bool exclusive = (op == OpId::cumsum || op == OpId::cumprod) && dice.below(2) == 0;
        check_scan(op, {1, exclusive, dice.below(2) == 0}, x);
      }
    }
  }
}

}  // namespace scan_test
