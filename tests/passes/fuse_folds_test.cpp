// SPDX-License-Identifier: MIT
// Groups that end in a reduction: which nodes form one, and that they add in the order of the reduction of a tensor.
#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "tests/passes/fused_program.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

TEST_CASE("a sum takes the elements of the group that only it reads as they are computed") {
  Sketch s;
  const Port x = s.input({6, 50});
  const Port y = s.input({50});
  const Port distance = s.add(OpId::square, {s.add(OpId::subtract, {x, y})});
  const core::Graph plain = s.graph({s.add(OpId::sum, {distance}, core::AxesAttributes{{1}, false})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(core::to_string(program_of(fused)) == "v0=subtract(x0,x1); v1=square(v0); v2=sum(v1) -> v2");
  CHECK(fused.type(fused.outputs()[0]).shape == Shape{6});
  CHECK(fused.nodes().size() == 4);  // two inputs, the group, its shape without the axis
  check_same(plain, fused);
}

TEST_CASE("a group ends in one reduction: a second one reads its result") {
  Sketch s;
  const Port x = s.input({1, 50});
  const Port sum = s.add(OpId::sum, {s.add(OpId::square, {x})}, core::AxesAttributes{{1}, true});
  const core::Graph plain = s.graph({s.add(OpId::prod, {sum}, core::AxesAttributes{{0, 1}, false})});
  const Port y = s.input({4, 50});
  const Port rows = s.add(OpId::sum, {s.add(OpId::square, {y})}, core::AxesAttributes{{1}, false});
  const core::Graph twice = s.graph({s.add(OpId::mean, {rows}, core::AxesAttributes{{0}, false})});
  for (const core::Graph& each : {plain, twice}) {
    const core::Graph fused = optimiser::fuse(each);
    CHECK(count(fused, OpId::fused) == 1);
    check_same(each, fused);
  }
}

TEST_CASE("a reduction stays outside when others read the group, or its axes do not lie beside each other") {
  for (const int variant : {0, 1}) {
    CAPTURE(variant);
    Sketch s;
    const Port x = s.input({3, 4, 5});
    const Port y = s.add(OpId::exp, {s.add(OpId::negate, {x})});
    const IntList axes = variant == 0 ? IntList{1} : IntList{0, 2};
    const Port sum = s.add(OpId::sum, {y}, core::AxesAttributes{axes, true});
    const core::Graph plain = variant == 0 ? s.graph({sum, y}) : s.graph({sum});
    const core::Graph fused = optimiser::fuse(plain);
    CHECK(count(fused, OpId::sum) == 1);
    CHECK(count(fused, OpId::fused) == 1);
    check_same(plain, fused);
  }
}

TEST_CASE("what is read through a repeated node is read by those who repeat it, so a sum may end its group") {
  Sketch s;
  const Port e = s.add(OpId::exp, {s.input({6, 50})});
  const Port size = s.add(OpId::abs, {e});
  const Port chosen = s.add(OpId::where, {s.add(OpId::equal, {size, s.number(0)}), s.number(1), size});
  const core::Graph plain = s.graph({s.add(OpId::sum, {chosen}, core::AxesAttributes{{0}, false})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::sum) == 0);
  CHECK(count(fused, OpId::fused) == 1);
  check_same(plain, fused);
}

TEST_CASE("a sum of a tensor that others read too computes it from a narrower one") {
  for (const DType narrow : {DType::f16, DType::f32}) {
    CAPTURE(static_cast<int>(narrow));
    Sketch s;
    const Port x = s.input({6, 50}, narrow), y = s.input({6, 50});
    const Port wide =
        narrow == DType::f16 ? s.add(OpId::cast, {x}, core::CastAttributes{DType::f32}) : s.add(OpId::negate, {x});
    const Port product = s.add(OpId::multiply, {wide, y});
    const core::AxesAttributes columns{{0}, false};
    const core::Graph plain = s.graph({s.add(OpId::sum, {product}, columns), s.add(OpId::sum, {wide}, columns)});
    const core::Graph fused = optimiser::fuse(plain);
    // Of f32 nothing would be gained: the tensor is stored, and its sum reads it.
    CHECK(count(fused, OpId::sum) == (narrow == DType::f16 ? 0 : 2));
    CHECK(count(fused, OpId::cast) == 0);
    check_same(plain, fused);
  }
}

TEST_CASE("reductions of groups give the bits of the reduction of a tensor, in every layout") {
  struct Case {
    Shape shape;
    IntList axes;
  };
  const Case cases[] = {{{10'007}, {0}},    {{300'000}, {0}},     {{3, 5000}, {1}},    {{100, 10}, {1}},
                        {{7, 16}, {1}},     {{1000, 33}, {1}},    {{9000, 3}, {0}},    {{500, 40}, {0}},
                        {{77, 130}, {0}},   {{45, 3000}, {0}},    {{200'000, 2}, {0}}, {{4, 70, 9}, {1}},
                        {{3, 50, 64}, {1}}, {{20, 6, 7}, {1, 2}}, {{40, 1, 300}, {0}}, {{5, 1, 4}, {0, 1}},
                        {{0, 4}, {0}},      {{4, 0}, {0}},        {{2, 100'000}, {1}}};
  for (const Case& each : cases) {
    for (const OpId op : {OpId::sum, OpId::mean, OpId::prod}) {
      for (const DType type :
           {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8, DType::u16, DType::u32, DType::u64}) {
        if (op == OpId::mean && !is_floating(type)) continue;
        CAPTURE(each.shape);
        CAPTURE(core::to_string(core::AxesAttributes{each.axes}));
        CAPTURE(core::definition(op).name);
        CAPTURE(type);
        Sketch s;
        const Port x = s.input(each.shape, type);
        const Port row = s.input({each.shape.back()}, type);
        const Port product = s.add(OpId::multiply, {x, row});
        const Port shifted = s.add(OpId::maximum, {product, s.number(1, type)});
        const core::Graph plain = s.graph({s.add(op, {shifted}, core::AxesAttributes{each.axes, false})});
        const core::Graph fused = optimiser::fuse(plain);
        std::int64_t folded = 1;
        for (const std::int64_t axis : each.axes) folded *= each.shape[static_cast<std::size_t>(axis)];
        CHECK(count(fused, op) == (folded > 1 || folded == 0 ? 0 : 1));
        CHECK(agree(results_of(plain, 0, 1.25), results_of(fused, 0, 1.25)));
      }
    }
  }
}
