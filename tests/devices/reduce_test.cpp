// SPDX-License-Identifier: MIT
// Reductions of every type, layout and set of axes against long double arithmetic, element by element.
#include <doctest/doctest.h>

#include <bit>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/threads.hpp"
#include "tests/support/placed_tensor.hpp"

namespace reduce_test {

using namespace tyto;
using namespace tyto::placed;
using core::ArgAttributes;
using core::AxesAttributes;
using core::OpId;
using core::VarianceAttributes;
using placed::Tensor;

namespace {

std::vector<double> reduce(OpId op, const core::Attributes& attributes, const Tensor& x, DType out,
                           const Shape& shape) {
  return run(cpu::reduce_kernels(), op, attributes, {x}, {{out, shape}})[0].values();
}

DType sum_type(DType dtype) { return is_floating(dtype) ? dtype : DType::i64; }

/// The elements folded into each result, in row-major order of the results.
std::vector<std::vector<double>> groups(const Tensor& x, const IntList& axes) {
  const Shape kept = core::reduced_shape(x.shape(), axes, true);
  std::vector<std::vector<double>> lists(static_cast<std::size_t>(element_count(kept)));
  each_index(x.shape(), [&](const IntList& index) {
    IntList place = index;
    for (const std::int64_t axis : axes) place[static_cast<std::size_t>(axis)] = 0;
    lists[static_cast<std::size_t>(offset_of(core::View::dense(kept), place))].push_back(x.at(index));
  });
  return lists;
}

struct Expected {
  double value;
  double scale;  // what rounding errors are relative to
};

Expected expected(OpId op, const std::vector<double>& list, std::int64_t ddof) {
  long double sum = 0, size = 0, product = 1, low = infinity, high = -infinity;
  bool has_nan = false;
  for (const double value : list) {
    sum += value;
    size += std::abs(value);
    product *= value;
    low = std::min<long double>(low, value);
    high = std::max<long double>(high, value);
    has_nan |= value != value;
  }
  const long double count = static_cast<long double>(list.size()), mean = sum / count;
  switch (op) {
    case OpId::sum: return {static_cast<double>(sum), static_cast<double>(size)};
    case OpId::prod: return {static_cast<double>(product), static_cast<double>(std::abs(product))};
    case OpId::mean: return {static_cast<double>(mean), static_cast<double>(size / count)};
    case OpId::min: return {has_nan ? not_a_number : static_cast<double>(low), 0};
    case OpId::max: return {has_nan ? not_a_number : static_cast<double>(high), 0};
    case OpId::var: {
      long double squares = 0;
      for (const double value : list) squares += (value - mean) * (value - mean);
      const long double variance = squares / std::max(count - static_cast<long double>(ddof), 0.0L);
      return {static_cast<double>(variance), static_cast<double>(std::abs(variance))};
    }
    default: {
      long double terms = 0;
      for (const double value : list) terms += std::exp(static_cast<long double>(value) - high);
      const double result = list.empty() ? -infinity : static_cast<double>(std::log(terms) + high);
      return {result, 1 + std::abs(result)};
    }
  }
}

std::int64_t expected_place(OpId op, const std::vector<double>& list) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[best] != list[best]) break;
    const bool better = op == OpId::argmax ? list[i] > list[best] : list[i] < list[best];
    if (better || list[i] != list[i]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

IntList random_axes(Dice& dice, int rank) {
  IntList axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (dice.below(2) == 0) axes.push_back(axis);
  }
  return axes;
}

void check_fold(Dice& dice, OpId op, DType dtype, const Shape& shape, const IntList& axes, Layout layout) {
  const bool product = op == OpId::prod;
  // Factors of absolute value one or two keep products of many exact.
  const double reach = product ? 1.2 : is_unsigned(dtype) || dtype == DType::i8 ? 100 : 4;
  const Tensor x = random(dice, dtype, shape, layout, product && is_floating(dtype) ? 0.9 : -reach, reach);
  const bool keep = dice.below(2) == 0;
  const std::int64_t ddof = dice.below(2);
  const core::Attributes attributes = op == OpId::var ? core::Attributes(VarianceAttributes{axes, keep, ddof})
                                                      : core::Attributes(AxesAttributes{axes, keep});
  const DType out = op == OpId::sum || product ? sum_type(dtype) : dtype;
  const std::vector<double> got = reduce(op, attributes, x, out, core::reduced_shape(shape, axes, keep));
  const auto lists = groups(x, axes);
  REQUIRE(got.size() == lists.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if ((op == OpId::min || op == OpId::max) && lists[i].empty()) continue;
    const Expected want = expected(op, lists[i], ddof);
    const double lost = op == OpId::prod || op == OpId::var ? 8 : 2;
    const double allowed = want.scale * (epsilon(out) * (is_floating(out) ? lost : 0));
    if (!(same(got[i], rounded(out, want.value)) || std::abs(got[i] - want.value) <= allowed)) {
      FAIL("op " << static_cast<int>(op) << " " << std::string(name_of(dtype)) << " shape " << to_string(shape)
                 << " strides " << to_string(x.operand.view.strides) << " axes " << to_string(axes) << ": result " << i
                 << " is " << got[i] << ", not " << want.value);
    }
  }
}

}  // namespace

TEST_CASE("a sum over either axis of a small matrix, and over both") {
  const Tensor x = tensor(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(reduce(OpId::sum, AxesAttributes{{0}}, x, DType::f32, {3}) == std::vector<double>{5, 7, 9});
  CHECK(reduce(OpId::sum, AxesAttributes{{1}}, x, DType::f32, {2}) == std::vector<double>{6, 15});
  CHECK(reduce(OpId::sum, AxesAttributes{{0, 1}}, x, DType::f32, {}) == std::vector<double>{21});
  CHECK(reduce(OpId::sum, AxesAttributes{{}}, x, DType::f32, {2, 3}) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(reduce(OpId::mean, AxesAttributes{{1}, true}, x, DType::f32, {2, 1}) == std::vector<double>{2, 5});
  CHECK(reduce(OpId::prod, AxesAttributes{{1}}, x, DType::f32, {2}) == std::vector<double>{6, 120});
  CHECK(reduce(OpId::var, VarianceAttributes{{1}, false, 0}, tensor(DType::f64, {1, 4}, {1, 2, 3, 4}), DType::f64,
               {1}) == std::vector<double>{1.25});
  CHECK(reduce(OpId::var, VarianceAttributes{{1}, false, 2}, tensor(DType::f64, {1, 4}, {1, 2, 3, 4}), DType::f64,
               {1}) == std::vector<double>{2.5});
}

TEST_CASE("integers and truths are summed to 64 bits") {
  CHECK(reduce(OpId::sum, AxesAttributes{{0}}, tensor(DType::u8, {3}, {255, 255, 255}), DType::i64, {}) ==
        std::vector<double>{765});
  CHECK(reduce(OpId::sum, AxesAttributes{{0}}, tensor(DType::boolean, {4}, {1, 0, 1, 1}), DType::i64, {}) ==
        std::vector<double>{3});
  CHECK(reduce(OpId::prod, AxesAttributes{{0}}, tensor(DType::i8, {3}, {-100, 100, 100}), DType::i64, {}) ==
        std::vector<double>{-1000000});
  const Tensor large = tensor(DType::i32, {2}, {2147483647, 2147483647});
  CHECK(reduce(OpId::sum, AxesAttributes{{0}}, large, DType::i64, {}) == std::vector<double>{4294967294});
}

TEST_CASE("reductions of nothing give the identity") {
  const auto nothing = [](OpId op, DType dtype, DType out) {
    return reduce(op, AxesAttributes{{0}}, dense(dtype, {0, 2}), out, {2});
  };
  CHECK(nothing(OpId::sum, DType::f32, DType::f32) == std::vector<double>{0, 0});
  CHECK(nothing(OpId::prod, DType::i32, DType::i64) == std::vector<double>{1, 1});
  CHECK(nothing(OpId::any, DType::boolean, DType::boolean) == std::vector<double>{0, 0});
  CHECK(nothing(OpId::all, DType::boolean, DType::boolean) == std::vector<double>{1, 1});
  CHECK(nothing(OpId::logsumexp, DType::f32, DType::f32) == std::vector<double>{-infinity, -infinity});
  const std::vector<double> mean = nothing(OpId::mean, DType::f64, DType::f64);
  CHECK(mean[0] != mean[0]);
  const std::vector<double> variance =
      reduce(OpId::var, VarianceAttributes{{0}, false, 0}, dense(DType::f32, {0, 1}), DType::f32, {1});
  CHECK(variance[0] != variance[0]);
}

TEST_CASE("a number without axes is its own reduction") {
  const Tensor x = tensor(DType::f32, {}, {3});
  CHECK(reduce(OpId::sum, AxesAttributes{{}}, x, DType::f32, {}) == std::vector<double>{3});
  CHECK(reduce(OpId::max, AxesAttributes{{}}, x, DType::f32, {}) == std::vector<double>{3});
  CHECK(reduce(OpId::logsumexp, AxesAttributes{{}}, x, DType::f32, {}) == std::vector<double>{3});
  CHECK(reduce(OpId::var, VarianceAttributes{{}, false, 0}, x, DType::f32, {}) == std::vector<double>{0});
}

TEST_CASE("NaN wins every minimum and maximum, wherever it stands") {
  for (const DType dtype : every_float) {
    for (const std::int64_t length : {1, 7, 100, 3000}) {
      for (const std::int64_t place : {std::int64_t{0}, length / 2, length - 1}) {
        for (const Shape& shape : {Shape{length, 3}, Shape{3, length}}) {
          const std::int64_t axis = shape[0] == length && length != 3 ? 0 : 1;
          Tensor x = dense(dtype, shape);
          each_index(shape, [&](const IntList& index) {
            x.set(index, static_cast<double>(index[static_cast<std::size_t>(axis)] % 5));
          });
          IntList index{1, 1};
          index[static_cast<std::size_t>(axis)] = place;
          x.set(index, not_a_number);
          const std::vector<double> low = reduce(OpId::min, AxesAttributes{{axis}}, x, dtype, {3});
          const std::vector<double> high = reduce(OpId::max, AxesAttributes{{axis}}, x, dtype, {3});
          CHECK(low[1] != low[1]);
          CHECK(high[1] != high[1]);
          CHECK(low[0] == 0);
          CHECK(high[2] == static_cast<double>(std::min<std::int64_t>(length - 1, 4)));
          const std::vector<double> first = reduce(OpId::argmin, ArgAttributes{axis}, x, DType::i64, {3});
          CHECK(first[1] == static_cast<double>(place));
          CHECK(first[0] == 0);
        }
      }
    }
  }
}

TEST_CASE("the place of an extreme is that of its first occurrence") {
  const Tensor x = tensor(DType::i32, {2, 4}, {1, 7, 7, 0, 5, 2, 2, 5});
  CHECK(reduce(OpId::argmax, ArgAttributes{1}, x, DType::i64, {2}) == std::vector<double>{1, 0});
  CHECK(reduce(OpId::argmin, ArgAttributes{1}, x, DType::i64, {2}) == std::vector<double>{3, 1});
  CHECK(reduce(OpId::argmax, ArgAttributes{0, true}, x, DType::i64, {1, 4}) == std::vector<double>{1, 0, 0, 1});
  const Tensor low = tensor(DType::f32, {3}, {-infinity, -infinity, -infinity});
  CHECK(reduce(OpId::argmax, ArgAttributes{0}, low, DType::i64, {}) == std::vector<double>{0});
  CHECK(reduce(OpId::argmax, ArgAttributes{0}, tensor(DType::boolean, {3}, {0, 0, 0}), DType::i64, {}) ==
        std::vector<double>{0});
  CHECK(reduce(OpId::argmin, ArgAttributes{0}, tensor(DType::f32, {4}, {2, not_a_number, 1, not_a_number}), DType::i64,
               {}) == std::vector<double>{1});
}

TEST_CASE("logsumexp neither overflows nor trips over infinities") {
  const auto of = [](const std::vector<double>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const double line =
        reduce(OpId::logsumexp, AxesAttributes{{0}}, tensor(DType::f32, {count}, values), DType::f32, {})[0];
    std::vector<double> twice;
    for (const double value : values) twice.insert(twice.end(), 2, value);
    const double column =
        reduce(OpId::logsumexp, AxesAttributes{{0}}, tensor(DType::f32, {count, 2}, twice), DType::f32, {2})[1];
    CHECK(close(line, column, 1e-6));
    return line;
  };
  CHECK(of({1000, 1000}) == doctest::Approx(1000 + std::log(2.0)));
  CHECK(of({-1000, -1000}) == doctest::Approx(-1000 + std::log(2.0)));
  CHECK(of({-infinity, -infinity}) == -infinity);
  CHECK(of({-infinity, 3}) == doctest::Approx(3));
  CHECK(of({infinity, 3}) == infinity);
  CHECK(of({infinity, -infinity}) == infinity);
  const double with_nan = of({1, not_a_number});
  CHECK(with_nan != with_nan);
}

TEST_CASE("every fold, type, layout and set of axes agrees with long double arithmetic") {
  Dice dice(20);
  for (const OpId op : {OpId::sum, OpId::prod, OpId::min, OpId::max, OpId::mean, OpId::var, OpId::logsumexp}) {
    const bool floats_only = op == OpId::mean || op == OpId::var || op == OpId::logsumexp;
    for (const DType dtype : every_dtype) {
      if (floats_only && !is_floating(dtype)) continue;
      for (const Layout layout : every_layout) {
        for (int rank = 0; rank <= 4; ++rank) {
          const Shape shape = random_shape(dice, rank, rank < 3 ? 40 : 7);
          check_fold(dice, op, dtype, shape, random_axes(dice, rank), layout);
        }
      }
    }
  }
}

TEST_CASE("long lines, tall columns and few results agree with long double arithmetic") {
  Dice dice(21);
  struct Case {
    Shape shape;
    IntList axes;
  };
  const Case cases[] = {{{300000}, {0}},          {{3, 70001}, {1}},         {{70001, 3}, {0}},      {{900, 1500}, {0}},
                        {{5, 4000, 33}, {1}},     {{2, 3, 4, 5000}, {1, 3}}, {{40, 30, 50}, {0, 2}}, {{20000, 5}, {1}},
                        {{2, 100000, 2}, {0, 1}}, {{1, 2500}, {0}}};
  for (const OpId op : {OpId::sum, OpId::max, OpId::mean, OpId::var, OpId::logsumexp}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::f64, DType::i8, DType::i64}) {
      if (!is_floating(dtype) && op != OpId::sum && op != OpId::max) continue;
      for (const Case& each : cases) check_fold(dice, op, dtype, each.shape, each.axes, Layout::dense);
      check_fold(dice, op, dtype, {600, 700}, {0}, Layout::permuted);
      check_fold(dice, op, dtype, {600, 700}, {1}, Layout::mixed);
    }
  }
}

TEST_CASE("variances and sums of exponentials of few adjoining columns agree with long double arithmetic") {
  Dice dice(26);
  for (const OpId op : {OpId::var, OpId::logsumexp}) {
    for (const DType dtype : every_float) {
      for (const std::int64_t width : {2, 3, 5, 16, 33, 63}) {
        for (const std::int64_t rows : {7, 500, 513, 1031}) {
          check_fold(dice, op, dtype, {rows, width}, {0}, Layout::dense);
          check_fold(dice, op, dtype, {3, rows, width}, {1}, Layout::dense);
        }
      }
    }
  }
  // Columns of nothing but -inf, with a NaN, with an infinity, and with one number.
  Tensor x = dense(DType::f32, {1031, 4});
  each_index({1031, 4}, [&](const IntList& index) { x.set(index, -infinity); });
  x.set({700, 1}, not_a_number);
  x.set({3, 2}, infinity);
  x.set({1030, 3}, 5.0);
  const std::vector<double> sums = reduce(OpId::logsumexp, AxesAttributes{{0}}, x, DType::f32, {4});
  CHECK(sums[0] == -infinity);
  CHECK(sums[1] != sums[1]);
  CHECK(sums[2] == infinity);
  CHECK(sums[3] == 5);
}

TEST_CASE("sums of few adjoining columns are right, and have the same bits in every instruction set") {
  Dice dice(25);
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::u64}) {
    for (const std::int64_t width : {1, 2, 3, 16, 17, 31, 32, 33, 47, 60, 63, 64, 65}) {
      for (const std::int64_t rows : {31, 32, 33, 64, 65, 131}) {
        const Tensor x = random(dice, dtype, {rows, width}, Layout::dense, is_floating(dtype) ? -1 : 0, 9);
        const auto sums = [&](cpu::InstructionSet set) {
          std::vector<std::uint64_t> results(static_cast<std::size_t>(width));
          cpu::sum_loops(set, cpu::Fold::sum, dtype)
              .columns(x.memory.data(), rows, width, width, results.data(), nullptr, 0);
          return results;
        };
        const std::vector<std::uint64_t> got = sums(cpu::widest_instruction_set());
        const auto lists = groups(x, {0});
        for (std::size_t j = 0; j < lists.size(); ++j) {
          const Expected want = expected(OpId::sum, lists[j], 0);
          const double sum = is_floating(dtype) ? std::bit_cast<double>(got[j]) : static_cast<double>(got[j]);
          CHECK(std::abs(sum - want.value) <= (is_floating(dtype) ? 4 * epsilon(dtype) * want.scale : 0));
        }
        for (const cpu::InstructionSet set : {cpu::InstructionSet::baseline, cpu::InstructionSet::avx2}) {
          if (set <= cpu::widest_instruction_set()) CHECK(sums(set) == got);
        }
      }
    }
  }
}

TEST_CASE("any and all over any axes") {
  Dice dice(22);
  for (const OpId op : {OpId::any, OpId::all}) {
    for (int round = 0; round < 60; ++round) {
      const int rank = static_cast<int>(dice.below(4));
      const Shape shape = random_shape(dice, rank, 9);
      Tensor x = place(dice, DType::boolean, shape, every_layout[round % 6]);
      const bool common = op == OpId::all;  // rare exceptions, so that both answers occur
      each_index(shape, [&](const IntList& index) { x.set(index, common ? 1 : 0); });
      for (std::int64_t i = dice.below(5); i > 0 && x.count() > 0; --i) {
        IntList index;
        for (const std::int64_t length : shape) index.push_back(dice.below(length));
        x.set(index, common ? 0 : 1);
      }
      const IntList axes = random_axes(dice, rank);
      const std::vector<double> got =
          reduce(op, AxesAttributes{axes}, x, DType::boolean, core::reduced_shape(shape, axes, false));
      const auto lists = groups(x, axes);
      for (std::size_t i = 0; i < got.size(); ++i) {
        bool want = op == OpId::all;
        for (const double value : lists[i]) want = op == OpId::all ? want && value != 0 : want || value != 0;
        CHECK(got[i] == (want ? 1 : 0));
      }
    }
  }
}

TEST_CASE("places of extremes agree with a plain search, for every type and layout") {
  Dice dice(23);
  for (const OpId op : {OpId::argmin, OpId::argmax}) {
    for (const DType dtype : every_dtype) {
      for (const Layout layout : every_layout) {
        for (const Shape& shape :
             {Shape{5}, Shape{17, 30}, Shape{30, 17}, Shape{4, 9, 5}, Shape{3, 2000}, Shape{2000, 3}}) {
          const Tensor x = random(dice, dtype, shape, layout, -9, 9);
          const std::int64_t axis = dice.below(shape.rank());
          const std::vector<double> got =
              reduce(op, ArgAttributes{axis}, x, DType::i64, core::reduced_shape(shape, {axis}, false));
          const auto lists = groups(x, {axis});
          for (std::size_t i = 0; i < got.size(); ++i) {
            if (got[i] != static_cast<double>(expected_place(op, lists[i]))) {
              FAIL(std::string(name_of(dtype))
                   << " " << to_string(shape) << " axis " << axis << ": result " << i << " is " << got[i]);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a sum of f32 loses no more than its last bit, however long") {
  // Sequential addition loses about n/2 units in the last place of such a sum.
  Dice dice(24);
  const std::int64_t count = 1 << 20;
  const Tensor x = random(dice, DType::f32, {count}, Layout::dense, 0, 1);
  long double sum = 0;
  for (const double value : x.values()) sum += value;
  CHECK(close(reduce(OpId::sum, AxesAttributes{{0}}, x, DType::f32, {})[0], static_cast<double>(sum),
              epsilon(DType::f32)));
  Tensor columns = x;
  columns.operand.view = core::View::dense({count / 4, 4});
  const auto lists = groups(columns, {0});
  const std::vector<double> got = reduce(OpId::sum, AxesAttributes{{0}}, columns, DType::f32, {4});
  for (std::size_t j = 0; j < 4; ++j) {
    long double column = 0;
    for (const double value : lists[j]) column += value;
    CHECK(close(got[j], static_cast<double>(column), epsilon(DType::f32)));
  }
}

TEST_CASE("the variance of numbers far from zero keeps its digits") {
  // Var of 1e4 + {0, 1, 2, ...} mod 3: the squares are 1e8, the variance 2/3.
  Tensor x = dense(DType::f32, {3000, 2});
  each_index({3000, 2}, [&](const IntList& index) { x.set(index, 1e4 + static_cast<double>(index[0] % 3)); });
  for (const double value : reduce(OpId::var, VarianceAttributes{{0}, false, 0}, x, DType::f32, {2})) {
    CHECK(close(value, 2.0 / 3.0, 1e-6));
  }
  CHECK(close(reduce(OpId::var, VarianceAttributes{{0, 1}, false, 0}, x, DType::f32, {})[0], 2.0 / 3.0, 1e-6));
}

TEST_CASE("a sum of many elements to one number is cut into pieces, which threads share") {
  // Each piece has a partial result of its own in the workspace.
  const auto workspace = [](const Shape& shape, const IntList& axes) {
    const core::Attributes attributes = AxesAttributes{axes};
    const core::Operand in{DType::f32, core::View::dense(shape)};
    const core::Operand out{DType::f32, core::View::dense(core::reduced_shape(shape, axes, false))};
    return entry_of(cpu::reduce_kernels(), OpId::sum)
        .prepare({OpId::sum, &attributes, {&in, 1}, {&out, 1}})
        ->workspace();
  };
  CHECK(workspace({1 << 24}, {0}) >= 32 * sizeof(float));
  CHECK(workspace({1 << 24, 3}, {0}) >= 32 * 3 * sizeof(float));
  CHECK(workspace({1000}, {0}) == 0);
  CHECK(workspace({4096, 4096}, {1}) == 0);  // as many results as there are rows: threads share those
}

TEST_CASE("results are the same bits for any number of threads") {
  Dice dice(25);
  const int before = cpu::threads();
  for (const OpId op : {OpId::sum, OpId::mean, OpId::logsumexp, OpId::prod}) {
    for (const Shape& shape : {Shape{1, 400000}, Shape{3000, 100}, Shape{7, 60000}}) {
      for (const std::int64_t axis : {0, 1}) {
        const Tensor x = random(dice, DType::f32, shape, Layout::dense, 0.9, 1.1);
        std::vector<std::vector<double>> results;
        for (const int count : {1, 2, 3, 7}) {
          cpu::set_threads(count);
          results.push_back(
              reduce(op, AxesAttributes{{axis}}, x, DType::f32, core::reduced_shape(shape, {axis}, false)));
        }
        for (const auto& result : results) CHECK(result == results[0]);
      }
    }
  }
  cpu::set_threads(before);
}

}  // namespace reduce_test
