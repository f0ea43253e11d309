// SPDX-License-Identifier: MIT
// The table of scheduling orders, and the choice of the best.
#include "optimiser/schedule/schedule.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/value/text.hpp"
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
      Way{{"prompt_depth_first", "depth first, whatever frees memory as soon as it can run"}, prompt_depth_first},
      Way{{"prompt_tree_rule", "the same, inputs whose sub-trees shrink most first"}, prompt_tree_rule},
      Way{{"whole_updates", "as written, an update and all that it alone needs as soon as it can run"},
          recorded_updates},
      Way{{"best", "the best of these, improved by exact windows"}, nullptr},
  };
  return table;
}

/// Orders are made of `problem` and compared by `judge`: the same tasks where storages that parts are computed into
/// are one.
Schedule best(const Problem& problem, const Problem& judge, const ScheduleOptions& options) {
  const std::int64_t bound = lower_bound(judge);
  const auto worth = [&](std::int64_t usual) { return static_cast<double>(usual) * (1 - options.worth_changing); };
  Schedule usual;
  Schedule lowest;
  for (const Way& way : ways()) {
    if (way.make == nullptr) continue;
    Order order = way.make(problem);
    const std::int64_t peak = footprint(judge, order).peak;
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
  Order improved = improve(judge, lowest.order, bound, work);
  const std::int64_t peak = footprint(judge, improved).peak;
  if (peak < lowest.peak) lowest = {std::move(improved), "best", peak};
  return static_cast<double>(lowest.peak) < worth(usual.peak) ? lowest : usual;
}

Schedule choose(const Problem& problem, const Problem& judge, const ScheduleOptions& options) {
  for (const Way& way : ways()) {
    if (way.strategy.name != options.strategy) continue;
    if (way.make == nullptr) return best(problem, judge, options);
    Schedule schedule{way.make(problem), way.strategy.name, 0};
    schedule.peak = footprint(judge, schedule.order).peak;
    return schedule;
  }
  std::string names;
  for (const Way& way : ways()) names += (names.empty() ? "" : ", ") + std::string(way.strategy.name);
  core::throw_error<ValueError>("there is no schedule '", options.strategy, "'; there are ", names);
}

/// A graph's tasks as they will be placed in each order.
class Placer {
 public:
  Placer(const core::Graph& graph, const optimiser::Storages& storages, const ExtraMemory& extra)
      : graph_(graph), storages_(storages), extra_(extra), problem_(make_problem(graph, storages)) {
    add_workspace(problem_);
  }

  struct Placed {
    NodeOrder order;
    std::optional<Problem> joined;  // none: the plain problem says it all
  };
  Placed place(const Order& order) const {
    Placed out;
    out.order.nodes = nodes_in_order(graph_, problem_, order);
    if (extra_.destinations) out.order.destinations = extra_.destinations(out.order.nodes);
    const auto& chosen = out.order.destinations;
    if (std::ranges::any_of(chosen, [](const optimiser::Destination& each) { return bool(each); })) {
      out.joined = make_problem(graph_, storages_, alignment, chosen);
      add_workspace(*out.joined);
    }
    out.order.peak = footprint(out.joined ? *out.joined : problem_, order).peak;
    return out;
  }

  /// Which parts lie in their whole depends on the order, and which order is best on that: what is chosen for the order
  /// as written decides.
  NodeOrder choose_order(const ScheduleOptions& options) const {
    std::optional<Problem> judge;
    if (extra_.destinations) judge = place(recorded(problem_)).joined;
    return place(choose(problem_, judge ? *judge : problem_, options).order).order;
  }

 private:
  static constexpr std::int64_t alignment = 64;

  void add_workspace(Problem& problem) const {
    if (extra_.workspace.empty()) return;
    for (Task task = 0; task < problem.tasks(); ++task) {
      problem.workspace[task] = extra_.workspace[problem.node[task]];
    }
  }

  const core::Graph& graph_;
  const optimiser::Storages& storages_;
  const ExtraMemory& extra_;
  Problem problem_;
};

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
  return choose(problem, problem, options);
}

NodeOrder order_of(const core::Graph& graph, const optimiser::Storages& storages, const ExtraMemory& extra,
                   const ScheduleOptions& options) {
  return Placer(graph, storages, extra).choose_order(options);
}

}  // namespace tyto::schedule
