// SPDX-License-Identifier: MIT
// Shape rules refuse attributes that the public functions never pass, but a saved graph might hold.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;
using core::emit;
using core::OpId;

namespace {
const Value& matrix() {
  static const Value x = Tensor<Eager>::zeros({2, 3});
  return x;
}
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
}  // namespace

TEST_CASE("each line of the operator lists has a definition, in its place and of its name") {
  const std::string_view names[] = {
#define TYTO_UNARY(name) #name,
#define TYTO_BINARY(name) #name,
#define TYTO_TERNARY(name) #name,
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
#define TYTO_OP(name, ...) #name,
#include "tyto/ops/ops.def"
#undef TYTO_OP
  };
  const std::span<const core::OpDef> table = core::op_table();
  REQUIRE(table.size() == std::size(names));
  for (std::size_t i = 0; i < table.size(); ++i) {
    CHECK(table[i].name == names[i]);
    CHECK(table[i].id == static_cast<OpId>(i));
    CHECK(core::find_operator(names[i]) == &table[i]);
  }
}

TEST_CASE("operators with the trait nonnegative never return less than +0") {
  std::size_t met = 0;
  for (const core::OpDef& def : core::op_table()) {
    if (!def.is(core::Traits::is_nonnegative)) continue;
    CAPTURE(def.name);
    ++met;
    for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      CAPTURE(type);
      const auto ends = Tensor<Eager>({0.0, -0.0, 1e-30, -1e-30, 1e-310, -1e-310, 1e5, -1e5, 1.0 / 0.0, -1.0 / 0.0});
      for (const double reach : {1.0, 20.0, 800.0, 1e38}) {
        const auto x = concat<Eager>(
            {Tensor<Eager>::uniform({3000}, {.low = -reach, .high = reach, .dtype = type}), ends.astype(type)});
        const Value operands[] = {x, flip(x, 0)};
        const Tensor<Eager> y =
            emit(def.id, core::NoAttributes{}, std::span(operands).first(static_cast<std::size_t>(def.min_inputs)));
        std::size_t wrong = 0;
        for (const double value : y.astype(DType::f64).template to_vector<double>())
          wrong += std::signbit(value) && !std::isnan(value) ? 1 : 0;
        CHECK(wrong == 0);
      }
    }
  }
  CHECK(met >= 8);
}

TEST_CASE("odd and even operators are so bit for bit") {
  std::size_t met = 0;
  for (const core::OpDef& def : core::op_table()) {
    const bool odd = def.is(core::Traits::is_odd);
    if (!odd && !def.is(core::Traits::is_even)) continue;
    CAPTURE(def.name);
    ++met;
    for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      CAPTURE(type);
      for (const double reach : {1.0, 4.0, 100.0, 1e4, 3e38}) {
        const auto x = concat<Eager>({Tensor<Eager>::uniform({3000}, {.high = reach, .dtype = type}),
                                      Tensor<Eager>({0.0, 0.5, 1.5, 2.5, 1e-30, 1e-7, 1.0 / 0.0}).astype(type)});
        const Tensor<Eager> y = emit(def.id, core::NoAttributes{}, {x});
        const Tensor<Eager> mirrored = emit(def.id, core::NoAttributes{}, {negate(x)});
        const auto expected = (odd ? negate(y) : y).astype(DType::f64).template to_vector<double>();
        const auto got = mirrored.astype(DType::f64).template to_vector<double>();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          const bool same = std::isnan(expected[i])
                                ? std::isnan(got[i])
                                : got[i] == expected[i] && std::signbit(got[i]) == std::signbit(expected[i]);
          wrong += same ? 0 : 1;
        }
        CHECK(wrong == 0);
      }
    }
  }
  CHECK(met >= 17);
}

TEST_CASE("a draw that no distribution has is refused where it is recorded") {
  const Value key = Tensor<Lazy>::from(std::vector<std::int64_t>{1, 2}, {2}).value();
  const auto integers = [&](double low, double high) {
    return emit(OpId::random_integers, core::RandomAttributes{Shape{3}, DType::i32, 0, low, high}, {key});
  };
  CHECK_THROWS_WITH_AS(integers(5, 5), "integers: high - low must be > 0, not 0", ValueError);
  CHECK_THROWS_WITH_AS(integers(5, 4), "integers: high - low must be > 0, not -1", ValueError);
  CHECK(integers(5, 6).shape() == Shape{3});
}

TEST_CASE("an axis that the tensor lacks, or that is not normalised, is refused") {
  CHECK_THROWS_WITH_AS(emit(OpId::cumsum, core::ScanAttributes{2}, {matrix()}),
                       "cumsum/cumprod: axis 2 is none of those of shape (2,3)", IndexError);
  CHECK_THROWS_AS(emit(OpId::cummax, core::ScanAttributes{-1}, {matrix()}), IndexError);
  CHECK_THROWS_WITH_AS(emit(OpId::cummax, core::ScanAttributes{0, true}, {matrix()}),
                       "cummin/cummax: there is no exclusive form, nothing has no extreme", ValueError);
  CHECK_THROWS_AS(emit(OpId::sort, core::SortAttributes{-1}, {matrix()}), IndexError);
  CHECK_THROWS_AS(emit(OpId::argsort, core::SortAttributes{2}, {matrix()}), IndexError);
  CHECK_THROWS_AS(emit(OpId::concat, core::AxisAttributes{9}, {matrix()}), IndexError);
  CHECK_THROWS_AS(emit(OpId::repeat, core::ListAttributes{{2, 2}}, {matrix()}), IndexError);
}

TEST_CASE("set_slice refuses parts that reach outside, however large the numbers") {
  const auto placed = [](std::int64_t start, std::int64_t count, std::int64_t step) {
    const Value part = Tensor<Eager>::zeros({2, std::max<std::int64_t>(std::min<std::int64_t>(count, 9), 0)});
    return emit(OpId::set_slice, core::SliceAttributes{{0, start}, {2, count}, {1, step}}, {matrix(), part});
  };
  CHECK(placed(2, 3, -1).shape() == Shape{2, 3});
  CHECK(placed(0, 0, 1).shape() == Shape{2, 3});
  CHECK(placed(0, 1, least).shape() == Shape{2, 3});
  CHECK_THROWS_WITH_AS(placed(1, 2, 2), "set_slice: 2 elements from 1 in steps of 2 reach outside axis 1 of length 3",
                       IndexError);
  CHECK_THROWS_AS(placed(-1, 1, 1), IndexError);
  CHECK_THROWS_AS(placed(3, 1, 1), IndexError);
  CHECK_THROWS_AS(placed(0, 2, 0), IndexError);
  CHECK_THROWS_AS(placed(0, -1, 1), IndexError);
  CHECK_THROWS_AS(placed(0, 2, most), IndexError);
  CHECK_THROWS_AS(placed(2, 2, least), IndexError);
  CHECK_THROWS_AS(placed(0, most, 1), IndexError);
  const core::SliceAttributes first{{0, 0}, {1, 3}, {1, 1}};
  CHECK_THROWS_WITH_AS(emit(OpId::set_slice, first, {matrix(), matrix()}),
                       "set_slice: a value of shape (2,3) cannot replace a part of shape (1,3)", ShapeError);
  CHECK_THROWS_WITH_AS(emit(OpId::set_slice, first, {matrix(), Tensor<Eager>::zeros({1, 3}, DType::f64)}),
                       "set_slice: a value of f64 in a tensor of f32", TypeError);
}

TEST_CASE("lengths beyond 63 bits are refused") {
  CHECK_THROWS_AS(emit(OpId::tile, core::ListAttributes{{most, 1}}, {matrix()}), ShapeError);
  CHECK_THROWS_AS(emit(OpId::repeat, core::ListAttributes{{most, 0}}, {matrix()}), ShapeError);
  CHECK_THROWS_AS(emit(OpId::pad, core::PadAttributes{{most, 0}, {most, 0}, core::PadMode::constant, 0}, {matrix()}),
                  ShapeError);
  CHECK_THROWS_WITH_AS(emit(OpId::diag_embed, core::ListAttributes{{least}}, {matrix()}),
                       "diag: diagonal -9223372036854775808 is farther out than any matrix reaches", ValueError);
}

TEST_CASE("operators refuse operands whose types or shapes do not agree") {
  const Value wide = Tensor<Eager>::zeros({2, 3}, DType::f64), row = Tensor<Eager>::zeros({3}, DType::i64);
  CHECK_THROWS_WITH_AS(emit(OpId::concat, core::AxisAttributes{0}, {matrix(), wide}),
                       "concat: parts of types f32 and f64", TypeError);
  CHECK_THROWS_WITH_AS(emit(OpId::histogram, core::NoAttributes{}, {matrix(), row}),
                       "histogram: inputs of types f32 and i64 must have one type", TypeError);
  CHECK_THROWS_WITH_AS(emit(OpId::gather, core::NoAttributes{}, {matrix(), matrix()}),
                       "gather: indices must be i32 or i64, not f32", TypeError);
  CHECK_THROWS_WITH_AS(emit(OpId::scatter, core::NoAttributes{}, {matrix(), matrix(), row}),
                       "scatter: values of shape (2,3) for places of shape (3,3)", ShapeError);
  CHECK_THROWS_WITH_AS(emit(OpId::scatter_add, core::NoAttributes{}, {wide, Tensor<Eager>::zeros({3, 3}), row}),
                       "scatter_add: values of f32 in a tensor of f64", TypeError);
}

TEST_CASE("a random draw needs a key, and a type that holds its numbers") {
  const Value key = Tensor<Eager>::zeros({2}, DType::i64);
  CHECK_THROWS_WITH_AS(emit(OpId::random_uniform, core::RandomAttributes{{2}}, {matrix()}),
                       "random_uniform: the key must be i64 of shape (2,), not f32 of shape (2,3)", TypeError);
  CHECK_THROWS_WITH_AS(emit(OpId::random_normal, core::RandomAttributes{{2}, DType::i32}, {key}),
                       "random_normal: a floating type is needed, not i32", TypeError);
  CHECK_THROWS_WITH_AS(emit(OpId::random_integers, core::RandomAttributes{{2}, DType::f32}, {key}),
                       "random_integers: an integer type is needed, not f32", TypeError);
  CHECK_THROWS_WITH_AS(emit(OpId::random_permutation, core::RandomAttributes{{2, 2}, DType::i64}, {key}),
                       "random_permutation: the result is an i64 vector, not i64 of shape (2,2)", ShapeError);
}
