// SPDX-License-Identifier: MIT
// Rules on views, reductions, element types and constants: matches, near misses, and the numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "tests/passes/outcome.hpp"
#include "tests/passes/twin_process.hpp"

namespace structure_test {

using namespace tyto;
using namespace tyto::testing;
using core::AxesAttributes;
using core::AxisAttributes;
using core::CastAttributes;
using core::ListAttributes;
using core::OpId;
using core::Port;
using core::SliceAttributes;

namespace {

Port list(Sketch& s, OpId op, Port x, IntList list) { return s.add(op, {x}, ListAttributes{std::move(list)}); }
Port reduce(Sketch& s, OpId op, Port x, IntList axes, bool keep = false) {
  return s.add(op, {x}, AxesAttributes{std::move(axes), keep});
}

}  // namespace

TEST_CASE("operators that pass their input on go") {
  for (const OpId op : {OpId::stop_gradient, OpId::alias, OpId::copy}) {
    const std::string name(core::definition(op).name);
    CHECK(count(expect(name, true, [&](Sketch& s) { return s.add(OpId::sin, {s.add(op, {s.input({3})})}); }).graph,
                op) == 0);
  }
  Sketch s;
  const Port x = s.input({3});
  const Port y = s.add(OpId::exp, {x});
  const Port inputs[] = {y, x, x};
  const Port z = s.builder().add(OpId::with_gradient, nullptr, inputs);
  const core::Graph out = optimised(s.graph({s.add(OpId::sin, {z})}), "views");
  CHECK(out.nodes().size() == 3);
}

TEST_CASE("chains of reshapes become one, and none where the shape comes back") {
  expect("reshape_of_reshape", true, [](Sketch& s) {
    return list(s, OpId::reshape, list(s, OpId::reshape, s.add(OpId::sin, {s.input({2, 6})}), {12}), {3, 4});
  });
  expect("reshape_of_reshape", false, [](Sketch& s) {
    return list(s, OpId::reshape, s.add(OpId::sin, {list(s, OpId::reshape, s.input({2, 6}), {12})}), {3, 4});
  });
  expect("reshape_to_own_shape", true, [](Sketch& s) { return list(s, OpId::reshape, s.input({2, 6}), {2, 6}); });
  expect("reshape_to_own_shape", false, [](Sketch& s) { return list(s, OpId::reshape, s.input({2, 6}), {6, 2}); });
}

TEST_CASE("chains of transposes compose in the right order") {
  expect("transpose_of_transpose", true, [](Sketch& s) {
    return list(s, OpId::transpose, list(s, OpId::transpose, s.input({2, 3, 4}), {1, 2, 0}), {0, 2, 1});
  });
  const Outcome undone = expect("transpose_of_transpose", true, [](Sketch& s) {
    return s.add(OpId::sin,
                 {list(s, OpId::transpose, list(s, OpId::transpose, s.input({2, 3, 4}), {1, 2, 0}), {2, 0, 1})});
  });
  CHECK(count(undone.graph, OpId::transpose) == 0);
  expect("transpose_of_nothing", true, [](Sketch& s) { return list(s, OpId::transpose, s.input({2, 2}), {0, 1}); });
  expect("transpose_of_nothing", false, [](Sketch& s) { return list(s, OpId::transpose, s.input({2, 2}), {1, 0}); });
  expect("transpose_of_unit_axes", true, [](Sketch& s) {
    return list(s, OpId::transpose, s.input({3, 1, 4}), {1, 0, 2});
  });
  expect("transpose_of_unit_axes", false, [](Sketch& s) {
    return list(s, OpId::transpose, s.input({3, 1, 4}), {2, 0, 1});
  });
}

TEST_CASE("broadcasts collapse, and an element-wise operator stretches for itself") {
  expect("broadcast_of_broadcast", true, [](Sketch& s) {
    return list(s, OpId::broadcast_to, list(s, OpId::broadcast_to, s.input({3, 1}), {3, 4}), {2, 3, 4});
  });
  expect("broadcast_to_own_shape", true, [](Sketch& s) { return list(s, OpId::broadcast_to, s.input({3}), {3}); });
  expect("broadcast_to_own_shape", false, [](Sketch& s) { return list(s, OpId::broadcast_to, s.input({3}), {2, 3}); });
  expect("broadcast_of_new_axes", true, [](Sketch& s) {
    return list(s, OpId::broadcast_to, list(s, OpId::reshape, s.input({3}), {1, 1, 3}), {2, 4, 3});
  });
  expect("broadcast_of_new_axes", false, [](Sketch& s) {
    return list(s, OpId::broadcast_to, list(s, OpId::reshape, s.input({3}), {3, 1}), {3, 2});
  });
  const Outcome full = expect("stretched_operands", true, [](Sketch& s) {
    return s.add(OpId::add, {list(s, OpId::broadcast_to, s.input({3}), {2, 3}), s.input({2, 3})});
  });
  CHECK(count(full.graph, OpId::broadcast_to) == 0);
  // Both operands stretched: three sines instead of six.
  const Outcome after = expect("stretched_operands", true, [](Sketch& s) {
    const Port x = list(s, OpId::broadcast_to, s.input({3}), {2, 3});
    return s.add(OpId::multiply, {s.add(OpId::sin, {x}), x});
  });
  for (const core::GraphNode& node : after.graph.nodes()) {
    if (node.op == OpId::sin || node.op == OpId::multiply) CHECK(after.graph.type(node.first_result).shape == Shape{3});
  }
  expect("stretched_operands", false, [](Sketch& s) { return s.add(OpId::add, {s.input({3}), s.input({2, 3})}); });
}

TEST_CASE("slices and flips compose, whole ones go") {
  expect("slice_of_slice", true, [](Sketch& s) {
    const Port part = s.add(OpId::slice, {s.input({10, 5})}, SliceAttributes{{9, 1}, {5, 4}, {-2, 1}});
    return s.add(OpId::slice, {part}, SliceAttributes{{1, 3}, {2, 2}, {3, -2}});
  });
  expect("slice_of_everything", true, [](Sketch& s) {
    return s.add(OpId::slice, {s.input({4, 1})}, SliceAttributes{{0, 0}, {4, 1}, {1, -1}});
  });
  expect("slice_of_everything", false, [](Sketch& s) {
    return s.add(OpId::slice, {s.input({4, 1})}, SliceAttributes{{3, 0}, {4, 1}, {-1, 1}});
  });
  expect("flip_of_flip", true, [](Sketch& s) {
    return s.add(OpId::flip, {s.add(OpId::flip, {s.input({2, 3})}, AxesAttributes{{0, 1}})}, AxesAttributes{{1}});
  });
  expect("flip_of_one", true, [](Sketch& s) { return s.add(OpId::flip, {s.input({1, 3})}, AxesAttributes{{0}}); });
  expect("flip_of_one", false, [](Sketch& s) { return s.add(OpId::flip, {s.input({1, 3})}, AxesAttributes{{1}}); });
}

TEST_CASE("collective calls of one process are removed, those of several are kept, unread or not") {
  const auto call = [](OpId op, std::int64_t processes) {
    return [op, processes](Sketch& s) {
      const Port x = s.input(op == OpId::reduce_scatter ? Shape{processes, 3} : Shape{3});
      return s.add(op, {x}, core::CollectiveAttributes{.processes = processes});
    };
  };
  for (const OpId op : {OpId::all_reduce, OpId::all_gather, OpId::reduce_scatter, OpId::broadcast, OpId::barrier,
                        OpId::send, OpId::recv}) {
    const std::string name(core::definition(op).name);
    CHECK(count(expect(name + "_of_one", true, call(op, 1)).graph, op) == 0);
    const WithTwin twin;
    expect(name + "_of_one", false, call(op, 2));
    // Equal calls stay two, and one that nobody reads stays.
    Sketch s;
    const Port x = s.input(op == OpId::reduce_scatter ? Shape{2, 3} : Shape{3});
    const auto called = [&](OpId each) { return s.add(each, {x}, core::CollectiveAttributes{.processes = 2}); };
    const Port first = called(op), second = called(op);
    called(OpId::all_gather);
    const core::Graph out = optimised(s.graph({s.add(OpId::add, {second, first})}), "dead_code,cse,constants,views");
    CHECK(count(out, op) == (op == OpId::all_gather ? 3 : 2));
    CHECK(count(out, OpId::all_gather) == (op == OpId::all_gather ? 3 : 1));
  }
}

TEST_CASE("joining one tensor and padding by nothing are nothing") {
  expect("concat_of_one", true, [](Sketch& s) { return s.add(OpId::concat, {s.input({2, 3})}, AxisAttributes{1}); });
  expect("concat_of_one", false, [](Sketch& s) {
    const Port x = s.input({2, 3});
    return s.add(OpId::concat, {x, x}, AxisAttributes{1});
  });
  expect("pad_by_nothing", true, [](Sketch& s) {
    return s.add(OpId::pad, {s.input({2, 3})}, core::PadAttributes{{0, 0}, {0, 0}, core::PadMode::constant, 7.0});
  });
  expect("pad_by_nothing", false, [](Sketch& s) {
    return s.add(OpId::pad, {s.input({2, 3})}, core::PadAttributes{{0, 1}, {0, 0}, core::PadMode::constant, 7.0});
  });
}

TEST_CASE("tensors of one number are stretched numbers, on which arithmetic is done once") {
  const Outcome sum = expect("fill_of_number", true, [](Sketch& s) {
    return s.add(OpId::add, {s.input({20, 30}), s.number(2.5, DType::f32, {20, 30})});
  });
  CHECK(count(sum.graph, OpId::fill) == 0);
  CHECK(count(sum.graph, OpId::broadcast_to) == 0);
  expect("fill_of_number", false, [](Sketch& s) { return s.add(OpId::add, {s.input({2}), s.number(2.5)}); });
  expect("view_of_number", true, [](Sketch& s) {
    return s.add(OpId::add, {s.input({6}), list(s, OpId::reshape, s.constant({3}, {1, 1}), {1})});
  });
  expect("view_of_number", false, [](Sketch& s) {
    return s.add(OpId::add, {s.input({6}), list(s, OpId::reshape, s.constant({3, 4, 5, 6, 7, 8}, {2, 3}), {6})});
  });
  const Outcome product = expect("stretched_operands", true, [](Sketch& s) {
    const Port a = s.number(2.0, DType::f32, {20, 30});
    return s.add(OpId::add, {s.input({20, 30}), s.add(OpId::multiply, {a, s.add(OpId::exp, {a})})});
  });
  CHECK(product.graph.nodes().size() == 3);
}

TEST_CASE("casts to the same type go, casts through a wider type are one cast") {
  const auto cast = [](Sketch& s, Port x, DType to) { return s.add(OpId::cast, {x}, CastAttributes{to}); };
  expect("cast_to_own_type", true, [&](Sketch& s) { return cast(s, s.input({3}), DType::f32); });
  expect("cast_to_own_type", false, [&](Sketch& s) { return cast(s, s.input({3}), DType::f64); });
  expect("cast_of_widening_cast", true,
         [&](Sketch& s) { return cast(s, cast(s, s.input({3}), DType::f64), DType::i32); });
  expect("cast_of_widening_cast", true,
         [&](Sketch& s) { return cast(s, cast(s, s.input({3}), DType::f64), DType::f32); });
  expect("cast_of_widening_cast", true,
         [&](Sketch& s) { return cast(s, cast(s, s.input({3}, DType::i8), DType::f16), DType::f64); });
  expect("cast_of_widening_cast", true,
         [&](Sketch& s) { return cast(s, cast(s, s.input({3}, DType::i8), DType::f32), DType::i16); });
  expect("cast_of_widening_cast", true,
         [&](Sketch& s) { return cast(s, cast(s, s.input({3}, DType::i32), DType::i64), DType::u8); });
  for (const auto& [from, through, to] :
       {std::tuple(DType::f32, DType::i32, DType::f32), std::tuple(DType::f64, DType::f32, DType::f64),
        std::tuple(DType::i32, DType::f32, DType::i32), std::tuple(DType::i32, DType::u8, DType::i32),
        std::tuple(DType::f16, DType::bf16, DType::f32), std::tuple(DType::bf16, DType::f16, DType::f32),
        std::tuple(DType::i32, DType::boolean, DType::i32), std::tuple(DType::i8, DType::u8, DType::i32),
        // From floating-point types integers stop at the end of the range, among themselves they wrap round.
        std::tuple(DType::u8, DType::f32, DType::i8), std::tuple(DType::i8, DType::f16, DType::u8),
        std::tuple(DType::i32, DType::f64, DType::i16)}) {
    expect("cast_of_widening_cast", false, [&, from = from, through = through, to = to](Sketch& s) {
      return cast(s, cast(s, s.input({3}, from), through), to);
    });
  }
}

TEST_CASE("logarithms of softmax and of sums of exponentials become stable ones") {
  expect(
      "log_of_softmax", true,
      [](Sketch& s) {
        return s.add(OpId::log, {s.add(OpId::softmax, {s.input({2, 5})}, AxisAttributes{0})});
      },
      2e-6);
  expect("log_of_softmax", false, [](Sketch& s) {
    return s.add(OpId::exp, {s.add(OpId::softmax, {s.input({2, 5})}, AxisAttributes{0})});
  });
  const auto spelled = [](Sketch& s) {
    return s.add(OpId::log, {reduce(s, OpId::sum, s.add(OpId::exp, {s.input({2, 5})}), {1}, true)});
  };
  expect("log_of_sum_of_exp", true, spelled, 2e-6);
  expect("log_of_sum_of_exp", false, [](Sketch& s) {
    return s.add(OpId::log, {reduce(s, OpId::max, s.add(OpId::exp, {s.input({2, 5})}), {1})});
  });
  // Where exp overflows, the graph as written says infinity; log(e^1000 + e^1000) is 1000 + log 2.
  Sketch s;
  const core::Graph out = optimised(s.graph({spelled(s)}), "stability");
  CHECK(results_of(out, {{1000, 1000, 0, 0, 0, 0, 0, 0, 0, 0}})[0][0] == doctest::Approx(1000.6931471805599));
}

TEST_CASE("products of vectors that are computed on the way are sums") {
  const auto product = [](Sketch& s, const Shape& left, const Shape& right, DType type = DType::f32) {
    return s.add(OpId::matmul, {s.add(OpId::exp, {s.input(left, type)}), s.input(right, type)});
  };
  expect(
      "inner_product", true,
      [&](Sketch& s) {
        return product(s, {1, 5}, {5, 1});
      },
      1e-6);
  expect(
      "inner_product", true,
      [&](Sketch& s) {
        return product(s, {3, 1, 5}, {3, 5, 1});
      },
      1e-6);
  expect(
      "inner_product", true,
      [&](Sketch& s) {
        return product(s, {1, 5}, {5, 1}, DType::f64);
      },
      1e-14);
  expect(
      "inner_product", true,
      [](Sketch& s) {  // of a vector with itself, seen in two ways
        const core::Port t = s.add(OpId::exp, {s.input({5})});
        return s.add(OpId::matmul, {list(s, OpId::reshape, t, {1, 5}), list(s, OpId::reshape, t, {5, 1})});
      },
      1e-6);
  expect("inner_product", false, [&](Sketch& s) { return product(s, {2, 5}, {5, 1}); });
  expect("inner_product", false, [&](Sketch& s) { return product(s, {1, 5}, {5, 2}); });
  expect("inner_product", false, [&](Sketch& s) { return product(s, {1, 5}, {5, 1}, DType::f16); });
  expect("inner_product", false, [](Sketch& s) { return s.add(OpId::matmul, {s.input({1, 5}), s.input({5, 1})}); });
}

TEST_CASE("equal elements are not added up") {
  const auto stretched = [](Sketch& s) { return list(s, OpId::broadcast_to, s.input({3, 1}), {2, 3, 4}); };
  expect(
      "sum_of_equal", true,
      [&](Sketch& s) {
        return reduce(s, OpId::sum, stretched(s), {0, 2});
      },
      1e-6);
  expect(
      "sum_of_equal", true, [&](Sketch& s) { return reduce(s, OpId::sum, stretched(s), {0}); }, 1e-6);
  expect("sum_of_equal", false, [&](Sketch& s) { return reduce(s, OpId::sum, stretched(s), {0, 1}); });
  expect("sum_of_equal", false, [](Sketch& s) {  // 4099 is no f16
    return reduce(s, OpId::sum, list(s, OpId::broadcast_to, s.input({1}, DType::f16), {4099}), {0});
  });
  for (const OpId op : {OpId::mean, OpId::min, OpId::max}) {
    expect(
        "reduction_of_equal", true, [&](Sketch& s) { return reduce(s, op, stretched(s), {2}, true); }, 1e-6);
    expect(
        "reduction_of_equal", true,
        [&](Sketch& s) {
          return reduce(s, op, stretched(s), {0, 2});
        },
        1e-6);
    expect(
        "reduction_of_equal", false,
        [&](Sketch& s) {
          return reduce(s, op, stretched(s), {1, 2});
        },
        1e-6);
  }
  expect("reduction_of_equal", false, [](Sketch& s) {  // the mean of nothing is NaN
    return reduce(s, OpId::mean, list(s, OpId::broadcast_to, s.input({3, 1}), {3, 0}), {1});
  });
}

TEST_CASE("reductions of reductions are one where the order does not matter") {
  const auto twice = [](OpId op, bool keep) {
    return [=](Sketch& s) { return reduce(s, op, reduce(s, op, s.input({2, 3, 4}), {1}, keep), {keep ? 2 : 1}); };
  };
  for (const bool keep : {false, true}) {
    expect("extreme_of_extremes", true, twice(OpId::max, keep), 0, "reductions");
    expect("sum_of_sums", false, twice(OpId::sum, keep), 0, "reductions");
    expect("sum_of_sums", true, twice(OpId::sum, keep), 1e-6, "views,reductions,fast_math");
  }
  expect("extreme_of_extremes", false, [](Sketch& s) {
    return reduce(s, OpId::max, reduce(s, OpId::min, s.input({2, 3}), {1}), {0});
  });
}

TEST_CASE("what depends on constants only is computed once, views of it stay views") {
  const Outcome folded = expect("folded", true, [](Sketch& s) {
    const Port table =
        s.add(OpId::sin, {s.add(OpId::multiply, {s.constant({1, 2, 3, 4, 5, 6}, {2, 3}), s.constant({1, 2, 3}, {3})})});
    return s.add(OpId::matmul, {s.input({4, 3}), list(s, OpId::transpose, table, {1, 0})});
  });
  CHECK(folded.graph.nodes().size() == 4);
  CHECK(count(folded.graph, OpId::constant) == 1);
  CHECK(count(folded.graph, OpId::transpose) == 1);
  expect("folded", false, [](Sketch& s) { return s.add(OpId::add, {s.input({3}), s.constant({1, 2, 3}, {3})}); });
}

TEST_CASE("constants above the limit are not made, unless they come from larger ones") {
  const core::RangeAttributes long_range{{1 << 20}, DType::f32, 0.0, 1.0};
  const auto range = [&](Sketch& s) { return s.add(OpId::arange, {}, long_range); };
  expect("folded", false, [&](Sketch& s) { return s.add(OpId::add, {s.input({1}), s.add(OpId::sqrt, {range(s)})}); });
  const Outcome sum = expect("folded", true, [&](Sketch& s) {
    return s.add(OpId::add, {s.input({1}), reduce(s, OpId::max, range(s), {0})});
  });
  CHECK(count(sum.graph, OpId::arange) == 0);
}

TEST_CASE("random numbers and users' functions are not folded") {
  expect("folded", false, [](Sketch& s) {
    const Port key = s.constant({1, 2}, {2}, DType::i64);
    return s.add(OpId::sin, {s.add(OpId::random_uniform, {key}, core::RandomAttributes{{4}, DType::f32, 0, 0, 1})});
  });
}

TEST_CASE("factors and shifts of channels move into constant weights") {
  const core::WindowAttributes window{{2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, {}};
  const std::vector<double> weights{0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8};
  const auto convolution = [=](Sketch& s, bool constant) {
    const Port w = constant ? s.constant(weights, {2, 2, 1, 2}) : s.input({2, 2, 1, 2});
    return s.add(OpId::convolution, {s.input({1, 5, 5, 1}), w}, window);
  };
  const auto shifted = [=](OpId shift, OpId scale) {
    return [=](Sketch& s) {
      const Port y = s.add(shift, {convolution(s, true), s.constant({0.25, -0.5}, {2})});
      return s.add(scale, {y, s.constant({1.5, 0.75}, {2})});
    };
  };
  const std::string passes = "views,constants,scaling";
  expect(
      "scaled_product", true,
      [=](Sketch& s) {
        return s.add(OpId::multiply, {convolution(s, true), s.constant({1.5, 0.75}, {1, 1, 1, 2})});
      },
      1e-5, passes);
  expect(
      "divided_product", true,
      [=](Sketch& s) {
        return s.add(OpId::divide, {convolution(s, true), s.number(3.0)});
      },
      1e-5, passes);
  expect("shifted_and_scaled", true, shifted(OpId::add, OpId::multiply), 1e-5, passes);
  expect("shifted_and_divided", true, shifted(OpId::add, OpId::divide), 1e-5, passes);
  expect("centred_and_divided", true, shifted(OpId::subtract, OpId::divide), 1e-5, passes);
  const Outcome normalised = expect("centred_and_scaled", true, shifted(OpId::subtract, OpId::multiply), 1e-5, passes);
  CHECK(count(normalised.graph, OpId::multiply) == 0);
  for (const char* rule : {"shifted_and_scaled", "shifted_and_divided", "centred_and_scaled", "centred_and_divided"}) {
    expect(rule, false, shifted(OpId::maximum, OpId::multiply), 1e-5, passes);
  }
  // Shifts that change, and one whose product with the factor is infinite.
  const auto shifted_by = [=](const auto& shift) {
    return [=](Sketch& s) {
      const Port y = s.add(OpId::add, {convolution(s, true), shift(s)});
      return s.add(OpId::multiply, {y, s.constant({1.5, 0.75}, {2})});
    };
  };
  const auto changing = shifted_by([](Sketch& s) { return s.input({2}); });
  expect("shifted_and_scaled", false, changing, 1e-5, passes);
  expect("shifted_and_scaled", true, changing, 1e-5, passes + ",fast_math");
  expect("shifted_and_scaled", false, shifted_by([](Sketch& s) { return s.constant({3e38, 1}, {2}); }), 1e-5, passes);
  // Near misses: weights that change, a factor along another axis, a product of few rows.
  expect(
      "scaled_product", false,
      [=](Sketch& s) {
        return s.add(OpId::multiply, {convolution(s, false), s.constant({1.5, 0.75}, {2})});
      },
      1e-5, passes);
  expect(
      "scaled_product", true,
      [=](Sketch& s) {
        return s.add(OpId::multiply, {convolution(s, false), s.constant({1.5, 0.75}, {2})});
      },
      1e-5, passes + ",fast_math");
  expect(
      "scaled_product", false,
      [=](Sketch& s) {
        return s.add(OpId::multiply, {convolution(s, true), s.constant({1, 2, 3, 4}, {4, 1})});
      },
      1e-5, passes);
  // Weights that the factor makes infinite or takes digits from, where the factor of the sum may not.
  const auto by_numbers = [&](OpId scale, double weight, std::vector<double> factors) {
    return [=, &weights](Sketch& s) {
      std::vector<double> scaled = weights;
      for (double& each : scaled) each *= weight;
      const Port image = s.add(OpId::multiply, {s.input({1, 5, 5, 1}), s.number(1 / weight)});
      const Port y = s.add(OpId::convolution, {image, s.constant(scaled, {2, 2, 1, 2})}, window);
      return s.add(scale, {y, s.constant(factors, {2})});
    };
  };
  const double infinite = std::numeric_limits<double>::infinity();
  expect("scaled_product", true, by_numbers(OpId::multiply, 1e30, {1e-30, 0}), 1e-5, passes);
  expect("scaled_product", false, by_numbers(OpId::multiply, 1, {1, infinite}), 1e-5, passes);
  expect("scaled_product", false, by_numbers(OpId::multiply, 1, {1, std::nan("")}), 1e-5, passes);
  expect("scaled_product", false, by_numbers(OpId::multiply, 1e30, {1, 1e30}), 1e-5, passes);
  expect("scaled_product", false, by_numbers(OpId::multiply, 1e-30, {1, 1e-30}), 1e-5, passes);
  // Of weights below the normal numbers a factor takes digits that they would have kept.
  expect("scaled_product", false, by_numbers(OpId::multiply, 1e-38, {1, 1e-5}), 1e-5, passes);
  expect("divided_product", true, by_numbers(OpId::divide, 1e30, {1e30, 1}), 1e-5, passes);
  expect("divided_product", false, by_numbers(OpId::divide, 1, {1, 0}), 1e-5, passes);
  expect("divided_product", false, by_numbers(OpId::divide, 1e30, {1, 1e-30}), 1e-5, passes);
  expect("divided_product", false, by_numbers(OpId::divide, 1e-30, {1, 1e30}), 1e-5, passes);
  expect(
      "divided_product", false,
      [](Sketch& s) {
        const Port w = s.constant({1, 2, 3, 4, 5, 6}, {3, 2});
        return s.add(OpId::divide, {s.add(OpId::matmul, {s.input({2, 3}), w}), s.number(3.0)});
      },
      1e-5, passes);
}

TEST_CASE("each rule on structure has been seen to match and, where it has a condition, to miss") {
  for (const optimiser::RuleFamily& family : optimiser::rule_families()) {
    if (family.pass != "views" && family.pass != "reductions" && family.pass != "scaling") continue;
    for (const optimiser::Rule& rule : family.rules) {
      // Versions are resolved when a graph is traced, see the framework's tests; gradients of users have a test above.
      if (rule.name != "version" && rule.name != "with_gradient") check_seen(rule);
    }
  }
}

}  // namespace structure_test
