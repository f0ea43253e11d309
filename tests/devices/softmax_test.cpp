// SPDX-License-Identifier: MIT
// softmax and log_softmax against long double arithmetic, along any axis of any layout.
#include <doctest/doctest.h>

#include <string>

#include "core/graph/op_ids.hpp"
#include "tests/support/placed_tensor.hpp"

namespace softmax_test {

using namespace tyto;
using namespace tyto::placed;
using core::AxisAttributes;
using core::OpId;
using placed::Tensor;

namespace {

std::vector<double> softmax(OpId op, std::int64_t axis, const Tensor& x, bool in_place = false) {
  return run(cpu::loop_kernels(), op, AxisAttributes{axis}, {x}, {{x.dtype(), x.shape()}}, in_place)[0].values();
}

void check(OpId op, std::int64_t axis, const Tensor& x, bool in_place = false) {
  const std::vector<double> got = softmax(op, axis, x, in_place);
  std::size_t at = 0;
  each_index(x.shape(), [&](const IntList& index) {
    long double high = -infinity, sum = 0;
    IntList each = index;
    auto& place = each[static_cast<std::size_t>(axis)];
    for (place = 0; place < x.shape()[static_cast<std::size_t>(axis)]; ++place)
      high = std::max<long double>(high, x.at(each));
    for (place = 0; place < x.shape()[static_cast<std::size_t>(axis)]; ++place) {
      sum += std::exp(static_cast<long double>(x.at(each)) - high);
    }
    const long double shifted = static_cast<long double>(x.at(index)) - high;
    const auto want = static_cast<double>(op == OpId::softmax ? std::exp(shifted) / sum : shifted - std::log(sum));
    if (!close(got[at], want, 4 * epsilon(x.dtype()), 4 * epsilon(x.dtype()) * (op == OpId::softmax ? 0.01 : 1))) {
      FAIL(std::string(name_of(x.dtype()))
           << " " << to_string(x.shape()) << " strides " << to_string(x.operand.view.strides) << " axis " << axis
           << " at " << to_string(index) << ": " << got[at] << ", not " << want);
    }
    ++at;
  });
}

}  // namespace

TEST_CASE("softmax of equal numbers shares evenly, whatever their size") {
  CHECK(softmax(OpId::softmax, 0, tensor(DType::f32, {4}, {1000, 1000, 1000, 1000})) ==
        std::vector<double>{0.25, 0.25, 0.25, 0.25});
  CHECK(softmax(OpId::softmax, 0, tensor(DType::f64, {2, 2}, {-5000, 0, -5000, 0})) ==
        std::vector<double>{0.5, 0.5, 0.5, 0.5});
  CHECK(softmax(OpId::log_softmax, 1, tensor(DType::f32, {1, 1}, {7})) == std::vector<double>{0});
}

TEST_CASE("softmax gives nothing to minus infinity") {
  CHECK(softmax(OpId::softmax, 0, tensor(DType::f32, {3}, {-infinity, 2, -infinity})) == std::vector<double>{0, 1, 0});
  CHECK(softmax(OpId::log_softmax, 0, tensor(DType::f32, {2}, {-infinity, 2})) == std::vector<double>{-infinity, 0});
}

TEST_CASE("softmax of a row without any finite number, or with NaN, is NaN") {
  for (const double value : softmax(OpId::softmax, 0, tensor(DType::f32, {2}, {-infinity, -infinity}))) {
    CHECK(value != value);
  }
  for (const double value : softmax(OpId::softmax, 0, tensor(DType::f32, {3}, {1, not_a_number, 2}))) {
    CHECK(value != value);
  }
}

TEST_CASE("softmax and log_softmax agree with long double arithmetic along any axis") {
  Dice dice(40);
  for (const OpId op : {OpId::softmax, OpId::log_softmax}) {
    for (const DType dtype : every_float) {
      for (const Layout layout : every_layout) {
        for (int rank = 1; rank <= 4; ++rank) {
          const Shape shape = random_shape(dice, rank, rank < 3 ? 40 : 7);
          check(op, dice.below(rank), random(dice, dtype, shape, layout, -8, 8));
        }
      }
      check(op, 1, random(dice, dtype, {3, 1100}, Layout::dense, -8, 8));
      check(op, 0, random(dice, dtype, {70, 300}, Layout::dense, -8, 8));
      check(op, 1, random(dice, dtype, {5, 40, 1}, Layout::dense, -8, 8));
      check(op, 1, random(dice, dtype, {2, 33, 270}, Layout::dense, -8, 8));
    }
  }
}

TEST_CASE("softmax of many columns goes piece by piece") {
  Dice dice(42);
  check(OpId::softmax, 0, random(dice, DType::f32, {70, 1500}, Layout::dense, -8, 8));
  check(OpId::log_softmax, 1, random(dice, DType::f64, {2, 70, 800}, Layout::dense, -8, 8));
}

TEST_CASE("softmax may write over its input") {
  Dice dice(41);
  for (const DType dtype : every_float) {
    for (const OpId op : {OpId::softmax, OpId::log_softmax}) {
      check(op, 1, random(dice, dtype, {5, 700}, Layout::dense, -8, 8), true);
      check(op, 0, random(dice, dtype, {50, 40}, Layout::dense, -8, 8), true);
    }
  }
}

}  // namespace softmax_test
