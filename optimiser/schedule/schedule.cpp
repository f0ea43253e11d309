// The table of orders, and the best of them.
#include "optimiser/schedule/schedule.hpp"

#include <algorithm>
#include <array>

#include "engine/core/text.hpp"
#include "optimiser/schedule/improve.hpp"
#include "optimiser/schedule/orders.hpp"

namespace tyto::schedule {

namespace {

Order prompt_depth_first(const Problem& problem) { return prompt(problem, depth_first(problem)); }
Order prompt_tree_rule(const Problem& problem) { return prompt(problem, tree_rule(problem)); }
Order recorded_updates(const Problem& problem) { return whole_updates(problem, recorded(problem)); }

struct Way {
  ScheduleStrategy strategy;
  Order (*make)(const Problem&);  // null for best
};

std::span<const Way> ways() {
  static const std::array table{
      Way{{"recorded", "as the program was written"}, recorded},
      Way{{"depth_first", "what a task needs right before it"}, depth_first},
      Way{{"operand_priority", "depth first, inputs with most further readers and bytes first"}, operand_priority},
      Way{{"tree_rule", "depth first, inputs whose sub-trees shrink most first"}, tree_rule},
      Way{{"prompt_depth_first", "depth first, whatever frees memory as soon as it can run"}, prompt_depth_first},
      Way{{"prompt_tree_rule", "tree rule, whatever frees memory as soon as it can run"}, prompt_tree_rule},
      Way{{"whole_updates", "as written, an update and all that it alone needs as soon as it can run"},
          recorded_updates},
      Way{{"list", "always the ready task that frees most"}, list},
      Way{{"list_backwards", "the same from the end of the program"}, list_backwards},
      Way{{"best", "the best of these, improved by exact windows and single moves"}, nullptr},
  };
  return table;
}

Schedule best(const Problem& problem, const ScheduleOptions& options) {
  const std::int64_t bound = lower_bound(problem);
  const auto worth = [&](std::int64_t usual) { return static_cast<double>(usual) * (1 - options.worth_changing); };
  Schedule usual;
  Schedule lowest;
  for (const Way& way : ways()) {
    if (way.make == nullptr) continue;
    Order order = way.make(problem);
    const std::int64_t peak = footprint(problem, order).peak;
    const bool plain = way.make == recorded || way.make == depth_first;
    if (plain && (usual.order.empty() || peak < usual.peak)) usual = {order, way.strategy.name, peak};
    if (lowest.order.empty() || peak < lowest.peak) lowest = {std::move(order), way.strategy.name, peak};
    if (usual.peak <= bound) return usual;
  }
  // Steps of improvement are small. Where no way is lower by what a change is worth they would have to make all of it,
  // which they do on small graphs only.
  const auto tasks = static_cast<std::int64_t>(problem.tasks());
  const bool changing = static_cast<double>(lowest.peak) < worth(usual.peak);
  const std::int64_t work = options.work != 0 ? options.work : (changing ? 100'000 + 40 * tasks : 20'000 + 4 * tasks);
  Order improved = improve(problem, lowest.order, bound, work);
  const std::int64_t peak = footprint(problem, improved).peak;
  if (peak < lowest.peak) lowest = {std::move(improved), "best", peak};
  return static_cast<double>(lowest.peak) < worth(usual.peak) ? lowest : usual;
}

}  // namespace

std::span<const ScheduleStrategy> schedule_strategies() {
  static const std::vector<ScheduleStrategy> list = [] {
    std::vector<ScheduleStrategy> names;
    for (const Way& way : ways()) names.push_back(way.strategy);
    return names;
  }();
  return list;
}

Schedule choose_order(const Problem& problem, const ScheduleOptions& options) {
  for (const Way& way : ways()) {
    if (way.strategy.name != options.strategy) continue;
    if (way.make == nullptr) return best(problem, options);
    Schedule schedule{way.make(problem), way.strategy.name, 0};
    schedule.peak = footprint(problem, schedule.order).peak;
    return schedule;
  }
  std::string names;
  for (const Way& way : ways()) names += (names.empty() ? "" : ", ") + std::string(way.strategy.name);
  throw ValueError(core::text("there is no schedule '", options.strategy, "'; there are ", names));
}

std::vector<std::uint32_t> order_of(const core::Graph& graph, const optimiser::Storages& storages,
                                    const ScheduleOptions& options) {
  const Problem problem = make_problem(graph, storages);
  return nodes_in_order(graph, problem, choose_order(problem, options).order);
}

std::vector<std::uint32_t> order_like(const core::Graph& graph, const optimiser::Storages& storages,
                                      std::span<const std::uint32_t> known, const ScheduleOptions& options) {
  const Problem problem = make_problem(graph, storages);
  std::vector<Task> task_of(graph.nodes().size(), nothing);
  for (Task task = 0; task < problem.tasks(); ++task) task_of[problem.node[task]] = task;
  Order order;
  for (const std::uint32_t node : known) {
    if (node < task_of.size() && task_of[node] != nothing) order.push_back(task_of[node]);
  }
  if (is_order(problem, order)) {
    const std::int64_t peak = footprint(problem, order).peak;
    const auto needs_more = [&](const Order& plain) { return footprint(problem, plain).peak < peak; };
    if (!needs_more(recorded(problem)) && !needs_more(depth_first(problem)))
      return nodes_in_order(graph, problem, order);
  }
  return nodes_in_order(graph, problem, choose_order(problem, options).order);
}

}  // namespace tyto::schedule
