// SPDX-License-Identifier: MIT
// Orders of small graphs against all orders, and properties of the orders of larger ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/op_ids.hpp"
#include "optimiser/schedule/schedule.hpp"
#include "tests/schedule/random_graph.hpp"

using namespace tyto;
using core::Port;
using optimiser::Storages;
using schedule::Order;
using schedule::Problem;

namespace {

// Bytes alive at the worst step when the kernels run in this order: told from the graph alone, step by step, by looking
// at who reads each piece of memory later. Memory is a set of ports; views join the set of what they look at.
class Story {
 public:
  explicit Story(const core::Graph& graph)
      : graph_(graph), memory_(graph.port_count()), in_output_(graph.port_count()) {
    for (Port port = 0; port < graph.port_count(); ++port) {
      const core::GraphNode& node = graph.nodes()[graph.producer(port)];
      const bool looks = core::definition(node.op).is(core::Traits::view) && node.input_count != 0;
      memory_[port] = looks ? memory_[graph.inputs_of(node)[0]] : port;
      if (!looks && node.input_count != 0) kernels_.push_back(graph.producer(port));
    }
    for (std::size_t i = graph.outputs().size(); i-- > 0;) {
      const Port port = graph.outputs()[i];
      const bool updates = std::any_of(graph.updates().begin(), graph.updates().end(),
                                       [&](const core::GraphUpdate& update) { return update.port == port; });
      if (memory_[port] == port && is_kernel(graph.producer(port)) && !updates) in_output_[port] = true;
    }
  }

  const std::vector<std::uint32_t>& kernels() const { return kernels_; }

  std::int64_t peak(const std::vector<std::uint32_t>& order) const {
    std::vector<std::int64_t> alive(graph_.port_count(), 0);
    std::int64_t most = 0;
    for (std::size_t now = 0; now < order.size(); ++now) {
      const core::GraphNode& node = graph_.nodes()[order[now]];
      const Port result = node.first_result;
      const auto inputs = graph_.inputs_of(node);
      std::int64_t needed = in_output_[result] ? 0 : rounded(result);
      const Port state = state_of(result);
      if (state != core::no_port && !read_later(state, order, now + 1) && same_index(node, state)) {
        needed = 0;
      } else if (needed != 0) {
        for (const Port input : inputs) {
          const Port from = memory_[input];
          if (alive[from] == 0 || from == result || read_later(from, order, now + 1)) continue;
          if (rounded(from) != needed || bytes(from) != bytes(result) || !same_index(node, from)) continue;
          alive[from] = 0;
          break;
        }
      }
      alive[result] = needed;
      std::int64_t sum = 0;
      for (const std::int64_t each : alive) sum += each;
      most = std::max(most, sum);
      for (Port port = 0; port < alive.size(); ++port) {
        if (alive[port] != 0 && !read_later(port, order, now + 1)) alive[port] = 0;
      }
    }
    return most;
  }

 private:
  bool is_kernel(std::uint32_t node) const { return std::count(kernels_.begin(), kernels_.end(), node) != 0; }
  std::int64_t bytes(Port port) const { return graph_.type(port).shape[0] * 4; }
  std::int64_t rounded(Port port) const { return (bytes(port) + 63) / 64 * 64; }

  // The state whose first update takes this value.
  Port state_of(Port port) const {
    for (const core::GraphUpdate& update : graph_.updates()) {
      if (update.port == port) return graph_.inputs()[update.input].port;
    }
    return core::no_port;
  }

  bool read_later(Port memory, const std::vector<std::uint32_t>& order, std::size_t from) const {
    for (std::size_t i = from; i < order.size(); ++i) {
      for (const Port input : graph_.inputs_of(graph_.nodes()[order[i]])) {
        if (memory_[input] == memory) return true;
      }
    }
    for (const Port output : graph_.outputs()) {
      if (memory_[output] == memory && !in_output_[output]) return true;
    }
    for (const core::GraphUpdate& update : graph_.updates()) {
      if (memory_[update.port] == memory) return true;
    }
    return false;
  }

  // The node reads this memory only as a whole, each part before it writes it (or not at all).
  bool same_index(const core::GraphNode& node, Port memory) const {
    for (const Port input : graph_.inputs_of(node)) {
      if (memory_[input] != memory) continue;
      if (node.op != core::OpId::exp && node.op != core::OpId::softmax && node.op != core::OpId::add) return false;
      if (input != memory) return false;  // a view is a part here
    }
    return true;
  }

  const core::Graph& graph_;
  std::vector<Port> memory_;
  std::vector<bool> in_output_;
  std::vector<std::uint32_t> kernels_;
};

bool inputs_come_first(const core::Graph& graph, const std::vector<std::uint32_t>& nodes) {
  std::vector<bool> done(graph.nodes().size(), false);
  for (const std::uint32_t node : nodes) {
    for (const Port input : graph.inputs_of(graph.nodes()[node])) {
      if (!done[graph.producer(input)]) return false;
    }
    if (done[node]) return false;
    done[node] = true;
  }
  return nodes.size() == graph.nodes().size();
}

std::vector<std::uint32_t> kernels_in(const Story& story, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> kernels;
  for (const std::uint32_t node : nodes) {
    if (std::count(story.kernels().begin(), story.kernels().end(), node) != 0) kernels.push_back(node);
  }
  return kernels;
}

// The lowest peak of all orders.
std::int64_t lowest_of_all(const core::Graph& graph, const Story& story) {
  std::vector<std::uint32_t> order = story.kernels();
  std::sort(order.begin(), order.end());
  const std::vector<std::uint32_t> sorted = order;
  std::int64_t lowest = INT64_MAX;
  // Which kernels a kernel needs, through views too.
  std::map<std::uint32_t, std::set<std::uint32_t>> needs;
  for (std::uint32_t index = 0; index < graph.nodes().size(); ++index) {
    for (const Port input : graph.inputs_of(graph.nodes()[index])) {
      const std::uint32_t from = graph.producer(input);
      needs[index].insert(needs[from].begin(), needs[from].end());
      if (std::binary_search(sorted.begin(), sorted.end(), from)) needs[index].insert(from);
    }
  }
  do {
    std::set<std::uint32_t> done;
    bool valid = true;
    for (const std::uint32_t node : order) {
      valid = valid && std::includes(done.begin(), done.end(), needs[node].begin(), needs[node].end());
      done.insert(node);
    }
    if (valid) lowest = std::min(lowest, story.peak(order));
  } while (std::next_permutation(order.begin(), order.end()));
  return lowest;
}

}  // namespace

TEST_CASE("the cost model counts the bytes that a plain reading of the graph counts") {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const core::Graph graph = testing::random_graph(random, 3 + round % 20);
    const Storages storages(graph);
    const Problem problem = schedule::make_problem(graph, storages);
    const Story story(graph);
    REQUIRE(problem.tasks() == story.kernels().size());
    for (const auto& strategy : schedule::schedule_strategies()) {
      CAPTURE(strategy.name);
      const schedule::Schedule made = choose_order(problem, {.strategy = std::string(strategy.name)});
      const auto nodes = schedule::nodes_in_order(graph, problem, made.order);
      REQUIRE(inputs_come_first(graph, nodes));
      REQUIRE(made.peak == story.peak(kernels_in(story, nodes)));
      // The blocks that such an order asks for need just that much at the worst step.
      const std::vector<Block> blocks = schedule::blocks_of(problem, made.order);
      REQUIRE(memory_bound(blocks) == made.peak);
    }
  }
}

TEST_CASE("small graphs get the best of all orders") {
  std::mt19937 random(5);
  for (int round = 0; round < 150; ++round) {
    const core::Graph graph = testing::random_graph(random, 3 + round % 6);
    const Problem problem = schedule::make_problem(graph, Storages(graph));
    const Story story(graph);
    CHECK(choose_order(problem, {.worth_changing = 0}).peak == lowest_of_all(graph, story));
    CHECK(schedule::lower_bound(problem) <= lowest_of_all(graph, story));
  }
}

TEST_CASE("the best order is never worse than any single way") {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    const core::Graph graph = testing::random_graph(random, 10 + round);
    const Problem problem = schedule::make_problem(graph, Storages(graph));
    const std::int64_t best = choose_order(problem, {.worth_changing = 0}).peak;
    for (const auto& strategy : schedule::schedule_strategies()) {
      CHECK(best <= choose_order(problem, {.strategy = std::string(strategy.name)}).peak);
    }
    CHECK(best >= schedule::lower_bound(problem));
  }
}

TEST_CASE("the written order stays unless another one saves more than two in a hundred") {
  std::mt19937 random(3);
  int changed = 0;
  for (int round = 0; round < 100; ++round) {
    const core::Graph graph = testing::random_graph(random, 25);
    const Problem problem = schedule::make_problem(graph, Storages(graph));
    const std::int64_t usual = std::min(choose_order(problem, {.strategy = "recorded"}).peak,
                                        choose_order(problem, {.strategy = "depth_first"}).peak);
    const schedule::Schedule made = choose_order(problem);
    if (made.strategy == "recorded" || made.strategy == "depth_first") {
      CHECK(made.peak == usual);
    } else {
      ++changed;
      CHECK(static_cast<double>(made.peak) < 0.98 * static_cast<double>(usual));
    }
  }
  CHECK(changed > 0);
}

TEST_CASE("an unknown schedule is refused with the names there are") {
  core::GraphBuilder builder;
  const Port x = builder.add_input({DType::f32, {4}, false}, {});
  builder.add_output(builder.add(core::OpId::exp, core::NoAttributes(), {x}));
  const core::Graph graph = builder.finish();
  CHECK_THROWS_WITH_AS(schedule::order_of(graph, Storages(graph), {}, {.strategy = "fastest"}),
                       "there is no schedule 'fastest'; there are recorded, depth_first, prompt_depth_first, "
                       "prompt_tree_rule, whole_updates, best",
                       ValueError);
}

TEST_CASE("an update runs as soon as its gradient exists and nobody reads the old value any more") {
  // Two layers: the first weight's gradient comes last, and each gradient is as large as its weight.
  core::GraphBuilder builder;
  using core::OpId;
  const auto input = [&](std::int64_t length) { return builder.add_input({DType::f32, {length}, false}, {}); };
  const Port first = input(1024);
  const Port second = input(1024);
  const Port third = input(1024);
  Port flow = input(16);
  // A gradient is a large function of the flow; the flow goes on through the layers.
  std::vector<Port> gradients;
  for (int layer = 0; layer < 3; ++layer) {
    flow = builder.add(OpId::softmax, core::AxisAttributes{0}, {flow});
    gradients.push_back(builder.add(OpId::tile, core::ListAttributes{{64}}, {flow}));
  }
  const Port weights[] = {first, second, third};
  for (std::uint32_t layer = 0; layer < 3; ++layer) {
    builder.add_update(layer, builder.add(OpId::subtract, core::NoAttributes(), {weights[layer], gradients[layer]}));
  }
  const core::Graph graph = builder.finish();
  const Problem problem = schedule::make_problem(graph, Storages(graph));
  // As recorded all three gradients are alive before the first update.
  CHECK(choose_order(problem, {.strategy = "recorded"}).peak == 3 * 4096 + 64);
  CHECK(choose_order(problem).peak == 4096 + 64);
  CHECK(choose_order(problem, {.strategy = "whole_updates"}).peak == 4096 + 64);
}

TEST_CASE("an update waits for all that read the old value, and brings along what it alone needs") {
  core::GraphBuilder builder;
  using core::OpId;
  const Port weight = builder.add_input({DType::f32, {1024}, false}, {});
  const Port other = builder.add_input({DType::f32, {1024}, false}, {});
  const Port x = builder.add_input({DType::f32, {1024}, false}, {});
  const auto add = [&](OpId op, std::initializer_list<Port> inputs) {
    return builder.add(op, core::NoAttributes(), inputs);
  };
  const Port flow = add(OpId::exp, {x});                       // 0
  const Port gradient = add(OpId::sin, {flow});                // 1, for the update alone
  const Port step = add(OpId::tanh, {gradient});               // 2, too
  const Port further = add(OpId::cos, {flow});                 // 3
  const Port reader = add(OpId::multiply, {weight, further});  // 4 reads the old value
  const Port last = add(OpId::exp, {reader});                  // 5
  const Port value = add(OpId::subtract, {weight, step});      // 6
  const Port untouched = add(OpId::subtract, {other, last});   // 7
  builder.add_update(0, value);
  builder.add_update(1, untouched);
  builder.add_output(last);
  const core::Graph graph = builder.finish();
  const Problem problem = schedule::make_problem(graph, Storages(graph));
  CHECK(choose_order(problem, {.strategy = "whole_updates"}).order == Order{0, 3, 4, 1, 2, 6, 5, 7});
}

namespace {

core::LoopInstruction fused_step(core::OpId op, std::uint16_t a, std::uint16_t b = 0) {
  return {op, DType::f32, {a, b, 0}};
}

}  // namespace

TEST_CASE("each result of a node with several is written over a dying input or into its state") {
  core::GraphBuilder builder;
  using core::OpId;
  const auto input = [&] { return builder.add_input({DType::f32, {1024}, false}, {}); };
  const Port w = input(), s = input(), x = input();
  const Port gradient = builder.add(OpId::softmax, core::AxisAttributes{0}, {x});
  const Port other = builder.add(OpId::softmax, core::AxisAttributes{0}, {gradient});
  core::LoopAttributes group;
  group.shape = {1024};
  group.program.inputs = 3;  // w, s, gradient
  group.program.instructions = {fused_step(OpId::square, 2), fused_step(OpId::add, 1, 3), fused_step(OpId::sqrt, 4),
                                fused_step(OpId::divide, 2, 5), fused_step(OpId::subtract, 0, 6)};
  group.program.outputs = {4, 7};
  const Port first = builder.add(OpId::fused, std::make_shared<const core::Attributes>(group), {{w, s, gradient}});
  SUBCASE("both go into states") {
    builder.add_update(1, first);
    builder.add_update(0, first + 1);
  }
  SUBCASE("the one that is no state's goes over the gradient") {
    builder.add_update(0, first + 1);
    builder.add_output(builder.add(OpId::softmax, core::AxisAttributes{0}, {first}));
  }
  builder.add_output(builder.add(OpId::sum, core::AxesAttributes{{0}, true}, {other}));
  const core::Graph graph = builder.finish();
  const Problem problem = schedule::make_problem(graph, Storages(graph));
  // The gradient and what is computed from it beside the update; never a third.
  CHECK(choose_order(problem, {.strategy = "recorded"}).peak == 2 * 4096);
}
