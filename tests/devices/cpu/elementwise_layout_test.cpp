// SPDX-License-Identifier: MIT
// Element-wise kernels over every kind of layout: permuted, stepped, reversed, broadcast, in place, empty, scalar.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "core/graph/op_ids.hpp"
#include "tests/devices/cpu/elementwise_reference.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace elementwise_layout_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::OpId;
using core::View;
using cpu::KernelChoice;

/// A view of the shape with axes in any order of memory, steps, reversals and (where allowed) broadcast axes.
View drawn_view(Draw& draw, const Shape& shape, bool may_broadcast) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0u);
  if (draw.below(3) == 0) {
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(i)))]);
  }
  View view{shape, Strides(shape.size(), 0), 0};
  std::int64_t step = draw.below(4) == 0 ? draw.of({2, 3}) : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    if (may_broadcast && draw.below(4) == 0) continue;
    view.strides[axis] = step;
    step *= std::max<std::int64_t>(shape[axis], 1);
    if (draw.below(6) == 0) step += draw.below(5);
    if (draw.below(6) == 0) {
      view.offset += (std::max<std::int64_t>(shape[axis], 1) - 1) * view.strides[axis];
      view.strides[axis] = -view.strides[axis];
    }
  }
  view.offset += draw.below(4) == 0 ? draw.below(7) : 0;
  return view;
}

Shape drawn_shape(Draw& draw) {
  Shape shape;
  const std::int64_t rank = draw.below(5);
  std::int64_t count = 1;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t length = draw.of({1, 2, 3, 5, 7, 10, 16, 33, 100, 128, 255, 256, 257, 300, 1000, 1025});
    if (count * length > 6000) break;
    shape.push_back(length);
    count *= length;
  }
  return shape;
}

void fill(Draw& draw, StoredTensor& tensor) {
  const core::ElementRange range = core::touched(tensor.view);
  for (std::int64_t at = range.first; at < range.past; ++at) {
    tensor.put_at(at, tensor.dtype == DType::boolean ? draw.below(2) : draw.below(100));
  }
}

/// Storage outside the view is as it was.
bool rest_untouched(const StoredTensor& before, const StoredTensor& after) {
  std::vector<bool> in_view(after.memory.size() / size_of(after.dtype), false);
  for (std::int64_t i = 0; i < after.view.count(); ++i) in_view[static_cast<std::size_t>(after.position(i))] = true;
  for (std::size_t byte = 0; byte < after.memory.size(); ++byte) {
    if (!in_view[byte / size_of(after.dtype)] && before.memory[byte] != after.memory[byte]) return false;
  }
  return true;
}

long double expected(OpId op, const std::vector<StoredTensor>& operands, std::int64_t i, DType result) {
  const long double a = operands[0].get(i);
  if (op == OpId::copy || op == OpId::cast) return result == DType::boolean ? a != 0 : a;
  const long double b = operands[1].get(i), c = operands.size() > 2 ? operands[2].get(i) : 0;
  const DType type = operands.back().dtype;
  return is_floating(type) ? reference(op, a, b, c) : integer_reference(op, a, b, c, result);
}

TEST_CASE("layouts of operands and results do not change the numbers, and nothing outside the result is written") {
  struct Kind {
    OpId op;
    std::vector<DType> operands;
    DType result;
  };
  const Kind kinds[] = {
      {OpId::add, {DType::f32, DType::f32}, DType::f32},
      {OpId::multiply, {DType::f64, DType::f64}, DType::f64},
      {OpId::subtract, {DType::f16, DType::f16}, DType::f16},
      {OpId::maximum, {DType::i16, DType::i16}, DType::i16},
      {OpId::add, {DType::u8, DType::u8}, DType::u8},
      {OpId::less, {DType::i64, DType::i64}, DType::boolean},
      {OpId::equal, {DType::bf16, DType::bf16}, DType::boolean},
      {OpId::logical_xor, {DType::boolean, DType::boolean}, DType::boolean},
      {OpId::where, {DType::boolean, DType::f32, DType::f32}, DType::f32},
      {OpId::where, {DType::boolean, DType::i8, DType::i8}, DType::i8},
      {OpId::clip, {DType::i32, DType::i32, DType::i32}, DType::i32},
      {OpId::copy, {DType::f32}, DType::f32},
      {OpId::copy, {DType::f64}, DType::f64},
      {OpId::copy, {DType::bf16}, DType::bf16},
      {OpId::copy, {DType::u8}, DType::u8},
      {OpId::cast, {DType::f32}, DType::i64},
      {OpId::cast, {DType::u8}, DType::f16},
      {OpId::cast, {DType::i16}, DType::boolean},
  };
  Draw draw(7);
  for (int round = 0; round < 60; ++round) {
    for (const Kind& kind : kinds) {
      const Shape shape = drawn_shape(draw);
      std::vector<StoredTensor> operands;
      for (const DType type : kind.operands) {
        operands.emplace_back(type, draw.coin() ? View::dense(shape) : drawn_view(draw, shape, true));
        fill(draw, operands.back());
      }
      StoredTensor before(kind.result, draw.coin() ? View::dense(shape) : drawn_view(draw, shape, false));
      for (const cpu::InstructionSet set : all_sets()) {
        for (const int threads : {1, 3}) {
          StoredTensor result = before;
          const KernelChoice choice{.instructions = set, .threads = threads};
          if (operands.size() == 1) run_elementwise(kind.op, {&operands[0]}, result, choice);
          if (operands.size() == 2) run_elementwise(kind.op, {&operands[0], &operands[1]}, result, choice);
          if (operands.size() == 3)
            run_elementwise(kind.op, {&operands[0], &operands[1], &operands[2]}, result, choice);
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < result.view.count(); ++i) {
            wrong += result.get(i) != expected(kind.op, operands, i, kind.result);
          }
          CHECK(wrong == 0);
          CHECK(rest_untouched(before, result));
        }
      }
    }
  }
}

TEST_CASE("a long contiguous step is the same on one thread and on many") {
  for (const std::int64_t count : {1, 255, 256, 257, 1000, 100003}) {
    StoredTensor a = StoredTensor::dense(DType::f32, {count}), b = StoredTensor::dense(DType::f32, {count});
    Draw draw(static_cast<std::uint64_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      a.put(i, draw.value<float>());
      b.put(i, draw.value<float>());
    }
    StoredTensor one = StoredTensor::dense(DType::f32, {count}), many = one;
    run_elementwise(OpId::atan2, {&a, &b}, one, {.instructions = {}, .threads = 1});
    run_elementwise(OpId::atan2, {&a, &b}, many, {.instructions = {}, .threads = 4});
    CHECK(one.memory == many.memory);
  }
}

TEST_CASE("a step without elements writes nothing") {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 5}}) {
    const StoredTensor a = StoredTensor::dense(DType::f32, shape), b = a;
    StoredTensor result = StoredTensor::dense(DType::f32, shape);
    const auto before = result.memory;
    run_elementwise(OpId::add, {&a, &b}, result, {});
    CHECK(result.memory == before);
  }
}

TEST_CASE("a step on single numbers needs no axes") {
  StoredTensor a = StoredTensor::dense(DType::f32, {}), b = a, result = a;
  a.put(0, 3);
  b.put(0, 4);
  run_elementwise(OpId::hypot, {&a, &b}, result, {});
  CHECK(result.get(0) == 5);
}

TEST_CASE("a result may lie over an operand of the same layout") {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i8, DType::i64}) {
    for (const View& view : {View::dense({700}), View{{20, 35}, {100, 2}, 3}, View{{257, 3}, {-3, 1}, 768}}) {
      for (const cpu::InstructionSet set : all_sets()) {
        StoredTensor a(type, view), b = StoredTensor::dense(type, view.shape);
        Draw draw(5);
        fill(draw, a);
        fill(draw, b);
        StoredTensor apart(type, view);
        run_elementwise(OpId::subtract, {&a, &b}, apart, {.instructions = set});

        StoredTensor over_first = a;
        run_elementwise(OpId::subtract, {&over_first, &b}, over_first, {.instructions = set});
        CHECK(over_first.numbers() == apart.numbers());
      }
    }
  }
}

TEST_CASE("a transposed matrix is copied element by element") {
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{64, 64}, Shape{100, 300}, Shape{17, 1000}, Shape{5, 33, 70}}) {
      View view = View::dense(shape);
      const std::size_t last = shape.size() - 1;
      std::swap(view.shape[last], view.shape[last - 1]);
      std::swap(view.strides[last], view.strides[last - 1]);
      StoredTensor from(type, view), to = StoredTensor::dense(type, view.shape);
      Draw draw(9);
      fill(draw, from);
      run_elementwise(OpId::copy, {&from}, to, {});
      CHECK(from.numbers() == to.numbers());
    }
  }
}

}  // namespace

}  // namespace elementwise_layout_test
