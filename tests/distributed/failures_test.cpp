// SPDX-License-Identifier: MIT
// What goes wrong on one process ends all of them, and is told with the rank.
#include <doctest/doctest.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>
#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
using T = tyto::Tensor<tyto::Lazy>;
using E = tyto::Tensor<tyto::Eager>;

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
    const Ran ran = run_case(mpi, 2, "rank: hangs");
    CHECK_MESSAGE(ended_with(mpi, ran, 75), ran.output);
    CHECK_MESSAGE(contains(ran.output, "tyto: rank 0 has waited "), ran.output);
    CHECK_MESSAGE(contains(ran.output, " s in all_reduce(sum) of f64(2,) (call "), ran.output);
    CHECK_MESSAGE(contains(ran.output, ") for rank 1, which has not come to that call"), ran.output);
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
    const Ran ran = run_case(mpi, 2, "rank: differs");
    CHECK_MESSAGE(ran.status == 0, ran.output);
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
