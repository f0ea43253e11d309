// SPDX-License-Identifier: MIT
// Rules that move transposes and reshapes: matches, a near miss for each condition, and the numbers.
#include <doctest/doctest.h>

#include <limits>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "tests/passes/outcome.hpp"

namespace sinking_test {

using namespace tyto;
using namespace tyto::testing;
using core::ListAttributes;
using core::OpId;
using core::Port;

namespace {

constexpr double rounded = 1e-5;

Port list(Sketch& s, OpId op, Port x, IntList list) { return s.add(op, {x}, ListAttributes{std::move(list)}); }
Port reshape(Sketch& s, Port x, IntList shape) { return list(s, OpId::reshape, x, std::move(shape)); }
Port transpose(Sketch& s, Port x, IntList order) { return list(s, OpId::transpose, x, std::move(order)); }

const Shape& shape_of(const core::Graph& graph, OpId op) {
  for (const core::GraphNode& node : graph.nodes()) {
    if (node.op == op) return graph.type(node.first_result).shape;
  }
  throw GraphError("no such node");
}

}  // namespace

TEST_CASE("transposes that undo each other meet through element-wise operators") {
  // Channels first and back round a bias and an activation, as image code written for another layout does.
  const Outcome met = expect(
      "transposes_meet", true,
      [](Sketch& s) {
        const Port x = list(s, OpId::transpose, s.input({2, 4, 5, 3}), {0, 3, 1, 2});
        const Port biased = s.add(OpId::relu, {s.add(OpId::add, {x, s.input({3, 1, 1})})});
        return list(s, OpId::transpose, s.add(OpId::multiply, {biased, s.number(2.5)}), {0, 2, 3, 1});
      },
      0, "views,transposes");
  for (const core::GraphNode& node : met.graph.nodes()) {
    if (node.op == OpId::relu) CHECK(met.graph.type(node.first_result).shape == Shape{2, 4, 5, 3});
  }
  const auto around = [](IntList there, IntList back, OpId op) {
    return [=](Sketch& s) {
      const Port x = list(s, OpId::transpose, s.input({3, 3, 3}), there);
      return list(s, OpId::transpose, s.add(op, {x, s.add(OpId::sin, {x})}), back);
    };
  };
  expect("transposes_meet", true, around({1, 2, 0}, {2, 0, 1}, OpId::add), 0, "views,transposes");
  expect("transposes_meet", false, around({1, 2, 0}, {1, 2, 0}, OpId::add), 0, "views,transposes");
  expect(
      "transposes_meet", false,
      [](Sketch& s) {  // the other operand would have to be transposed
        const Port x = list(s, OpId::transpose, s.input({3, 4}), {1, 0});
        return list(s, OpId::transpose, s.add(OpId::add, {x, s.input({4, 3})}), {1, 0});
      },
      0, "views,transposes");
  // A residual branch reads what lies in between: it is computed once, and the branch looks at it.
  const Outcome branched = expect(
      "transposes_meet", true,
      [](Sketch& s) {
        const IntList first{0, 3, 1, 2}, last{0, 2, 3, 1};
        const Port x = list(s, OpId::transpose, s.input({2, 4, 5, 3}), first);
        const Port y = s.add(OpId::relu, {s.add(OpId::add, {x, s.input({3, 1, 1})})});
        const Port z = list(s, OpId::transpose, s.add(OpId::sin, {list(s, OpId::transpose, y, last)}), first);
        return list(s, OpId::transpose, s.add(OpId::add, {z, y}), last);
      },
      0, "views,transposes");
  CHECK(count(branched.graph, OpId::relu) == 1);
  for (const core::GraphNode& node : branched.graph.nodes()) {
    if (node.op == OpId::transpose) CHECK(element_count(branched.graph.type(node.first_result).shape) == 3);
  }
}

TEST_CASE("transposes meet through what joins, pads and cuts along axes") {
  const IntList first{0, 3, 1, 2}, last{0, 2, 3, 1};
  const Outcome joined = expect(
      "transposes_meet", true,
      [&](Sketch& s) {
        const Port x = transpose(s, s.input({2, 4, 5, 3}), first), y = transpose(s, s.input({2, 4, 5, 2}), first);
        return transpose(s, s.add(OpId::concat, {s.add(OpId::relu, {x}), y}, core::AxisAttributes{1}), last);
      },
      0, "views,transposes");
  CHECK(count(joined.graph, OpId::transpose) == 0);
  CHECK(shape_of(joined.graph, OpId::concat) == Shape{2, 4, 5, 5});
  const Outcome padded = expect(
      "transposes_meet", true,
      [&](Sketch& s) {
        const Port x = s.add(OpId::relu, {transpose(s, s.input({2, 4, 5, 3}), first)});
        const core::PadAttributes pads{{0, 0, 1, 2}, {0, 0, 3, 0}, core::PadMode::reflect, Scalar(0.0)};
        return transpose(s, s.add(OpId::pad, {x}, pads), last);
      },
      0, "views,transposes");
  CHECK(count(padded.graph, OpId::transpose) == 0);
  CHECK(shape_of(padded.graph, OpId::pad) == Shape{2, 8, 7, 3});
  const Outcome cut = expect(
      "transposes_meet", true,
      [&](Sketch& s) {
        const Port x = s.add(OpId::relu, {transpose(s, s.input({2, 4, 5, 3}), first)});
        const core::SliceAttributes half{{0, 1, 0, 1}, {2, 2, 4, 2}, {1, 1, 1, 2}};
        return transpose(s, s.add(OpId::slice, {x}, half), last);
      },
      0, "views,transposes");
  CHECK(count(cut.graph, OpId::transpose) == 0);
  expect(
      "transposes_meet", false,
      [&](Sketch& s) {  // one of the parts would have to be transposed
        const Port x = transpose(s, s.input({2, 4, 5, 3}), first);
        return transpose(s, s.add(OpId::concat, {x, s.input({2, 2, 4, 5})}, core::AxisAttributes{1}), last);
      },
      0, "views,transposes");
}

TEST_CASE("zeros around an image are left to the convolution") {
  const std::vector<double> weights{0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8};
  const auto drawn = [=](core::PadAttributes pads, bool constant, double first_weight, std::int64_t channels = 1) {
    return [=](Sketch& s) {
      std::vector<double> numbers;
      for (std::int64_t i = 0; i < channels; ++i) numbers.insert(numbers.end(), weights.begin(), weights.end());
      numbers[0] = first_weight;
      const Port w = constant ? s.constant(numbers, {2, 2, channels, 2}) : s.input({2, 2, channels, 2});
      core::WindowAttributes window;
      window.window = {2, 2};
      window.stride = {2, 1};
      window.dilation = {1, 1};
      window.before = {0, 1};
      window.after = {1, 0};
      return s.add(OpId::convolution, {s.add(OpId::pad, {s.input({1, 5, 5, 1})}, pads), w}, window);
    };
  };
  using Pads = core::PadAttributes;
  const std::string rule = "padding_of_convolution", passes = "views,constants,padding";
  const Pads around{{0, 1, 0, 0}, {0, 2, 1, 0}, core::PadMode::constant, Scalar(0.0)};
  const Outcome moved = expect(rule, true, drawn(around, true, 0.1), rounded, passes);
  CHECK(count(moved.graph, OpId::pad) == 0);
  expect(rule, false, drawn(around, false, 0.1), rounded, passes);
  expect(rule, false, drawn(around, true, std::numeric_limits<double>::infinity()), rounded, passes);
  expect(rule, false, drawn({{0, 1, 0, 0}, {0, 2, 1, 0}, core::PadMode::constant, Scalar(1.0)}, true, 0.1), rounded,
         passes);
  expect(rule, false, drawn({{0, 1, 0, 0}, {0, 2, 1, 0}, core::PadMode::edge, Scalar(0.0)}, true, 0.1), rounded,
         passes);
  // Pictures and channels that are added are no padding of a convolution.
  const std::pair<IntList, IntList> others[] = {{{1, 1, 0, 0}, {0, 2, 1, 0}}, {{0, 1, 0, 0}, {2, 2, 1, 0}}};
  for (const auto& [before, after] : others) {
    expect(rule, false, drawn({before, after, core::PadMode::constant, Scalar(0.0)}, true, 0.1), rounded, passes);
  }
  const std::pair<IntList, IntList> channels[] = {{{0, 1, 0, 1}, {0, 2, 1, 0}}, {{0, 1, 0, 0}, {0, 2, 1, 1}}};
  for (const auto& [before, after] : channels) {
    expect(rule, false, drawn({before, after, core::PadMode::constant, Scalar(0.0)}, true, 0.1, 2), rounded, passes);
  }
}

TEST_CASE("a product whose result is transposed computes it so") {
  // sum over k of x[i,k] y[k,j] is, read as [j,i], the sum over k of y'[j,k] x'[k,i].
  const Outcome transposed = expect(
      "transposed_product", true,
      [](Sketch& s) {
        const Port y = s.add(OpId::tanh, {s.input({4, 5})});
        return reshape(s, transpose(s, s.add(OpId::matmul, {s.input({3, 4}), y}), {1, 0}), {15});
      },
      rounded);
  CHECK(shape_of(transposed.graph, OpId::matmul) == Shape{5, 3});
  const Outcome stacks = expect(
      "transposed_product", true,
      [](Sketch& s) {
        const Port y = s.add(OpId::tanh, {s.input({2, 3, 5, 6})});
        return transpose(s, s.add(OpId::matmul, {s.input({2, 3, 4, 5}), y}), {1, 0, 3, 2});
      },
      rounded);
  CHECK(shape_of(stacks.graph, OpId::matmul) == Shape{3, 2, 6, 4});
  const Outcome permuted = expect(
      "permuted_products", true,
      [](Sketch& s) {
        return transpose(s, s.add(OpId::matmul, {s.input({2, 3, 7, 4, 5}), s.input({2, 3, 7, 5, 6})}), {1, 2, 0, 3, 4});
      },
      rounded);
  CHECK(shape_of(permuted.graph, OpId::matmul) == Shape{3, 7, 2, 4, 6});
}

TEST_CASE("a product stays as it is where its columns become a stack, where it has other readers, and beside weights") {
  const auto stack = [](IntList order) {
    return [order](Sketch& s) {
      const Port y = s.add(OpId::tanh, {s.input({2, 4, 5})});
      return transpose(s, s.add(OpId::matmul, {s.input({2, 3, 4}), y}), order);
    };
  };
  expect("transposed_product", false, stack({1, 0, 2}), rounded);
  expect("permuted_products", false, stack({1, 0, 2}), rounded);
  expect("permuted_products", false, stack({0, 2, 1}), rounded);
  expect("transposed_product", false, stack({2, 1, 0}), rounded);
  expect("transposed_product", false, stack({2, 0, 1}), rounded);
  expect("transposed_product", false, stack({1, 2, 0}), rounded);
  for (const bool constant : {false, true}) {
    expect(
        "transposed_product", false,
        [=](Sketch& s) {
          const Port w = constant ? s.constant({1, 2, 3, 4, 5, 6}, {2, 3}) : s.input({2, 3});
          const Port x = s.add(OpId::tanh, {s.input({4, 3})});
          return transpose(s, s.add(OpId::matmul, {x, transpose(s, w, {1, 0})}), {1, 0});
        },
        rounded);
  }
  expect(
      "transposed_product", false,
      [](Sketch& s) {
        const Port y = s.add(OpId::matmul, {s.input({3, 3}), s.add(OpId::tanh, {s.input({3, 3})})});
        return s.add(OpId::add, {transpose(s, y, {1, 0}), y});
      },
      rounded);
  expect(
      "permuted_products", false,
      [](Sketch& s) {
        const Port y = s.add(OpId::matmul, {s.input({2, 2, 3, 4}), s.input({2, 2, 4, 5})});
        return s.add(OpId::add, {transpose(s, y, {1, 0, 2, 3}), y});
      },
      rounded);
}

TEST_CASE("a reshape sinks through an operator that it parts from another") {
  const auto computed = [](Sketch& s, const Shape& shape) { return s.add(OpId::tanh, {s.input(shape)}); };
  const auto parted = [=](Sketch& s) { return reshape(s, computed(s, {2, 3, 4}), {6, 4}); };
  const Outcome function = expect("reshape_sinks", true, [=](Sketch& s) { return s.add(OpId::exp, {parted(s)}); });
  CHECK(shape_of(function.graph, OpId::exp) == Shape{2, 3, 4});
  CHECK(count(function.graph, OpId::reshape) == 1);
  expect("reshape_sinks", true,
         [=](Sketch& s) { return s.add(OpId::cast, {parted(s)}, core::CastAttributes{DType::f64}); });
  // Numbers, a bias along the axis that is kept, rows of which each is stretched, and an argument of full size follow.
  for (const Shape& other : {Shape{}, Shape{1}, Shape{4}, Shape{1, 4}, Shape{6, 1}, Shape{6, 4}}) {
    expect("reshape_sinks", true, [=](Sketch& s) { return s.add(OpId::subtract, {parted(s), s.input(other)}); });
    expect("reshape_sinks_second", true, [=](Sketch& s) { return s.add(OpId::subtract, {s.input(other), parted(s)}); });
    expect("reshape_sinks_third", true, [=](Sketch& s) {
      return s.add(OpId::where, {s.input(other, DType::boolean), s.input({4}), parted(s)});
    });
  }
  // So does what is computed from a tensor that was reshaped alike.
  const Outcome both = expect("reshape_sinks", true, [=](Sketch& s) {
    const Port other = s.add(OpId::sort, {s.input({2, 3, 4})}, core::SortAttributes{2});
    return s.add(OpId::add, {parted(s), s.add(OpId::relu, {reshape(s, other, {6, 4})})});
  });
  CHECK(count(both.graph, OpId::reshape) == 1);
  // Axes of length 1 come and go.
  for (const Shape& from : {Shape{4, 1, 3}, Shape{1, 4, 3}, Shape{4, 3, 1}, Shape{4, 3}, Shape{1, 4, 1, 3, 1}}) {
    for (const Shape& other : {Shape{3}, Shape{4, 1}, Shape{1, 1}, Shape{4, 3}}) {
      const bool moves = from != Shape{4, 3};
      expect("reshape_sinks", moves, [=](Sketch& s) {
        return s.add(OpId::add, {reshape(s, computed(s, from), {4, 3}), s.input(other)});
      });
    }
  }
}

TEST_CASE("a reshape stays where it parts nothing, or where an operand cannot follow it") {
  const auto sorted = [](Sketch& s, const Shape& shape) {
    return s.add(OpId::sort, {s.input(shape)}, core::SortAttributes{0});
  };
  const auto tanh_of = [](Sketch& s, const Shape& shape) { return s.add(OpId::tanh, {s.input(shape)}); };
  const auto all_three = [](const std::function<Port(Sketch&)>& parted, const std::function<Port(Sketch&)>& other) {
    expect("reshape_sinks", false, [=](Sketch& s) { return s.add(OpId::add, {parted(s), other(s)}); });
    expect("reshape_sinks_second", false, [=](Sketch& s) { return s.add(OpId::add, {other(s), parted(s)}); });
    expect("reshape_sinks_third", false, [=](Sketch& s) {
      return s.add(OpId::where, {s.input({4}, DType::boolean), other(s), parted(s)});
    });
  };
  const auto number = [](Sketch& s) { return s.number(2.5); };
  const auto parted = [=](Sketch& s) { return reshape(s, tanh_of(s, {2, 3, 4}), {6, 4}); };
  // No element-wise operator computes x.
  all_three([=](Sketch& s) { return reshape(s, sorted(s, {2, 3, 4}), {6, 4}); }, number);
  // Somebody else reads x, or the reshape.
  expect("reshape_sinks", false, [=](Sketch& s) {
    const Port x = tanh_of(s, {2, 3, 4});
    const Port total = s.add(OpId::sum, {x}, core::AxesAttributes{{0, 1, 2}, false});
    return s.add(OpId::add, {s.add(OpId::exp, {reshape(s, x, {6, 4})}), total});
  });
  expect("reshape_sinks", false, [=](Sketch& s) {
    const Port x = parted(s);
    return s.add(OpId::add, {s.add(OpId::exp, {x}), s.add(OpId::sum, {x}, core::AxesAttributes{{0, 1}, false})});
  });
  // The reshape is stretched.
  all_three([=](Sketch& s) { return reshape(s, tanh_of(s, {4}), {1, 4}); }, [](Sketch& s) { return s.input({6, 4}); });
  // The other operand runs along a part of what the reshape joins, ...
  all_three(
      [=](Sketch& s) {
        return reshape(s, tanh_of(s, {6, 4}), {2, 3, 4});
      },
      [](Sketch& s) {
        return s.input({3, 1});
      });
  // ... is a smaller view that may lie apart, ...
  all_three(parted, [](Sketch& s) { return s.add(OpId::slice, {s.input({8})}, core::SliceAttributes{{1}, {4}, {2}}); });
  // ... is computed in the result's shape, ...
  all_three(parted, [=](Sketch& s) { return s.add(OpId::exp, {sorted(s, {6, 4})}); });
  // ... for others as well, though it was reshaped alike before, ...
  expect("reshape_sinks", false, [=](Sketch& s) {
    const Port other = s.add(OpId::relu, {reshape(s, sorted(s, {2, 3, 4}), {6, 4})});
    const Port total = s.add(OpId::sum, {other}, core::AxesAttributes{{0, 1}, false});
    return s.add(OpId::multiply, {s.add(OpId::add, {parted(s), other}), total});
  });
  // ... or was reshaped from another shape.
  all_three(parted, [=](Sketch& s) { return reshape(s, sorted(s, {3, 2, 4}), {6, 4}); });
  // Nothing is computed of no elements.
  all_three([=](Sketch& s) { return reshape(s, tanh_of(s, {0, 3, 4}), {0, 4}); }, number);
}

TEST_CASE("reshapes from one shape become one behind the operator that reads both") {
  const auto sorted = [](Sketch& s, const Shape& shape) {
    return reshape(s, s.add(OpId::sort, {s.input(shape)}, core::SortAttributes{0}), {6, 4});
  };
  const Outcome joined = expect("reshapes_join", true, [=](Sketch& s) {
    return s.add(OpId::add, {sorted(s, {2, 3, 4}), sorted(s, {2, 3, 4})});
  });
  CHECK(count(joined.graph, OpId::reshape) == 1);
  CHECK(shape_of(joined.graph, OpId::add) == Shape{2, 3, 4});
  expect("reshapes_join", false, [=](Sketch& s) {
    return s.add(OpId::add, {sorted(s, {2, 3, 4}), sorted(s, {3, 2, 4})});
  });
  expect("reshapes_join", false, [=](Sketch& s) { return s.add(OpId::add, {sorted(s, {2, 3, 4}), s.input({6, 4})}); });
  expect("reshapes_join", false, [=](Sketch& s) {
    return s.add(OpId::add, {reshape(s, s.input({2, 3, 4}), {6, 4}), reshape(s, s.input({2, 3, 4}), {6, 4})});
  });
  expect("reshapes_join", false, [=](Sketch& s) {
    const Port x = sorted(s, {2, 3, 4});
    const Port total = s.add(OpId::sum, {x}, core::AxesAttributes{{0, 1}, false});
    return s.add(OpId::add, {s.add(OpId::add, {x, sorted(s, {2, 3, 4})}), total});
  });
}

TEST_CASE("reshapes before and behind element-wise operators meet") {
  const auto sorted = [](Sketch& s, const Shape& shape) {
    return s.add(OpId::sort, {s.input(shape)}, core::SortAttributes{0});
  };
  // Flattened for an activation, and back: the input of full size follows.
  const auto around = [=](const Shape& from, const Shape& through, const Shape& back) {
    return [=](Sketch& s) {
      const Port x = s.add(OpId::add, {reshape(s, sorted(s, from), through), s.input(through)});
      return reshape(s, s.add(OpId::multiply, {s.number(0.5), s.add(OpId::tanh, {x})}), back);
    };
  };
  const Outcome met = expect("reshapes_meet", true, around({2, 3, 4}, {6, 4}, {2, 3, 4}));
  CHECK(count(met.graph, OpId::reshape) == 1);  // of the input
  CHECK(shape_of(met.graph, OpId::tanh) == Shape{2, 3, 4});
  // One reshape is left behind where the shapes are three.
  expect("reshapes_meet", true, around({2, 3, 4}, {6, 4}, {4, 6}));
  const Outcome joined = expect("reshapes_meet", true, [=](Sketch& s) {
    const Port x = reshape(s, sorted(s, {2, 3, 4}), {6, 4});
    return reshape(s, s.add(OpId::add, {s.add(OpId::tanh, {x}), s.input({4})}), {24});
  });
  CHECK(count(joined.graph, OpId::reshape) == 1);
  CHECK(shape_of(joined.graph, OpId::tanh) == Shape{2, 3, 4});
  // Nothing or only an input was reshaped, ...
  expect("reshapes_meet", false, [=](Sketch& s) { return reshape(s, s.add(OpId::tanh, {sorted(s, {6, 4})}), {24}); });
  expect("reshapes_meet", false, [=](Sketch& s) {
    return reshape(s, s.add(OpId::tanh, {reshape(s, s.input({2, 3, 4}), {6, 4})}), {24});
  });
  // ... another shape was, a bias runs along a part of a joined axis, others read what lies between, it is empty.
  expect("reshapes_meet", false, [=](Sketch& s) {
    const Port sum =
        s.add(OpId::add, {reshape(s, sorted(s, {2, 3, 4}), {6, 4}), reshape(s, sorted(s, {3, 2, 4}), {6, 4})});
    return reshape(s, sum, {24});
  });
  expect("reshapes_meet", false, [=](Sketch& s) {
    const Port x = reshape(s, sorted(s, {6, 4}), {2, 3, 4});
    return reshape(s, s.add(OpId::add, {x, s.input({3, 1})}), {24});
  });
  expect("reshapes_meet", false, [=](Sketch& s) {
    const Port y = s.add(OpId::tanh, {reshape(s, sorted(s, {2, 3, 4}), {6, 4})});
    const Port total = s.add(OpId::sum, {y}, core::AxesAttributes{{0, 1}, false});
    return s.add(OpId::add, {reshape(s, y, {24}), total});
  });
  expect("reshapes_meet", false, [=](Sketch& s) {
    return reshape(s, s.add(OpId::tanh, {reshape(s, sorted(s, {0, 3, 4}), {0, 4})}), {0});
  });
}

TEST_CASE("a chain whose steps are all read through a reshape is sunk through in one round") {
  // Nodes of scan(), as multiply-adds: each step is read by the next and, through a reshape, by the node joining them.
  const auto running = [](Sketch& s) {
    constexpr std::int64_t steps = 100;
    const Port x = s.input({steps});
    const auto element = [&](std::int64_t i) {
      return reshape(s, s.add(OpId::slice, {x}, core::SliceAttributes{{i}, {1}, {1}}), {});
    };
    Port sum = element(0);
    Port joined = reshape(s, sum, {1});
    for (std::int64_t i = 1; i < steps; ++i) {
      sum = s.add(OpId::fma, {sum, s.number(0.5), element(i)});
      joined = s.add(OpId::concat, {joined, reshape(s, sum, {1})}, core::AxisAttributes{0});
    }
    return joined;
  };
  const Outcome sunk = expect("reshape_after_reshape", true, running, rounded);
  CHECK(sunk.report.rounds < 10);
  CHECK(shape_of(sunk.graph, OpId::fma) == Shape{1});
}

TEST_CASE("what a reshape parted is one group, and the product behind one has its epilogue") {
  Sketch s;
  const Port x = s.add(OpId::tanh, {s.input({2, 3, 4})});
  const core::Graph chain = s.graph({s.add(OpId::exp, {reshape(s, x, {6, 4})})});
  CHECK(count(optimised(chain, "all,-reshapes"), OpId::fused) == 0);
  CHECK(count(optimised(chain, "all"), OpId::fused) == 1);
  CHECK(agree(results_of(chain), results_of(optimised(chain, "all"))));
}

TEST_CASE("each rule on transposes, reshapes and padding has been seen to match and to miss") {
  for (const optimiser::Rule& rule : optimiser::transpose_rules()) check_seen(rule);
  for (const optimiser::Rule& rule : optimiser::reshape_rules()) check_seen(rule);
  for (const optimiser::Rule& rule : optimiser::padding_rules()) check_seen(rule);
}

}  // namespace sinking_test
