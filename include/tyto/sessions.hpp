// SPDX-License-Identifier: MIT
// Pools of sessions: many threads call one compiled function or model, and calls that wait run together as one batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tyto/graph.hpp"
#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// While alive, limits the threads of kernels that this thread prepares and runs on the CPU; threads() returns no more.
/// Many threads that call at the same time are best left on one each.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// Options of a pool of sessions.
struct SessionPoolOptions {
  int sessions = 0;  ///< most runs at the same time, each with an arena; 0: as many as threads() at the start
  int threads = 0;   ///< most threads of one run; 0: what threads() gives when it is divided among the sessions
  /// Most rows of one run: calls that wait are put together along the first axis, up to so many; 1: none are.
  std::int64_t batch = 1;
  /// Microseconds for which the first of calls put together waits for others where a session is free. While none is,
  /// calls are put together in any case.
  std::int64_t wait_us = 0;
};

template <class T>
class OnnxModel;

namespace detail {

/// The sessions that are free, and calls that wait.
class PoolCore {
 public:
  /// Runs a session with these arguments.
  using Run = std::function<Results(std::size_t session, std::vector<Value> arguments)>;

  explicit PoolCore(const SessionPoolOptions& options);
  ~PoolCore();
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  const SessionPoolOptions& options() const { return options_; }
  /// Waits for a free session, and gives it back.
  std::size_t take();
  void give(std::size_t session);
  /// Results of a call, which may be a part of a larger run of calls that are alike: of the same `signature`, of
  /// arguments of the same types, and of the same shapes behind the first axis.
  Results call(std::vector<Value> arguments, const std::string& signature, const Run& run);

 private:
  struct Queue;

  SessionPoolOptions options_;
  std::unique_ptr<Queue> queue_;
};

template <class T>
void flatten(const NamedList<T>& list, std::vector<Value>& out) {
  for (const Named<T>& each : list) out.push_back(each.value);
}
template <class T>
void restore(NamedList<T>& list, Value*& next) {
  for (Named<T>& each : list) each.value = T(std::move(*next++));
}
template <class T>
void lay_out(const NamedList<T>& list, std::string& out) {
  for (const Named<T>& each : list) out += each.name + '\n';
}

// The argument of a model that takes one list of names and values.
template <class M>
struct NamedArguments {
  struct None {};
  using type = None;
};
template <class T>
struct NamedArguments<OnnxModel<T>> {
  using type = NamedList<T>;
};

template <class A>
inline constexpr bool may_be_joined =
    KindOfArgument<A>::value == ArgumentKind::lazy || KindOfArgument<A>::value == ArgumentKind::other;
template <class T>
inline constexpr bool may_be_joined<NamedList<T>> = true;

}  // namespace detail

/// A compiled function or a model that any thread may call at any time: each call takes a session that is free, or
/// waits for one. Plans and weights are shared, and a session adds an arena. An argument that several threads give at
/// the same time has been computed before (eval()): a lazy tensor is one thread's until then.
///
///     auto f = compile([](const Tensor& x) { return softmax(x * 2.0, 1); });
///     SessionPool pool(f, {.sessions = 4, .batch = 8, .wait_us = 200});
///     Tensor y = pool(Tensor::ones({1, 10}));   // from any thread
///
/// With `batch` calls that wait are put together: row i of each result is to be made of row i of the arguments alone,
/// however many rows there are. In the first group of calls with different arguments each runs once more among copies
/// of its rows, to see whether they change with those of others, as where a mean over the first axis is taken; until
/// then groups of equal arguments run alone. Calls whose rows change run alone for good, as do those that fail together
/// and none of them alone, such as calls of a model whose file states the batch: numbers are right, and nothing is won.
/// Calls that run together have 1, 2, 4, 8 ... rows, filled up by copies of the last one, so that there are few plans;
/// numbers are those of a run of so many rows, which may differ from those of one row in the last bits. A call whose
/// shapes differ runs alone or with others like it, and what a call throws no other call sees.
template <class M>
class SessionPool {
 public:
  explicit SessionPool(const M& model, const SessionPoolOptions& options = {}) : core_(options) {
    for (int i = 0; i < core_.options().sessions; ++i) sessions_.push_back(model.session());
  }

  /// As the function or model is called.
  template <class... A>
  auto operator()(const A&... arguments) {
    return call(arguments...);
  }
  /// A model's inputs by name.
  auto operator()(const typename detail::NamedArguments<M>::type& given) { return call(given); }

  /// How many sessions there are, and how they work.
  const SessionPoolOptions& options() const { return core_.options(); }

 private:
  template <class... A>
  auto call(const A&... arguments) {
    using Result = std::invoke_result_t<M&, const A&...>;
    const ThreadLimit limit(core_.options().threads);
    if constexpr (!std::is_void_v<Result> && sizeof...(A) != 0 && (detail::may_be_joined<A> && ...)) {
      // Calls that are recorded or have a gradient run alone: others would be recorded with them.
      if (core_.options().batch > 1 && !detail::inlined()) return joined_call<Result>(arguments...);
    }
    const Turn turn(core_);
    return sessions_[turn.session](arguments...);
  }

  template <class Result, class... A>
  Result joined_call(const A&... arguments) {
    std::string signature = typeid(std::tuple<A...>).name();
    std::vector<Value> values;
    (detail::flatten(arguments, values), ...);
    (detail::lay_out(arguments, signature), ...);
    const auto run = [&](std::size_t session, std::vector<Value> given) {
      std::tuple<A...> own(arguments...);
      Value* next = given.data();
      std::apply([&](A&... each) { (detail::restore(each, next), ...); }, own);
      auto structure = std::make_shared<Result>(std::apply(sessions_[session], own));
      detail::Results results{{}, structure};
      detail::flatten(*structure, results.values);
      return results;
    };
    detail::Results results = core_.call(std::move(values), signature, run);
    Result out = *static_cast<const Result*>(results.structure.get());
    Value* next = results.values.data();
    detail::restore(out, next);
    return out;
  }

  struct Turn {
    explicit Turn(detail::PoolCore& pool) : core(pool), session(pool.take()) {}
    ~Turn() { core.give(session); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    detail::PoolCore& core;
    std::size_t session;
  };

  detail::PoolCore core_;
  std::vector<M> sessions_;
};

}  // namespace TYTO_API
