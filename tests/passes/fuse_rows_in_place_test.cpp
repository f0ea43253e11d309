// Groups over rows whose result is laid over an input: kept values may lie in the result's place, never in the input's.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "devices/cpu/device.hpp"
#include "engine/core/fused_rows.hpp"
#include "tests/passes/fused_program.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

constexpr std::int64_t rows = 37, length = 53;

void check_group(const core::Graph& graph, const core::GraphNode& group) {
  const auto operand_of = [&](Port port) {
    return core::Operand{DType::f32, core::View::dense(graph.type(port).shape)};
  };
  std::vector<core::Operand> inputs, outputs;
  std::vector<std::vector<float>> given, memory, results;
  for (const Port port : graph.inputs_of(group)) {
    inputs.push_back(operand_of(port));
    given.emplace_back(static_cast<std::size_t>(inputs.back().view.count()));
    for (std::size_t i = 0; i < given.back().size(); ++i) {
      given.back()[i] = static_cast<float>((i * 7919 + given.size() * 31) % 1013) * 0.01f - 4.0f;
    }
  }
  for (Port port = group.first_result; port < group.first_result + group.result_count; ++port) {
    outputs.push_back(operand_of(port));
    results.emplace_back(static_cast<std::size_t>(outputs.back().view.count()));
  }
  const auto kernel = cpu::device().prepare({OpId::fused, &graph.attributes(group), inputs, outputs});
  std::vector<std::byte> workspace(kernel->workspace() + 64);
  void* start = workspace.data();
  std::size_t room = workspace.size();
  std::align(64, 1, start, room);
  const auto launch = [&](std::size_t result, std::size_t input) {
    memory = given;
    std::vector<core::Address> from, to;
    for (auto& each : memory) from.push_back({each.data(), 0});
    for (auto& each : results) to.push_back({each.data(), 0});
    if (result < results.size()) to[result] = from[input];
    kernel->launch(from, to, {start, 0});
  };
  launch(results.size(), 0);
  const std::vector<std::vector<float>> expected = results;
  const Shape whole{rows, length};
  for (std::size_t over = 0; over < results.size(); ++over) {
    for (std::size_t under = 0; under < inputs.size(); ++under) {
      if (outputs[over].view.shape != whole || inputs[under].view.shape != whole) continue;
      launch(over, under);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::vector<float>& found = i == over ? memory[under] : results[i];
        CHECK(std::memcmp(found.data(), expected[i].data(), found.size() * sizeof(float)) == 0);
      }
    }
  }
}

/// Launches of every group over rows in the graph: its results apart, then each in turn over each of its inputs that it
/// may lie over. How many groups there were.
std::size_t check_in_place(const core::Graph& graph) {
  const core::Graph made = optimiser::fuse(graph);
  std::size_t groups = 0;
  for (const core::GraphNode& node : made.nodes()) {
    if (node.op != OpId::fused || std::get<core::FusedAttributes>(*node.attributes).axes.empty()) continue;
    if (core::ends_in_its_only_reduction(std::get<core::FusedAttributes>(*node.attributes).program)) continue;
    ++groups;
    check_group(made, node);
  }
  return groups;
}

}  // namespace

TEST_CASE("a softmax may be laid over its operand, alone and with the exponentials as a second result") {
  for (const bool both : {false, true}) {
    Sketch s;
    const Port x = s.input({rows, length});
    const Port terms = s.add(OpId::exp, {s.add(OpId::subtract, {x, over_rows(s, OpId::max, x)})});
    const Port shares = s.add(OpId::divide, {terms, over_rows(s, OpId::sum, terms)});
    CHECK(1 == check_in_place(both ? s.graph({shares, terms}) : s.graph({shares})));
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
    CHECK(1 == check_in_place(both ? s.graph({mixed, shares}) : s.graph({mixed})));
  }
}

TEST_CASE("a normalisation may be laid over its operand") {
  Sketch s;
  const Port x = s.input({rows, length});
  const Port centred = s.add(OpId::subtract, {x, over_rows(s, OpId::mean, x)});
  const Port spread = over_rows(s, OpId::mean, s.add(OpId::square, {centred}));
  const Port scale = s.add(OpId::rsqrt, {s.add(OpId::add, {spread, s.number(0.5)})});
  CHECK(1 == check_in_place(s.graph({s.add(OpId::multiply, {centred, scale})})));
}

TEST_CASE("what is summed as it is computed may be kept in a result's place for another reduction") {
  for (const bool one_value : {true, false}) {
    Sketch s;
    const Port x = s.input({rows, length});
    const Port y = s.input({rows, length});
    const Port sums = s.add(OpId::add, {x, y});
    const Port mean = over_rows(s, OpId::mean, one_value ? sums : s.add(OpId::subtract, {x, y}));
    const Port spread = over_rows(s, OpId::var, sums);
    CHECK(1 == check_in_place(s.graph({s.add(OpId::divide, {s.add(OpId::subtract, {sums, mean}), spread})})));
  }
}

TEST_CASE("groups over rows at random give the bits of their operators, wherever their results lie") {
  std::size_t groups = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937 dice(seed);
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(dice() % limit); };
    Sketch s;
    std::vector<Port> whole{s.input({rows, length}), s.input({rows, length})};
    std::vector<Port> by_row{s.input({rows, 1})};
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
    const core::Graph plain = s.graph(results);
    groups += check_in_place(plain);
    check_same(plain, optimiser::fuse(plain));
  }
  CHECK(groups > 200);
}
