// SPDX-License-Identifier: MIT
// The depth-first orders: one traversal, two ways to order the inputs of a task.
#include <algorithm>
#include <numeric>
#include <utility>

#include "optimiser/schedule/orders.hpp"

namespace tyto::schedule {

namespace {

// Post-order from the tasks that nobody needs; `inputs` holds what each task needs, first to be visited first.
Order post_order(const Problem& problem, const AdjacencyLists& inputs) {
  Order order;
  order.reserve(problem.tasks());
  std::vector<bool> seen(problem.tasks(), false);
  std::vector<std::pair<Task, std::uint32_t>> stack;
  for (Task root = 0; root < problem.tasks(); ++root) {
    if (!problem.after[root].empty()) continue;
    seen[root] = true;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [task, next] = stack.back();
      if (next == inputs[task].size()) {
        order.push_back(task);
        stack.pop_back();
        continue;
      }
      const Task input = inputs[task][next++];
      if (seen[input]) continue;
      seen[input] = true;
      stack.emplace_back(input, 0);
    }
  }
  return order;
}

/// By descending key; equal keys as they are. Tasks have few inputs, for which insertion is the quickest way.
void sort_by(std::vector<Task>& inputs, const std::vector<std::int64_t>& key) {
  if (inputs.size() > 32) {
    std::stable_sort(inputs.begin(), inputs.end(), [&](Task a, Task b) { return key[a] > key[b]; });
    return;
  }
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    const Task moving = inputs[k];
    std::size_t at = k;
    for (; at > 0 && key[moving] > key[inputs[at - 1]]; --at) inputs[at] = inputs[at - 1];
    inputs[at] = moving;
  }
}

/// Inputs of each task by descending key; equal keys as written.
AdjacencyLists inputs_by(const Problem& problem, const std::vector<std::int64_t>& key) {
  AdjacencyLists sorted;
  std::vector<Task> inputs;
  for (Task task = 0; task < problem.tasks(); ++task) {
    inputs.assign(problem.before[task].begin(), problem.before[task].end());
    sort_by(inputs, key);
    for (const Task input : inputs) sorted.add(input);
    sorted.close();
  }
  return sorted;
}

std::int64_t bytes_made(const Problem& problem, Task task) {
  std::int64_t bytes = 0;
  for (const std::uint32_t storage : problem.makes[task]) bytes += problem.bytes[storage];
  return bytes;
}

}  // namespace

Order recorded(const Problem& problem) {
  Order order(problem.tasks());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order depth_first(const Problem& problem) { return post_order(problem, problem.before); }

Order tree_rule(const Problem& problem) {
  // A task that several need counts as the sub-tree of the first only; the others find it done.
  std::vector<std::int64_t> peak(problem.tasks(), 0);
  std::vector<std::int64_t> saved(problem.tasks(), 0);  // peak - what is left
  std::vector<bool> claimed(problem.tasks(), false);
  std::vector<Task> inputs;
  for (Task task = 0; task < problem.tasks(); ++task) {
    inputs.clear();
    for (const Task input : problem.before[task]) {
      if (!claimed[input]) inputs.push_back(input);
      claimed[input] = true;
    }
    sort_by(inputs, saved);
    std::int64_t kept = 0;
    for (const Task input : inputs) {
      peak[task] = std::max(peak[task], kept + peak[input]);
      kept += peak[input] - saved[input];
    }
    const std::int64_t made = bytes_made(problem, task);
    std::int64_t on_top = 0;
    for (const std::uint32_t storage : problem.makes[task]) {
      if (problem.in_place_candidates[storage].empty()) on_top += problem.bytes[storage];
    }
    peak[task] = std::max(peak[task], kept + on_top + problem.workspace[task]);
    saved[task] = peak[task] - made;
  }
  return post_order(problem, inputs_by(problem, saved));
}

}  // namespace tyto::schedule
