// Groups over rows whose result is laid over an input: kept values may lie in the result's place, never in the input's.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "devices/cpu/device.hpp"
#include "tests/passes/fused_program.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

constexpr std::int64_t rows = 37, length = 53;

/// Two launches of the graph's only group: the first result apart, then over the first input.
void check_in_place(const core::Graph& graph) {
  const core::Graph made = optimiser::fuse(graph);
  const core::GraphNode* group = nullptr;
  for (const core::GraphNode& node : made.nodes()) {
    if (node.op == OpId::fused) group = &node;
  }
  REQUIRE(group != nullptr);
  const auto operand_of = [&](Port port) {
    return core::Operand{DType::f32, core::View::dense(made.type(port).shape)};
  };
  std::vector<core::Operand> inputs, outputs;
  std::vector<std::vector<float>> memory, results;
  for (const Port port : made.inputs_of(*group)) {
    inputs.push_back(operand_of(port));
    memory.emplace_back(static_cast<std::size_t>(inputs.back().view.count()));
    for (std::size_t i = 0; i < memory.back().size(); ++i) {
      memory.back()[i] = static_cast<float>((i * 7919 + memory.size() * 31) % 1013) * 0.01f - 4.0f;
    }
  }
  REQUIRE(made.type(made.inputs_of(*group)[0]).shape == Shape{rows, length});
  for (Port port = group->first_result; port < group->first_result + group->result_count; ++port) {
    outputs.push_back(operand_of(port));
    results.emplace_back(static_cast<std::size_t>(outputs.back().view.count()));
  }
  const auto kernel = cpu::device().prepare({OpId::fused, &made.attributes(*group), inputs, outputs});
  std::vector<std::byte> workspace(kernel->workspace() + 64);
  void* start = workspace.data();
  std::size_t room = workspace.size();
  std::align(64, 1, start, room);
  const auto launch = [&](std::size_t over) {
    std::vector<core::Address> from, to;
    for (auto& each : memory) from.push_back({each.data(), 0});
    for (auto& each : results) to.push_back({each.data(), 0});
    if (over < results.size()) to[over] = from[0];
    kernel->launch(from, to, {start, 0});
  };
  launch(results.size());
  const std::vector<std::vector<float>> expected = results;
  const std::vector<float> before = memory[0];
  for (std::size_t over = 0; over < results.size(); ++over) {
    if (results[over].size() != before.size()) continue;
    memory[0] = before;
    launch(over);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<float>& found = i == over ? memory[0] : results[i];
      CHECK(std::memcmp(found.data(), expected[i].data(), found.size() * sizeof(float)) == 0);
    }
  }
}

}  // namespace

TEST_CASE("a softmax may be laid over its operand, alone and with the exponentials as a second result") {
  for (const bool both : {false, true}) {
    Sketch s;
    const Port x = s.input({rows, length});
    const Port terms = s.add(OpId::exp, {s.add(OpId::subtract, {x, over_rows(s, OpId::max, x)})});
    const Port shares = s.add(OpId::divide, {terms, over_rows(s, OpId::sum, terms)});
    check_in_place(both ? s.graph({shares, terms}) : s.graph({shares}));
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
    check_in_place(both ? s.graph({mixed, shares}) : s.graph({mixed}));
  }
}

TEST_CASE("a normalisation may be laid over its operand") {
  Sketch s;
  const Port x = s.input({rows, length});
  const Port centred = s.add(OpId::subtract, {x, over_rows(s, OpId::mean, x)});
  const Port spread = over_rows(s, OpId::mean, s.add(OpId::square, {centred}));
  const Port scale = s.add(OpId::rsqrt, {s.add(OpId::add, {spread, s.number(0.5)})});
  check_in_place(s.graph({s.add(OpId::multiply, {centred, scale})}));
}
