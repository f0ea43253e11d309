// SPDX-License-Identifier: MIT
// Messages between two processes, and groups of some of them: values and gradients against closed forms.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/distributed/launched.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
using tyto::DType;
using Eager = tyto::Tensor<tyto::Eager>;
using Lazy = tyto::Tensor<tyto::Lazy>;

template <class T>
std::vector<double> values(const T& x) {
  return x.astype(DType::f64).template to_vector<double>();
}

/// The values of process `rank`.
template <class T>
T own(int rank) {
  return T{1.0, 2.0, 4.0} * (rank + 1.0);
}

template <class T>
void check_rings(const d::Group& group) {
  const int n = group.size(), rank = group.rank(), right = (rank + 1) % n, left = (rank + n - 1) % n;
  for (const DType type : {DType::boolean, DType::i8, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64,
                           DType::c64, DType::c128}) {
    CAPTURE(type);
    const T received = d::recv(d::send(T{rank, 1, 0}.astype(type), right), left);
    CHECK(received.dtype() == type);
    CHECK(values(real(received))[0] == (type == DType::boolean ? left != 0 : left));
    CHECK(values(real(received))[1] == 1);
  }
  // All send before they receive, of several pieces and of none.
  const std::int64_t many = 700001;
  const T line = T::arange(many).astype(DType::f64) + 1.0 * rank;
  CHECK(values(d::recv(d::send(line, right), left)) == values(T::arange(many).astype(DType::f64) + 1.0 * left));
  CHECK(d::recv(d::send(T::zeros({0, 2}), right), left).shape() == tyto::Shape{0, 2});
  CHECK(d::recv(d::send(T(1.0 * rank), right), left).template item<double>() == left);
  const T matrix = reshape(T::arange(6), {2, 3}).astype(DType::f32);
  CHECK(values(d::recv(d::send(transpose(matrix), right), left)) == values(transpose(matrix)));
  // Values passed on twice come from two ranks to the left, and gradients return to the right.
  const auto twice = [&](T at) { return d::recv(d::send(d::recv(d::send(at, right), left) * 3.0, right), left); };
  CHECK(values(twice(own<T>(rank))) == values(own<T>((rank + 2 * n - 2) % n) * 3.0));
  const auto gradient = [&](T at) { return tyto::grad([&](T x) { return sum(twice(x) * own<T>(rank)); })(at); };
  const auto expected = values(own<T>((rank + 2) % n) * 3.0);
  CHECK(values(gradient(own<T>(rank))) == expected);
  auto compiled = tyto::compile([&](T x) { return gradient(x); });
  for (int i = 0; i < 2; ++i) CHECK(values(compiled(own<T>(rank))) == expected);
  if (n > 1) {
    CHECK_THROWS_WITH_AS(d::send(line, rank),
                         ("send: process " + std::to_string(rank) + " has no messages for itself").c_str(),
                         tyto::IndexError);
    CHECK_THROWS_WITH_AS(
        d::recv(line, n),
        ("recv: there is no process " + std::to_string(n) + "; there are " + std::to_string(n) + ", from 0 on").c_str(),
        tyto::IndexError);
  }
  CHECK_THROWS_AS(tyto::vmap([&](T x) { return d::send(x, right); })(T::ones({2, 3})), tyto::GraphError);
}

/// A function of which each process has a stage; the last one has the loss. Its gradients are those of the whole.
template <class T>
void check_stages(const d::Group& group) {
  const int n = group.size(), rank = group.rank();
  const T weight = T{2.0, 3.0, 5.0} + 1.0 * rank;
  const auto stage = [&](T w, T received) {
    if (rank > 0) received = d::recv(received, rank - 1);
    const T made = received * w;
    // A value that is passed on counts towards the loss on its receiver only.
    return rank < n - 1 ? sum(d::send(made, rank + 1)) * 0.0 : sum(made);
  };
  const T input = T{1.0, -1.0, 2.0};
  auto step = tyto::compile([&](T w, T x) {
    auto [loss, gradients] =
        tyto::value_and_grad([&](T a, T b) { return stage(a, b); }, std::vector<std::size_t>{0, 1})(w, x);
    return std::vector<T>{loss, gradients[0], gradients[1]};
  });
  // The product of all weights but the own one.
  std::vector<double> others = values(input), product = others;
  for (int each = 0; each < n; ++each) {
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double factor = std::vector<double>{2, 3, 5}[i] + each;
      if (each != rank) others[i] *= factor;
      product[i] *= factor;
    }
  }
  const std::vector<T> found = step(weight, input);
  CHECK(values(found[1]) == others);
  if (rank == n - 1) CHECK(found[0].template item<double>() == product[0] + product[1] + product[2]);
  if (rank > 0) CHECK(values(found[2]) == std::vector<double>(3, 0.0));
}

template <class T>
void check_parts(const d::Group& group) {
  const int n = group.size(), rank = group.rank();
  // Even ranks and odd ones, each from the last to the first.
  const d::Group part = group.split(rank % 2, -rank);
  std::vector<int> members;
  for (int i = n - 1; i >= 0; --i) {
    if (i % 2 == rank % 2) members.push_back(i);
  }
  CHECK(part.size() == static_cast<int>(members.size()));
  REQUIRE(part.rank() < part.size());
  CHECK(members[static_cast<std::size_t>(part.rank())] == rank);
  CHECK(group.rank() == rank);
  double total = 0;
  for (const int each : members) total += each + 1;
  const auto function = [&](T x) {
    const d::GroupScope scope(part);
    return d::all_reduce(x) + d::broadcast(x, part.size() - 1) * 100.0;
  };
  const auto expected = values(own<T>(0) * (total + 100.0 * (members.back() + 1)));
  CHECK(values(function(own<T>(rank))) == expected);
  auto compiled = tyto::compile([&](T x) { return d::all_reduce(function(x)); });
  const double all = values(d::all_reduce(T(expected[0]))).front();
  for (int i = 0; i < 2; ++i) CHECK(values(compiled(own<T>(rank)))[0] == all);
  // The gradient stays in the group of its operator.
  const T gradient = tyto::grad([&](T x) {
    const d::GroupScope scope(part);
    return sum(d::all_reduce(x)) * (rank + 1.0);
  })(own<T>(rank));
  CHECK(values(gradient) == std::vector<double>(3, total));
  {
    const d::GroupScope scope(part);
    const int size = part.size(), right = (part.rank() + 1) % size, left = (part.rank() + size - 1) % size;
    CHECK(values(d::recv(d::send(T(1.0 * rank), right), left))[0] == members[static_cast<std::size_t>(left)]);
    CHECK(d::average(T(1.0 * rank), 1).template item<double>() == doctest::Approx(total / size - 1));
  }
  part.barrier();
  const d::Group alone = part.split(rank);
  CHECK(alone.size() == 1);
  const d::GroupScope scope(alone);
  CHECK(values(d::all_reduce(own<T>(rank))) == values(own<T>(rank)));
  CHECK(values(d::recv(d::send(own<T>(rank), 0), 0)) == values(own<T>(rank)));
}

template <class T>
void check_all(const d::Group& group) {
  check_rings<T>(group);
  check_stages<T>(group);
  check_parts<T>(group);
  CHECK_THROWS_AS(group.split(-1), tyto::ValueError);
}

}  // namespace

TEST_CASE("rank: messages" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  CHECK(group.size() == std::stoi(given("EXPECTED_SIZE")));
  check_all<Eager>(group);
  check_all<Lazy>(group);
  group.barrier();
}

TEST_CASE("messages, and operators in groups of some processes, have values and gradients as by hand") {
  with_each_mpi([](const std::string& mpi) {
    for (const int processes : {1, 2, 3, 4}) {
      CAPTURE(processes);
      const Ran ran = run_case(mpi, processes, "rank: messages", "EXPECTED_SIZE=" + std::to_string(processes));
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
  });
}

TEST_CASE("collective calls give the same results over TCP, whole pieces at once or not") {
  with_each_mpi([](const std::string& mpi) {
    if (mpi != "openmpi") return;
    for (const std::string limit : {"", " OMPI_MCA_btl_tcp_eager_limit=4096"}) {
      for (const std::string name : {"rank: operators", "rank: messages"}) {
        CAPTURE(name + limit);
        const Ran ran =
            run_case(mpi, 3, name, "EXPECTED_SIZE=3 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo" + limit);
        CHECK_MESSAGE(ran.status == 0, ran.output);
      }
    }
  });
}

TEST_CASE("a process alone has messages for itself, which leave no step behind") {
  const d::Group group = d::start();
  check_all<Eager>(group);
  check_all<Lazy>(group);
  auto step = tyto::compile([](Lazy x) { return d::recv(d::send(x, 0), 0) * 2.0; });
  CHECK(values(step(Lazy{1.0, 2.0})) == std::vector<double>{2, 4});
  CHECK(step.report().steps == 1);
}

TEST_CASE("rank: messages that differ" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const int rank = group.rank();
  // Messages from rank 0 to rank 1, in a group of their own each time. Who receives is told, again and again.
  const auto refused = [&](const auto& call, const std::string& on_0, const std::string& on_1) {
    const d::Group both = group.split(0);
    const d::GroupScope scope(both);
    for (int i = 0; i < 2; ++i) {
      std::string told;
      try {
        call();
      } catch (const tyto::GraphError& error) {
        told = error.what();
      }
      if (rank == 0) {
        CHECK(told == "");
        continue;
      }
      CHECK_MESSAGE(contains(told, "distributed: processes are about to do different things: call "), told);
      CHECK_MESSAGE(contains(told, " is " + on_0), told);
      CHECK_MESSAGE(contains(told, " on rank 0 and " + on_1), told);
      CHECK_MESSAGE(contains(told, " on rank 1; what one process sends, the other receives, in the same order"), told);
    }
  };
  const auto check = [&]<class T>(const T&) {
    refused(
        [&] {
          const T x = T::ones({2 + rank});
          (void)values(rank == 0 ? d::send(x, 1) : d::recv(x, 0));
        },
        "a message from 0 to 1 of f32(2,)", "a message from 0 to 1 of f32(3,)");
    refused(
        [&] {
          const T x = T::ones({2}).astype(rank == 0 ? DType::f64 : DType::f32);
          (void)values(rank == 0 ? d::send(x, 1) : d::recv(x, 0));
        },
        "a message from 0 to 1 of f64(2,)", "a message from 0 to 1 of f32(2,)");
    // A compiled function knows all of its calls before the first. One of more messages than the other.
    if constexpr (std::is_same_v<T, Eager>) return;
    refused(
        [&] {
          auto step = tyto::compile([&](T x) {
            x = rank == 0 ? d::send(x, 1) : d::recv(x, 0);
            return rank == 0 ? d::send(x, 1) : x;
          });
          (void)values(step(T::ones({2})));
        },
        "a message from 0 to 1 of f32(2,)", "nothing more");
    // Of more messages than are told, the last one differs.
    refused(
        [&] {
          auto step = tyto::compile([&](T x) {
            for (int i = 0; i < 200; ++i) x = rank == 0 ? d::send(x, 1) : d::recv(x, 0);
            if (rank == 1) x = x.astype(DType::f64);
            return rank == 0 ? d::send(x, 1) : d::recv(x, 0);
          });
          (void)values(step(T::ones({2})));
        },
        "", "");
  };
  check(Eager());
  check(Lazy());
  group.barrier();
}

TEST_CASE("messages that differ on their two ends are refused by who receives them") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: messages that differ");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: messages after an exception" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 20});
  const int rank = group.rank();
  bool fails = false;
  const auto failing = [&](const Lazy& x) {
    return tyto::delay<tyto::Lazy>(x.shape(), x.dtype(),
                                   [&](const std::vector<Eager>& given) {
                                     if (fails) throw std::runtime_error("of the program");
                                     return given[0];
                                   },
                                   {x});
  };
  // Messages to come are announced before the first step: then one of the two throws, before its second message.
  auto step = tyto::compile([&](Lazy x) {
    if (rank == 0) return d::send(failing(d::send(x, 1)) * 10.0, 1);
    const Lazy first = d::recv(x, 0);
    return first * 1000.0 + d::recv(failing(first), 0);
  });
  const auto run = [&](double number) { return values(step(Lazy(number)))[0]; };
  CHECK(run(1) == (rank == 0 ? 10 : 1010));
  for (const int thrower : {1, 0, 1}) {
    CAPTURE(thrower);
    fails = rank == thrower;
    // The other one has sent all, or would wait for ever and throws as well.
    if (thrower == 0 && rank == 1) fails = true;
    if (fails) CHECK_THROWS_WITH_AS(run(2), doctest::Contains("of the program"), std::exception);
    else CHECK(run(2) == 20);
    fails = false;
    CHECK(run(3) == (rank == 0 ? 30 : 3030));
    CHECK(run(4) == (rank == 0 ? 40 : 4040));
  }
  group.barrier();
}

TEST_CASE("a message of a run that threw is not taken for one of the next run") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: messages after an exception");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: message that never comes" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 1});
  if (group.rank() == 1) (void)d::recv(Eager{1.0, 2.0}, 2);
  group.barrier();
}

TEST_CASE("a message that never comes is named, and who should have sent it") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 3, "rank: message that never comes");
    CHECK_MESSAGE(ended_with(mpi, ran, 75), ran.output);
    CHECK_MESSAGE((contains(ran.output, " s in a message from 2 to 1 of f32(2,) for rank 2, which has not come") ||
                   contains(ran.output, " s in Group::barrier (call 1) for rank 1, which has not come")),
                  ran.output);
  });
}

TEST_CASE("rank: messages in branches" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  auto branching = tyto::compile([](Lazy x) {
    return tyto::cond(
        x > 0.0, [](Lazy v) { return d::send(v, 0); }, [](Lazy v) { return v; }, x);
  });
  if (group.rank() == 1) {
    CHECK_THROWS_WITH_AS(branching(Lazy(1.0)), doctest::Contains("the body of a loop or branch cannot communicate"),
                         tyto::GraphError);
  }
  // Messages that nobody reads are sent all the same, and equal messages are not merged.
  auto step = tyto::compile([&](Lazy x) {
    if (group.rank() == 1) {
      d::send(x, 0);
      d::send(x, 0);
      return x;
    }
    return d::recv(x, 1) + d::recv(x, 1);
  });
  for (int i = 0; i < 3; ++i) CHECK(values(step(Lazy(3.0 + group.rank())))[0] == (group.rank() == 1 ? 4 : 8));
  CHECK(step.report().unplanned_allocations == 0);
  if (group.rank() == 1) {
    CHECK(step.report().collectives == std::vector<std::string>(2, "send of f32() to 0"));
  }
  group.barrier();
}

TEST_CASE("messages are never merged or dropped, and cannot stand in a branch") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: messages in branches");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

}  // namespace distributed_tests
