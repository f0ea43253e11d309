// SPDX-License-Identifier: MIT
// Processes on machines that share no files go on from the checkpoint of rank 0.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
namespace nn = tyto::nn;

/// What a run keeps; a number stands for all that follows from it.
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
  // Whether there is one is what rank 0 sees.
  CHECK(!run.checkpoint.load_if_present(group.rank() == 0 ? file + " that is not there" : file));
  // What rank 0 cannot load is refused by all, and changes nothing.
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

}  // namespace

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
