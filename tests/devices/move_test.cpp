// SPDX-License-Identifier: MIT
// Operators that move elements, against a rule that says for each result where it comes from.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "core/graph/op_ids.hpp"
#include "tests/support/placed_tensor.hpp"

namespace move_test {

using namespace tyto;
using namespace tyto::placed;
using core::AxisAttributes;
using core::ListAttributes;
using core::OpId;
using core::PadAttributes;
using core::PadMode;
using core::SliceAttributes;
using placed::Tensor;

namespace {

std::vector<double> move(OpId op, const core::Attributes& attributes, const std::vector<Tensor>& inputs,
                         const Shape& shape, bool over_first = false) {
  return run(cpu::move_kernels(), op, attributes, inputs, {{inputs[0].dtype(), shape}}, over_first)[0].values();
}

/// Every element of the result must be what `from` says.
void check(const std::vector<double>& got, const Shape& shape, const std::function<double(const IntList&)>& from) {
  std::size_t at = 0;
  each_index(shape, [&](const IntList& index) {
    const double want = from(index);
    if (!same(got.at(at), want)) {
      FAIL("shape " << to_string(shape) << " at " << to_string(index) << ": " << got[at] << ", not " << want);
    }
    ++at;
  });
}

/// Calls body(x) for tensors of every type and layout and ranks 1 to 4 (or 2 to 4).
void each_tensor(std::uint64_t seed, int lowest_rank, const std::function<void(Dice&, const Tensor&)>& body) {
  Dice dice(seed);
  for (const DType dtype : every_dtype) {
    for (const Layout layout : every_layout) {
      for (int rank = lowest_rank; rank <= 4; ++rank) {
        body(dice, random(dice, dtype, random_shape(dice, rank, rank < 3 ? 40 : 6), layout, -50, 50));
      }
    }
  }
}

}  // namespace

TEST_CASE("concat puts tensors side by side along an axis") {
  const Tensor a = tensor(DType::i32, {2, 2}, {1, 2, 3, 4}), b = tensor(DType::i32, {2, 1}, {5, 6});
  CHECK(move(OpId::concat, AxisAttributes{1}, {a, b}, {2, 3}) == std::vector<double>{1, 2, 5, 3, 4, 6});
  CHECK(move(OpId::concat, AxisAttributes{0}, {a, a}, {4, 2}) == std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4});
  Dice dice(50);
  for (const DType dtype : every_dtype) {
    for (const Layout layout : every_layout) {
      const Shape shape = random_shape(dice, 3, 7);
      const std::int64_t axis = dice.below(3);
      const auto along = static_cast<std::size_t>(axis);
      std::vector<Tensor> parts;
      Shape whole = shape;
      whole[along] = 0;
      for (std::int64_t i = dice.between(1, 4); i > 0; --i) {
        Shape part = shape;
        part[along] = dice.below(5);
        whole[along] += part[along];
        parts.push_back(random(dice, dtype, part, layout, -50, 50));
      }
      check(move(OpId::concat, AxisAttributes{axis}, parts, whole), whole, [&](IntList index) {
        std::size_t part = 0;
        while (index[along] >= parts[part].shape()[along]) index[along] -= parts[part++].shape()[along];
        return parts[part].at(index);
      });
    }
  }
}

TEST_CASE("tile repeats whole tensors, repeat repeats elements") {
  const Tensor x = tensor(DType::f32, {2}, {1, 2});
  CHECK(move(OpId::tile, ListAttributes{{3}}, {x}, {6}) == std::vector<double>{1, 2, 1, 2, 1, 2});
  CHECK(move(OpId::repeat, ListAttributes{{3, 0}}, {x}, {6}) == std::vector<double>{1, 1, 1, 2, 2, 2});
  each_tensor(51, 1, [](Dice& dice, const Tensor& each) {
    ListAttributes repeats;
    Shape shape = each.shape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      repeats.list.push_back(dice.below(4));
      shape[axis] *= repeats.list[axis];
    }
    check(move(OpId::tile, repeats, {each}, shape), shape, [&](IntList index) {
      for (std::size_t axis = 0; axis < index.size(); ++axis) index[axis] %= each.shape()[axis];
      return each.at(index);
    });
    const std::int64_t count = dice.below(4), along = dice.below(each.shape().rank());
    Shape longer = each.shape();
    longer[static_cast<std::size_t>(along)] *= count;
    check(move(OpId::repeat, ListAttributes{{count, along}}, {each}, longer), longer, [&](IntList index) {
      index[static_cast<std::size_t>(along)] /= count;
      return each.at(index);
    });
  });
}

TEST_CASE("roll moves elements round each axis") {
  const Tensor x = tensor(DType::u8, {5}, {1, 2, 3, 4, 5});
  CHECK(move(OpId::roll, ListAttributes{{2}}, {x}, {5}) == std::vector<double>{4, 5, 1, 2, 3});
  CHECK(move(OpId::roll, ListAttributes{{-6}}, {x}, {5}) == std::vector<double>{2, 3, 4, 5, 1});
  each_tensor(52, 1, [](Dice& dice, const Tensor& each) {
    ListAttributes shifts;
    for (int axis = 0; axis < each.shape().rank(); ++axis) shifts.list.push_back(dice.between(-9, 9));
    check(move(OpId::roll, shifts, {each}, each.shape()), each.shape(), [&](IntList index) {
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        const std::int64_t length = each.shape()[axis];
        index[axis] = ((index[axis] - shifts.list[axis]) % length + length) % length;
      }
      return each.at(index);
    });
  });
}

TEST_CASE("pad adds a constant, the edge, or the mirror image") {
  const Tensor x = tensor(DType::f32, {3}, {1, 2, 3});
  const auto padded = [&](PadMode mode) { return move(OpId::pad, PadAttributes{{2}, {1}, mode, 9.0}, {x}, {6}); };
  CHECK(padded(PadMode::constant) == std::vector<double>{9, 9, 1, 2, 3, 9});
  CHECK(padded(PadMode::edge) == std::vector<double>{1, 1, 1, 2, 3, 3});
  CHECK(padded(PadMode::reflect) == std::vector<double>{3, 2, 1, 2, 3, 2});
  CHECK(move(OpId::pad, PadAttributes{{3}, {4}, PadMode::reflect, 0}, {tensor(DType::i32, {2}, {1, 2})}, {9}) ==
        std::vector<double>{2, 1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(move(OpId::pad, PadAttributes{{1, 0}, {0, 0}, PadMode::constant, 0}, {dense(DType::f32, {0, 2})}, {1, 2}) ==
        std::vector<double>{0, 0});
  CHECK(move(OpId::pad, PadAttributes{{}, {}, PadMode::constant, 0}, {tensor(DType::i8, {}, {4})}, {}) ==
        std::vector<double>{4});
  for (int number = 0; number < core::pad_mode_count; ++number) {
    const auto mode = static_cast<PadMode>(number);
    each_tensor(53, 1, [mode](Dice& dice, const Tensor& each) {
      PadAttributes attributes{{}, {}, mode, 3};
      Shape shape = each.shape();
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t length = shape[axis];
        const bool none = (length == 0 && mode != PadMode::constant) || dice.below(2) == 0;
        attributes.before.push_back(none ? 0 : dice.below(4));
        attributes.after.push_back(none ? 0 : dice.below(4));
        shape[axis] += attributes.before[axis] + attributes.after[axis];
      }
      const double value = each.dtype() == DType::boolean ? 1 : 3;
      check(move(OpId::pad, attributes, {each}, shape), shape, [&](IntList index) {
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
          const std::int64_t length = each.shape()[axis];
          std::int64_t& i = index[axis];
          i -= attributes.before[axis];
          if (mode == PadMode::constant && (i < 0 || i >= length)) return value;
          if (mode == PadMode::edge || length == 1) i = std::min(std::max<std::int64_t>(i, 0), length - 1);
          if (mode == PadMode::wrap) i = (i + 4 * length) % length;
          const std::int64_t edge = mode == PadMode::symmetric ? 1 : 0;  // the edge's element once more
          while (i < 0 || i >= length) i = i < 0 ? -i - edge : 2 * (length - 1) - i + edge;
        }
        return each.at(index);
      });
    });
  }
}

TEST_CASE("diag_embed writes a diagonal into zeros") {
  const Tensor x = tensor(DType::f32, {2}, {1, 2});
  CHECK(move(OpId::diag_embed, ListAttributes{{0}}, {x}, {2, 2}) == std::vector<double>{1, 0, 0, 2});
  CHECK(move(OpId::diag_embed, ListAttributes{{1}}, {x}, {3, 3}) == std::vector<double>{0, 1, 0, 0, 0, 2, 0, 0, 0});
  each_tensor(54, 1, [](Dice& dice, const Tensor& each) {
    const std::int64_t offset = dice.between(-3, 3), side = each.shape().back() + std::abs(offset);
    Shape shape = each.shape();
    shape[shape.size() - 1] = side;
    shape.push_back(side);
    check(move(OpId::diag_embed, ListAttributes{{offset}}, {each}, shape), shape, [&](IntList index) {
      const std::int64_t row = index[index.size() - 2], column = index.back();
      index.pop_back();
      index[index.size() - 1] = std::min(row, column);
      return column - row == offset ? each.at(index) : 0;
    });
  });
}

TEST_CASE("tril and triu keep one side of a diagonal, in place too") {
  const Tensor x = tensor(DType::i64, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(move(OpId::tril, ListAttributes{{0}}, {x}, {2, 3}) == std::vector<double>{1, 0, 0, 4, 5, 0});
  CHECK(move(OpId::triu, ListAttributes{{1}}, {x}, {2, 3}) == std::vector<double>{0, 2, 3, 0, 0, 6});
  CHECK(move(OpId::tril, ListAttributes{{0}}, {x}, {2, 3}, true) == std::vector<double>{1, 0, 0, 4, 5, 0});
  each_tensor(55, 2, [](Dice& dice, const Tensor& each) {
    const std::int64_t k = dice.between(-8, 8);
    for (const OpId op : {OpId::tril, OpId::triu}) {
      check(move(op, ListAttributes{{k}}, {each}, each.shape()), each.shape(), [&](const IntList& index) {
        const std::int64_t above = index.back() - index[index.size() - 2];
        return (op == OpId::tril ? above <= k : above >= k) ? each.at(index) : 0;
      });
    }
  });
}

TEST_CASE("set_slice replaces a slice and keeps the rest, in place too") {
  const Tensor x = tensor(DType::f32, {5}, {1, 2, 3, 4, 5}), v = tensor(DType::f32, {2}, {8, 9});
  const SliceAttributes back{{4}, {2}, {-3}};
  CHECK(move(OpId::set_slice, back, {x, v}, {5}) == std::vector<double>{1, 9, 3, 4, 8});
  CHECK(move(OpId::set_slice, back, {x, v}, {5}, true) == std::vector<double>{1, 9, 3, 4, 8});
  each_tensor(56, 1, [](Dice& dice, const Tensor& each) {
    SliceAttributes part;
    for (const std::int64_t length : each.shape()) {
      const std::int64_t count = dice.below(length + 1),
                         step = count > 1 ? dice.between(1, (length - 1) / (count - 1)) : 1;
      const std::int64_t first = count == 0 ? 0 : dice.below(length - (count - 1) * step);
      const bool down = dice.below(2) == 0;
      part.start.push_back(down && count > 0 ? first + (count - 1) * step : first);
      part.count.push_back(count);
      part.step.push_back(down ? -step : step);
    }
    const Tensor value = random(dice, each.dtype(), part.count, every_layout[dice.below(6)], -50, 50);
    check(move(OpId::set_slice, part, {each, value}, each.shape()), each.shape(), [&](const IntList& index) {
      IntList inside = index;
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        const std::int64_t distance = index[axis] - part.start[axis];
        inside[axis] = distance / part.step[axis];
        if (distance % part.step[axis] != 0 || inside[axis] < 0 || inside[axis] >= part.count[axis])
          return each.at(index);
      }
      return value.at(inside);
    });
  });
}

TEST_CASE("large copies shared among threads lose nothing") {
  Dice dice(57);
  const Tensor x = random(dice, DType::i32, {300, 900}, Layout::permuted, -1e6, 1e6);
  const Tensor y = random(dice, DType::i32, {300, 700}, Layout::dense, -1e6, 1e6);
  check(move(OpId::concat, AxisAttributes{1}, {x, y}, {300, 1600}), {300, 1600}, [&](const IntList& index) {
    return index[1] < 900 ? x.at(index) : y.at({index[0], index[1] - 900});
  });
  const Tensor line = random(dice, DType::f32, {500000}, Layout::dense, -1, 1);
  check(move(OpId::roll, ListAttributes{{12345}}, {line}, {500000}), {500000},
        [&](const IntList& index) { return line.at({(index[0] + 500000 - 12345) % 500000}); });
}

TEST_CASE("transposes are copied right whatever is left over of their squares") {
  Dice dice(58);
  for (const DType dtype : {DType::f32, DType::i32, DType::f64}) {
    for (std::int64_t rows = 7; rows < 22; rows += 1 + rows % 3) {
      for (std::int64_t columns = 7; columns < 38; columns += 1 + columns % 4) {
        const Tensor x = random(dice, dtype, {rows, columns}, Layout::permuted, -1e6, 1e6);
        const Tensor y = random(dice, dtype, {1, columns}, Layout::dense, -1e6, 1e6);
        check(move(OpId::concat, AxisAttributes{0}, {x, y}, {rows + 1, columns}), {rows + 1, columns},
              [&](const IntList& index) {
                return index[0] < rows ? x.at(index) : y.at({0, index[1]});
              });
      }
    }
  }
}

}  // namespace move_test
