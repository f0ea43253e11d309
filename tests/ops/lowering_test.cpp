// SPDX-License-Identifier: MIT
// Lowerings, which devices without a kernel run instead, give the same elements as the kernel.
#include <doctest/doctest.h>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;
using core::OpId;

namespace {

Tensor<Eager> counted(const Shape& shape) {
  return reshape(Tensor<Eager>::arange(1, element_count(shape) + 1, 1, DType::f32), shape);
}

void check_lowering(OpId op, const core::Attributes& attributes, const std::vector<Value>& inputs) {
  const core::OpDef& def = core::definition(op);
  CAPTURE(def.name);
  CAPTURE(core::to_string(attributes));
  REQUIRE(static_cast<bool>(def.lower));
  const Value first = core::emit(op, attributes, std::span<const Value>(inputs));
  const std::vector<Value> lowered = def.lower(attributes, inputs);
  REQUIRE(lowered.size() == static_cast<std::size_t>(def.results));
  for (std::uint32_t i = 0; i < lowered.size(); ++i) {
    const Tensor<Eager> want = core::result(first, i), got = lowered[i];
    CHECK(got.dtype() == want.dtype());
    CHECK(got.shape() == want.shape());
    CHECK(array_equal(got, want));
  }
}

}  // namespace

TEST_CASE("what repeats elements lowers to reading a stretched view") {
  const Value x = counted({2, 3});
  for (const IntList& counts : {IntList{2, 2}, IntList{1, 3}, IntList{0, 1}}) {
    check_lowering(OpId::tile, core::ListAttributes{counts}, {x});
  }
  check_lowering(OpId::tile, core::ListAttributes{}, {counted({})});
  for (const IntList& repeat : {IntList{3, 0}, IntList{2, 1}, IntList{0, 1}}) {
    check_lowering(OpId::repeat, core::ListAttributes{repeat}, {x});
  }
}

TEST_CASE("roll lowers to two parts that change places") {
  for (const IntList& shifts : {IntList{0, 0}, IntList{1, 0}, IntList{1, 2}}) {
    check_lowering(OpId::roll, core::ListAttributes{shifts}, {counted({2, 3})});
  }
  check_lowering(OpId::roll, core::ListAttributes{{0, 1}}, {counted({0, 3})});
}

TEST_CASE("pad lowers to a part of a filled tensor, or to reading there and back") {
  const Value x = counted({2, 3});
  for (int each = 0; each < core::pad_mode_count; ++each) {
    const auto mode = static_cast<core::PadMode>(each);
    check_lowering(OpId::pad, core::PadAttributes{{1, 0}, {0, 2}, mode, 7}, {x});
    check_lowering(OpId::pad, core::PadAttributes{{5, 1}, {4, 6}, mode, 7}, {x});
    check_lowering(OpId::pad, core::PadAttributes{{0, 0}, {0, 0}, mode, 7}, {x});
    check_lowering(OpId::pad, core::PadAttributes{{2}, {2}, mode, 7}, {counted({1})});
  }
}

TEST_CASE("diagonals and triangles lower to a choice by position") {
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::i64, DType::boolean}) {
    CAPTURE(dtype);
    const auto of = [&](const Shape& shape) { return Value(cast(counted(shape), dtype)); };
    for (const std::int64_t k : {-2, -1, 0, 1, 3}) {
      check_lowering(OpId::diag_embed, core::ListAttributes{{k}}, {of({3})});
      check_lowering(OpId::diag_embed, core::ListAttributes{{k}}, {of({2, 2})});
      check_lowering(OpId::tril, core::ListAttributes{{k}}, {of({2, 3, 4})});
      check_lowering(OpId::triu, core::ListAttributes{{k}}, {of({4, 2})});
    }
  }
}

TEST_CASE("reading by indices lowers to gather") {
  const Value x = counted({2, 3, 4});
  const Value indices = Tensor<Eager>{{1, 0, -1}, {-2, 1, 1}};
  for (const std::int64_t axis : {0, 1, 2}) check_lowering(OpId::take, core::AxisAttributes{axis}, {x, indices});
  check_lowering(OpId::take, core::AxisAttributes{1}, {x, Tensor<Eager>::full({}, 2)});
  const Value along = reshape(Tensor<Eager>{1, 0, -1, 1}, {2, 2, 1});
  check_lowering(OpId::take_along_axis, core::AxisAttributes{1}, {x, along});
  check_lowering(OpId::take_along_axis, core::AxisAttributes{0}, {counted({3}), Tensor<Eager>{2, 0}});
}

TEST_CASE("sorting lowers to reading in the order that sorts") {
  const Value x = Tensor<Eager>{{3.0, 1.0, 3.0, 2.0}, {0.0, 5.0, 5.0, 5.0}};
  for (const bool descending : {false, true}) {
    for (const std::int64_t axis : {0, 1}) check_lowering(OpId::sort, core::SortAttributes{axis, descending}, {x});
    for (const std::int64_t k : {0, 1, 3}) check_lowering(OpId::topk, core::TopkAttributes{1, k, descending}, {x});
  }
  for (const std::int64_t k : {0, 1, 3}) {
    check_lowering(OpId::partition, core::TopkAttributes{1, k, false}, {x});
    check_lowering(OpId::argpartition, core::TopkAttributes{1, k, false}, {x});
  }
  check_lowering(OpId::order_statistics, core::ListAttributes{{0, 1, 1, 3}}, {x});
  check_lowering(OpId::order_statistics, core::ListAttributes{{}}, {x});
}

TEST_CASE("a product of bytes lowers to one in 32 bits") {
  const Value a = Tensor<Eager>{{255, 0, 128}, {1, 254, 255}}, b = Tensor<Eager>{{-128, 127}, {1, -1}, {-128, -128}};
  for (const DType left : {DType::u8, DType::i8}) {
    const Value bytes = cast(Tensor<Eager>(a) - (left == DType::i8 ? 128 : 0), left);
    check_lowering(OpId::matmul_epilogue, core::ProductAttributes{}, {bytes, cast(Tensor<Eager>(b), DType::i8)});
  }
  core::ProductAttributes two_taps;
  two_taps.window = {{1, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, {}};
  const Value picture = cast(Tensor<Eager>(a).reshape({1, 2, 3, 1}), DType::u8);
  check_lowering(OpId::convolution_epilogue, two_taps,
                 {picture, cast(Tensor<Eager>(b).reshape({1, 2, 1, 3}), DType::i8)});
}

TEST_CASE("a product with weights of few bits lowers to one with the numbers that they stand for") {
  // Products and sums of these are exact.
  for (const std::int64_t bits : {2, 4, 8}) {
    const Value a = fmod(counted({3, 40}), 7) - 3, numbers = cast(counted({5, 3, 2 * bits}) * 37, DType::u8);
    const Value scales = exp2(fmod(counted({5, 3}), 4) - 2);
    const core::Attributes attributes = core::QuantisationAttributes{bits};
    check_lowering(OpId::quantised_matmul, attributes, {a, numbers, scales});
    const Value zeros = cast(counted({5, (3 * bits + 7) / 8}) * 91, DType::u8);
    check_lowering(OpId::quantised_matmul, attributes, {a, numbers, scales, zeros});
    check_lowering(OpId::quantised_matmul, attributes, {a, numbers, scales, Value(fmod(counted({5, 3}), 4) + 0.5)});
  }
}
