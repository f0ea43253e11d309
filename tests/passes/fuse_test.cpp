// SPDX-License-Identifier: MIT
// Nodes that fusion combines, and those that it must not.
#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "tests/passes/fused_program.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

TEST_CASE("a chain of element-wise nodes becomes one node") {
  Sketch s;
  const Port x = s.input({5, 7});
  const Port row = s.input({7});
  const Port sum = s.add(OpId::add, {s.add(OpId::multiply, {x, s.number(0.5)}), row});
  const core::Graph plain = s.graph({s.add(OpId::tanh, {sum})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fused) == 1);
  CHECK(fused.nodes().size() == 3);
  CHECK(core::to_string(program_of(fused)) == "v0=multiply(x0,0.5); v1=add(v0,x1); v2=tanh(v1) -> v2");
  check_same(plain, fused);
}

TEST_CASE("a stretched tensor is read as it is, and the stretching goes") {
  Sketch s;
  const Port x = s.input({5, 7});
  const Port row = s.input({7});
  const Port wide = s.add(OpId::broadcast_to, {row}, core::ListAttributes{{5, 7}});
  const core::Graph plain = s.graph({s.add(OpId::exp, {s.add(OpId::subtract, {x, wide})})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::broadcast_to) == 0);
  CHECK(count(fused, OpId::fused) == 1);
  check_same(plain, fused);
}

TEST_CASE("values that are read outside are results of the group, in the order of their nodes") {
  Sketch s;
  const Port x = s.input({6});
  const Port a = s.add(OpId::exp, {x});
  const Port b = s.add(OpId::add, {a, x});
  const Port c = s.add(OpId::square, {b});
  const core::Graph plain = s.graph({c, a});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(core::to_string(program_of(fused)) == "v0=exp(x0); v1=add(v0,x0); v2=square(v1) -> v0,v2");
  check_same(plain, fused);
}

TEST_CASE("a lone node, other shapes and other operators are left alone") {
  Sketch s;
  const Port x = s.input({4, 4});
  const Port lone = s.add(OpId::exp, {x});
  const Port product = s.add(OpId::matmul, {lone, lone});
  const Port small = s.add(OpId::exp, {s.add(OpId::sum, {product}, core::AxesAttributes{{0}, false})});
  const core::Graph plain = s.graph({small});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fused) == 0);
  CHECK(fused.nodes().size() == plain.nodes().size());
}

TEST_CASE("a fusion group never depends on itself: a node that reads it through another node stays outside") {
  Sketch s;
  const Port x = s.input({4, 4});
  const Port a = s.add(OpId::exp, {x});
  const Port b = s.add(OpId::square, {a});
  const Port product = s.add(OpId::matmul, {b, b});
  // Reads the group directly and through the product.
  const Port c = s.add(OpId::add, {a, product});
  const Port d = s.add(OpId::multiply, {c, b});
  const core::Graph plain = s.graph({d});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fused) == 2);
  check_same(plain, fused);
}

TEST_CASE("a group that only one later node reads joins it across the nodes between") {
  Sketch s;
  const Port x = s.input({4, 4});
  const Port scaled = s.add(OpId::multiply, {x, s.number(3)});
  const Port product = s.add(OpId::matmul, {x, x});
  const Port bent = s.add(OpId::tanh, {product});
  const core::Graph plain = s.graph({s.add(OpId::add, {bent, scaled})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fused) == 1);
  CHECK(program_of(fused).instructions.size() == 3);
  check_same(plain, fused);
}

TEST_CASE("a cheap function of one tensor is computed by each group that reads it") {
  Sketch s;
  const Port x = s.input({4, 4});
  const Port minus = s.add(OpId::negate, {x});
  const Port left = s.add(OpId::exp, {s.add(OpId::exp, {minus})});
  const Port product = s.add(OpId::matmul, {left, left});
  const Port right = s.add(OpId::add, {s.add(OpId::exp, {product}), minus});
  const core::Graph plain = s.graph({right});
  optimiser::FuseCounts counts;
  const core::Graph fused = optimiser::fuse(plain, {}, &counts);
  CHECK(counts.repeated == 1);
  CHECK(program_of(fused, 0).outputs.size() == 1);
  CHECK(program_of(fused, 1).instructions.size() == 3);
  check_same(plain, fused);
}

TEST_CASE("a cheap function of a tensor and of small operands is computed by each group that reads it") {
  // Batch normalisation: centred by means, divided by deviations; the gradient reads the outcome far behind.
  Sketch s;
  const Port x = s.input({64, 4}), mean = s.input({4}), rate = s.input({4}), gradient = s.input({64, 4});
  const Port centred = s.add(OpId::subtract, {x, mean});
  const Port normal = s.add(OpId::multiply, {centred, rate});
  const Port product = s.add(OpId::matmul, {s.add(OpId::relu, {normal}), s.input({4, 4})});
  const Port late = s.add(OpId::multiply, {s.add(OpId::multiply, {product, gradient}), normal});
  const core::Graph plain = s.graph({s.add(OpId::multiply, {late, centred})});
  optimiser::FuseCounts counts;
  const core::Graph fused = optimiser::fuse(plain, {}, &counts);
  CHECK(counts.repeated == 2);
  CHECK(core::to_string(program_of(fused, 0)) == "v0=subtract(x0,x1); v1=multiply(v0,x2); v2=relu(v1) -> v2");
  CHECK(program_of(fused, 1).outputs.size() == 1);
  check_same(plain, fused);
}

TEST_CASE("a function of two whole tensors, or of too many, is stored") {
  for (const bool many : {false, true}) {
    CAPTURE(many);
    Sketch s;
    const Port x = s.input({64, 4});
    Port shared = many ? x : s.add(OpId::add, {x, s.input({64, 4})});
    std::vector<Port> early, late;
    for (int i = 0; many && i < 6; ++i) {
      shared = s.add(OpId::add, {shared, s.input({4})});
      early.push_back(s.add(OpId::tanh, {shared}));
      late.push_back(shared);
    }
    if (!many) early = late = {shared};
    const auto sum_of = [&](const std::vector<Port>& ports, Port sum) {
      for (const Port port : ports) sum = s.add(OpId::add, {sum, port});
      return sum;
    };
    const Port product = s.add(OpId::matmul, {sum_of(early, s.input({64, 4})), s.input({4, 4})});
    const core::Graph plain = s.graph({sum_of(late, product)});
    optimiser::FuseCounts counts;
    check_same(plain, optimiser::fuse(plain, {}, &counts));
    CHECK(counts.repeated == (many ? 5 : 0));
  }
}

TEST_CASE("a cheap function is stored when it is an output, when it is smaller than its operand, or not cheap") {
  for (const int variant : {0, 1, 2}) {
    CAPTURE(variant);
    Sketch s;
    const Port x = s.input({4, 4});
    const Port shared = variant == 0   ? s.add(OpId::negate, {x})
                        : variant == 1 ? s.add(OpId::greater, {x, s.number(0)})
                                       : s.add(OpId::exp, {x});
    const auto use = [&](Port by) {
      if (variant == 1) return s.add(OpId::where, {shared, by, s.number(0)});
      return s.add(OpId::add, {by, shared});
    };
    const Port left = use(s.add(OpId::exp, {x}));
    const Port right = use(s.add(OpId::tanh, {s.add(OpId::matmul, {left, left})}));
    const core::Graph plain = variant == 0 ? s.graph({right, shared}) : s.graph({right});
    optimiser::FuseCounts counts;
    check_same(plain, optimiser::fuse(plain, {}, &counts));
    CHECK(counts.repeated == 0);
  }
}

TEST_CASE("a value that only later nodes read is not computed early and kept") {
  // The gradient of tanh reads its result; forward, a product reads it at once.
  Sketch s;
  const Port x = s.input({4, 4});
  const Port bent = s.add(OpId::tanh, {s.add(OpId::multiply, {x, s.number(2)})});
  const Port product = s.add(OpId::matmul, {bent, bent});
  const Port gradient = s.add(OpId::subtract, {s.number(1), s.add(OpId::square, {bent})});
  const core::Graph plain = s.graph({s.add(OpId::multiply, {product, gradient})});
  const core::Graph fused = optimiser::fuse(plain);
  REQUIRE(count(fused, OpId::fused) == 2);
  CHECK(core::to_string(program_of(fused, 0)) == "v0=multiply(x0,2); v1=tanh(v0) -> v1");
  CHECK(core::to_string(program_of(fused, 1)) == "v0=square(x0); v1=subtract(1,v0); v2=multiply(x1,v1) -> v2");
  check_same(plain, fused);
}

TEST_CASE("a value that frees an operand which only it reads is computed early") {
  Sketch s;
  const Port x = s.input({4, 4});
  const Port wave = s.add(OpId::sin, {x});
  const Port bent = s.add(OpId::tanh, {wave});
  const Port product = s.add(OpId::matmul, {bent, bent});
  const Port root = s.add(OpId::exp, {wave});
  const core::Graph plain = s.graph({s.add(OpId::matmul, {product, root})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fused) == 1);
  CHECK(program_of(fused).outputs.size() == 2);
  check_same(plain, fused);
}

TEST_CASE("a group does not wait for its reader while it alone keeps its inputs alive") {
  Sketch s;
  const Port x = s.input({4, 4});
  // Two tensors that nobody else reads, of which the sum could be kept in the room of one.
  const Port left = s.add(OpId::matmul, {x, x});
  const Port right = s.add(OpId::matmul, {left, x});
  const Port difference = s.add(OpId::subtract, {right, s.add(OpId::matmul, {right, right})});
  const Port between = s.add(OpId::matmul, {x, s.add(OpId::matmul, {x, x})});
  const core::Graph plain = s.graph({s.add(OpId::add, {s.add(OpId::tanh, {between}), difference})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::subtract) == 1);
  CHECK(count(fused, OpId::fused) == 1);
  check_same(plain, fused);
}

TEST_CASE("a mask is made when it can set its operand free, and beside its reader where there is nothing to gain") {
  for (const bool kernels_between : {false, true}) {
    CAPTURE(kernels_between);
    Sketch s;
    const Port x = s.input({4, 4});
    const Port y = s.add(OpId::matmul, {x, x});
    const Port gradient = kernels_between ? s.add(OpId::matmul, {x, s.add(OpId::matmul, {y, x})}) : x;
    const Port mask = s.add(OpId::greater, {y, s.number(0)});
    const core::Graph plain = s.graph({s.add(OpId::where, {mask, gradient, s.number(0)})});
    const core::Graph fused = optimiser::fuse(plain);
    CHECK(count(fused, OpId::greater) == (kernels_between ? 1 : 0));
    check_same(plain, fused);
  }
}

TEST_CASE("dead nodes neither join a group nor keep one from forming") {
  Sketch s;
  const Port x = s.input({6});
  const Port a = s.add(OpId::exp, {x});
  (void)s.add(OpId::sin, {s.add(OpId::cos, {a})});
  const core::Graph plain = s.graph({s.add(OpId::square, {a})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(core::to_string(program_of(fused)) == "v0=exp(x0); v1=square(v0) -> v1");
}

TEST_CASE("fusion groups of empty tensors make no cycle") {
  auto compiled = compile([](Tensor<Lazy> x, Tensor<Lazy> s) {
    const auto low = less(clip(x, 10, 50), maximum(x, 16));
    const auto high = logical_or(greater_equal(x, 8192), less(maximum(s, 65535), 0));
    const auto quotient = floor_divide(where(high, abs(x), maximum(x, 0)), x), rest = left_shift(x, 8) - x * 14;
    return where(low, quotient, square(where(low, rest, quotient)) + rest);
  });
  for (const std::int64_t rows : {0, 2}) {
    const auto x = Tensor<Lazy>::zeros({rows, 130}, DType::i32), s = Tensor<Lazy>::zeros({rows, 1}, DType::i32);
    CHECK(compiled(x, s).shape() == Shape{rows, 130});
  }
}

TEST_CASE("random nodes are not drawn again by a group") {
  Sketch s;
  const Port key = s.constant({7, 9}, {2}, DType::i64);
  const Port noise = s.add(OpId::random_uniform, {key}, core::RandomAttributes{{16}, DType::f32, 0, 0, 1});
  const Port a = s.add(OpId::exp, {noise});
  const core::Graph plain = s.graph({s.add(OpId::subtract, {a, noise}), s.add(OpId::add, {noise, noise})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::random_uniform) == 1);
  check_same(plain, fused);
}

TEST_CASE("states exchanged by two updates are exchanged when both new values come from one group") {
  core::GraphBuilder builder;
  const core::TensorType type{DType::f32, {8}, false};
  const Port a = builder.add_input(type, {.port = 0, .name = "a", .state = nullptr, .generator = false});
  const Port b = builder.add_input(type, {.port = 0, .name = "b", .state = nullptr, .generator = false});
  const Port sum = builder.add(OpId::add, core::Attributes(), {a, b});
  const Port next_a = builder.add(OpId::subtract, core::Attributes(), {sum, a});
  const Port next_b = builder.add(OpId::subtract, core::Attributes(), {sum, b});
  builder.add_update(0, next_a);
  builder.add_update(1, next_b);
  builder.add_output(builder.add(OpId::multiply, core::Attributes(), {next_a, next_b}));
  const core::Graph plain = builder.finish();
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fused) == 1);
  CHECK(fused.updates().size() == 2);
  check_same(plain, fused);
}

TEST_CASE("a group keeps to the operands that a kernel holds") {
  Sketch s;
  std::vector<Port> inputs;
  for (int i = 0; i < 60; ++i) inputs.push_back(s.input({9}));
  Port sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = s.add(OpId::add, {sum, inputs[i]});
  for (int i = 0; i < 200; ++i) sum = s.add(OpId::sin, {sum});
  const core::Graph plain = s.graph({sum});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::add) == 0);
  CHECK(count(fused, OpId::sin) == 0);
  CHECK(count(fused, OpId::fused) < 12);
  check_same(plain, fused);
}

TEST_CASE("fusing twice changes nothing the second time") {
  Sketch s;
  const Port x = s.input({4, 4});
  const Port y = s.add(OpId::exp, {s.add(OpId::negate, {x})});
  const core::Graph once = optimiser::fuse(s.graph({s.add(OpId::matmul, {y, y})}));
  optimiser::FuseCounts counts;
  const core::Graph twice = optimiser::fuse(once, {}, &counts);
  CHECK(counts.groups == 0);
  CHECK(twice.nodes().size() == once.nodes().size());
}

TEST_CASE("the pass runs unless it is switched off") {
  Sketch s;
  const Port x = s.input({4, 4});
  const core::Graph plain = s.graph({s.add(OpId::exp, {s.add(OpId::negate, {x})})});
  PassReport report;
  CHECK(count(optimised(plain, "", &report), OpId::fused) == 1);
  CHECK(report.fired("groups") == 1);
  CHECK(report.fired("members") == 2);
  CHECK(count(optimised(plain, "-fuse"), OpId::fused) == 0);
}
