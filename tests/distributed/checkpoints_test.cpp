// SPDX-License-Identifier: MIT
// Processes on machines that share no files go on from the checkpoint of rank 0.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <utility>

#include "tests/distributed/launched.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {
struct Failing;
}

/// Batches whose place cannot be restored, for a reason that Tyto knows nothing of.
template <>
class tyto::nn::Batches<distributed_tests::Failing> {
 public:
  std::function<void()> fail = [] {};
  BatchPosition position() const { return {}; }
  void seek(const BatchPosition&) { fail(); }
};

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
namespace nn = tyto::nn;

/// The state of a run; one number, from which all else follows.
template <class T>
struct Run {
  explicit Run(double number)
      : weights(T::variable(T{number, 2 * number}, "w")),
        batches(T::arange(100), T::arange(100), {.size = 10, .seed = 3}),
        epoch(static_cast<std::int64_t>(number)) {
    for (int i = 0; i < epoch; ++i) {
      (void)batches.next();
      history.add_row(i + 1, {{"loss", number + i}});
    }
    checkpoint.add("model", {{"w", tyto::Tensor<tyto::Any>(weights)}});
    checkpoint.add("epoch", epoch).add("batches", batches).add("history", history);
  }

  T weights;
  nn::Batches<T> batches;
  std::int64_t epoch;
  nn::TrainingHistory history;
  nn::Checkpoint checkpoint;
};

template <class T>
void check_resumed(const d::Group& group) {
  // Rank 1 has an older file than rank 0, rank 2 has none.
  const std::string file = given("FOLDER") + "/" + std::to_string(group.rank());
  if (group.rank() < 2) {
    tyto::seed(static_cast<std::uint64_t>(5 - group.rank()));
    Run<T>(5.0 - group.rank()).checkpoint.save(file);
  }
  Run<T> run(1.0);
  tyto::seed(99);
  CHECK(run.checkpoint.load_if_present(file));
  CHECK(run.weights.template to_vector<float>() == std::vector<float>{5, 10});
  CHECK(run.epoch == 5);
  CHECK(run.batches.position().sample == 50);
  CHECK(run.history.state() == Run<T>(5.0).history.state());
  CHECK(tyto::random_state().seed == 5);
  Run<T> again(1.0);
  again.checkpoint.load(file);
  CHECK(again.epoch == 5);
  // Rank 0 decides whether the file exists.
  CHECK(!run.checkpoint.load_if_present(group.rank() == 0 ? file + " that is not there" : file));
  // If rank 0 cannot load a file, all ranks throw and no state changes.
  if (group.rank() == 0) std::ofstream(file) << "no checkpoint";
  std::string told;
  try {
    run.checkpoint.load(file);
  } catch (const tyto::IoError& error) {
    told = error.what();
  }
  CHECK(told.find(given("FOLDER") + "/0: ") == 0);
  CHECK(run.epoch == 5);
  group.barrier();
}

/// The type and the message of the error that the call throws.
template <class Call>
std::pair<std::string, std::string> thrown_by(const Call& call) {
  try {
    call();
  } catch (const tyto::IoError& error) {
    return {"IoError", error.what()};
  } catch (const tyto::GraphError& error) {
    return {"GraphError", error.what()};
  } catch (const std::runtime_error& error) {
    return {"runtime_error", error.what()};
  } catch (int) {
    return {"int", ""};
  }
  return {"nothing", ""};
}

template <class T>
void check_failures(const d::Group& group) {
  using Thrown = std::pair<std::string, std::string>;
  const std::string file = given("FOLDER") + "/file";
  const bool first = group.rank() == 0;
  std::int64_t number = 7;
  T state = T::variable(T{7.0, 7.0}, "w");
  nn::Batches<Failing> batches;
  std::function<void()>& fail = batches.fail;
  const auto made = [&](const std::string& name, std::int64_t& counted) {
    nn::Checkpoint checkpoint;
    checkpoint.add("model", {{"w", tyto::Tensor<tyto::Any>(state)}}).add(name, counted);
    return checkpoint.add("batches", batches);
  };
  if (first) made("number", number).save(file);
  group.barrier();
  std::int64_t own = 1;
  state = T::variable(T{1.0, 2.0}, "w");
  nn::Checkpoint checkpoint = made("number", own);
  const auto is_unchanged = [&] { return own == 1 && state.template to_vector<float>() == std::vector<float>{1, 2}; };
  // Of any type: it goes on on rank 0, and is told to the others.
  fail = [first] {
    if (first) throw std::runtime_error("no such place");
  };
  CHECK(thrown_by([&] { checkpoint.load(file); }) == Thrown(first ? "runtime_error" : "IoError", "no such place"));
  CHECK(is_unchanged());
  fail = [first] {
    if (first) throw 5;
  };
  CHECK(thrown_by([&] { checkpoint.load(file); }).first == (first ? "int" : "IoError"));
  CHECK(is_unchanged());
  // On another rank than the first, once rank 0 has read its file and set what comes before.
  fail = [first] {
    if (!first) throw std::runtime_error("no such place here");
  };
  CHECK(thrown_by([&] { checkpoint.load(file); }) == Thrown(first ? "IoError" : "runtime_error", "no such place here"));
  CHECK(is_unchanged());
  fail = [first] {
    if (!first) throw tyto::ValueError("too far");
  };
  CHECK(thrown_by([&] { checkpoint.load(file); }) ==
        Thrown("IoError", file + ": 'batches' does not fit this run: too far"));
  CHECK(is_unchanged());
  fail = [] {};
  // Processes that keep different things.
  nn::Checkpoint other = made(first ? "number" : "count", own);
  const Thrown told = thrown_by([&] { other.load(file); });
  CHECK(told.first == "GraphError");
  CHECK(told.second.find("call 2 is Checkpoint::load of i64(1,) 'number' on rank 0 and Checkpoint::load of i64(1,) "
                         "'count' on rank 1") != std::string::npos);
  CHECK(is_unchanged());
  const T longer = T::variable(first ? T{1.0, 2.0} : T{1.0, 2.0, 3.0}, "w");
  nn::Checkpoint shaped;
  shaped.add("model", {{"w", tyto::Tensor<tyto::Any>(longer)}});
  CHECK(thrown_by([&] {
          shaped.load(file);
        }).second.find("of f32(2,) 'model/w' on rank 0 and Checkpoint::load of f32(3,) 'model/w' on rank 1") !=
        std::string::npos);
  // They were all told, and go on together.
  checkpoint.load(file);
  CHECK(own == 7);
  CHECK(state.template to_vector<float>() == std::vector<float>{7, 7});
  group.barrier();
}

}  // namespace

TEST_CASE("rank: failures to load" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 5});
  check_failures<tyto::Tensor<tyto::Eager>>(group);
  check_failures<tyto::Tensor<tyto::Lazy>>(group);
}

TEST_CASE("what rank 0 cannot load, or others keep otherwise, is refused by all before anything is changed") {
  with_each_mpi([](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    const Ran ran = run_case(mpi, 2, "rank: failures to load", "FOLDER='" + std::string(folder / "") + "'");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: other files" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  check_resumed<tyto::Tensor<tyto::Eager>>(group);
  check_resumed<tyto::Tensor<tyto::Lazy>>(group);
}

TEST_CASE("all processes go on from the checkpoint that rank 0 has") {
  with_each_mpi([](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    const Ran ran = run_case(mpi, 3, "rank: other files", "FOLDER='" + std::string(folder / "") + "'");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

}  // namespace distributed_tests
