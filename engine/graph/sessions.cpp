// SPDX-License-Identifier: MIT
// Session pools: a caller that finds no group of calls to join opens one, waits for a session and runs it for all.
// There are no threads besides the callers'.
#include "tyto/sessions.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <span>

#include "core/graph/builder.hpp"
#include "core/value/text.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/run/arrays.hpp"
#include "ops/define.hpp"
#include "tyto/device.hpp"

namespace tyto TYTO_API {
namespace detail {

namespace pool {

/// A caller that waits for a session.
struct Waiter {
  std::condition_variable changed = {};
  std::chrono::steady_clock::time_point since = {};
};

/// A call in a group.
struct Call {
  std::vector<core::Array> arguments;
  std::vector<core::Mode> modes;
  const PoolCore::Run* run = nullptr;
  Results results = {};
  std::exception_ptr exception = {};
  bool done = false;
  std::condition_variable changed = {};  // done, or the group that it opened is full
  std::list<Waiter> turn{1};             // made here, so that whoever waits in a group's name needs no memory for it

  std::int64_t rows() const { return arguments[0].view.shape[0]; }
};

/// Calls that run together.
struct Group {
  std::string kind;
  std::int64_t rows = 0;
  std::vector<Call*> calls = {};
};

/// Whether calls of one kind may run together.
enum class Joining {
  untried,
  right,  // rows did not change with those of other calls
  never   // they did, or the calls fail together and none of them alone
};

}  // namespace pool

namespace {

using pool::Call;
using pool::Group;
using pool::Joining;
using pool::Waiter;

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

/// The rows of one argument of a run of so many. Those before and behind the rows of the calls, which begin at `first`,
/// are copies of the next row of a call.
core::Array stacked(std::span<Call* const> calls, std::size_t argument, std::int64_t first, std::int64_t rows) {
  const core::Array& like = calls[0]->arguments[argument];
  if (calls.size() == 1 && calls[0]->rows() == rows) return like;
  Shape shape = like.view.shape;
  shape[0] = rows;
  const core::Array all = run::new_array(*like.buffer->device(), like.dtype, shape);
  for (std::int64_t row = 0; row < first; ++row) run::copy_elements(rows_of(like, 0, 1), rows_of(all, row, 1));
  std::int64_t row = first;
  for (const Call* call : calls) {
    run::copy_elements(call->arguments[argument], rows_of(all, row, call->rows()));
    row += call->rows();
  }
  for (const Call& last = *calls.back(); row < rows; ++row) {
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
void run_together(std::size_t session, std::span<Call* const> calls, std::int64_t first, std::int64_t rows) {
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < calls[0]->arguments.size(); ++i) {
    arguments.push_back(core::constant(calls[0]->modes[i], stacked(calls, i, first, rows)));
  }
  const Results results = (*calls[0]->run)(session, std::move(arguments));
  std::vector<core::Array> arrays;
  for (const Value& result : results.values) {
    arrays.push_back(run::contents(result));
    const Shape& shape = arrays.back().view.shape;
    if (shape.rank() == 0 || shape[0] != rows) {
      core::throw_error<GraphError>("SessionPool: result ", arrays.size(), " of a run of ", rows, " rows has shape ",
                                    shape,
                                    ", where each row of the arguments should have a row of it; give .batch = 1 "
                                    "for such a function");
    }
  }
  if (calls.size() == 1 && calls[0]->rows() == rows) {
    calls[0]->results = results;
    return;
  }
  std::int64_t row = first;
  for (Call* call : calls) {
    call->results = {{}, results.structure};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      // A copy: otherwise a caller that keeps a row would keep all.
      call->results.values.push_back(
          core::constant(results.values[i].node()->mode(), copy_of_rows(arrays[i], row, call->rows())));
    }
    row += call->rows();
  }
}

bool have_same_arguments(const Call& a, const Call& b) {
  return std::ranges::equal(a.arguments, b.arguments, [](const core::Array& one, const core::Array& other) {
    return run::host_bytes(one) == run::host_bytes(other);
  });
}

void run_each_alone(std::size_t session, std::span<Call* const> calls) {
  for (Call* call : calls) {
    try {
      run_together(session, {&call, 1}, 0, call->rows());
    } catch (...) {
      call->exception = std::current_exception();
    }
  }
}

/// Whether the rows of calls that ran together are made of other calls' rows. Each call runs once more, in the same
/// place of as many rows, which are all its own now: the same plan, and so the same bits, unless its rows saw the
/// others'. Results that differ between two such runs are random and tell nothing.
Joining found_by_replacing_others(std::size_t session, std::span<Call* const> calls, std::int64_t rows) {
  Joining found = Joining::untried;
  std::int64_t first = 0;
  for (const Call* call : calls) {
    const auto run_among_copies = [&] {
      Call copy{.arguments = call->arguments, .modes = call->modes, .run = call->run};
      Call* const only = &copy;
      run_together(session, {&only, 1}, first, rows);
      return copy.results.values;
    };
    const std::vector<Value> apart = run_among_copies();
    std::vector<Value> again;
    for (std::size_t i = 0; i < apart.size(); ++i) {
      const auto bytes = run::host_bytes(run::contents(apart[i]));
      if (run::host_bytes(run::contents(call->results.values[i])) == bytes) {
        found = Joining::right;
        continue;
      }
      if (again.empty()) again = run_among_copies();
      if (run::host_bytes(run::contents(again[i])) == bytes) return Joining::never;
    }
    first += call->rows();
  }
  return found;
}

/// Runs a group, whose calls may fail, and says what is known then of calls of the kind. When they fail together each
/// is run alone, to find out whose fault it was; where it was nobody's, such calls cannot be put together. What runs
/// alone has the rows that it was given.
Joining run_all(std::size_t session, const Group& group, Joining known, std::int64_t most) {
  const std::vector<Call*>& calls = group.calls;
  if (calls.size() == 1 || known == Joining::never) {
    run_each_alone(session, calls);
    return known;
  }
  const std::int64_t rows = padded(group.rows, most);
  const auto repeats_first = [&](const Call* call) { return have_same_arguments(*call, *calls[0]); };
  try {
    if (known == Joining::untried && std::ranges::all_of(calls, repeats_first)) {
      run_each_alone(session, calls);  // what is equal would not show whether rows are mixed
      return known;
    }
    run_together(session, calls, 0, rows);
  } catch (...) {
    run_each_alone(session, calls);
    const bool nobody = std::ranges::none_of(calls, [](const Call* call) { return call->exception != nullptr; });
    return nobody ? Joining::never : known;
  }
  if (known == Joining::right) return known;
  try {
    known = found_by_replacing_others(session, calls, rows);
  } catch (...) {
    return known;  // the calls themselves were answered
  }
  if (known == Joining::never) run_each_alone(session, calls);
  return known;
}

}  // namespace

struct PoolCore::Queue {
  std::mutex mutex;
  std::vector<std::size_t> idle;
  std::list<Waiter> waiting;  // for a session, the first one first
  std::list<Group> open;      // groups that calls may still join
  std::map<std::string, Joining> kinds;

  /// `turn` is the place of whoever asks in the line. A session that is free goes to who asks for it, which saves
  /// waking somebody, unless the first in the line has waited for longer than that takes.
  std::size_t take(std::unique_lock<std::mutex>& lock, std::list<Waiter>& turn) {
    constexpr std::chrono::milliseconds patience{1};
    const auto is_late = [&] {
      return !waiting.empty() && std::chrono::steady_clock::now() - waiting.front().since > patience;
    };
    if (idle.empty() || is_late()) {
      turn.front().since = std::chrono::steady_clock::now();
      const auto own = turn.begin();
      waiting.splice(waiting.end(), turn);
      own->changed.wait(lock, [&] { return !idle.empty() && waiting.begin() == own; });
      turn.splice(turn.begin(), waiting, own);
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

  Joining of(const std::string& kind) const {
    const auto found = kinds.find(kind);
    return found == kinds.end() ? Joining::untried : found->second;
  }

  void learn(const std::string& kind, Joining joining) {
    constexpr std::size_t most = 1000;  // of shapes that change without end
    if (joining == Joining::untried) return;
    if (kinds.size() >= most) kinds.clear();
    kinds[kind] = joining;
  }

 private:
  // While the mutex is held: the waiting thread may be gone as soon as it is free.
  void wake() {
    if (!idle.empty() && !waiting.empty()) waiting.front().changed.notify_one();
  }
};

PoolCore::PoolCore(const SessionPoolOptions& options) : options_(options), queue_(std::make_unique<Queue>()) {
  const auto refuse = [](const char* what, std::int64_t given, const char* least) {
    core::throw_error<ValueError>("SessionPool: ", what, " must be ", least, " or more, got ", given);
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
  std::list<Waiter> turn(1);
  std::unique_lock lock(queue_->mutex);
  return queue_->take(lock, turn);
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
  const Joining known = queue.of(kind);
  const auto joined = std::ranges::find_if(queue.open, [&](const Group& group) {
    return known != Joining::never && group.kind == kind && group.rows + own.rows() <= options_.batch;
  });
  if (joined != queue.open.end()) {
    joined->calls.push_back(&own);
    joined->rows += own.rows();
    if (joined->rows >= options_.batch) joined->calls[0]->changed.notify_one();
    own.changed.wait(lock, [&] { return own.done; });
  } else {
    const auto group = queue.open.insert(queue.open.end(), {kind, own.rows(), {&own}});
    if (options_.wait_us != 0 && known != Joining::never) {
      constexpr std::int64_t longest = 86'400'000'000;  // a day: further ahead clocks may overflow
      own.changed.wait_for(lock, std::chrono::microseconds(std::min(options_.wait_us, longest)),
                           [&] { return group->rows >= options_.batch; });
    }
    const std::size_t session = queue.take(lock, own.turn);
    std::list<Group> closed;
    closed.splice(closed.end(), queue.open, group);
    const Joining before = queue.of(kind);
    lock.unlock();
    const Joining found = run_all(session, *group, before, options_.batch);
    lock.lock();
    for (Call* call : group->calls) {
      call->done = true;
      call->changed.notify_one();
    }
    queue.give(session);
    if (found != before) queue.learn(kind, found);  // last: if memory runs out, only this call throws
  }
  if (own.exception) std::rethrow_exception(own.exception);
  return std::move(own.results);
}

}  // namespace detail
}  // namespace TYTO_API
