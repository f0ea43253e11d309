// SPDX-License-Identifier: MIT
// Schedules each update of a state, with all that is computed for nothing else, in one go as soon as it can run.
#include <vector>

#include "optimiser/schedule/orders.hpp"

namespace tyto::schedule {

namespace {

/// Tasks by the one update that they serve, and the tasks that each update waits for.
class Updates {
 public:
  Updates(const Problem& problem, const Order& base)
      : problem_(problem), serves_(problem.tasks(), nothing), members_(problem.tasks()), waiting_(problem.tasks(), 0) {
    // From the end: a task serves what all its consumers serve.
    for (auto task = base.rbegin(); task != base.rend(); ++task) {
      serves_[*task] = served_by(*task);
    }
    for (const Task task : base) {
      if (serves_[task] != nothing) members_[serves_[task]].push_back(task);
    }
    waits_of_.resize(problem.tasks());
    for (const Task task : base) {
      const Task update = serves_[task];
      if (update == nothing) continue;
      for (const Task input : problem.before[task]) wait(update, input);
      for (const std::uint32_t made : problem.makes[task]) {
        if (problem.update_target[made] == nothing) continue;
        for (const Task consumer : problem.consumers_of[problem.update_target[made]]) wait(update, consumer);
      }
    }
  }

  bool is_alone(Task task) const { return serves_[task] == nothing; }

  void run(Task task, Order& order) {
    ready_.push_back(task);
    while (!ready_.empty()) {
      const Task next = ready_.back();
      ready_.pop_back();
      order.push_back(next);
      // The first of them on top.
      for (auto update = waits_of_[next].rbegin(); update != waits_of_[next].rend(); ++update) {
        if (--waiting_[*update] != 0) continue;
        ready_.insert(ready_.end(), members_[*update].rbegin(), members_[*update].rend());
      }
    }
  }

  /// Updates that need no other task.
  void run_free(Order& order) {
    for (Task update = 0; update < problem_.tasks(); ++update) {
      if (serves_[update] != update || waiting_[update] != 0 || members_[update].empty()) continue;
      for (const Task member : members_[update]) free_.push_back(member);
      members_[update].clear();
    }
    for (const Task member : free_) run(member, order);
  }

 private:
  Task served_by(Task task) const {
    for (const std::uint32_t made : problem_.makes[task]) {
      if (problem_.update_target[made] != nothing && problem_.after[task].empty()) return task;
    }
    Task served = nothing;
    for (const Task consumer : problem_.after[task]) {
      if (serves_[consumer] == nothing || (served != nothing && serves_[consumer] != served)) return nothing;
      served = serves_[consumer];
    }
    for (const std::uint32_t made : problem_.makes[task]) {
      if (problem_.consumers[made] > problem_.consumers_of[made].size()) return nothing;
    }
    return served;
  }

  void wait(Task update, Task other) {
    if (serves_[other] == update) return;
    waits_of_[other].push_back(update);
    ++waiting_[update];
  }

  const Problem& problem_;
  std::vector<Task> serves_;                 // by task: the update, itself for one; nothing
  std::vector<std::vector<Task>> members_;   // by update, in order
  std::vector<std::uint32_t> waiting_;       // by update: tasks that must run before
  std::vector<std::vector<Task>> waits_of_;  // by task: updates that wait for it
  std::vector<Task> ready_;
  std::vector<Task> free_;
};

}  // namespace

Order whole_updates(const Problem& problem, const Order& base) {
  Updates updates(problem, base);
  Order order;
  order.reserve(problem.tasks());
  updates.run_free(order);
  for (const Task task : base) {
    if (updates.is_alone(task)) updates.run(task, order);
  }
  return is_order(problem, order) ? order : base;
}

}  // namespace tyto::schedule
