// SPDX-License-Identifier: MIT
// A failure on one process ends all of them, and the error names the rank.
#include <doctest/doctest.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

#include "tests/distributed/launched.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
using T = tyto::Tensor<tyto::Lazy>;
using E = tyto::Tensor<tyto::Eager>;

std::vector<double> elements_of(const T& x) { return x.astype(tyto::DType::f64).to_vector<double>(); }

}  // namespace

TEST_CASE("rank: hangs" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 1});
  auto step = tyto::compile([](T x) { return d::all_reduce(x * 2.0); });
  for (int i = 0; i < 3; ++i) (void)step(T{1.0, 2.0}.astype(tyto::DType::f64)).to_vector<double>();
  if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(200));
  (void)step(T{1.0, 2.0}.astype(tyto::DType::f64)).to_vector<double>();
}

TEST_CASE("a process that hangs is named, and the call that waits for it") {
  with_each_mpi([](const std::string& mpi) {
    for (const int processes : {2, 4}) {
      CAPTURE(processes);
      const Ran ran = run_case(mpi, processes, "rank: hangs");
      CHECK_MESSAGE(ended_with(mpi, ran, 75), ran.output);
      CHECK_MESSAGE(contains(ran.output, " has waited "), ran.output);
      CHECK_MESSAGE(contains(ran.output, " s in all_reduce(sum) of f64(2,) (call "), ran.output);
      CHECK_MESSAGE(contains(ran.output, ") for rank 1, which has not come to that call"), ran.output);
    }
  });
}

TEST_CASE("rank: stopped" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 1});
  const auto processes = d::all_gather(E{static_cast<std::int64_t>(getpid())}).to_vector<std::int64_t>();
  if (group.rank() == 1) {
    if (fork() == 0) {
      setsid();
      for (const std::int64_t process : processes) kill(static_cast<pid_t>(process), SIGSTOP);
      sleep(3);
      for (const std::int64_t process : processes) kill(static_cast<pid_t>(process), SIGCONT);
      std::_Exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // rank 0 waits meanwhile
  }
  CHECK(d::all_reduce(E(1.0)).item<double>() == group.size());
  group.barrier();
}

TEST_CASE("processes that were stopped for longer than others wait go on together") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: stopped");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: differs" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const std::int64_t length = 2 + group.rank();
  const auto refused = [&](const auto& call, const std::string& difference) {
    std::string told;
    try {
      call();
    } catch (const tyto::GraphError& error) {
      told = error.what();
    }
    CHECK(told == "distributed: processes are about to do different things: " + difference +
                      "; all processes call the same operators on the same shapes, in the same order");
  };
  refused([&] { (void)d::all_reduce(E::ones({length})); },
          "call 1 is all_reduce(sum) of f32(2,) on rank 0 and all_reduce(sum) of f32(3,) on rank 1");
  refused(
      [&] {
        tyto::compile([&](T x) {
          T y = d::all_reduce(x);
          {
            const tyto::NameScope scope("late");
            if (group.rank() == 0) y = d::all_reduce(y, d::Reduce::max);
          }
          return y;
        })(T::ones({3}));
      },
      "call 2 is all_reduce(max) of f32(3,) in 'late' on rank 0 and nothing more on rank 1");
  refused([&] { group.rank() == 0 ? group.barrier() : (void)d::all_gather(E::ones({1})); },
          "call 1 is Group::barrier on rank 0 and all_gather of f32(1,) on rank 1");
  // All were told; they go on together.
  CHECK(d::all_reduce(E(1.0)).item<double>() == group.size());
  group.barrier();
}

TEST_CASE("processes that are about to do different things are told the first difference") {
  with_each_mpi([](const std::string& mpi) {
    for (const int processes : {2, 4}) {
      const Ran ran = run_case(mpi, processes, "rank: differs");
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
  });
}

namespace {

/// A step whose activation, in a layer or in a loop, and rate are as this process likes.
template <class Activation>
auto step_with(std::vector<T> weights, Activation activation, double rate, bool logs) {
  return [=](T x) {
    const auto objective = [&](T in) {
      const tyto::NameScope scope("hidden");
      return mean(square(activation(matmul(in, weights[0]))));
    };
    auto [loss, gradients] = tyto::value_and_grad(objective, weights)(x);
    const std::vector<T> averages = d::average(gradients, x.shape()[0]);
    assign(weights[0], weights[0] - rate * averages[0]);
    return std::vector<T>{loss, logs ? max(exp(gradients[0])) : loss};
  };
}

std::string told_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const tyto::GraphError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("rank: other graphs" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const bool first = group.is_first();
  const T w = T::variable(T::ones({3, 2}), "w");
  const T average = T::persistent(T::zeros({3, 2}), "average"), running = T::persistent(T::zeros({}), "running");
  const auto runs = [&](const auto& function, std::int64_t rows) {
    return told_by([&] { (void)tyto::compile(function)(T::ones({rows, 3}))[0].template item<float>(); });
  };
  const std::string rule =
      "; all processes compute what they communicate in the same way, unless StartOptions::compare_graphs is false";
  const auto smooth = [](const T& x) { return tanh(x); };
  const auto either = [&](const T& x) { return first ? tanh(x) : sin(x); };
  const std::string told = runs(step_with({w}, either, 0.1, false), 4);
  CHECK(told ==
        "distributed: processes are about to do different things: operator 2 is tanh of f32 in 'hidden' on "
        "rank 0 and sin of f32 in 'hidden' on rank 1" +
            rule);
  CHECK(elements_of(w) == std::vector<double>(6, 1));  // nothing was run
  // In an update of what a call reads by way of another state, in a loop, and in a graph.
  const T v = T::variable(T::ones({3, 2}), "v");
  CHECK_FALSE(runs(
                  [&](T x) {
                    const T sum = d::all_reduce(mean(x) * mean(v));
                    assign(v, v + w);
                    assign(w, first ? w + sum : sum - w);
                    return std::vector<T>{sum};
                  },
                  4)
                  .empty());
  CHECK_FALSE(
      runs(step_with(
               {w},
               [&](const T& x) { return tyto::fori_loop(0, 2, x, [&](const T&, const T& y) { return either(y); }); },
               0.1, false),
           4)
          .empty());
  CHECK_FALSE(runs(
                  [&](T x) {
                    const auto body = [&](const T&, const T&) { return either(x); };
                    return std::vector<T>{mean(d::all_reduce(tyto::fori_loop(0, 2, x, body)))};
                  },
                  4)
                  .empty());
  CHECK(contains(told_by([&] {
                   const T x = T::placeholder({2});
                   tyto::Graph graph{{.inputs = {x}, .outputs = {d::all_reduce(either(x))}}};
                   graph.set(x, T::ones({2}));
                   graph.run();
                 }),
                 " is tanh of f32 on rank 0 and sin of f32 on rank 1"));
  // Numbers, what rank 0 looks at, what it alone gives the others, shorter parts and what is read elsewhere may differ.
  CHECK(runs(step_with({w}, smooth, first ? 0.1 : 0.2, first), 4) == "");
  // So may states that no call reads, such as averages of weights and losses that rank 0 keeps.
  const auto step = step_with({v}, smooth, 0.1, false);
  CHECK(runs(
            [&](T x) {
              const std::vector<T> losses = step(x);
              if (first) assign(average, 0.9 * average + 0.1 * v);
              if (first) assign(running, 0.9 * running + 0.1 * losses[0]);
              return losses;
            },
            4) == "");
  // So may parts of a graph that were printed, and are numbers since.
  CHECK(told_by([&] {
          const T x = T::placeholder({2}), parts = sin(T::ones({2}));
          if (first) (void)parts.to_vector<float>();
          tyto::Graph graph{{.inputs = {x}, .outputs = {d::all_reduce(parts * x)}}};
          graph.set(x, T::ones({2}));
          graph.run();
        }) == "");
  CHECK(runs([&](T x) { return std::vector<T>{mean(d::broadcast(first ? exp(x) : x))}; }, 4) == "");
  CHECK(runs(step_with({w}, either, 0.1, false), first ? 4 : 1) == "");
  CHECK(elements_of(d::all_reduce(first ? tanh(T::zeros({2})) : T::ones({2}) * 2.0)) ==
        std::vector<double>(2, 2.0 * (group.size() - 1)));
  // The rates differed.
  CHECK_THROWS_WITH_AS(
      d::check_equal({{"v", tyto::Tensor<tyto::Any>(T::ones({2}))}, {"layer.w", tyto::Tensor<tyto::Any>(w)}}),
      "check_equal: 'layer.w' has other elements on rank 1 than on rank 0", tyto::ValueError);
  d::broadcast_states({tyto::Tensor<tyto::Any>(w)});
  d::check_equal({{"w", tyto::Tensor<tyto::Any>(w)}});
  const E none = E{std::nan(""), 0.0};
  d::check_equal({{"nan", tyto::Tensor<tyto::Any>(none)}});
  CHECK_THROWS_AS(d::check_equal({{"nan", tyto::Tensor<tyto::Any>(first ? none : E{1.0, 0.0})}}), tyto::ValueError);
  group.barrier();
}

TEST_CASE("rank: other graphs that are meant" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60, .compare_graphs = false});
  auto step = tyto::compile([&](T x) { return d::all_reduce(group.is_first() ? x * 2.0 : sin(x)); });
  CHECK(step(T::zeros({2}) + 3.0 * group.is_first()).to_vector<float>() == std::vector<float>{6, 6});
  group.barrier();
}

TEST_CASE("rank: graphs of groups" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const int rank = group.rank(), first = rank / 2 * 2;
  const d::Group pair = group.split(rank / 2);
  const auto runs = [&](bool is_other, bool calls_all) {
    return told_by([&] {
      auto step = tyto::compile([&](T x) {
        const T made = is_other ? sin(x) : tanh(x);
        const auto sum_of_pair = [&] {
          const d::GroupScope scope(pair);
          return d::all_reduce(made);
        };
        const T sum = sum_of_pair();
        return calls_all ? d::all_reduce(sum) : sum;
      });
      (void)step(T::ones({2})).to_vector<float>();
    });
  };
  // Each pair may have a graph of its own, but its members may not.
  CHECK(runs(first == 0, true) == "");
  CHECK(contains(runs(rank != first, false), "operator 1 is tanh of f32 on rank " + std::to_string(first) +
                                                 " and sin of f32 on rank " + std::to_string(first + 1)));
  {
    const d::GroupScope scope(pair);
    const std::string told = "check_equal: 'r' has other elements on rank " + std::to_string(first + 1) +
                             " than on rank " + std::to_string(first);
    CHECK_THROWS_WITH_AS(d::check_equal({{"r", tyto::Tensor<tyto::Any>(T(rank))}}), told.c_str(), tyto::ValueError);
  }
  group.barrier();
}

TEST_CASE("graphs that differ from process to process are refused, and what drifts apart is found") {
  with_each_mpi([](const std::string& mpi) {
    for (const char* name : {"rank: other graphs", "rank: other graphs that are meant"}) {
      for (const int processes : {2, 4}) {
        const Ran ran = run_case(mpi, processes, name);
        CHECK_MESSAGE(ran.status == 0, ran.output);
      }
    }
    const Ran groups = run_case(mpi, 4, "rank: graphs of groups");
    CHECK_MESSAGE(groups.status == 0, groups.output);
  });
}

TEST_CASE("rank: ended" * doctest::skip(true)) {
  auto scatter = tyto::compile([](T x) { return d::reduce_scatter(x); });
  auto gather = tyto::compile([](T x) { return d::all_gather(x); });
  const T x{1.0, 2.0, 3.0, 4.0};
  {
    const d::Group group = d::start();
    CHECK(scatter(x).to_vector<float>().size() == 2);
    CHECK(gather(x).to_vector<float>().size() == 8);
  }
  const doctest::Contains told("recorded for a group of 2, but this group has 1 process");
  CHECK_THROWS_WITH_AS((void)scatter(x).to_vector<float>(), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS((void)gather(x).to_vector<float>(), told, tyto::GraphError);
}

TEST_CASE("what was compiled in a group is refused when the group has ended") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: ended");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: throws" * doctest::skip(true)) {
  // Outside of the test case's handler, as in a program that catches nothing.
  std::thread([] {
    const d::Group group = d::start({.timeout_seconds = 0});
    if (group.rank() == 1) throw std::runtime_error("no more data");
    group.barrier();
  }).join();
}

TEST_CASE("rank: throws a number" * doctest::skip(true)) {
  std::thread([] {
    const d::Group group = d::start({.timeout_seconds = 0});
    if (group.rank() == 1) throw 7;
    group.barrier();
  }).join();
}

TEST_CASE("a launcher that forgets statuses hides no process that hung or threw") {
  with_each_mpi([](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    const std::string launcher = folder / (mpi == "mpich" ? "mpiexec.hydra" : "mpirun.openmpi");
    std::ofstream(launcher) << "#!/bin/sh\nPATH=${PATH#*:}\n${0##*/} \"$@\"\nexit 0\n";
    std::filesystem::permissions(launcher, std::filesystem::perms::owner_all);
    const std::string first_in_path = "PATH='" + std::string(folder / "") + "':\"$PATH\"";
    for (const auto& [name, status] : {std::pair{"rank: hangs", 75}, std::pair{"rank: throws", 134}}) {
      const Ran ran = run_case(mpi, 2, name, first_in_path);
      CHECK_MESSAGE(ran.status == status, ran.output);
    }
  });
}

TEST_CASE("rank: terminates" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 0});
  if (group.rank() == 1) std::terminate();
  group.barrier();
}

TEST_CASE("rank: leaves" * doctest::skip(true)) {
  try {
    const d::Group group = d::start({.timeout_seconds = 0});
    if (group.rank() == 1) throw std::runtime_error("no more data");
    group.barrier();
  } catch (const std::runtime_error&) {
    std::_Exit(3);
  }
}

TEST_CASE("rank: aborts" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 0});
  if (group.rank() == 1) group.abort("the disk is full", 5);
  group.barrier();
}

TEST_CASE("an exception on one process ends all, with its message and rank") {
  with_each_mpi([](const std::string& mpi) {
    constexpr int aborted = 134;
    Ran ran = run_case(mpi, 2, "rank: throws");
    CHECK_MESSAGE(ended_with(mpi, ran, aborted), ran.output);
    CHECK_MESSAGE(contains(ran.output, "tyto: rank 1: no more data"), ran.output);
    ran = run_case(mpi, 2, "rank: throws a number");
    CHECK_MESSAGE(ended_with(mpi, ran, aborted), ran.output);
    CHECK_MESSAGE(contains(ran.output, "tyto: rank 1: an exception of type int was not caught"), ran.output);
    ran = run_case(mpi, 2, "rank: terminates");
    CHECK_MESSAGE(ended_with(mpi, ran, aborted), ran.output);
    CHECK_MESSAGE(contains(ran.output, "tyto: rank 1: std::terminate was called"), ran.output);
    ran = run_case(mpi, 2, "rank: leaves");
    CHECK_MESSAGE(ended_with(mpi, ran, 3), ran.output);
    ran = run_case(mpi, 2, "rank: aborts");
    CHECK_MESSAGE(ended_with(mpi, ran, 5), ran.output);
    CHECK_MESSAGE(contains(ran.output, "tyto: rank 1: the disk is full"), ran.output);
  });
}

TEST_CASE("an MPI that did not start this process is refused by name") {
  CHECK_THROWS_WITH_AS(d::start({.backend = d::Backend::mpich}),
                       "distributed: no launcher of MPICH started this process; run it by tyto launch --mpi mpich",
                       tyto::DeviceError);
  CHECK_THROWS_WITH_AS(d::start({.backend = d::Backend::open_mpi}),
                       "distributed: no launcher of Open MPI started this process; run it by tyto launch --mpi openmpi",
                       tyto::DeviceError);
  CHECK_THROWS_WITH_AS(d::start({.timeout_seconds = -1}), "distributed: a timeout of -1 s is none; 0 waits for ever",
                       tyto::ValueError);
  CHECK(d::backends().front() == "single");
}

}  // namespace distributed_tests
