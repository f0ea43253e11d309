// SPDX-License-Identifier: MIT
// Groups over rows computed in place of an input: kept values may lie in the result's memory, never in the input's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/loop/operator_loop.hpp"
#include "core/value/shape.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/row_plan.hpp"
#include "tests/passes/fused_program.hpp"

namespace fuse_rows_in_place_test {

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;
using core::View;

namespace {

constexpr std::int64_t rows = 37, length = 53;

/// Kinds of groups that occurred, so that a test can check that it tested something.
struct Seen {
  std::size_t groups = 0;
  std::size_t lent = 0;  // values kept in a result's place before the last stage
  std::size_t sums = 0;  // reductions of what is computed, as it is computed
};

void note(Seen& seen, const core::Step& step) {
  const cpu::RowPlan plan = cpu::plan_rows(*core::loop_of(step));
  ++seen.groups;
  for (const cpu::Level& level : plan.levels) {
    seen.sums += level.partials.size();
    if (level.elements < 0 || &level == &plan.levels.back()) continue;
    for (const cpu::ValueLocation& location : plan.stages[static_cast<std::size_t>(level.elements)].outputs) {
      seen.lent += location.kind == cpu::ValueLocation::Kind::output;
    }
  }
}

/// Dense, with strides of their own on axes of length 1, as views leave them.
View dense_with_odd_strides(const Shape& shape) {
  View view = View::dense(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) view.strides[axis] = 1;
  }
  return view;
}

void check_group(const core::Graph& graph, const core::GraphNode& group, Seen& seen) {
  const Shape& whole = std::get<core::LoopAttributes>(*group.attributes).shape;
  std::vector<core::Operand> inputs, outputs;
  std::vector<std::vector<float>> given, memory, results;
  std::vector<std::size_t> whole_inputs, whole_results;
  for (const Port port : graph.inputs_of(group)) {
    if (graph.type(port).shape == whole) whole_inputs.push_back(inputs.size());
    inputs.push_back({DType::f32, dense_with_odd_strides(graph.type(port).shape)});
    given.emplace_back(static_cast<std::size_t>(inputs.back().view.count()));
    for (std::size_t i = 0; i < given.back().size(); ++i) {
      given.back()[i] = static_cast<float>((i * 7919 + given.size() * 31) % 1013) * 0.01f - 4.0f;
    }
  }
  for (Port port = group.first_result; port < group.first_result + group.result_count; ++port) {
    if (graph.type(port).shape == whole) whole_results.push_back(outputs.size());
    outputs.push_back({DType::f32, View::dense(graph.type(port).shape)});
    results.emplace_back(static_cast<std::size_t>(outputs.back().view.count()));
  }
  const core::Step step{OpId::fused, &graph.attributes(group), inputs, outputs};
  note(seen, step);
  const auto kernel = cpu::device().prepare(step);
  std::vector<std::byte> workspace(kernel->workspace() + 64);
  void* start = workspace.data();
  std::size_t room = workspace.size();
  std::align(64, 1, start, room);
  using Over = std::vector<std::pair<std::size_t, std::size_t>>;  // results and the inputs that they lie over
  const auto launch = [&](const Over& over) {
    memory = given;
    std::vector<core::Address> from, to;
    for (auto& each : memory) from.push_back({each.data(), 0});
    for (auto& each : results) to.push_back({each.data(), 0});
    for (const auto& [result, input] : over) to[result] = from[input];
    kernel->launch(from, to, {start, 0});
    std::vector<std::vector<float>> made = results;
    for (const auto& [result, input] : over) made[result] = memory[input];
    return made;
  };
  const std::vector<std::vector<float>> expected = launch({});
  const auto check = [&](const Over& over) {
    const std::vector<std::vector<float>> found = launch(over);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(std::memcmp(found[i].data(), expected[i].data(), found[i].size() * sizeof(float)) == 0);
    }
  };
  for (const std::size_t result : whole_results) {
    for (const std::size_t input : whole_inputs) check({{result, input}});
  }
  Over together;
  for (std::size_t i = 0; i < std::min(whole_results.size(), whole_inputs.size()); ++i) {
    together.emplace_back(whole_results[i], whole_inputs[i]);
  }
  check(together);
}

/// Launches of every group over rows in the graph: its results apart, each over each input that it may lie over,
/// several over several; and that fusion changed no bit.
Seen check_in_place(const core::Graph& graph) {
  const core::Graph made = optimiser::fuse(graph);
  Seen seen;
  for (const core::GraphNode& node : made.nodes()) {
    if (node.op != OpId::fused || std::get<core::LoopAttributes>(*node.attributes).axes.empty()) continue;
    if (core::ends_in_its_only_reduction(std::get<core::LoopAttributes>(*node.attributes).program)) continue;
    check_group(made, node, seen);
  }
  check_same(graph, made);
  return seen;
}

}  // namespace

TEST_CASE("a softmax may be laid over its operand, alone and with the exponentials as a second result") {
  for (const bool both : {false, true}) {
    Sketch s;
    const Port x = s.input({rows, length});
    const Port terms = s.add(OpId::exp, {s.add(OpId::subtract, {x, over_rows(s, OpId::max, x)})});
    const Port shares = s.add(OpId::divide, {terms, over_rows(s, OpId::sum, terms)});
    CHECK(check_in_place(both ? s.graph({shares, terms}) : s.graph({shares})).groups == 1);
  }
}

TEST_CASE("a result may be laid over an operand that is read after values were kept") {
  // The exponentials are kept; the operand is read again by the last stage, so they must not lie over it.
  for (const bool both : {false, true}) {
    Sketch s;
    const Port x = s.input({rows, length});
    const Port terms = s.add(OpId::exp, {s.add(OpId::subtract, {x, over_rows(s, OpId::max, x)})});
    const Port shares = s.add(OpId::divide, {terms, over_rows(s, OpId::sum, terms)});
    const Port mixed = s.add(OpId::multiply, {shares, x});
    CHECK(check_in_place(both ? s.graph({mixed, shares}) : s.graph({mixed})).groups == 1);
  }
}

TEST_CASE("a normalisation may be laid over its operand") {
  Sketch s;
  const Port x = s.input({rows, length});
  const Port centred = s.add(OpId::subtract, {x, over_rows(s, OpId::mean, x)});
  const Port spread = over_rows(s, OpId::mean, s.add(OpId::square, {centred}));
  const Port scale = s.add(OpId::rsqrt, {s.add(OpId::add, {spread, s.number(0.5)})});
  CHECK(check_in_place(s.graph({s.add(OpId::multiply, {centred, scale})})).groups == 1);
}

TEST_CASE("a value is kept for a reduction in memory, and summed as it is computed") {
  for (const bool one_value : {true, false}) {
    Sketch s;
    const Port x = s.input({rows, length});
    const Port y = s.input({rows, length});
    const Port sums = s.add(OpId::add, {x, y});
    const Port mean = over_rows(s, OpId::mean, one_value ? sums : s.add(OpId::subtract, {x, y}));
    const Port spread = over_rows(s, OpId::var, sums);
    const Seen seen = check_in_place(s.graph({s.add(OpId::divide, {s.add(OpId::subtract, {sums, mean}), spread})}));
    CHECK(seen.groups == 1);
    CHECK(seen.lent == (one_value || !cpu::jit::is_available() ? 1 : 0));
    CHECK(seen.sums == (cpu::jit::is_available() ? 1 : 0));
  }
}

TEST_CASE("groups over rows at random give the bits of their operators, wherever their results lie") {
  Seen all;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937 dice(seed);
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(dice() % limit); };
    const Shape shapes[] = {{37, 53}, {37, 1, 53}, {1, 9, 1, 20}, {100, 130}, {11, 1100}};
    const Shape& shape = shapes[below(std::size(shapes))];
    const Shape of_rows = core::reduced_shape(shape, {shape.rank() - 1}, true);
    Sketch s;
    std::vector<Port> whole{s.input(shape), s.input(shape), s.input(shape)};
    std::vector<Port> by_row{s.input(of_rows)};
    const auto any_whole = [&] { return whole[whole.size() - 1 - below(std::min<std::size_t>(4, whole.size()))]; };
    const auto of_two = [&](Port x, Port y) {
      const OpId op[] = {OpId::add, OpId::subtract, OpId::multiply, OpId::maximum};
      return s.add(op[below(std::size(op))], {x, y});
    };
    const auto reduced = [&](Port x) {
      const OpId op[] = {OpId::sum, OpId::mean, OpId::max, OpId::min, OpId::var};
      by_row.push_back(over_rows(s, op[below(std::size(op))], x));
      return by_row.back();
    };
    for (std::size_t steps = 1 + below(4); steps > 0; --steps) {
      for (std::size_t cheap = below(3); cheap > 0; --cheap) {
        const OpId of_one[] = {OpId::negate, OpId::square, OpId::tanh, OpId::abs};
        const Port x = any_whole();
        whole.push_back(below(3) == 0 ? s.add(of_one[below(std::size(of_one))], {x}) : of_two(x, any_whole()));
      }
      // Several reductions of one value or of others, and what they are for.
      Port x = any_whole();
      const Port about = x;
      for (std::size_t folds = 1 + below(3); folds > 0; --folds) {
        x = of_two(x, reduced(below(3) == 0 ? any_whole() : about));
      }
      whole.push_back(x);
    }
    std::vector<Port> results{whole.back()};
    if (below(3) == 0) results.push_back(any_whole());
    if (below(3) == 0) results.push_back(by_row[below(by_row.size())]);
    const Seen seen = check_in_place(s.graph(results));
    all.groups += seen.groups;
    all.lent += seen.lent;
    all.sums += seen.sums;
  }
  CHECK(all.groups > 200);
  CHECK(all.lent > 50);
  CHECK((all.sums > 30 || !cpu::jit::is_available()));
}

}  // namespace fuse_rows_in_place_test
