// SPDX-License-Identifier: MIT
// Sorting, selecting and searching against the standard library's stable sort and plain counting.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/graph/op_ids.hpp"
#include "tests/support/placed_tensor.hpp"

namespace sort_test {

using namespace tyto;
using namespace tyto::placed;
using core::NoAttributes;
using core::OpId;
using core::SearchAttributes;
using core::SortAttributes;
using core::TopkAttributes;
using placed::Tensor;

namespace {

std::vector<double> sorted(const Tensor& x, std::int64_t axis, bool descending) {
  return run(cpu::sort_kernels(), OpId::sort, SortAttributes{axis, descending}, {x}, {{x.dtype(), x.shape()}})[0]
      .values();
}

std::vector<double> order_of(const Tensor& x, std::int64_t axis, bool descending) {
  return run(cpu::sort_kernels(), OpId::argsort, SortAttributes{axis, descending}, {x}, {{DType::i64, x.shape()}})[0]
      .values();
}

/// The order of a line: stable, NaN last.
std::vector<std::size_t> stable_order(const std::vector<double>& line, bool descending) {
  std::vector<std::size_t> order(line.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (line[a] != line[a]) return false;
    if (line[b] != line[b]) return true;
    return descending ? line[a] > line[b] : line[a] < line[b];
  });
  return order;
}

std::vector<double> line_of(const Tensor& x, IntList index, std::int64_t axis) {
  std::vector<double> line;
  auto& place = index[static_cast<std::size_t>(axis)];
  for (place = 0; place < x.shape()[static_cast<std::size_t>(axis)]; ++place) line.push_back(x.at(index));
  return line;
}

void check_sorts(const Tensor& x, std::int64_t axis, bool descending) {
  const std::vector<double> values = sorted(x, axis, descending), places = order_of(x, axis, descending);
  std::size_t at = 0;
  each_index(x.shape(), [&](const IntList& index) {
    const std::vector<double> line = line_of(x, index, axis);
    const std::size_t want =
        stable_order(line, descending)[static_cast<std::size_t>(index[static_cast<std::size_t>(axis)])];
    if (places[at] != static_cast<double>(want) || !same(values[at], line[want])) {
      FAIL(std::string(name_of(x.dtype())) << " " << to_string(x.shape()) << " axis " << axis << " at "
                                           << to_string(index) << ": place " << places[at] << ", not " << want);
    }
    ++at;
  });
}

}  // namespace

TEST_CASE("sort orders ascending or descending, NaN last either way") {
  const Tensor x = tensor(DType::f32, {5}, {3, not_a_number, -1, infinity, 0});
  const std::vector<double> up = sorted(x, 0, false), down = sorted(x, 0, true);
  CHECK(std::vector<double>(up.begin(), up.begin() + 4) == std::vector<double>{-1, 0, 3, infinity});
  CHECK(std::vector<double>(down.begin(), down.begin() + 4) == std::vector<double>{infinity, 3, 0, -1});
  CHECK(up[4] != up[4]);
  CHECK(down[4] != down[4]);
  CHECK(order_of(x, 0, false) == std::vector<double>{2, 4, 0, 3, 1});
}

TEST_CASE("sorting is stable: equal elements, both zeros among them, keep their order") {
  const Tensor x = tensor(DType::f32, {6}, {0.0, -0.0, 1, 0.0, -0.0, -1});
  CHECK(order_of(x, 0, false) == std::vector<double>{5, 0, 1, 3, 4, 2});
  CHECK(order_of(x, 0, true) == std::vector<double>{2, 0, 1, 3, 4, 5});
  CHECK(std::signbit(sorted(x, 0, false)[2]));
  CHECK_FALSE(std::signbit(sorted(x, 0, false)[1]));
}

TEST_CASE("sort and argsort agree with a stable sort for every type, layout, axis and length") {
  Dice dice(70);
  for (const DType dtype : every_dtype) {
    for (const Layout layout : every_layout) {
      for (int rank = 1; rank <= 3; ++rank) {
        const Tensor x = random(dice, dtype, random_shape(dice, rank, rank == 1 ? 60 : 9), layout, -20, 20);
        check_sorts(x, dice.below(rank), dice.below(2) == 0);
      }
    }
  }
}

TEST_CASE("long lines, which are sorted by digits, come out the same") {
  Dice dice(71);
  for (const DType dtype : every_dtype) {
    for (const bool descending : {false, true}) {
      for (const double reach : {5.0, 120.0}) {
        Tensor x = random(dice, dtype, {1500}, Layout::dense, -reach, reach);
        if (is_floating(dtype)) {
          x.set({700}, not_a_number);
          x.set({10}, -infinity);
        }
        const std::vector<double> line = x.values();
        const std::vector<std::size_t> order = stable_order(line, descending);
        const std::vector<double> places = order_of(x, 0, descending), values = sorted(x, 0, descending);
        bool equal = true;
        for (std::size_t i = 0; i < order.size(); ++i) {
          equal &= places[i] == static_cast<double>(order[i]) && same(values[i], line[order[i]]);
        }
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("short lines of every length, type, layout and axis are in stable order, zeros with their signs") {
  Dice dice(73);
  for (const DType dtype : every_dtype) {
    for (std::int64_t length = 1; length <= 17; ++length) {
      for (const Layout layout : every_layout) {
        // More lines than are sorted side by side at once, which follow one another along two axes.
        const std::int64_t axis = dice.below(3);
        Shape shape{5, 5, 5};
        shape[static_cast<std::size_t>(axis)] = length;
        Tensor x = random(dice, dtype, shape, layout, -3, 3);
        if (is_floating(dtype)) {
          const double special[] = {0.0, -0.0, not_a_number, infinity, -infinity, 1};
          each_index(shape, [&](const IntList& index) {
            if (dice.below(2) == 0) x.set(index, special[dice.below(6)]);
          });
        }
        const bool descending = dice.below(2) == 0;
        const std::int64_t k = dice.between(0, length);
        Shape first = shape;
        first[static_cast<std::size_t>(axis)] = k;
        const auto top = run(cpu::sort_kernels(), OpId::topk, TopkAttributes{axis, k, descending}, {x},
                             {{dtype, first}, {DType::i64, first}});
        const Tensor values = tensor(dtype, shape, sorted(x, axis, descending)),
                     places = tensor(DType::i64, shape, order_of(x, axis, descending));
        bool equal = true;
        each_index(shape, [&](const IntList& index) {
          const auto place = index[static_cast<std::size_t>(axis)];
          const std::vector<double> line = line_of(x, index, axis);
          const std::size_t want = stable_order(line, descending)[static_cast<std::size_t>(place)];
          const auto is_wanted = [&](double value, double at) {
            return at == static_cast<double>(want) && same(value, line[want]) &&
                   (line[want] != 0 || std::signbit(value) == std::signbit(line[want]));
          };
          equal &= is_wanted(values.at(index), places.at(index));
          if (place < k) equal &= is_wanted(top[0].at(index), top[1].at(index));
        });
        if (!equal) FAIL(std::string(name_of(dtype)) << " " << to_string(shape) << " axis " << axis);
      }
    }
  }
}

TEST_CASE("sorting nothing and single numbers") {
  CHECK(sorted(dense(DType::f32, {0}), 0, false).empty());
  CHECK(sorted(dense(DType::f32, {2, 0}), 1, false).empty());
  CHECK(sorted(tensor(DType::i16, {1}, {-7}), 0, true) == std::vector<double>{-7});
}

TEST_CASE("topk gives the k first of a sort with their places") {
  const Tensor x = tensor(DType::i32, {2, 4}, {3, 9, 1, 9, 5, 2, 8, 4});
  const auto top = run(cpu::sort_kernels(), OpId::topk, TopkAttributes{-1, 2, true}, {x},
                       {{DType::i32, {2, 2}}, {DType::i64, {2, 2}}});
  CHECK(top[0].values() == std::vector<double>{9, 9, 8, 5});
  CHECK(top[1].values() == std::vector<double>{1, 3, 2, 0});
  Dice dice(72);
  for (const DType dtype : every_dtype) {
    for (const bool largest : {false, true}) {
      for (const std::int64_t length : {1, 10, 300, 2000}) {
        for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, length / 20, length / 2, length}) {
          Tensor line = random(dice, dtype, {length}, every_layout[dice.below(6)], -100, 100);
          if (is_floating(dtype)) line.set({length / 3}, not_a_number);
          const auto got = run(cpu::sort_kernels(), OpId::topk, TopkAttributes{0, k, largest}, {line},
                               {{dtype, {k}}, {DType::i64, {k}}});
          const std::vector<double> all = line.values(), values = got[0].values(), places = got[1].values();
          const std::vector<std::size_t> order = stable_order(all, largest);
          bool equal = true;
          for (std::size_t i = 0; i < values.size(); ++i) {
            equal &= places[i] == static_cast<double>(order[i]) && same(values[i], all[order[i]]);
          }
          CHECK(equal);
        }
      }
    }
  }
}

TEST_CASE("searchsorted finds where values belong, left or right of equal ones") {
  const Tensor line = tensor(DType::f32, {4}, {1, 2, 2, 5}), values = tensor(DType::f32, {2, 3}, {0, 2, 9, 1, 5, 3});
  const auto places = [&](bool right) {
    return run(cpu::sort_kernels(), OpId::searchsorted, SearchAttributes{right}, {line, values},
               {{DType::i64, {2, 3}}})[0]
        .values();
  };
  CHECK(places(false) == std::vector<double>{0, 1, 4, 0, 3, 3});
  CHECK(places(true) == std::vector<double>{0, 3, 4, 1, 4, 3});
  Dice dice(73);
  for (const DType dtype : every_dtype) {
    for (const Layout layout : every_layout) {
      const std::int64_t length = dice.below(50);
      std::vector<double> sorted_line = random(dice, dtype, {length}, Layout::dense, -30, 30).values();
      std::sort(sorted_line.begin(), sorted_line.end());
      Tensor in_order = place(dice, dtype, {length}, layout == Layout::broadcast ? Layout::reversed : layout);
      if (core::repeats_elements(in_order.operand.view)) continue;
      for (std::int64_t i = 0; i < length; ++i) in_order.set({i}, sorted_line[static_cast<std::size_t>(i)]);
      const Tensor wanted = random(dice, dtype, random_shape(dice, 2, 20), layout, -35, 35);
      for (const bool right : {false, true}) {
        const Tensor got = run(cpu::sort_kernels(), OpId::searchsorted, SearchAttributes{right}, {in_order, wanted},
                               {{DType::i64, wanted.shape()}})[0];
        each_index(wanted.shape(), [&](const IntList& index) {
          std::int64_t before = 0;
          for (const double each : sorted_line) before += right ? each <= wanted.at(index) : each < wanted.at(index);
          CHECK(got.at(index) == static_cast<double>(before));
        });
      }
    }
  }
}

TEST_CASE("histogram counts values between edges, the last edge included and NaN left out") {
  const Tensor x = tensor(DType::f32, {7}, {0, 0.5, 1, 2, 3, 3.5, not_a_number}),
               edges = tensor(DType::f32, {3}, {0, 1, 3});
  CHECK(run(cpu::sort_kernels(), OpId::histogram, NoAttributes{}, {x, edges}, {{DType::i64, {2}}})[0].values() ==
        std::vector<double>{2, 3});
  Dice dice(74);
  for (const DType dtype : every_dtype) {
    if (dtype == DType::boolean) continue;
    for (const Layout layout : every_layout) {
      const Tensor values = random(dice, dtype, {70, 90}, layout, 0, 100);
      const std::vector<double> borders{3, 10, 11, 40, 90};
      const std::vector<double> got = run(cpu::sort_kernels(), OpId::histogram, NoAttributes{},
                                          {values, tensor(dtype, {5}, borders)}, {{DType::i64, {4}}})[0]
                                          .values();
      for (std::size_t bin = 0; bin < 4; ++bin) {
        double count = 0;
        for (const double value : values.values()) {
          count += value >= borders[bin] && (value < borders[bin + 1] || (bin == 3 && value == borders[4]));
        }
        CHECK(got[bin] == count);
      }
    }
  }
}

}  // namespace sort_test
