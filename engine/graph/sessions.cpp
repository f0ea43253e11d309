// SPDX-License-Identifier: MIT
// Pools of sessions. A caller that finds no group of calls to join opens one, waits for a session and runs it for all:
// there are no threads beside the callers'.
#include "tyto/sessions.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <map>
#include <mutex>

#include "core/graph/builder.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/run/arrays.hpp"
#include "ops/define.hpp"
#include "tyto/device.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace detail {

namespace pool {

/// A call in a group.
struct Call {
  std::vector<core::Array> arguments;
  std::vector<core::Mode> modes;
  const PoolCore::Run* run = nullptr;
  Results results = {};
  std::exception_ptr exception = {};
  bool done = false;
  std::condition_variable changed = {};  // done, or the group that it opened is full

  std::int64_t rows() const { return arguments[0].view.shape[0]; }
};

/// Calls that run together.
struct Group {
  std::string kind;
  std::int64_t rows = 0;
  std::vector<Call*> calls = {};
};

/// What is known of calls of a kind.
enum class Joining {
  untried,
  right,  // rows were those of calls that run alone
  never   // they fail together and none of them alone
};

}  // namespace pool

namespace {

using pool::Call;
using pool::Group;
using pool::Joining;

/// Calls of one kind may run together.
std::string kind_of(const std::string& signature, const Call& call) {
  std::string kind = signature;
  for (const core::Array& argument : call.arguments) {
    Shape row = argument.view.shape;
    row.erase(0);
    kind += core::text(' ', argument.dtype, row, static_cast<const void*>(argument.buffer->device()));
  }
  return kind;
}

/// Whether all arguments have equally many rows, at least one.
bool has_rows(const Call& call) {
  return !call.arguments.empty() && std::ranges::all_of(call.arguments, [&](const core::Array& argument) {
    return argument.view.rank() != 0 && argument.view.shape[0] > 0 && argument.view.shape[0] == call.rows();
  });
}

core::Array rows_of(const core::Array& array, std::int64_t first, std::int64_t count) {
  core::Array rows = array;
  rows.view.offset += first * array.view.strides[0];
  rows.view.shape[0] = count;
  return rows;
}

core::Array copy_of_rows(const core::Array& array, std::int64_t first, std::int64_t count) {
  const core::Array rows = rows_of(array, first, count);
  const core::Array copy = run::new_array(*array.buffer->device(), array.dtype, rows.view.shape);
  run::copy_elements(rows, copy);
  return copy;
}

/// The rows of one argument of all calls, behind them copies of the last one.
core::Array stacked(const std::vector<Call*>& calls, std::size_t argument, std::int64_t rows) {
  const core::Array& first = calls[0]->arguments[argument];
  if (calls.size() == 1 && calls[0]->rows() == rows) return first;
  Shape shape = first.view.shape;
  shape[0] = rows;
  const core::Array all = run::new_array(*first.buffer->device(), first.dtype, shape);
  std::int64_t row = 0;
  for (const Call* call : calls) {
    run::copy_elements(call->arguments[argument], rows_of(all, row, call->rows()));
    row += call->rows();
  }
  for (; row < rows; ++row) {
    const Call& last = *calls.back();
    run::copy_elements(rows_of(last.arguments[argument], last.rows() - 1, 1), rows_of(all, row, 1));
  }
  return all;
}

std::int64_t padded(std::int64_t rows, std::int64_t most) {
  std::int64_t power = 1;
  while (power < rows) power *= 2;
  return rows > most ? rows : std::min(power, most);
}

/// Runs the calls as one and hands out their rows.
void run_together(std::size_t session, const std::vector<Call*>& calls, std::int64_t rows) {
  const Call& first = *calls[0];
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < first.arguments.size(); ++i) {
    arguments.push_back(core::constant(first.modes[i], stacked(calls, i, rows)));
  }
  const Results results = (*first.run)(session, std::move(arguments));
  std::vector<core::Array> arrays;
  for (const Value& result : results.values) {
    arrays.push_back(run::contents(result));
    const Shape& shape = arrays.back().view.shape;
    if (shape.rank() == 0 || shape[0] != rows) {
      throw GraphError(core::text("SessionPool: result ", arrays.size(), " of a run of ", rows, " rows has shape ",
                                  shape,
                                  ", where each row of the arguments should have a row of it; give .batch = 1 "
                                  "for such a function"));
    }
  }
  if (calls.size() == 1 && calls[0]->rows() == rows) {
    calls[0]->results = results;
    return;
  }
  std::int64_t row = 0;
  for (Call* call : calls) {
    call->results = {{}, results.structure};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      // A copy, or who keeps a row would keep all.
      call->results.values.push_back(
          core::constant(results.values[i].node()->mode(), copy_of_rows(arrays[i], row, call->rows())));
    }
    row += call->rows();
  }
}

bool alike(const core::Array& a, const core::Array& b, bool exactly) {
  if (a.view.count() == 0) return true;
  const auto eager = [](const core::Array& array) { return Tensor<Eager>(core::constant(core::Mode::eager, array)); };
  // Far above what another number of rows changes by rounding, f16 included.
  constexpr double relative = 0.02;
  if (exactly || is_integer(a.dtype) || a.dtype == DType::boolean) return array_equal(eager(a), eager(b));
  const Tensor<Eager> expected = eager(b);
  const double most = abs(expected).astype(DType::f64).max().template item<double>();
  return allclose(eager(a), expected, relative, relative * most);
}

/// The first result that is not alike, or their count.
std::size_t first_difference(const Results& a, const Results& b) {
  std::size_t i = 0;
  while (i < a.values.size() && alike(run::contents(a.values[i]), run::contents(b.values[i]), false)) ++i;
  return i;
}

bool have_same_arguments(const std::vector<Call*>& calls) {
  return std::ranges::all_of(calls, [&](const Call* call) {
    return std::ranges::equal(call->arguments, calls[0]->arguments,
                              [](const core::Array& a, const core::Array& b) { return alike(a, b, true); });
  });
}

/// Runs each of the calls that ran together alone as well. Throws where the rows differ: they are made of others' rows.
/// What draws random numbers, or is NaN, is not even like itself, and tells nothing.
void compare_with_runs_alone(std::size_t session, const std::vector<Call*>& calls) {
  for (const Call* call : calls) {
    const auto run_alone = [&] {
      Call copy{.arguments = call->arguments, .modes = call->modes, .run = call->run};
      run_together(session, {&copy}, copy.rows());
      return copy.results;
    };
    const Results alone = run_alone();
    const std::size_t different = first_difference(call->results, alone);
    if (different == alone.values.size()) continue;
    if (first_difference(run_alone(), alone) != alone.values.size()) return;
    throw GraphError(
        core::text("SessionPool: result ", different + 1,
                   " of calls that run together is not what each gives alone, since its rows are made of several rows "
                   "of the arguments; give .batch = 1 for such a function"));
  }
}

// When they fail together each is run alone, to find out whose fault it was; where it was nobody's, such calls cannot
// be put together. What runs alone has the rows that it was given.
Joining run_all(std::size_t session, const Group& group, Joining known, std::int64_t most) {
  if (group.calls.size() == 1) {
    try {
      run_together(session, group.calls, group.rows);
    } catch (...) {
      group.calls[0]->exception = std::current_exception();
    }
    return known;
  }
  try {
    run_together(session, group.calls, padded(group.rows, most));
  } catch (...) {
    for (Call* call : group.calls) {
      try {
        run_together(session, {call}, call->rows());
      } catch (...) {
        call->exception = std::current_exception();
      }
    }
    const bool nobody = std::ranges::none_of(group.calls, [](const Call* call) { return call->exception != nullptr; });
    return nobody ? Joining::never : known;
  }
  try {
    if (known == Joining::right || have_same_arguments(group.calls)) return known;
    compare_with_runs_alone(session, group.calls);
    return Joining::right;
  } catch (...) {
    for (Call* call : group.calls) call->exception = std::current_exception();
    return known;
  }
}

}  // namespace

struct PoolCore::Queue {
  std::mutex mutex;
  std::vector<std::size_t> idle;
  std::list<std::condition_variable*> waiting;  // for a session, the first one first
  std::list<Group> open;                        // groups that calls may still join
  std::map<std::string, Joining> kinds;

  std::size_t take(std::unique_lock<std::mutex>& lock) {
    if (idle.empty() || !waiting.empty()) {
      std::condition_variable turn;
      const auto place = waiting.insert(waiting.end(), &turn);
      turn.wait(lock, [&] { return !idle.empty() && waiting.front() == &turn; });
      waiting.erase(place);
    }
    const std::size_t session = idle.back();
    idle.pop_back();
    wake();
    return session;
  }

  void give(std::size_t session) {
    idle.push_back(session);
    wake();
  }

 private:
  // While the mutex is held: who waits may be gone as soon as it is free.
  void wake() {
    if (!idle.empty() && !waiting.empty()) waiting.front()->notify_one();
  }
};

PoolCore::PoolCore(const SessionPoolOptions& options) : options_(options), queue_(std::make_unique<Queue>()) {
  const auto refuse = [](const char* what, std::int64_t given, const char* least) {
    throw ValueError(core::text("SessionPool: ", what, " must be ", least, " or more, got ", given));
  };
  if (options.sessions < 0) refuse("sessions", options.sessions, "0");
  if (options.threads < 0) refuse("threads", options.threads, "0");
  if (options.batch < 1) refuse("batch", options.batch, "1");
  if (options.wait_us < 0) refuse("wait_us", options.wait_us, "0");
  if (options_.sessions == 0) options_.sessions = tyto::threads();
  if (options_.threads == 0) options_.threads = std::max(1, tyto::threads() / options_.sessions);
  // The one that was given back last is taken first: its arena is in the caches.
  for (std::size_t i = static_cast<std::size_t>(options_.sessions); i-- > 0;) queue_->idle.push_back(i);
}

PoolCore::~PoolCore() = default;

std::size_t PoolCore::take() {
  std::unique_lock lock(queue_->mutex);
  return queue_->take(lock);
}

void PoolCore::give(std::size_t session) {
  const std::lock_guard lock(queue_->mutex);
  queue_->give(session);
}

Results PoolCore::call(std::vector<Value> arguments, const std::string& signature, const Run& run) {
  Call own;
  own.run = &run;
  for (const Value& argument : arguments) {
    core::require("SessionPool", argument);
    own.arguments.push_back(run::contents(argument));  // here, where only this call is to blame
    own.modes.push_back(argument.node()->mode());
  }
  if (!has_rows(own)) {
    throw ShapeError(
        "SessionPool: an argument has no rows, or not as many as the first: with .batch calls are put together along "
        "the first axis of all arguments");
  }
  const std::string kind = kind_of(signature, own);
  Queue& queue = *queue_;
  std::unique_lock lock(queue.mutex);
  Joining& joining = queue.kinds[kind];
  const auto joined = std::ranges::find_if(queue.open, [&](const Group& group) {
    return joining != Joining::never && group.kind == kind && group.rows + own.rows() <= options_.batch;
  });
  if (joined != queue.open.end()) {
    joined->calls.push_back(&own);
    joined->rows += own.rows();
    if (joined->rows >= options_.batch) joined->calls[0]->changed.notify_one();
    own.changed.wait(lock, [&] { return own.done; });
  } else {
    const auto group = queue.open.insert(queue.open.end(), {kind, own.rows(), {&own}});
    if (options_.wait_us != 0 && joining != Joining::never) {
      constexpr std::int64_t longest = 86'400'000'000;  // a day: further ahead clocks may overflow
      own.changed.wait_for(lock, std::chrono::microseconds(std::min(options_.wait_us, longest)),
                           [&] { return group->rows >= options_.batch; });
    }
    const std::size_t session = queue.take(lock);
    std::list<Group> closed;
    closed.splice(closed.end(), queue.open, group);
    const Joining known = joining;
    lock.unlock();
    const Joining found = run_all(session, *group, known, options_.batch);
    lock.lock();
    if (joining == known) joining = found;
    for (Call* call : group->calls) {
      call->done = true;
      call->changed.notify_one();
    }
    queue.give(session);
    lock.unlock();
  }
  if (own.exception) std::rethrow_exception(own.exception);
  return std::move(own.results);
}

}  // namespace detail
}  // namespace TYTO_API
