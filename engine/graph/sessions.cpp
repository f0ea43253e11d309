// SPDX-License-Identifier: MIT
// Pools of sessions. A caller that finds no group of calls to join opens one, waits for a session and runs it for all:
// there are no threads beside the callers'.
#include "tyto/sessions.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <set>

#include "core/graph/builder.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/run/arrays.hpp"
#include "ops/define.hpp"
#include "tyto/device.hpp"

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

  std::int64_t rows() const { return arguments[0].view.shape[0]; }
};

/// Calls that run together.
struct Group {
  std::string kind;
  std::int64_t rows = 0;
  std::vector<Call*> calls = {};
};

}  // namespace pool

namespace {

using pool::Call;
using pool::Group;

bool same_but_rows(const core::Array& a, const core::Array& b) {
  return a.dtype == b.dtype && a.buffer->device() == b.buffer->device() && a.view.rank() == b.view.rank() &&
         std::equal(a.view.shape.begin() + 1, a.view.shape.end(), b.view.shape.begin() + 1);
}

bool fits(const Group& group, const std::string& kind, const Call& call, std::int64_t most) {
  return group.kind == kind && group.rows + call.rows() <= most &&
         std::ranges::equal(group.calls[0]->arguments, call.arguments, same_but_rows);
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
  std::int64_t row = 0;
  for (Call* call : calls) {
    call->results = {{}, results.structure};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      call->results.values.push_back(
          core::constant(results.values[i].node()->mode(), rows_of(arrays[i], row, call->rows())));
    }
    row += call->rows();
  }
}

// When they fail together each is run alone, to find out whose fault it was. False where it was nobody's: such calls
// cannot be put together. What runs alone has the rows that it was given.
bool run_all(std::size_t session, const Group& group, std::int64_t most) {
  const bool joined = group.calls.size() > 1;
  try {
    run_together(session, group.calls, joined ? padded(group.rows, most) : group.rows);
    return true;
  } catch (...) {
    if (!joined) group.calls[0]->exception = std::current_exception();
  }
  if (!joined) return true;
  bool failed = false;
  for (Call* call : group.calls) {
    try {
      run_together(session, {call}, call->rows());
    } catch (...) {
      call->exception = std::current_exception();
      failed = true;
    }
  }
  return failed;
}

}  // namespace

struct PoolCore::Queue {
  std::mutex mutex;
  std::condition_variable changed;  // a session is free, a group is full, or calls are done
  std::vector<std::size_t> idle;
  std::list<Group> open;        // groups that calls may still join
  std::set<std::string> alone;  // kinds of calls that cannot be put together

  std::size_t take(std::unique_lock<std::mutex>& lock) {
    changed.wait(lock, [this] { return !idle.empty(); });
    const std::size_t session = idle.back();
    idle.pop_back();
    return session;
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
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->idle.push_back(session);
  }
  queue_->changed.notify_all();
}

Results PoolCore::call(std::vector<Value> arguments, const std::string& kind, const Run& run) {
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
  Queue& queue = *queue_;
  std::unique_lock lock(queue.mutex);
  const bool alone = queue.alone.contains(kind);
  const auto joined = std::ranges::find_if(
      queue.open, [&](const Group& group) { return !alone && fits(group, kind, own, options_.batch); });
  if (joined != queue.open.end()) {
    joined->calls.push_back(&own);
    joined->rows += own.rows();
    if (joined->rows >= options_.batch) queue.changed.notify_all();
    queue.changed.wait(lock, [&] { return own.done; });
  } else {
    const auto group = queue.open.insert(queue.open.end(), {kind, own.rows(), {&own}});
    if (options_.wait_us != 0 && !alone) {
      constexpr std::int64_t longest = 86'400'000'000;  // a day: further ahead clocks may overflow
      queue.changed.wait_for(lock, std::chrono::microseconds(std::min(options_.wait_us, longest)),
                             [&] { return group->rows >= options_.batch; });
    }
    const std::size_t session = queue.take(lock);
    std::list<Group> closed;
    closed.splice(closed.end(), queue.open, group);
    lock.unlock();
    const bool may_be_joined = run_all(session, *group, options_.batch);
    lock.lock();
    if (!may_be_joined) queue.alone.insert(kind);
    for (Call* call : group->calls) call->done = true;
    queue.idle.push_back(session);
    lock.unlock();
    queue.changed.notify_all();
  }
  if (own.exception) std::rethrow_exception(own.exception);
  return std::move(own.results);
}

}  // namespace detail
}  // namespace TYTO_API
