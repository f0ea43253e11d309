// SPDX-License-Identifier: MIT
// Groups that continue after a reduction: which form, which must not, and that they give the bits of their operators.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "devices/cpu/loop/row_plan.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "tests/passes/fused_program.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::AxesAttributes;
using core::OpId;
using core::Port;

namespace {

Port softmax(Sketch& s, Port x) {
  const Port terms = s.add(OpId::exp, {s.add(OpId::subtract, {x, over_rows(s, OpId::max, x)})});
  return s.add(OpId::divide, {terms, over_rows(s, OpId::sum, terms)});
}

Port layer_norm(Sketch& s, Port x, Port scale, Port shift, DType type) {
  const Port centred = s.add(OpId::subtract, {x, over_rows(s, OpId::mean, x)});
  const Port variance = over_rows(s, OpId::mean, s.add(OpId::square, {centred}));
  const Port root = s.add(OpId::rsqrt, {s.add(OpId::add, {variance, s.number(0.5, type)})});
  const Port normal = s.add(OpId::multiply, {centred, root});
  return s.add(OpId::add, {s.add(OpId::multiply, {normal, scale}), shift});
}

Port rms_norm(Sketch& s, Port x, Port scale, DType type) {
  const Port power = over_rows(s, OpId::mean, s.add(OpId::square, {x}));
  const Port root = s.add(OpId::rsqrt, {s.add(OpId::add, {power, s.number(0.5, type)})});
  return s.add(OpId::multiply, {s.add(OpId::multiply, {x, root}), scale});
}

core::Graph softmax_and_norms(const Shape& shape, DType type) {
  Sketch s;
  const Port x = s.input(shape, type);
  const Port scale = s.input({shape.back()}, type), shift = s.input({shape.back()}, type);
  return s.graph({softmax(s, x), layer_norm(s, x, scale, shift, type), rms_norm(s, x, scale, type)});
}

}  // namespace

TEST_CASE("a softmax written out becomes one node") {
  Sketch s;
  const Port x = s.input({6, 50});
  const core::Graph plain = s.graph({softmax(s, x)});
  const core::Graph made = optimiser::fuse(plain);
  CHECK(core::to_string(program_of(made)) ==
        "v0=max(x0); v1=subtract(x0,v0); v2=exp(v1); v3=sum(v2); v4=divide(v2,v3) -> v4");
  CHECK(made.nodes().size() == 2);
  check_same(plain, made);
}

TEST_CASE("softmax and normalisations over rows give the bits of their operators, for rows of any length") {
  for (const Shape& shape :
       {Shape{6, 50}, Shape{1, 32}, Shape{300, 33}, Shape{3, 4, 257}, Shape{2, 16384}, Shape{70, 1000}, Shape{5, 20000},
        Shape{9, 31}, Shape{40, 17}, Shape{4, 1}, Shape{0, 40}}) {
    for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      CAPTURE(shape);
      CAPTURE(type);
      const core::Graph plain = softmax_and_norms(shape, type);
      const core::Graph made = optimiser::fuse(plain);
      const bool rows = shape.back() >= 32 && shape.back() <= 16384 && shape[0] != 0;
      CHECK((count(made, OpId::max) + count(made, OpId::rsqrt) == 0) == rows);
      check_same(plain, made);
    }
  }
}

TEST_CASE("rows beyond the caches give the bits of their operators, with prefetches and non-temporal stores") {
  struct Case {
    Shape shape;
    DType type;
  };
  const Case cases[] = {{{10100, 300}, DType::f32}, {{14000, 304}, DType::f32}, {{186, 16384}, DType::f32},
                        {{250, 16384}, DType::f32}, {{3101, 1001}, DType::f32}, {{4101, 1001}, DType::f32},
                        {{178000, 33}, DType::f32}, {{170000, 40}, DType::f32}, {{50000, 101}, DType::f32},
                        {{7050, 301}, DType::f64},  {{28000, 300}, DType::f16}};
  for (const Case& each : cases) {
    CAPTURE(each.shape);
    CAPTURE(each.type);
    const core::Graph plain = softmax_and_norms(each.shape, each.type);
    const core::Graph made = optimiser::fuse(plain);
    CHECK(count(made, OpId::max) + count(made, OpId::rsqrt) == 0);
    check_same(plain, made);
  }
}

TEST_CASE("the values of rows are results where others read them, with or without their axis") {
  for (const bool keep : {true, false}) {
    CAPTURE(keep);
    Sketch s;
    const Port x = s.input({7, 40});
    const Port mean = over_rows(s, OpId::mean, x, keep);
    const Port kept = keep ? mean : s.add(OpId::reshape, {mean}, core::ListAttributes{{7, 1}});
    const Port spread = over_rows(s, OpId::var, x);
    const Port normal = s.add(OpId::divide, {s.add(OpId::subtract, {x, kept}), s.add(OpId::sqrt, {spread})});
    const core::Graph plain = s.graph({normal, mean, spread});
    const core::Graph made = optimiser::fuse(plain);
    CHECK(count(made, OpId::fused) == 1);
    CHECK(count(made, OpId::var) == 0);
    CHECK(made.type(made.outputs()[1]).shape == (keep ? Shape{7, 1} : Shape{7}));
    check_same(plain, made);
  }
}

TEST_CASE("results that read the same statistics come into one group, unless one of them cannot") {
  for (const bool larger : {false, true}) {
    CAPTURE(larger);
    Sketch s;
    const Port x = s.input({12, 40});
    const Port centred = s.add(OpId::subtract, {x, over_rows(s, OpId::mean, x)});
    const Port spread = over_rows(s, OpId::mean, s.add(OpId::square, {centred}));
    const Port root = s.add(OpId::rsqrt, {s.add(OpId::add, {spread, s.number(0.5, DType::f32)})});
    // All three stand above the variance, none above another.
    const Port normal = s.add(OpId::multiply, {centred, root});
    const Port shifted = s.add(OpId::add, {centred, spread});
    const Port third = larger ? s.add(OpId::add, {spread, s.input({3, 12, 40})}) : s.add(OpId::maximum, {x, root});
    const core::Graph plain = s.graph({normal, shifted, third});
    const core::Graph made = optimiser::fuse(plain);
    CHECK(count(made, OpId::mean) == 0);
    CHECK((count(made, OpId::fused) == 1) == !larger);
    check_same(plain, made);
  }
}

TEST_CASE("results that are read and gone before the last of a group is computed are not made together") {
  using T = Tensor<Lazy>;
  const T x = T::placeholder({500, 400}, DType::f32, "x");
  const T middle = mean(x, -1, true);
  std::vector<T> columns;
  for (int i = 0; i < 10; ++i) {
    columns.push_back(tanh(x * (1.0 + i) - middle)(slice(0, 500), slice(0, 1)) * 2.0);
  }
  Graph graph({.inputs = {x}, .outputs = columns});
  const auto whole = static_cast<double>(x.size()) * 4;
  CHECK(static_cast<double>(graph.plan().height) < 1.5 * whole);
}

TEST_CASE("a chain of more reductions than one group takes is a few groups") {
  Sketch s;
  Port x = s.input({12, 40});
  for (int i = 0; i < 6; ++i) {
    const Port mean = over_rows(s, OpId::mean, x);
    const Port centred = s.add(OpId::subtract, {x, mean});
    const Port spread = over_rows(s, OpId::mean, s.add(OpId::square, {centred}));
    x = s.add(OpId::maximum, {centred, s.add(OpId::multiply, {mean, spread})});
  }
  const core::Graph plain = s.graph({x});
  const core::Graph made = optimiser::fuse(plain);
  CHECK(count(made, OpId::mean) == 0);
  CHECK(count(made, OpId::fused) == 3);
  check_same(plain, made);
}

TEST_CASE("the means of rows that are taken for columns stay outside") {
  // A square: without its axis the mean is stretched the other way.
  Sketch s;
  const Port x = s.input({20, 20});
  const Port mean = over_rows(s, OpId::mean, x, false);
  const Port turned = s.add(OpId::reshape, {mean}, core::ListAttributes{{1, 20}});
  const core::Graph plain = s.graph({s.add(OpId::subtract, {x, mean}), s.add(OpId::subtract, {x, turned})});
  const core::Graph made = optimiser::fuse(plain);
  CHECK(count(made, OpId::mean) == 1);
  check_same(plain, made);
}

TEST_CASE("rows whose values read one value twice are prepared without counting each way to it") {
  using T = Tensor<Lazy>;
  const T x = T::placeholder({4, 64});
  T a = x, y = x * 0.5;
  for (int i = 0; i < 45; ++i) {
    const T sum = a * 0.5 + y * 0.5;
    a = y;
    y = sum;
  }
  Graph graph{{.inputs = {x}, .outputs = {y / sum(y, {-1}, true)}}};
  graph.set(x, T::ones({4, 64}));
  graph.run();
  for (const float share : graph.output(0).to_vector<float>()) CHECK(share == doctest::Approx(1.0 / 64));
}

TEST_CASE("rows are prepared whose values are kept for later and are results, one and all") {
  Sketch s;
  Port y = s.input({6, 40});
  for (int i = 0; i < 40; ++i) s.builder().add_output(y = s.add(OpId::tanh, {y}));
  const core::Graph plain = s.graph({s.add(OpId::divide, {y, over_rows(s, OpId::sum, y)})});
  const core::Graph made = optimiser::fuse(plain);
  CHECK(count(made, OpId::fused) == 1);
  CHECK(count(made, OpId::tanh) == 0);
  check_same(plain, made);
}

TEST_CASE("rows of one number are normalised as rows of a tensor are") {
  using T = Tensor<Lazy>;
  const T x = zeros_like(T::placeholder({7, 20}));
  const T normal = (x - mean(x, {1}, true)) * rsqrt(var(x, {1}, true) + 0.25f);
  Graph graph{{.outputs = {normal, copy(x)}}, {.passes = "fuse"}};
  graph.run();
  CHECK(graph.output(0).to_vector<float>() == std::vector<float>(140, 0.0f));
}

TEST_CASE("rows are not held together with what a node outside makes of them") {
  Sketch s;
  const Port x = s.input({20, 20});
  const Port terms = s.add(OpId::exp, {x});
  const Port total = over_rows(s, OpId::sum, terms);
  SUBCASE("a product of the terms, read with their sums") {
    const Port product = s.add(OpId::matmul, {terms, terms});
    const core::Graph plain = s.graph({s.add(OpId::divide, {product, total})});
    const core::Graph made = optimiser::fuse(plain);
    check_same(plain, made);
  }
  SUBCASE("the terms turned round") {
    const Port turned = s.add(OpId::transpose, {terms}, core::ListAttributes{{1, 0}});
    const core::Graph plain = s.graph({s.add(OpId::divide, {turned, total})});
    const core::Graph made = optimiser::fuse(plain);
    CHECK(count(made, OpId::transpose) == 1);
    check_same(plain, made);
  }
}

TEST_CASE("a state is normalised in place") {
  using T = Tensor<Lazy>;
  const T state = T::variable(reshape(T::arange(0, 4000, 1, DType::f32), {40, 100}) * 0.01, "state");
  auto step = compile([&](T one) {
    const T power = mean(square(state), {-1}, true);
    assign(state, state / sqrt(power + one));
    return one + 1;
  });
  step(T::ones({}));
  CHECK(step.report().passes.fired("groups") == 1);
  // Buffers of a block of rows for each thread: the whole would be one.
  CHECK(step.report().arena_bytes <= 2 * (40 * 100 * 4 + 4096));
  const std::vector<float> values = state.to_vector<float>();
  double power = 0;
  for (int i = 0; i < 100; ++i) power += 0.01 * i * 0.01 * i / 100;
  CHECK(values[50] == doctest::Approx(0.5 / std::sqrt(power + 1)));
}

TEST_CASE("a group with reductions that makes no sense is refused") {
  const auto make = [](const core::LoopAttributes& group, const Shape& input) {
    core::GraphBuilder builder;
    const Port x = builder.add_input({DType::f32, input, false}, {});
    builder.add(OpId::fused, std::make_shared<const core::Attributes>(group), {{x}});
  };
  core::LoopAttributes group;
  group.shape = {4, 20};
  group.axes = {1};
  group.program.inputs = 1;
  group.program.instructions = {{OpId::sum, DType::f32, {0, 0, 0}}, {OpId::divide, DType::f32, {0, 1, 0}}};
  group.program.outputs = {2};
  CHECK_NOTHROW(make(group, {4, 20}));
  CHECK_THROWS_WITH_AS(make(group, {4, 1}), "fused: sum reduces value 0, which is reduced already", GraphError);
  core::LoopAttributes other = group;
  other.axes = {0};
  CHECK_THROWS_WITH_AS(make(other, {4, 20}), "fused: a group that goes on after a reduction reduces its last axes",
                       GraphError);
  other.axes = {};
  CHECK_THROWS_WITH_AS(make(other, {4, 20}), "fused: it has a reduction but names no axes for it", GraphError);
  other = group;
  other.program.outputs = {2, 2};
  CHECK_THROWS_WITH_AS(make(other, {4, 20}), "fused: result 0 is no step's, or another result as well", GraphError);
}

namespace {

/// Graphs of whole tensors, rows of them and reductions in all directions.
class RandomRows {
 public:
  explicit RandomRows(std::uint64_t seed) : random_(seed) {
    const std::int64_t columns[] = {32, 48, 40, 9};
    shape_ = {5 + below(20), columns[below(4)]};
    if (below(4) == 0) shape_[0] = shape_[1];
    for (int i = 0; i < 3; ++i) ports_.push_back(sketch_.input(shape_));
    ports_.push_back(sketch_.input({shape_[1]}));
    ports_.push_back(sketch_.input({shape_[0], 1}));
    const std::int64_t nodes = 4 + below(24);
    for (std::int64_t i = 0; i < nodes; ++i) ports_.push_back(node());
    for (int i = 0; i < 3; ++i) sketch_.builder().add_output(pick());
  }

  core::Graph graph() { return sketch_.graph({}); }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  const Shape& shape(Port port) { return sketch_.builder().graph().type(port).shape; }
  Port pick() {
    const auto count = static_cast<std::int64_t>(ports_.size());
    const std::int64_t back = below(3) == 0 ? below(count) : below(std::min<std::int64_t>(count, 5));
    return ports_[static_cast<std::size_t>(count - 1 - back)];
  }

  Port node() {
    const Port x = pick();
    switch (below(8)) {
      case 0: return sketch_.add(below(2) == 0 ? OpId::sin : OpId::exp, {sketch_.add(OpId::sin, {x})});
      case 1:
      case 2: {
        if (shape(x).size() != 2) return sketch_.add(OpId::square, {x});
        constexpr OpId ops[] = {OpId::sum, OpId::mean, OpId::max, OpId::min, OpId::logsumexp, OpId::prod};
        return sketch_.add(ops[below(6)], {x}, AxesAttributes{{below(6) == 0 ? 0 : 1}, below(3) != 0});
      }
      case 3:
        if (shape(x) == Shape{shape_[0]}) return sketch_.add(OpId::reshape, {x}, core::ListAttributes{{shape_[0], 1}});
        return sketch_.add(OpId::negate, {x});
      case 4:
        if (shape_[0] == shape_[1] && shape(x) == shape_) {
          return sketch_.add(OpId::transpose, {x}, core::ListAttributes{{1, 0}});
        }
        return sketch_.add(OpId::multiply, {x, sketch_.number(0.5)});
      default: {
        const Port y = pick();
        if (!core::broadcastable(shape(x), shape(y)) && !core::broadcastable(shape(y), shape(x))) return x;
        constexpr OpId ops[] = {OpId::add, OpId::subtract, OpId::multiply};
        return sketch_.add(ops[below(3)], {x, y});
      }
    }
  }

  std::mt19937_64 random_;
  Shape shape_;
  Sketch sketch_;
  std::vector<Port> ports_;
};

}  // namespace

TEST_CASE("random graphs of rows give the bits of their operators, and settle") {
  std::size_t rows = 0;
  for (std::uint64_t seed = 0; seed < 900; ++seed) {
    CAPTURE(seed);
    const core::Graph plain = RandomRows(seed).graph();
    const core::Graph made = optimiser::fuse(plain);
    for (const core::GraphNode& node : made.nodes()) {
      if (node.op != OpId::fused) continue;
      const auto& group = std::get<core::LoopAttributes>(*node.attributes);
      rows += !group.axes.empty() && !core::ends_in_its_only_reduction(group.program) ? 1 : 0;
    }
    CHECK(agree(results_of(plain, -1, 1), results_of(made, -1, 1)));
    PassReport again;
    (void)optimised(optimised(plain, "all"), "all", &again);
    CHECK(again.fired() == 0);
  }
  CHECK(rows > 60);
}

TEST_CASE("rows divided by a deviation of fewer degrees of freedom than elements are divided by just that") {
  using L = Tensor<Lazy>;
  constexpr std::int64_t columns = 64;
  auto f = compile([](L x) { return x * rsqrt(var(x, 1, true, 1)); });
  const L row = where(less(L::arange(columns), columns / 2), 0.0, 2.0);
  const std::vector<float> found = f(broadcast_to(row, {40, columns})).to_vector<float>();
  // Half of a row are 0, the others 2: squares of 1 from the mean, 64 of them over 63.
  const double large = 2 / std::sqrt(64.0 / 63);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(std::abs(found[i] - (i % columns < columns / 2 ? 0 : large)) < 1e-5);
  }
}
