// SPDX-License-Identifier: MIT
// Epilogues of products: the sums and ReLUs that are fused, those that must not be, and unchanged numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "tests/passes/outcome.hpp"

namespace epilogues_test {

using namespace tyto;
using namespace tyto::testing;
using core::ListAttributes;
using core::OpId;
using core::Port;
using core::ProductAttributes;
using core::WindowAttributes;

namespace {

// Some kernels add the bias first, others last.
const Tolerance rounded{1e-5, 1e-5};

core::Graph absorbed(const std::string& rule, bool fires, const std::function<Port(Sketch&)>& draw,
                     const Tolerance& tolerance = rounded) {
  return expect(rule, fires, draw, tolerance, "epilogues").graph;
}

Port convolution(Sketch& s, DType dtype = DType::f32) {
  const WindowAttributes window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, {}};
  return s.add(OpId::convolution, {s.input({2, 5, 4, 3}, dtype), s.input({3, 3, 3, 6}, dtype)}, window);
}
Port product(Sketch& s, DType dtype = DType::f32) {
  return s.add(OpId::matmul, {s.input({4, 5}, dtype), s.input({5, 6}, dtype)});
}

const core::GraphNode& only(const core::Graph& graph, OpId op) {
  REQUIRE(count(graph, op) == 1);
  for (const core::GraphNode& node : graph.nodes()) {
    if (node.op == op) return node;
  }
  throw GraphError("no such node");
}
const ProductAttributes& epilogue_in(const core::Graph& graph, OpId op) {
  return std::get<ProductAttributes>(graph.attributes(only(graph, op)));
}

}  // namespace

TEST_CASE("a bias of one number a channel is added by the product") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    absorbed("bias", true, [=](Sketch& s) { return s.add(OpId::add, {product(s, dtype), s.input({6}, dtype)}); });
    absorbed("bias", true, [=](Sketch& s) { return s.add(OpId::add, {s.input({6}, dtype), convolution(s, dtype)}); });
    absorbed("subtracted_bias", true, [=](Sketch& s) {
      return s.add(OpId::subtract, {convolution(s, dtype), s.input({1, 1, 6}, dtype)});
    });
  }
  const core::Graph graph = absorbed("bias", true, [](Sketch& s) {
    return s.add(OpId::add, {product(s), s.input({1, 6})});
  });
  CHECK(epilogue_in(graph, OpId::matmul_epilogue).bias);
  CHECK(count(graph, OpId::add) == 0);
}

TEST_CASE("a scale of one number a channel is taken in by a convolution before its bias") {
  const auto scaled = [](DType dtype, const Shape& shape) {
    return [=](Sketch& s) { return s.add(OpId::multiply, {convolution(s, dtype), s.input(shape, dtype)}); };
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    absorbed("scale", true, scaled(dtype, {6}));
    absorbed("scale", true, scaled(dtype, {1, 1, 6}));
  }
  absorbed("scale", false, scaled(DType::f16, {6}), 0);
  absorbed("scale", false, scaled(DType::f32, {4, 1}));
  absorbed("scale", false, scaled(DType::f32, {}));
  absorbed("scale", false, [](Sketch& s) { return s.add(OpId::multiply, {product(s), s.input({6})}); });
  // A second factor, or one of a sum that has its bias already, comes too late.
  const core::Graph twice = absorbed("scale", true, [&](Sketch& s) {
    return s.add(OpId::multiply, {scaled(DType::f32, {6})(s), s.input({6})});
  });
  CHECK(count(twice, OpId::multiply) == 1);
  absorbed("scale", false, [](Sketch& s) {
    return s.add(OpId::multiply, {s.add(OpId::add, {convolution(s), s.input({6})}), s.input({6})});
  });

  const core::Graph all = absorbed("scale", true, [&](Sketch& s) {
    const Port biased = s.add(OpId::add, {scaled(DType::f32, {6})(s), s.input({6})});
    return s.add(OpId::relu, {s.add(OpId::add, {biased, s.input({2, 5, 4, 6})})});
  });
  const ProductAttributes& epilogue = epilogue_in(all, OpId::convolution_epilogue);
  CHECK(epilogue.scale);
  CHECK(epilogue.bias);
  CHECK(epilogue.residual);
  CHECK(epilogue.low == 0);
  for (const bool first : {true, false}) {
    const core::Graph fused = absorbed(first ? "scale_and_bias" : "factor_and_bias", true, [&](Sketch& s) {
      const Port y = convolution(s), factor = s.input({6}), bias = s.input({6});
      return first ? s.add(OpId::fma, {y, factor, bias}) : s.add(OpId::fma, {factor, y, bias});
    });
    CHECK(epilogue_in(fused, OpId::convolution_epilogue).scale);
    CHECK(epilogue_in(fused, OpId::convolution_epilogue).bias);
    absorbed(first ? "scale_and_bias" : "factor_and_bias", false, [&](Sketch& s) {
      const Port y = convolution(s), factor = s.input({6}), bias = s.input({4, 1});
      return first ? s.add(OpId::fma, {y, factor, bias}) : s.add(OpId::fma, {factor, y, bias});
    });
  }
}

TEST_CASE("an inner product, reshaped to a single number, has no channels for a bias") {
  const auto inner = [](Sketch& s) {
    const Port product = s.add(OpId::matmul, {s.input({1, 5}), s.input({5, 1})});
    return s.add(OpId::reshape, {product}, ListAttributes{Shape{}});
  };
  absorbed("bias_of_reshaped", false, [&](Sketch& s) { return s.add(OpId::add, {inner(s), s.input({})}); });
  const core::Graph graph = absorbed("residual_of_reshaped", true, [&](Sketch& s) {
    return s.add(OpId::add, {inner(s), s.input({})});
  });
  CHECK(epilogue_in(graph, OpId::matmul_epilogue).residual);
}

TEST_CASE("in 16 bits a product with its epilogue gives the bits of the operators one by one") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const bool image : {false, true}) {
      const auto plain = [=](Sketch& s) { return image ? convolution(s, dtype) : product(s, dtype); };
      const Shape shape = image ? Shape{2, 5, 4, 6} : Shape{4, 6};
      const auto biased = [=](Sketch& s) { return s.add(OpId::add, {plain(s), s.input({6}, dtype)}); };
      absorbed("bias", true, biased, 0);
      absorbed(
          "subtracted_bias", true,
          [=](Sketch& s) {
            return s.add(OpId::subtract, {plain(s), s.input({6}, dtype)});
          },
          0);
      absorbed(
          "residual", true,
          [=](Sketch& s) {
            return s.add(OpId::add, {plain(s), s.input(shape, dtype)});
          },
          0);
      absorbed(
          "relu", true, [=](Sketch& s) { return s.add(OpId::relu, {plain(s)}); }, 0);
      const core::Graph all = absorbed(
          "residual", true,
          [=](Sketch& s) {
            return s.add(OpId::relu, {s.add(OpId::add, {biased(s), s.input(shape, dtype)})});
          },
          0);
      const ProductAttributes& epilogue = epilogue_in(all, image ? OpId::convolution_epilogue : OpId::matmul_epilogue);
      CHECK(epilogue.bias);
      CHECK(epilogue.residual);
      CHECK(epilogue.low == 0);
    }
  }
}

TEST_CASE("stacks of products have epilogues, too") {
  const core::Graph graph = absorbed("residual", true, [](Sketch& s) {
    const Port y = s.add(OpId::matmul, {s.input({2, 3, 4, 5}), s.input({2, 3, 5, 6})});
    const Port sum = s.add(OpId::add, {s.add(OpId::add, {y, s.input({6})}), s.input({2, 3, 4, 6})});
    return s.add(OpId::relu, {sum});
  });
  CHECK(epilogue_in(graph, OpId::matmul_epilogue).bias);
  CHECK(epilogue_in(graph, OpId::matmul_epilogue).low == 0);
}

TEST_CASE("only an added operand of one number a channel is a bias") {
  const auto added = [](const Shape& shape) {
    return [shape](Sketch& s) { return s.add(OpId::add, {product(s), s.input(shape)}); };
  };
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{4, 1}, Shape{3, 4, 6}}) absorbed("bias", false, added(shape));
  absorbed("bias", false, [](Sketch& s) { return s.add(OpId::multiply, {product(s), s.input({6})}); });
  absorbed("subtracted_bias", false, [](Sketch& s) { return s.add(OpId::subtract, {s.input({6}), product(s)}); });
}

namespace {

/// The result of each rule on a product, or on one that was reshaped from (4, 6) to (2, 2, 6).
struct EpilogueCase {
  const char* rule;
  bool reshaped;
  Port (*apply)(Sketch&, Port, DType);
};

Port with_bias(Sketch& s, Port y, DType dtype) { return s.add(OpId::add, {y, s.input({6}, dtype)}); }
Port without_bias(Sketch& s, Port y, DType dtype) { return s.add(OpId::subtract, {y, s.input({6}, dtype)}); }
Port with_residual(Sketch& s, Port y, DType dtype) {
  return s.add(OpId::add, {y, s.input(Shape(s.builder().graph().type(y).shape), dtype)});
}
Port with_relu(Sketch& s, Port y, DType) { return s.add(OpId::relu, {y}); }
Port with_lower_limit(Sketch& s, Port y, DType dtype) { return s.add(OpId::maximum, {y, s.number(-0.5, dtype)}); }
Port with_upper_limit(Sketch& s, Port y, DType dtype) { return s.add(OpId::minimum, {y, s.number(0.5, dtype)}); }
Port with_limits(Sketch& s, Port y, DType dtype) {
  return s.add(OpId::clip, {y, s.number(-0.5, dtype), s.number(1, dtype)});
}

constexpr EpilogueCase epilogue_cases[] = {
    {"bias", false, with_bias},
    {"subtracted_bias", false, without_bias},
    {"residual", false, with_residual},
    {"relu", false, with_relu},
    {"lower_limit", false, with_lower_limit},
    {"upper_limit", false, with_upper_limit},
    {"limits", false, with_limits},
    {"bias_of_reshaped", true, with_bias},
    {"residual_of_reshaped", true, with_residual},
    {"relu_of_reshaped", true, with_relu},
};

Port product_for(const EpilogueCase& epilogue, Sketch& s, Port y) {
  return epilogue.reshaped ? s.add(OpId::reshape, {y}, ListAttributes{{2, 2, 6}}) : y;
}

}  // namespace

TEST_CASE("no rule takes in what integers, another reader, packed weights or the device forbid") {
  for (const EpilogueCase& epilogue : epilogue_cases) {
    const auto draw = [&](DType dtype) {
      return [&epilogue, dtype](Sketch& s) {
        return epilogue.apply(s, product_for(epilogue, s, product(s, dtype)), dtype);
      };
    };
    absorbed(epilogue.rule, true, draw(DType::f32));
    // Integers gain nothing.
    absorbed(epilogue.rule, false, draw(DType::i32), 0);
    // Somebody else reads the plain product, as a gradient may, or what was reshaped.
    absorbed(epilogue.rule, false, [&](Sketch& s) {
      const Port y = product(s);
      const Port whole = s.add(OpId::sum, {y}, core::AxesAttributes{{0, 1}, false});
      return s.add(OpId::multiply, {epilogue.apply(s, product_for(epilogue, s, y), DType::f32), whole});
    });
    if (epilogue.reshaped) {
      absorbed(epilogue.rule, false, [&](Sketch& s) {
        const Port y = product_for(epilogue, s, product(s));
        const Port whole = s.add(OpId::sum, {y}, core::AxesAttributes{{0, 1, 2}, false});
        return s.add(OpId::multiply, {epilogue.apply(s, y, DType::f32), whole});
      });
    }
    // Packed for the epilogue that it had, a product takes in no more; so it is on a device that has none.
    Sketch packed;
    ProductAttributes attributes;
    attributes.packed = true;
    attributes.left = {4, 5};
    attributes.weights = {5, 6};
    attributes.bytes = 512;
    const Port y =
        packed.add(OpId::matmul_epilogue, {packed.input({4, 5}), packed.input({512}, DType::u8)}, attributes);
    optimiser::PassOptions options{.passes = {"epilogues"}};
    PassReport report;
    (void)optimiser::optimise(packed.graph({epilogue.apply(packed, product_for(epilogue, packed, y), DType::f32)}),
                              options, &report);
    CHECK(report.fired() == 0);
    Sketch plain;
    options.supports = [](OpId op, std::span<const DType>, std::span<const DType>) {
      return op != OpId::matmul_epilogue;
    };
    (void)optimiser::optimise(plain.graph({draw(DType::f32)(plain)}), options, &report);
    CHECK(report.fired() == 0);
  }
}

TEST_CASE("no rule takes in what comes too late for the order of bias, residual and limits") {
  // Of each pair the first is taken in, and the second stays: bias < residual < limits, each at most once.
  constexpr std::pair<int, int> late[] = {{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}, {3, 2},
                                          {3, 3}, {3, 4}, {3, 6}, {4, 0}, {4, 2}, {4, 3}, {4, 4}, {4, 6}, {5, 0},
                                          {5, 2}, {5, 3}, {5, 4}, {5, 5}, {5, 6}, {6, 0}, {6, 2}, {6, 3}, {6, 4},
                                          {6, 5}, {6, 6}, {7, 7}, {8, 7}, {8, 8}, {9, 7}, {9, 8}, {9, 9}};
  for (const std::pair<int, int>& each : late) {
    const auto &first = epilogue_cases[each.first], &second = epilogue_cases[each.second];
    CAPTURE(first.rule);
    CAPTURE(second.rule);
    Sketch s;
    const Port y = first.apply(s, product_for(first, s, product(s)), DType::f32);
    const core::Graph graph = s.graph({second.apply(s, y, DType::f32)});
    PassReport report;
    const core::Graph out = optimised(graph, "epilogues", &report);
    CHECK(report.fired() == 1);
    CHECK(report.fired(first.rule) == 1);
    CHECK(agree(results_of(graph), results_of(out), rounded));
  }
}

TEST_CASE("a sum larger than the product is no epilogue") {
  const auto stretched = [](OpId op, const Shape& shape) {
    return [=](Sketch& s) { return s.add(op, {product(s), s.input(shape)}); };
  };
  absorbed("bias", false, stretched(OpId::add, {2, 4, 6}));
  absorbed("subtracted_bias", false, stretched(OpId::subtract, {1, 1, 6}));
  absorbed("residual", false, stretched(OpId::add, {2, 4, 6}));
  absorbed("residual", false, stretched(OpId::add, {4, 1}));
}

TEST_CASE("a residual of the result's shape is added by the product, and the bias before it") {
  absorbed("residual", true, [](Sketch& s) { return s.add(OpId::add, {product(s), s.input({4, 6})}); });
  const core::Graph graph = absorbed("residual", true, [](Sketch& s) {
    const Port sum = s.add(OpId::add, {convolution(s), s.input({6})});
    return s.add(OpId::relu, {s.add(OpId::add, {s.input({2, 5, 4, 6}), sum})});
  });
  const ProductAttributes& epilogue = epilogue_in(graph, OpId::convolution_epilogue);
  CHECK(epilogue.bias);
  CHECK(epilogue.residual);
  CHECK(epilogue.low == 0);
  CHECK_FALSE(epilogue.drops_nan);
  CHECK(count(graph, OpId::add) + count(graph, OpId::relu) == 0);
  CHECK(graph.inputs_of(only(graph, OpId::convolution_epilogue)).size() == 4);
}

TEST_CASE("a second residual, one after ReLU and one that is better computed with the sum stay outside") {
  const core::Graph two = absorbed("residual", true, [](Sketch& s) {
    return s.add(OpId::add, {s.add(OpId::add, {product(s), s.input({4, 6})}), s.input({4, 6})});
  });
  CHECK(count(two, OpId::add) == 1);
  absorbed("residual", false, [](Sketch& s) {
    return s.add(OpId::add, {s.add(OpId::multiply, {product(s), s.number(2)}), s.input({4, 6})});
  });
  absorbed("residual", false, [](Sketch& s) {
    return s.add(OpId::add, {s.add(OpId::relu, {product(s)}), s.input({4, 6})});
  });
  absorbed("residual", false, [](Sketch& s) {
    return s.add(OpId::add, {product(s), s.add(OpId::tanh, {s.input({4, 6})})});
  });
  // A bias after the residual would be added before it.
  const core::Graph late = absorbed("bias", false, [](Sketch& s) {
    return s.add(OpId::add, {s.add(OpId::add, {product(s), s.input({4, 6})}), s.input({6})});
  });
  CHECK(count(late, OpId::add) == 1);
}

TEST_CASE("ReLU is taken by the product, and keeps NaN unless fast_math is asked for") {
  absorbed("relu", true, [](Sketch& s) { return s.add(OpId::relu, {product(s)}); });
  absorbed("relu", true, [](Sketch& s) { return s.add(OpId::relu, {convolution(s)}); });
  absorbed("relu", false, [](Sketch& s) { return s.add(OpId::tanh, {product(s)}); });
  absorbed("relu", false, [](Sketch& s) { return s.add(OpId::relu, {s.add(OpId::exp, {product(s)})}); });

  Sketch s;
  const Port y = s.add(OpId::relu, {s.add(OpId::add, {product(s), s.input({6})})});
  const core::Graph graph = s.graph({y});
  const core::Graph honest = optimised(graph, "epilogues");
  CHECK_FALSE(epilogue_in(honest, OpId::matmul_epilogue).drops_nan);
  CHECK(epilogue_in(optimised(graph, "epilogues,fast_math"), OpId::matmul_epilogue).drops_nan);
  std::vector<std::vector<double>> inputs{std::vector<double>(20, 1),
                                          std::vector<double>(30, -1),
                                          {0, 5, 6, -1, std::nan(""), -std::numeric_limits<double>::infinity()}};
  const std::vector<double> row = results_of(honest, inputs)[0];
  // Each sum of products is -5.
  CHECK(row[0] == 0);
  CHECK(row[1] == 0);
  CHECK(row[2] == 1);
  CHECK(row[3] == 0);
  CHECK(std::isnan(row[4]));
  CHECK(row[5] == 0);
}

TEST_CASE("limits are taken by the product, one end after the other too, unless they are not numbers") {
  const double nan = std::nan("");
  const auto limited = [](double low, double high) {
    return [=](Sketch& s) { return s.add(OpId::clip, {product(s), s.number(low), s.number(high)}); };
  };
  const core::Graph both = absorbed("limits", true, limited(-1, 2));
  CHECK(epilogue_in(both, OpId::matmul_epilogue).low == -1);
  CHECK(epilogue_in(both, OpId::matmul_epilogue).high == 2);
  absorbed("limits", true, limited(2, -1));
  absorbed("limits", false, limited(nan, 2));
  absorbed("limits", false, limited(-1, nan));
  absorbed("limits", false, [](Sketch& s) { return s.add(OpId::clip, {product(s), s.input({4, 6}), s.number(1)}); });
  const core::Graph relu6 = absorbed("upper_limit", true, [](Sketch& s) {
    return s.add(OpId::minimum, {s.add(OpId::relu, {product(s)}), s.number(6)});
  });
  CHECK(epilogue_in(relu6, OpId::matmul_epilogue).low == 0);
  CHECK(epilogue_in(relu6, OpId::matmul_epilogue).high == 6);
  CHECK(count(relu6, OpId::minimum) + count(relu6, OpId::relu) == 0);
  // Limited once, it is not limited from below again, nor anything added.
  absorbed("lower_limit", false, [=](Sketch& s) { return s.add(OpId::maximum, {product(s), s.number(nan)}); });
  absorbed("lower_limit", true, [](Sketch& s) { return s.add(OpId::maximum, {product(s), s.number(-1)}); });
  absorbed("upper_limit", false, [=](Sketch& s) { return s.add(OpId::minimum, {product(s), s.number(nan)}); });
  const core::Graph again = absorbed("upper_limit", true, [](Sketch& s) {
    return s.add(OpId::maximum, {s.add(OpId::minimum, {product(s), s.number(1)}), s.number(-1)});
  });
  CHECK(count(again, OpId::maximum) == 1);
}

TEST_CASE("a reshape that keeps the channels does not part a product from its epilogue") {
  const auto wide = [](Sketch& s) { return s.add(OpId::reshape, {product(s)}, ListAttributes{{2, 2, 6}}); };
  absorbed("bias_of_reshaped", true, [=](Sketch& s) { return s.add(OpId::add, {wide(s), s.input({6})}); });
  absorbed("relu_of_reshaped", true, [=](Sketch& s) { return s.add(OpId::relu, {wide(s)}); });
  const core::Graph graph = absorbed("residual_of_reshaped", true, [=](Sketch& s) {
    return s.add(OpId::relu, {s.add(OpId::add, {s.add(OpId::add, {wide(s), s.input({6})}), s.input({2, 2, 6})})});
  });
  CHECK(epilogue_in(graph, OpId::matmul_epilogue).low == 0);
  CHECK(epilogue_in(graph, OpId::matmul_epilogue).bias);
  // Channels that are cut up are other channels.
  const auto cut = [](Sketch& s) { return s.add(OpId::reshape, {product(s)}, ListAttributes{{4, 2, 3}}); };
  absorbed("bias_of_reshaped", false, [=](Sketch& s) { return s.add(OpId::add, {cut(s), s.input({3})}); });
  absorbed("residual_of_reshaped", false, [=](Sketch& s) { return s.add(OpId::add, {cut(s), s.input({2, 3})}); });
  absorbed("relu_of_reshaped", false, [=](Sketch& s) { return s.add(OpId::exp, {cut(s)}); });
}

TEST_CASE("each rule on epilogues has been seen to match and to miss") {
  for (const optimiser::Rule& rule : optimiser::epilogue_rules()) check_seen(rule);
}

TEST_CASE("weights are packed where the device asks for it, and constants among them fold") {
  optimiser::PassOptions options;
  options.passes = {"packing"};
  options.packed_bytes = [](OpId, const ProductAttributes& product, DType) {
    return product.left[0] < 4 ? std::int64_t{0} : std::int64_t{512};
  };
  const auto packed = [&](const Shape& left, bool constant) {
    Sketch s;
    const Port w = constant ? s.constant({1, 2, 3, 4, 5, 6}, {3, 2}) : s.input({3, 2});
    const core::Graph graph = s.graph({s.add(OpId::matmul, {s.input(left), w})});
    return count(optimiser::optimise(graph, options), OpId::pack_weights);
  };
  CHECK(packed({4, 3}, true) == 1);
  CHECK(packed({2, 3}, true) == 0);   // too few rows
  CHECK(packed({4, 3}, false) == 0);  // an argument is another in each run
}

TEST_CASE("constant kernels that nothing packs are laid out densely once, however they lie") {
  // One channel each: kernels of two by one pixels, stored channel by channel.
  const core::ListAttributes channels_last{{2, 3, 1, 0}};
  const core::WindowAttributes each_channel{{2, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 3, false, {}};
  const std::vector<double> by_channel{1, 2, 3, 4, 5, 6}, by_pixel{1, 3, 5, 2, 4, 6};
  enum class Kernel { as_read, transposed, stored_transposed, reshaped, given };
  const auto made_dense = [&](Kernel kind) {
    Sketch s;
    Port w = core::no_port;
    switch (kind) {
      case Kernel::as_read: w = s.constant(by_pixel, {2, 1, 1, 3}); break;
      case Kernel::transposed: w = s.add(OpId::transpose, {s.constant(by_channel, {3, 1, 2, 1})}, channels_last); break;
      case Kernel::stored_transposed: {
        Sketch other;
        const core::Graph stored = other.graph({other.constant(by_channel, {3, 1, 2, 1})});
        core::Array array = std::get<core::ConstantAttributes>(*stored.nodes()[0].attributes).array;
        array.view = *core::definition(OpId::transpose).view(channels_last, array.view);
        w = s.builder().add_constant(array);
        break;
      }
      case Kernel::reshaped:  // a view, and dense all the same
        w = s.add(OpId::reshape, {s.constant(by_pixel, {2, 3})}, core::ListAttributes{{2, 1, 1, 3}});
        break;
      case Kernel::given: w = s.add(OpId::transpose, {s.input({3, 1, 2, 1})}, channels_last); break;
    }
    const core::Graph graph = s.graph({s.add(OpId::convolution, {s.input({1, 4, 4, 3}), w}, each_channel)});
    PassReport report;
    CHECK(agree(results_of(optimised(graph, "views,packing", &report)), results_of(graph)));
    return report.fired("made dense");
  };
  CHECK(made_dense(Kernel::as_read) == 0);
  CHECK(made_dense(Kernel::transposed) == 1);
  CHECK(made_dense(Kernel::stored_transposed) == 1);
  CHECK(made_dense(Kernel::reshaped) == 0);
  CHECK(made_dense(Kernel::given) == 0);  // other kernels in each run

  Sketch twice;
  const Port shared = twice.add(OpId::transpose, {twice.constant(by_channel, {3, 1, 2, 1})}, channels_last);
  std::vector<Port> both;
  for (int i = 0; i < 2; ++i)
    both.push_back(twice.add(OpId::convolution, {twice.input({1, 4, 4, 3}), shared}, each_channel));
  CHECK(count(optimised(twice.graph(both), "packing"), OpId::constant) == 1);
}

}  // namespace epilogues_test
