// SPDX-License-Identifier: MIT
// The framework of passes: selection, rounds, reports, dumps, dead code and common sub-expressions.
#include <doctest/doctest.h>

#include <sstream>

#include "core/graph/op_ids.hpp"
#include "engine/graph/executable_cache.hpp"
#include "tests/passes/sketch.hpp"
#include "tests/support/environment_setting.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;

TEST_CASE("nodes that no output needs go, inputs of the graph stay") {
  Sketch s;
  const auto x = s.input({3});
  const auto unused = s.input({2});
  const auto kept = s.add(OpId::exp, {x});
  s.add(OpId::sin, {s.add(OpId::cos, {unused})});
  const core::Graph graph = s.graph({kept});
  PassReport report;
  const core::Graph out = optimised(graph, "dead_code", &report);
  CHECK(out.nodes().size() == 3);
  CHECK(out.inputs().size() == 2);
  CHECK(report.fired("unread") == 2);
  CHECK(report.nodes_before == 5);
  CHECK(report.nodes_after == 3);
  CHECK(agree(results_of(graph), results_of(out)));
}

TEST_CASE("equal nodes become one, in either order of commuting operands") {
  Sketch s;
  const auto x = s.input({3});
  const auto y = s.input({3});
  const auto a = s.add(OpId::sin, {s.add(OpId::add, {x, y})});
  const auto b = s.add(OpId::sin, {s.add(OpId::add, {y, x})});
  const core::Graph graph = s.graph({s.add(OpId::multiply, {a, b})});
  PassReport report;
  const core::Graph out = optimised(graph, "cse", &report);
  CHECK(out.nodes().size() == 5);
  CHECK(report.fired("equal_nodes") == 2);
  CHECK(agree(results_of(graph), results_of(out)));
}

TEST_CASE("nodes that differ in operand order, attributes or operator are not merged") {
  Sketch s;
  const auto x = s.input({2, 3});
  const auto y = s.input({2, 3});
  const core::Graph graph = s.graph(
      {s.add(OpId::subtract, {x, y}), s.add(OpId::subtract, {y, x}),
       s.add(OpId::sum, {x}, core::AxesAttributes{{0}, false}), s.add(OpId::sum, {x}, core::AxesAttributes{{1}, false}),
       s.add(OpId::sum, {x}, core::AxesAttributes{{1}, true}), s.add(OpId::max, {x}, core::AxesAttributes{{1}, true})});
  const core::Graph out = optimised(graph, "cse");
  CHECK(out.nodes().size() == graph.nodes().size());
}

TEST_CASE("constants merge by contents when small, numbers of opposite zero signs do not") {
  Sketch s;
  const auto x = s.input({2});
  const auto a = s.add(OpId::add, {x, s.constant({1, 2}, {2})});
  const auto b = s.add(OpId::add, {x, s.constant({1, 2}, {2})});
  const auto c = s.add(OpId::add, {x, s.constant({0}, {})});
  const auto d = s.add(OpId::add, {x, s.constant({-0.0}, {})});
  const auto e = s.add(OpId::add, {x, s.number(0.0)});
  const auto f = s.add(OpId::add, {x, s.number(-0.0)});
  const core::Graph out = optimised(s.graph({a, b, c, d, e, f}), "cse");
  CHECK(out.outputs()[0] == out.outputs()[1]);
  CHECK(out.outputs()[2] != out.outputs()[3]);
  CHECK(out.outputs()[4] != out.outputs()[5]);
}

TEST_CASE("rules about numbers leave numbers to each other alone, and come to an end") {
  Sketch s;
  const auto a = s.number(-0.5);
  const auto signs = s.add(OpId::multiply, {s.add(OpId::negate, {a}), a});
  const auto chain = s.add(OpId::add, {s.add(OpId::subtract, {s.number(5.0), s.number(3.0)}), s.number(2.0)});
  const core::Graph graph = s.graph({signs, chain});
  const auto expected = std::vector<std::vector<double>>{{-0.25}, {4}};
  CHECK(results_of(optimised(graph, "algebra,+fast_math")) == expected);
  CHECK(results_of(optimised(graph, "all,+fast_math")) == expected);
}

TEST_CASE("random nodes merge only when key and draw are equal") {
  Sketch s;
  const auto key = s.constant({1, 2}, {2}, DType::i64);
  const auto same_key = s.constant({1, 2}, {2}, DType::i64);
  const auto other_key = s.constant({1, 3}, {2}, DType::i64);
  const core::RandomAttributes first{{4}, DType::f32, 0, 0, 1};
  const core::RandomAttributes second{{4}, DType::f32, 1, 0, 1};
  const core::Graph graph =
      s.graph({s.add(OpId::random_uniform, {key}, first), s.add(OpId::random_uniform, {same_key}, first),
               s.add(OpId::random_uniform, {other_key}, first), s.add(OpId::random_uniform, {key}, second)});
  const core::Graph out = optimised(graph, "cse");
  CHECK(count(out, OpId::random_uniform) == 3);
  CHECK(agree(results_of(graph), results_of(out)));
}

TEST_CASE("a user's function is called as often as it was written") {
  int calls = 0;
  const auto twice = compile([&](Tensor<Lazy> x) {
    const auto noisy = [&](const std::vector<Tensor<Eager>>& in) {
      ++calls;
      return in[0] + 1.0;
    };
    return delay<Lazy>({2}, DType::f32, noisy, {x}) + delay<Lazy>({2}, DType::f32, noisy, {x});
  });
  auto function = twice;
  CHECK(function(Tensor<Lazy>{1.0f, 2.0f}).to_vector<float>() == std::vector<float>{4, 6});
  CHECK(calls == 2);
}

TEST_CASE("a merged node that is also an output is still delivered twice") {
  Sketch s;
  const auto x = s.input({3});
  const auto a = s.add(OpId::sin, {x});
  const auto b = s.add(OpId::sin, {x});
  const core::Graph graph = s.graph({a, b});
  const core::Graph out = optimised(graph, "cse");
  CHECK(count(out, OpId::sin) == 1);
  CHECK(out.outputs().size() == 2);
  CHECK(agree(results_of(graph), results_of(out)));
}

TEST_CASE("two reads of a state before and after its update stay two") {
  using T = Tensor<Lazy>;
  const T w = T::variable(T{1.0f, 2.0f}, "w");
  auto step = compile([&](T x) {
    const T before = w * x;
    assign(w, w + 1.0);
    const T after = w * x;
    return std::pair(before, after);
  });
  const auto [before, after] = step(T{10.0f, 10.0f});
  CHECK(before.to_vector<float>() == std::vector<float>{10, 20});
  CHECK(after.to_vector<float>() == std::vector<float>{20, 30});
}

TEST_CASE("the choice of passes is read from left to right") {
  Sketch s;
  const auto x = s.input({3});
  const auto sorted = [&] { return s.add(OpId::sort, {x}, core::SortAttributes{0}); };
  const core::Graph graph = s.graph({s.add(OpId::multiply, {sorted(), sorted()})});
  const auto merged = [&](const std::string& passes) { return count(optimised(graph, passes), OpId::sort) == 1; };
  CHECK(merged(""));
  CHECK(merged("cse"));
  CHECK(merged("none,+cse"));
  CHECK(merged("all"));
  CHECK(merged("-dead_code"));
  CHECK_FALSE(merged("-cse"));
  CHECK_FALSE(merged("none"));
  CHECK_FALSE(merged("dead_code"));
  CHECK_FALSE(merged("+cse -cse"));
  CHECK_THROWS_WITH_AS(merged("-csee"), doctest::Contains("passes: '-csee' is none of all, none, fast_math, "),
                       ValueError);
}

TEST_CASE("the environment has the last word on passes") {
  Sketch s;
  const auto x = s.input({3});
  const auto sorted = [&] { return s.add(OpId::sort, {x}, core::SortAttributes{0}); };
  const core::Graph graph = s.graph({s.add(OpId::multiply, {sorted(), sorted()})});
  {
    const testing::EnvironmentSetting setting("TYTO_PASSES", "-cse");
    CHECK(count(optimised(graph, "+cse"), OpId::sort) == 2);
  }
  CHECK(count(optimised(graph, "+cse"), OpId::sort) == 1);
}

TEST_CASE("a graph that nothing applies to comes back as it was") {
  Sketch s;
  const auto x = s.input({3});
  const core::Graph graph = s.graph({s.add(OpId::sin, {x})});
  PassReport report;
  const core::Graph out = optimised(graph, "", &report);
  CHECK(report.fired() == 0);
  CHECK(core::same_structure(graph, out));
}

TEST_CASE("what fusing leaves is simplified again") {
  // A group over rows keeps the rows' axis, so that it ends in a reshape; behind it stands one as written.
  Sketch s;
  const auto x = s.input({6, 50});
  const auto rows = [&](OpId op, core::Port of) { return s.add(op, {of}, core::AxesAttributes{{1}, false}); };
  const auto centred =
      s.add(OpId::subtract, {x, s.add(OpId::reshape, {rows(OpId::mean, x)}, core::ListAttributes{{6, 1}})});
  const auto power = rows(OpId::mean, s.add(OpId::square, {centred}));
  const core::Graph graph = s.graph({centred, s.add(OpId::reshape, {power}, core::ListAttributes{{3, 2}})});
  PassReport report;
  const core::Graph out = optimised(graph, "", &report);
  CHECK(report.fired("groups") == 1);
  CHECK(report.fired("reshape_of_reshape") == 1);
  CHECK(count(out, OpId::reshape) == 1);
  CHECK(agree(results_of(graph), results_of(out)));
}

TEST_CASE("a graph's text shows the first numbers of its constants") {
  using T = Tensor<Lazy>;
  const T x = T::placeholder({2}, DType::f32, "x");
  const T two = T::constant(T{1.0, 2.0}), part = T::constant(T{{1.5, 2, 3}, {4, 5, 6}}(all, 0));
  const Graph graph(
      {.inputs = {x}, .outputs = {x * two + part, T::constant(T{4, 3, 2, 1, 0}), T::constant(T::zeros({0}))}});
  const std::string text = graph.text();
  CAPTURE(text);
  CHECK(text.find("f32(2,) {1, 2}") != std::string::npos);
  CHECK(text.find("f32(2,) {1.5, 4}") != std::string::npos);
  CHECK(text.find("i64(5,) {4, 3, 2, 1, ...}") != std::string::npos);
  CHECK(text.find("array=f32(0,)}") != std::string::npos);
}

TEST_CASE("the report and the dump name what was done") {
  std::ostringstream text;
  auto twice = compile([](Tensor<Lazy> x) { return sin(x) * sin(x); }, {.passes = "cse", .dump = &text});
  (void)twice(Tensor<Lazy>{1.0f});
  CHECK(twice.report().passes.fired("equal_nodes") == 1);
  std::ostringstream table;
  table << twice.report().passes;
  CHECK(table.str().find("cse: 1 nodes fewer") != std::string::npos);
  CHECK(text.str().find("after before:") == std::string::npos);
  CHECK(text.str().find("before:\n%0 f32(1,) = read()\n%1 f32(1,) = sin(%0)\n%2 f32(1,) = sin(%0)\n") !=
        std::string::npos);
  CHECK(text.str().find("after cse:\n%0 f32(1,) = read()\n%1 f32(1,) = sin(%0)\n%2 f32(1,) = multiply(%1, %1)\n") !=
        std::string::npos);
}

TEST_CASE("a chain of a million nodes and forty thousand readers are merged in near linear time") {
  Sketch s;
  const auto x = s.input({1});
  // Two equal chains become one, link by link from the start.
  core::Port a = x;
  core::Port b = x;
  for (int i = 0; i < 500'000; ++i) {
    a = s.add(OpId::sin, {a});
    b = s.add(OpId::sin, {b});
  }
  const auto root = s.add(OpId::add, {a, b});
  core::Port many = root;
  for (int i = 0; i < 40'000; ++i) many = s.add(OpId::add, {many, s.add(OpId::subtract, {root, many})});
  const core::Graph out = optimised(s.graph({many}), "cse,dead_code");
  CHECK(out.nodes().size() == 1 + 500'000 + 1 + 80'000);
}

TEST_CASE("every pass has a name and a sentence") {
  const std::vector<PassDescription> passes = graph_passes();
  REQUIRE(passes.size() >= 3);
  CHECK(passes.back().name == "fast_math");
  for (const PassDescription& pass : passes) CHECK(pass.doc.back() == '.');
}
