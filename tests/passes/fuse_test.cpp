// Which nodes fusion puts together, which it must not, and that a group gives the bits that its members gave.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <random>

#include "engine/run/devices.hpp"
#include "optimiser/passes/fuse.hpp"
#include "tests/passes/sketch.hpp"
#include "tyto/nn.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

const core::FusedProgram& program_of(const core::Graph& graph, std::size_t which = 0) {
  for (const core::GraphNode& node : graph.nodes()) {
    if (node.op == OpId::fused && which-- == 0) return std::get<core::FusedAttributes>(*node.attributes).program;
  }
  throw GraphError("no such group");
}

void check_same(const core::Graph& plain, const core::Graph& fused) {
  CHECK(agree(results_of(plain), results_of(fused)));
}

}  // namespace

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

TEST_CASE("a group never waits for itself: what reads it through another node stays outside") {
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
  CHECK(program_of(fused).steps.size() == 3);
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
  CHECK(program_of(fused, 1).steps.size() == 3);
  check_same(plain, fused);
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
  const Port slope = s.add(OpId::subtract, {s.number(1), s.add(OpId::square, {bent})});
  const core::Graph plain = s.graph({s.add(OpId::multiply, {product, slope})});
  const core::Graph fused = optimiser::fuse(plain);
  REQUIRE(count(fused, OpId::fused) == 2);
  CHECK(core::to_string(program_of(fused, 0)) == "v0=multiply(x0,2); v1=tanh(v0) -> v1");
  CHECK(core::to_string(program_of(fused, 1)) == "v0=square(x0); v1=subtract(1,v0); v2=multiply(x1,v1) -> v2");
  check_same(plain, fused);
}

TEST_CASE("a value that takes the room of what only it reads is computed early") {
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
    const Port slope = kernels_between ? s.add(OpId::matmul, {x, s.add(OpId::matmul, {y, x})}) : x;
    const Port mask = s.add(OpId::greater, {y, s.number(0)});
    const core::Graph plain = s.graph({s.add(OpId::where, {mask, slope, s.number(0)})});
    const core::Graph fused = optimiser::fuse(plain);
    CHECK(count(fused, OpId::greater) == (kernels_between ? 1 : 0));
    check_same(plain, fused);
  }
}

TEST_CASE("what nobody needs neither joins a group nor keeps one from forming") {
  Sketch s;
  const Port x = s.input({6});
  const Port a = s.add(OpId::exp, {x});
  (void)s.add(OpId::sin, {s.add(OpId::cos, {a})});
  const core::Graph plain = s.graph({s.add(OpId::square, {a})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(core::to_string(program_of(fused)) == "v0=exp(x0); v1=square(v0) -> v1");
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

namespace {

/// Programs that hit every operator and element type: each operand is brought to the type its operator asks for.
class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, const Shape& shape) : random_(seed), shape_(shape) {}

  core::Graph make(std::size_t nodes) {
    const std::size_t rank = shape_.size();
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8}) {
      ports_.push_back(input(shape_, type));
    }
    Shape row = shape_, column = shape_;
    row[0] = 1;
    column[rank - 1] = 1;
    ports_.push_back(input(row, any_type()));
    ports_.push_back(input(column, any_type()));
    ports_.push_back(input({shape_[rank - 1]}, any_type()));
    ports_.push_back(input({}, any_type()));
    // The same shape along other strides.
    IntList order, turned;
    for (std::size_t i = rank; i-- > 0;) {
      order.push_back(static_cast<std::int64_t>(i));
      turned.push_back(shape_[i]);
    }
    const Port crossed = input(turned, any_type());
    ports_.push_back(builder_.add(OpId::transpose, core::ListAttributes{order}, {crossed}));
    for (std::size_t i = 0; i < nodes; ++i) ports_.push_back(node());
    for (std::size_t i = 0; i < 3; ++i) builder_.add_output(pick());
    builder_.add_output(ports_.back());
    return builder_.finish();
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  DType any_type() { return static_cast<DType>(below(dtype_count)); }
  Port pick() { return ports_[below(ports_.size())]; }
  Port input(const Shape& shape, DType type) {
    return builder_.add_input({type, shape, false}, {.port = 0, .name = "x", .state = nullptr, .generator = false});
  }
  DType type_of(Port port) const { return builder_.graph().type(port).dtype; }
  Port as(Port port, DType type) {
    return type_of(port) == type ? port : builder_.add(OpId::cast, core::CastAttributes{type}, {port});
  }
  Port number(DType type) {
    const auto value = static_cast<std::int64_t>(below(5));
    const Scalar scalar = is_floating(type) ? Scalar(static_cast<double>(value) * 0.5) : Scalar(value);
    return builder_.add(OpId::fill, core::RangeAttributes{{}, type, scalar, 0}, {});
  }

  Port node() {
    if (below(8) == 0) return as(pick(), any_type());
    const core::OpDef& def = core::op_table()[below(elementwise_count())];
    const Port leader = pick();
    DType type = type_of(leader);
    switch (def.domain) {
      case core::Domain::floating: type = is_floating(type) ? type : DType::f32; break;
      case core::Domain::arithmetic: type = type == DType::boolean ? DType::i16 : type; break;
      case core::Domain::logical: type = DType::boolean; break;
      case core::Domain::bitwise: type = is_floating(type) ? DType::i64 : type; break;
      case core::Domain::shift: type = is_integer(type) ? type : DType::i32; break;
      default: break;
    }
    std::vector<Port> operands{as(leader, type)};
    while (operands.size() < static_cast<std::size_t>(def.max_inputs)) {
      operands.push_back(below(4) == 0 ? number(type) : as(pick(), type));
    }
    if (def.domain == core::Domain::selection) operands[0] = as(pick(), DType::boolean);
    return builder_.add(def.id, nullptr, operands);
  }

  static std::size_t elementwise_count() {
    std::size_t count = 0;
    for (const core::OpDef& def : core::op_table()) count += def.is(core::Traits::elementwise) ? 1 : 0;
    return count;
  }

  std::mt19937_64 random_;
  Shape shape_;
  core::GraphBuilder builder_;
  std::vector<Port> ports_;
};

}  // namespace

TEST_CASE("groups of any operators on any types give the bits of the operators one by one") {
  std::vector<bool> met(core::op_count, false);
  std::size_t groups = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Shape shapes[] = {{5, 7}, {3, 300}, {2, 3, 19}, {40, 9}, {1, 1}, {0, 4}};
    const core::Graph plain = RandomGraph(seed, shapes[seed % 6]).make(2 + seed % 40);
    optimiser::FuseCounts counts;
    const core::Graph fused = optimiser::fuse(plain, {}, &counts);
    groups += counts.groups;
    for (std::size_t i = 0; i < counts.groups; ++i) {
      for (const core::FusedStep& step : program_of(fused, i).steps) met[static_cast<std::size_t>(step.op)] = true;
    }
    // No negative inputs: some are of unsigned types.
    CHECK(agree(results_of(plain, 0, 3), results_of(fused, 0, 3)));
  }
  CHECK(groups > 300);
  for (const core::OpDef& def : core::op_table()) {
    if (!def.is(core::Traits::elementwise)) continue;
    CAPTURE(def.name);
    CHECK(met[static_cast<std::size_t>(def.id)]);
  }
}

TEST_CASE("a chain of a hundred thousand nodes is fused") {
  Sketch s;
  Port x = s.input({2});
  for (int i = 0; i < 100'000; ++i) x = s.add(i % 3 == 0 ? OpId::sin : OpId::negate, {x});
  optimiser::FuseCounts counts;
  const core::Graph fused = optimiser::fuse(s.graph({x}), {}, &counts);
  CHECK(counts.members == 100'000);
  CHECK(fused.nodes().size() < 2'200);
}

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
      for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8}) {
        if (op == OpId::mean && !is_floating(type)) continue;
        CAPTURE(core::to_string(core::ListAttributes{each.shape}));
        CAPTURE(core::to_string(core::AxesAttributes{each.axes}));
        CAPTURE(core::definition(op).name);
        CAPTURE(name_of(type));
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

namespace {

template <class Mode>
struct Trained {
  std::vector<float> values;
  GraphReport report;
};

template <class Mode>
Trained<Mode> trained(nn::Descent descent, DType dtype = DType::f32, const char* passes = "fuse") {
  using T = Tensor<Mode>;
  std::vector<T> parameters{T::variable(cast(reshape(T::arange(0, 600, 1, DType::f32), {30, 20}) * 0.01, dtype), "w"),
                            T::variable(cast(T::ones({20}), dtype), "b")};
  const auto update = [&](T x) {
    const auto objective = [&](T in) { return mean(square(matmul(in, parameters[0]) + parameters[1])); };
    auto [loss, gradients] = value_and_grad(objective, parameters)(x);
    descent.update(parameters, gradients);
    return loss;
  };
  auto step = compile(update, {.passes = passes});
  const T x = cast(reshape(T::arange(0, 150, 1, DType::f32), {5, 30}) * 0.02 - 1.0, dtype);
  for (int i = 0; i < 4; ++i) step(x);
  Trained<Mode> out;
  for (const T& parameter : parameters) {
    for (const float value : cast(parameter, DType::f32).template to_vector<float>()) out.values.push_back(value);
  }
  if constexpr (std::is_same_v<Mode, Lazy>) out.report = step.report();
  return out;
}

struct DescentCase {
  const char* name;  // of the rule, as statistics give it
  std::function<nn::Descent()> make;
};

std::vector<DescentCase> descents() {
  return {{"adagrad", [] { return nn::adagrad({.rate = 0.05}); }},
          {"momentum", [] { return nn::sgd({.rate = 0.01, .momentum = 0.9}); }},
          {"momentum", [] { return nn::sgd({.rate = 0.01, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}); }},
          {"rmsprop", [] { return nn::rmsprop({.rate = 0.05}); }},
          {"adam", [] { return nn::adam({.rate = 0.05}); }},
          {"adam", [] { return nn::adamw({.rate = 0.05}); }}};
}

}  // namespace

TEST_CASE("updates of descent in one group each, states written in place, give the bits of eager mode") {
  for (const DescentCase& each : descents()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(each.name);
      CAPTURE(name_of(dtype));
      const Trained<Lazy> lazy = trained<Lazy>(each.make(), dtype);
      CHECK(lazy.values == trained<Eager>(each.make(), dtype).values);
      CHECK(lazy.report.passes.fired(each.name) == 2);
    }
  }
}

TEST_CASE("each update of descent is one node, known by its name, and takes no memory that plain descent does not") {
  const std::size_t without_memories = trained<Lazy>(nn::sgd({.rate = 0.01}), DType::f32, "").report.arena_bytes;
  for (const DescentCase& each : descents()) {
    CAPTURE(each.name);
    const GraphReport report = trained<Lazy>(each.make(), DType::f32, "").report;
    CHECK(report.passes.fired(each.name) == 2);
    for (const char* other : {"adagrad", "momentum", "rmsprop", "adam"}) {
      if (std::string(other) != each.name) CHECK(report.passes.fired(other) == 0);
    }
    // Two products, the first with its bias, loss, slope, two gradients' sums at most, two updates, the count; Adam's
    // rates.
    CHECK(report.steps <= 10);
    CHECK(report.arena_bytes == without_memories);
  }
}

TEST_CASE("a group is no update of descent when a state is missing, or its memory is not used as the rule does") {
  const auto group = [](std::initializer_list<std::string> wanted) {
    core::GraphBuilder builder;
    const core::TensorType type{DType::f32, {8}, false};
    const auto input = [&](const char* name) {
      return builder.add_input(type, {.port = 0, .name = name, .state = nullptr, .generator = false});
    };
    const auto add = [&](OpId op, std::initializer_list<Port> inputs) {
      return builder.add(op, core::Attributes(), inputs);
    };
    const auto has = [&](const char* what) { return std::ranges::find(wanted, what) != wanted.end(); };
    const Port w = input("w"), s = input("s"), g = input("g");
    const Port squares = add(OpId::add, {s, has("plain sum") ? g : add(OpId::square, {g})});
    const Port scale = has("no root") ? squares : add(OpId::sqrt, {squares});
    const Port next = add(OpId::subtract, {w, add(OpId::divide, {g, scale})});
    builder.add_update(0, next);
    if (!has("no memory")) builder.add_update(1, squares);
    optimiser::FuseCounts counts;
    (void)optimiser::fuse(builder.finish(), {}, &counts);
    CHECK(counts.groups == 1);
    return counts.updates.empty() ? std::string() : counts.updates[0].rule;
  };
  CHECK(group({}) == "adagrad");
  CHECK(group({"plain sum"}).empty());
  CHECK(group({"no root"}).empty());
  CHECK(group({"no memory"}).empty());
}

namespace {

/// What a chain with casts, choices, numbers and a stretched row gives on the first OpenCL device.
std::vector<float> chain_on_opencl(DType type, const char* passes) {
  using T = Tensor<Lazy>;
  const DeviceScope scope("opencl");
  auto chain = compile(
      [type](T x, T row) {
        const T wide = cast(x, type) * 0.75 + cast(row, type);
        const T chosen = where(greater(wide, 1), wide - 1, wide * wide);
        return cast(maximum(chosen, 0.125) / (abs(wide) + 1), DType::f32);
      },
      {.passes = passes});
  const T x = reshape(T::arange(0, 350, 1, DType::f32), {10, 35}) * 0.01;
  return chain(x, T::arange(0, 35, 1, DType::f32) * 0.1).to_vector<float>();
}

}  // namespace

TEST_CASE("a group on OpenCL gives what its operators give there one by one") {
  if (run::all_devices().size() < 2) {
    MESSAGE("there is no OpenCL device");
    return;
  }
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
    CAPTURE(name_of(type));
    CHECK(chain_on_opencl(type, "fuse") == chain_on_opencl(type, "none"));
  }
}

namespace {

/// A normalised tensor, its softmax and a sum of squares, on the first OpenCL device; and what was done for it.
std::vector<std::vector<float>> rows_on_opencl(DType type, const char* passes, GraphReport* report = nullptr) {
  using T = Tensor<Lazy>;
  const DeviceScope scope("opencl");
  const T x = T::placeholder({37, 70}), scale = T::placeholder({70});
  const T wide = cast(x, type);
  const T centred = wide - mean(wide, {1}, true);
  const T normal = centred / sqrt(var(wide, {1}, true) + 0.125) * cast(scale, type);
  const T terms = exp(normal - max(normal, {1}, true));
  const T shares = terms / sum(terms, {1}, true);
  Graph graph{{.inputs = {x, scale}, .outputs = {cast(normal, DType::f32), cast(shares, DType::f32), sum(square(x))}},
              {.passes = passes}};
  graph.set(x, reshape(T::arange(0, 37 * 70, 1, DType::f32), {37, 70}) % 11.0 * 0.25);
  graph.set(scale, T::arange(0, 70, 1, DType::f32) * 0.0625);
  graph.run();
  if (report != nullptr) *report = graph.report();
  return {graph.output(0).to_vector<float>(), graph.output(1).to_vector<float>(), graph.output(2).to_vector<float>()};
}

}  // namespace

TEST_CASE("groups with reductions run on OpenCL, a kernel each, and give what their operators give there one by one") {
  if (run::all_devices().size() < 2) {
    MESSAGE("there is no OpenCL device");
    return;
  }
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    CAPTURE(name_of(type));
    GraphReport report;
    const auto fused = rows_on_opencl(type, "fuse", &report);
    CHECK(fused == rows_on_opencl(type, "none"));
    CHECK(report.passes.fired("groups") == 2);
    CHECK(report.fallbacks.empty());
    for (int row = 0; row < 37; ++row) {
      const auto first = fused[1].begin() + row * 70;
      CHECK(std::accumulate(first, first + 70, 0.0) == doctest::Approx(1).epsilon(0.02));
    }
  }
}
