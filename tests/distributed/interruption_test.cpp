// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM where processes train together: all end after the same step, and the run goes on to the same bits.
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"
#include "tests/support/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {
namespace interruption_test {

namespace d = tyto::distributed;
namespace nn = tyto::nn;
using tyto::DType;
using Any = tyto::Tensor<tyto::Any>;
using Lazy = tyto::Tensor<tyto::Lazy>;

/// A perceptron whose optimizer states lie in parts on the processes, and all that its run goes on from.
class Training {
 public:
  explicit Training(const d::Group& group)
      : batches_(data(5), data(1), {.size = 24, .seed = 4, .part = group.rank(), .parts = group.size()}) {
    draw({5, 11}, 1);
    draw({11}, 2);
    draw({11, 1}, 3);
    checkpoint_.add("model", named_).add("descent", descent_, named_).add("batches", batches_);
  }

  nn::Checkpoint& checkpoint() { return checkpoint_; }
  std::int64_t steps_done() const { return descent_.count(); }
  nn::TrainingReport train(nn::TrainingOptions options) {
    auto step = tyto::compile([&](Lazy x, Lazy t) {
      const auto objective = [&](Lazy inputs, Lazy targets) {
        return mean(square(matmul(tanh(matmul(inputs, parameters_[0]) + parameters_[1]), parameters_[2]) - targets));
      };
      auto [loss, gradients] = tyto::value_and_grad(objective, parameters_)(x, t);
      descent_.update(parameters_, d::weighed(gradients, x.shape()[0]));
      return d::average(loss, x.shape()[0]);
    });
    options.epochs = 1'000'000'000;
    options.progress = false;
    return nn::train(step, batches_, options);
  }

 private:
  static Lazy data(std::int64_t columns) {
    return Lazy::normal({46, columns}, {.key = tyto::Key{11, 0}.split(static_cast<std::uint64_t>(columns))});
  }
  void draw(const tyto::Shape& shape, std::uint64_t number) {
    parameters_.push_back(Lazy::variable(Lazy::normal(shape, {.key = tyto::Key{7, 0}.split(number)}), "p"));
    named_.push_back({"p" + std::to_string(number), Any(parameters_.back())});
  }

  std::vector<Lazy> parameters_;
  tyto::NamedList<Any> named_;
  nn::Batches<Lazy> batches_;
  nn::Descent descent_ = nn::adam({.rate = 0.01}).shard(1);
  nn::Checkpoint checkpoint_;
};

/// What a process does that begins as programs do, doctest having handlers of its own; its status.
template <class F>
void as_a_program(F&& body) {
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  const int status = [&] {
    const d::Group group = d::start({.timeout_seconds = 20});
    return body(group);
  }();
  std::_Exit(status);
}

std::string file(const std::string& name) { return given("FOLDER") + "/" + name; }

TEST_CASE("rank: interrupted" * doctest::skip(true)) {
  as_a_program([](const d::Group& group) {
    Training training(group);
    training.checkpoint().load_if_present(file("checkpoint"));
    nn::TrainingOptions options{.save = {&training.checkpoint(), file("checkpoint"), 1'000'000'000}};
    if (!given("STEPS").empty()) options.steps = std::stoi(given("STEPS"));
    const std::string own = std::to_string(group.rank());
    options.after_step = [&](const nn::StepReport& now) {
      if (now.steps == 1) std::ofstream(file("begun" + own)) << now.steps;
      return true;
    };
    const nn::TrainingReport report = training.train(options);
    std::ofstream(file("ended" + own)) << report.steps << ' ' << report.interrupted_by << ' ' << training.steps_done();
    return report.interrupted_by == 0 ? 0 : 128 + report.interrupted_by;
  });
}

TEST_CASE("processes that are interrupted at random moments end after one step, and go on to the same bits") {
  using tyto::testing::text_of;
  with_each_mpi([](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder, whole;
    const int rounds = given("KILLS").empty() ? 4 : std::stoi(given("KILLS"));
    constexpr int processes = 3;
    std::mt19937 random(7);
    std::string steps;
    for (int round = 0; round < rounds; ++round) {
      CAPTURE(round);
      const int signal = round % 2 == 0 ? SIGINT : SIGTERM;
      for (int rank = 0; rank < processes; ++rank) {
        std::filesystem::remove(folder / ("begun" + std::to_string(rank)));
        std::filesystem::remove(folder / ("ended" + std::to_string(rank)));
      }
      const tyto::testing::Child child(
          {"/bin/sh", "-c",
           "exec " + command_of_case(mpi, processes, "rank: interrupted", "FOLDER='" + std::string(folder / "") + "'")},
          folder / "output");
      for (int waited = 0; !std::filesystem::exists(folder / "begun0") && waited < 6000; ++waited) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300'000));
      child.kill(signal);
      const int status = child.wait();
      CAPTURE(text_of(folder / "output"));
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 128 + signal);
      // All of them say the same: steps of this call, the signal, and steps in all.
      const std::string ended = text_of(folder / "ended0");
      CHECK(ended.find(" " + std::to_string(signal) + " ") != std::string::npos);
      for (int rank = 1; rank < processes; ++rank) CHECK(text_of(folder / ("ended" + std::to_string(rank))) == ended);
      steps = ended.substr(ended.rfind(' ') + 1);
    }
    CAPTURE(steps);
    CHECK(std::stoi(steps) > rounds);
    const Ran ran =
        run_case(mpi, processes, "rank: interrupted", "FOLDER='" + std::string(whole / "") + "' STEPS=" + steps);
    CHECK_MESSAGE(ran.status == 0, ran.output);
    CHECK(text_of(folder / "checkpoint") == text_of(whole / "checkpoint"));
  });
}

TEST_CASE("rank: interrupted alone" * doctest::skip(true)) {
  as_a_program([](const d::Group& group) {
    const bool is_second = group.rank() == 1;
    Training training(group);
    nn::TrainingOptions options{.steps = 20};
    // The second one stops by itself.
    options.after_step = [&](const nn::StepReport& now) { return !(is_second && now.steps == 3); };
    const nn::TrainingReport stopped = training.train(options);
    if (stopped.steps != 3 || stopped.interrupted_by != 0) return 1;
    // A signal that came to the first one alone.
    options.after_step = [&](const nn::StepReport& now) {
      if (!is_second && now.steps == 7) std::raise(SIGTERM);
      return true;
    };
    const nn::TrainingReport report = training.train(options);
    if (report.steps != 7 || report.interrupted_by != SIGTERM) return 2;
    group.barrier();
    // The second one has it a little later, which is no second signal; the next one is.
    if (is_second) {
      std::raise(SIGTERM);
      std::raise(SIGTERM);
    }
    group.barrier();
    return 3;
  });
}

TEST_CASE("a process that stops or is interrupted has all others end after the same step") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: interrupted alone");
    CHECK_MESSAGE(ran.status == (mpi == "mpich" ? SIGTERM : 128 + SIGTERM), ran.output);
  });
}

TEST_CASE("rank: fails after a step" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 20});
  const std::string other = group.is_first() ? "1" : "0";
  Training training(group);
  nn::TrainingOptions options{.steps = 20};
  const auto fails = [&](int rank, std::int64_t step) {
    options.after_step = [&, rank, step](const nn::StepReport& now) {
      if (group.rank() == rank && now.steps == step) throw std::runtime_error("the disk is full");
      return true;
    };
    std::string told;
    try {
      (void)training.train(options);
    } catch (const tyto::GraphError& error) {
      told = error.what();
    } catch (const std::runtime_error& error) {
      told = std::string("own: ") + error.what();
    }
    return told;
  };
  const std::string exception = " threw an exception after this step, which ends the training of all";
  for (const int rank : {0, 1}) {
    CHECK(fails(rank, 3) == (group.rank() == rank ? "own: the disk is full" : "train: rank " + other + exception));
  }
  CHECK(fails(0, 1) == (group.rank() == 0 ? "own: the disk is full" : "train: rank 0" + exception));
  CHECK(training.steps_done() == 7);
  // What rank 0 cannot write is told to all at once, in the middle and at the end.
  for (const int every : {2, 0}) {
    CAPTURE(every);
    options = {.steps = 4, .save = {&training.checkpoint(), file("no folder") + "/checkpoint", every}};
    CHECK_THROWS_AS((void)training.train(options), tyto::IoError);
    CHECK(training.steps_done() == (every == 2 ? 8 : 12));
  }
  // They go on together.
  options = {.steps = 5};
  CHECK(training.train(options).steps == 5);
  group.barrier();
}

TEST_CASE("what one process throws after a step, and what cannot be saved, ends the training of all at once") {
  with_each_mpi([](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    const Ran ran = run_case(mpi, 2, "rank: fails after a step", "FOLDER='" + std::string(folder / "") + "'");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: trains for itself" * doctest::skip(true)) {
  as_a_program([](const d::Group& group) {
    const int rank = group.rank();
    Lazy w = Lazy::variable(Lazy{1.0, 2.0}, "w");
    auto step = tyto::compile([&](Lazy x, Lazy t) {
      w -= 0.1 * w;
      return mean(square(x * w - t));
    });
    nn::Batches<Lazy> batches(Lazy::ones({30, 2}), Lazy::ones({30, 2}), {.size = 1});
    nn::TrainingOptions options{.epochs = 100, .steps = 10 + 5 * rank, .progress = false};
    if (nn::train(step, batches, options).steps != options.steps) return 1;
    options.steps = 50;
    options.after_step = [&](const nn::StepReport& now) {
      if (rank == 1 && now.steps == 7) std::raise(SIGINT);
      return true;
    };
    const nn::TrainingReport report = nn::train(step, batches, options);
    group.barrier();
    if (rank == 1) return report.steps == 7 && report.interrupted_by == SIGINT ? 0 : 2;
    return report.steps == 50 && report.interrupted_by == 0 ? 0 : 3;
  });
}

TEST_CASE("processes of a group that train for themselves end for themselves") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: trains for itself");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

}  // namespace interruption_test
}  // namespace distributed_tests
