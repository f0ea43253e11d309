// SPDX-License-Identifier: MIT
// prompt: changes an order so that tasks that free memory run as soon as they can.
#include <algorithm>
#include <queue>

#include "optimiser/schedule/orders.hpp"

namespace tyto::schedule {

namespace {

struct Candidate {
  std::int64_t gain;     // bytes freed beyond those made
  std::uint64_t recent;  // when it became ready
  Task task;
  std::uint32_t version;  // older entries of the same task are stale

  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.gain != b.gain) return a.gain < b.gain;
    if (a.recent != b.recent) return a.recent < b.recent;
    return a.task > b.task;
  }
};

// Tasks that are ready, by gain. Gains change as other consumers finish; a changed task is entered anew.
class ReadyQueue {
 public:
  explicit ReadyQueue(std::size_t tasks) : version_(tasks, 0), readied_(tasks, 0) {}

  void enter(Task task, std::int64_t gain) {
    readied_[task] = ++clock_;
    queue_.push({gain, readied_[task], task, version_[task]});
  }
  void change(Task task, std::int64_t gain) {
    if (readied_[task] != 0) queue_.push({gain, readied_[task], task, ++version_[task]});
  }
  /// The task will not come out any more.
  void remove(Task task) { version_[task] = UINT32_MAX; }
  /// The best entry that is not stale, or null.
  const Candidate* best() {
    while (!queue_.empty() && queue_.top().version != version_[queue_.top().task]) queue_.pop();
    return queue_.empty() ? nullptr : &queue_.top();
  }
  bool ready(Task task) const { return readied_[task] != 0; }

 private:
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint32_t> version_;
  std::vector<std::uint64_t> readied_;
  std::uint64_t clock_ = 0;
};

// Runs tasks and keeps the gain of every one up to date: what it makes is paid for, what it is the last to read is won.
class Greedy {
 public:
  explicit Greedy(const Problem& problem)
      : problem_(problem),
        simulation_(problem),
        queue_(problem.tasks()),
        missing_(problem.tasks()),
        gain_(problem.tasks(), 0),
        last_reader_(problem.storages(), 0),
        writer_(problem.storages(), nothing) {
    order_.reserve(problem.tasks());
    for (Task task = 0; task < problem.tasks(); ++task) {
      missing_[task] = static_cast<std::uint32_t>(problem.before[task].size());
      for (const std::uint32_t storage : problem.reads[task]) last_reader_[storage] ^= task;
      if (is_small(task)) continue;
      for (const std::uint32_t made : problem.makes[task]) {
        const std::uint32_t state = problem.update_target[made];
        if (state == nothing) {
          gain_[task] -= bytes_kept(made);
        } else if (problem.consumers[state] != own_reads(task, state)) {
          gain_[task] -= cost_beside_state(made);
        }
      }
    }
    for (std::uint32_t storage = 0; storage < problem.storages(); ++storage) {
      if (problem.update_target[storage] != nothing) writer_[problem.update_target[storage]] = storage;
    }
    // Among equals the queue takes the task entered last, so the first recorded task is entered last.
    for (Task task = static_cast<Task>(problem.tasks()); task-- > 0;) {
      if (missing_[task] == 0) queue_.enter(task, gain_[task]);
    }
  }

  const Candidate* best() { return queue_.best(); }
  bool done(Task task) const { return missing_[task] == UINT32_MAX; }
  bool ready(Task task) const { return missing_[task] == 0; }
  /// An update that would not be in place: somebody has still to read the old value.
  bool better_later(Task task) const {
    return std::ranges::any_of(problem_.makes[task], [&](std::uint32_t made) {
      const std::uint32_t state = problem_.update_target[made];
      return state != nothing && simulation_.remaining(state) != own_reads(task, state);
    });
  }

  void run(Task task) {
    queue_.remove(task);
    missing_[task] = UINT32_MAX;
    simulation_.run(task);
    order_.push_back(task);
    for (const std::uint32_t storage : problem_.makes[task]) credit_last_reader(storage);
    for (const std::uint32_t storage : problem_.reads[task]) {
      last_reader_[storage] ^= task;
      credit_last_reader(storage);
      if (writer_[storage] == nothing) continue;
      const Task writer = problem_.maker[writer_[storage]];
      if (done(writer) || is_small(writer)) continue;
      if (simulation_.remaining(storage) == own_reads(writer, storage)) {
        credit(writer, cost_beside_state(writer_[storage]));
      }
    }
    const std::span<const Task> after = problem_.after[task];
    for (auto next = after.rbegin(); next != after.rend(); ++next) {
      if (--missing_[*next] == 0) queue_.enter(*next, gain_[*next]);
    }
  }

  Order take_order() { return std::move(order_); }

 private:
  // A result much smaller than one of its inputs (a sum of it, a mean) counts as nothing: the input must not wait
  // for its last consumer because of it. Nor must updates wait for a number without operands that they scale by.
  bool is_small(Task task) const {
    constexpr std::int64_t small = 16;
    constexpr std::int64_t number = 64;
    std::int64_t bytes = 0;
    for (const std::uint32_t storage : problem_.makes[task]) bytes += bytes_kept(storage);
    if (problem_.before[task].empty() && problem_.reads[task].empty() && bytes <= number) return true;
    return std::ranges::any_of(problem_.reads[task],
                               [&](std::uint32_t storage) { return bytes * small <= problem_.bytes[storage]; });
  }

  std::int64_t bytes_kept(std::uint32_t made) const { return problem_.consumers[made] != 0 ? problem_.bytes[made] : 0; }

  // A new value that is not written into its state's memory stays until the end of the run, so it counts twice.
  std::int64_t cost_beside_state(std::uint32_t made) const { return 2 * bytes_kept(made); }

  /// Times that a task reads a state: 0 or 1.
  std::uint32_t own_reads(Task task, std::uint32_t state) const {
    const auto reads = problem_.reads[task];
    return std::find(reads.begin(), reads.end(), state) != reads.end() ? 1U : 0U;
  }

  void credit(Task task, std::int64_t bytes) {
    gain_[task] += bytes;
    if (queue_.ready(task)) queue_.change(task, gain_[task]);
  }

  // When one consumer is left, and the end of the run is none, that one frees the storage.
  void credit_last_reader(std::uint32_t storage) {
    const bool read_at_end = problem_.consumers[storage] > problem_.consumers_of[storage].size();
    if (simulation_.remaining(storage) == 1 && !read_at_end && simulation_.room(storage) != 0) {
      credit(last_reader_[storage], simulation_.room(storage));
    }
  }

  const Problem& problem_;
  Simulation simulation_;
  ReadyQueue queue_;
  std::vector<std::uint32_t> missing_;  // inputs not done yet; UINT32_MAX for a task that is done
  std::vector<std::int64_t> gain_;
  std::vector<Task> last_reader_;      // exclusive or of the consumers still to come
  std::vector<std::uint32_t> writer_;  // by state's storage: the storage of its new value, which may go there
  Order order_;
};

}  // namespace

Order prompt(const Problem& problem, const Order& base) {
  Greedy greedy(problem);
  std::vector<Task> put_off;  // updates that wait for the last consumer of the old value
  std::size_t next_put_off = 0;
  const auto run_with_prompt_ones = [&](Task task) {
    while (!greedy.done(task)) {
      const Candidate* best = greedy.best();
      if (best != nullptr && best->gain >= 0) {
        greedy.run(best->task);
      } else if (greedy.ready(task)) {
        greedy.run(task);
      } else {
        // It needs the new value of a state: no more waiting.
        while (greedy.done(put_off[next_put_off])) ++next_put_off;
        greedy.run(put_off[next_put_off++]);
      }
    }
  };
  for (const Task task : base) {
    if (!greedy.done(task) && greedy.better_later(task)) {
      put_off.push_back(task);
    } else {
      run_with_prompt_ones(task);
    }
  }
  for (const Task task : put_off) run_with_prompt_ones(task);
  return greedy.take_order();
}

}  // namespace tyto::schedule
