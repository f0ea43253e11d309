// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM where processes train together: all end after the same step, and the run goes on to the same bits.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
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
    checkpoint_.add("history", history_);
  }

  nn::Checkpoint& checkpoint() { return checkpoint_; }
  std::int64_t steps_done() const { return descent_.count(); }
  nn::TrainingReport train(nn::TrainingOptions options) {
    auto step = tyto::compile([&](Lazy x, Lazy t) {
      const auto objective = [&](Lazy inputs, Lazy targets) {
        return mean(square(matmul(tanh(matmul(inputs, parameters_[0]) + parameters_[1]), parameters_[2]) - targets));
      };
      auto [loss, gradients] = tyto::value_and_grad(objective, parameters_)(x, t);
      descent_.update(parameters_, d::weighted(gradients, x.shape()[0]));
      return d::average(loss, x.shape()[0]);
    });
    options.epochs = 1'000'000'000;
    options.progress = false;
    options.history = &history_;
    options.validate = [&] {
      const tyto::Tensor<tyto::Eager> steps(double(descent_.count()));
      return nn::Figures{{"steps", d::average(steps, 1).item<float>()}};
    };
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
  nn::TrainingHistory history_;
  nn::Checkpoint checkpoint_;
};

/// Runs `body` in a group with default signal handlers (doctest installs its own) and exits with its status.
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

TEST_CASE("rank: killed in training" * doctest::skip(true)) {
  as_a_program([](const d::Group& group) {
    Training training(group);
    training.checkpoint().load_if_present(file("checkpoint"));
    nn::TrainingOptions options{.save = {&training.checkpoint(), file("checkpoint"), 5}};
    if (!given("STEPS").empty()) options.steps = std::stoi(given("STEPS"));
    const std::string own = "pid" + std::to_string(group.rank());
    options.after_step = [&](const nn::StepReport& now) {
      if (now.steps == 1) {
        std::ofstream(file(own + ".part")) << getpid();
        std::filesystem::rename(file(own + ".part"), file(own));
      }
      return !(group.is_first() && std::filesystem::exists(file("stop")));
    };
    (void)training.train(options);
    if (group.is_first()) std::ofstream(file("steps")) << training.steps_done();
    return 0;
  });
}

TEST_CASE("processes that are killed at random moments and started again go on to the same bits") {
  using tyto::testing::text_of;
  with_each_mpi([](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder, whole;
    const unsigned kills = given("KILLS").empty() ? 3 : static_cast<unsigned>(std::stoi(given("KILLS")));
    constexpr unsigned processes = 2;
    const char* const name = "rank: killed in training";
    std::mt19937 random(7);
    const tyto::testing::Child child(
        {"/bin/sh", "-c",
         "exec timeout 600 " +
             command_of_case(mpi, processes, name, "FOLDER='" + std::string(folder / "") + "'", "--restarts 1000")},
        folder / "output");
    for (unsigned round = 0; round < kills; ++round) {
      CAPTURE(round);
      std::vector<int> ids;
      for (unsigned rank = 0; rank < processes; ++rank) {
        const std::string id = folder / ("pid" + std::to_string(rank));
        for (int waited = 0; !std::filesystem::exists(id) && waited < 6000; ++waited) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ids.push_back(std::stoi("0" + text_of(id)));
        std::filesystem::remove(id);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300'000));
      const int victim = ids[random() % processes];
      REQUIRE(victim > 0);
      CHECK(kill(victim, SIGKILL) == 0);
    }
    std::ofstream(folder / "stop") << "now";
    const int status = child.wait();
    CAPTURE(text_of(folder / "output"));
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    const std::string steps = text_of(folder / "steps");
    CAPTURE(steps);
    const Ran ran = run_case(mpi, processes, name, "FOLDER='" + std::string(whole / "") + "' STEPS=" + steps);
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
    // The second one has it a little later, which is no second signal.
    if (is_second && given("THEN") == "the same") {
      std::raise(SIGTERM);
      std::raise(SIGTERM);
    }
    group.barrier();
    if (is_second) {
      if (given("THEN") == "another") std::raise(SIGINT);
      std::this_thread::sleep_for(std::chrono::milliseconds(given("THEN") == "the same" ? 700 : 5200));
      std::raise(SIGTERM);
    }
    group.barrier();
    return 3;
  });
}

TEST_CASE("a process that stops or is interrupted has all others end after the same step") {
  with_each_mpi([](const std::string& mpi) {
    for (const std::string then : {"the same", "another", "later"}) {
      CAPTURE(then);
      const Ran ran = run_case(mpi, 2, "rank: interrupted alone", "THEN='" + then + "'");
      const int signal = then == "another" ? SIGINT : SIGTERM;
      CHECK_MESSAGE(ended_with(mpi, ran, mpi == "mpich" ? signal : 128 + signal), ran.output);
    }
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
  // An error of rank 0 in writing is thrown on all ranks at once, in the middle and at the end.
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

/// Training of one parameter, whose steps do what a case wants.
struct Small {
  explicit Small(const d::Group& group)
      : batches(Lazy::ones({40, 2}), Lazy::ones({40, 2}), {.size = 2, .part = group.rank(), .parts = group.size()}) {}
  Lazy together(const Lazy& x, const Lazy& t) {
    w -= 0.01 * d::average(w, 1);
    return d::average(mean(square(x * w - t)), 1);
  }
  Lazy alone(const Lazy& x, const Lazy& t) const { return mean(square(x * w - t)); }

  Lazy w = Lazy::variable(Lazy{1.0, 2.0}, "w");
  nn::Batches<Lazy> batches;
  nn::TrainingOptions options{.epochs = 100, .steps = 30, .progress = false};
};

/// The error that train throws, or its number of steps and its reason to stop.
template <class F>
std::string told_by(F&& step, Small& small) {
  try {
    const nn::TrainingReport report = nn::train(step, small.batches, small.options);
    return std::to_string(report.steps) + " steps, signal " + std::to_string(report.interrupted_by);
  } catch (const tyto::ValueError& error) {
    return std::string("ValueError: ") + error.what();
  } catch (const tyto::GraphError& error) {
    return std::string("GraphError: ") + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

int differs(const std::string& told, const std::string& expected) {
  if (told == expected) return 0;
  std::fprintf(stderr, "told: %s\nexpected: %s\n", told.c_str(), expected.c_str());
  return 1;
}

TEST_CASE("rank: communicates in each fourth step" * doctest::skip(true)) {
  as_a_program([](const d::Group& group) {
    Small small(group);
    const bool is_second = group.rank() == 1, in_step = given("WHERE") == "step";
    int steps = 0;
    const auto step = [&](const Lazy& x, const Lazy& t) {
      return in_step && ++steps % 4 == 0 ? small.together(x, t) : small.alone(x, t);
    };
    small.options.after_step = [&](const nn::StepReport& now) {
      if (!in_step && now.steps % 4 == 0) {
        small.w -= 0.01 * d::average(small.w, 1);
        (void)small.w.to_vector<float>();
      }
      if (!is_second || now.steps != 6) return true;
      if (given("END") == "signal") std::raise(SIGTERM);
      if (given("END") == "exception") throw std::runtime_error("the disk is full");
      return given("END") != "stop";
    };
    const std::string told = told_by(step, small);
    if (given("END") == "signal") return differs(told, "6 steps, signal 15");
    if (given("END") == "stop") return differs(told, "6 steps, signal 0");
    return differs(told, is_second ? "the disk is full"
                                   : "GraphError: train: rank 1 threw an exception after this step, which ends the "
                                     "training of all");
  });
}

TEST_CASE("processes that communicate in some steps or after them end after the same step") {
  with_each_mpi([](const std::string& mpi) {
    for (const std::string where : {"step", "after_step"}) {
      for (const std::string end : {"signal", "stop", "exception"}) {
        CAPTURE(where);
        CAPTURE(end);
        const Ran ran = run_case(mpi, 2, "rank: communicates in each fourth step", "WHERE=" + where + " END=" + end);
        CHECK_MESSAGE(ran.status == 0, ran.output);
      }
    }
  });
}

TEST_CASE("rank: validate fails" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 20});
  for (const int every : {3, 0}) {
    for (const bool after : {false, true}) {
      CAPTURE(every);
      CAPTURE(after);
      Small small(group);
      nn::TrainingHistory history({.every = every});
      small.options.history = &history;
      small.options.validate = [&] {
        if (group.is_first() && !after) throw std::runtime_error("the disk is full");
        const float mean = d::average(tyto::Tensor<tyto::Eager>(1.0), 1).item<float>();
        if (group.is_first()) throw std::runtime_error("the disk is full");
        return nn::Figures{{"accuracy", mean}};
      };
      const std::string told = told_by([&](const Lazy& x, const Lazy& t) { return small.together(x, t); }, small);
      if (group.is_first()) {
        CHECK(told == "the disk is full");
      } else if (after && every == 3) {
        CHECK(contains(told, "GraphError: train: rank 0 threw an exception after this step"));
      } else {
        CHECK(contains(told, "GraphError: distributed: processes are about to do different things: call 1 is "));
      }
      group.barrier();
    }
  }
}

TEST_CASE("a process that throws where others validate together ends all, and keeps its own exception") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: validate fails");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: only the first keeps a history" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 20});
  for (const int every : {7, 0}) {
    CAPTURE(every);
    Small small(group);
    nn::TrainingHistory history({.every = every});
    if (group.is_first()) small.options.history = &history;
    const auto step = [&](const Lazy& x, const Lazy& t) { return small.together(x, t); };
    CHECK(told_by(step, small) == "30 steps, signal 0");
    // The first row, of 7 steps or of 20, is the best figure; the second one stops the first process.
    double rows = 0;
    small.batches.seek({});
    small.options.steps = 100;
    if (group.is_first()) {
      small.options.validate = [&] { return nn::Figures{{"error", ++rows}}; };
      small.options.stop_early = nn::EarlyStop{.figure = "error", .patience = 1};
      history = nn::TrainingHistory({.every = every});
    }
    CHECK(told_by(step, small) == (every == 7 ? "14 steps, signal 0" : "41 steps, signal 0"));
    group.barrier();
    // A run whose call ends with the row that stops it goes on as far as one that was not left there.
    if (every == 7) continue;
    small.batches.seek({});
    if (group.is_first()) history = nn::TrainingHistory();
    small.options.steps = 40;
    CHECK(told_by(step, small) == "40 steps, signal 0");
    small.options.steps = 100;
    CHECK(told_by(step, small) == "1 steps, signal 0");
    group.barrier();
  }
}

TEST_CASE("a history that only rank 0 keeps, and its early stopping, go with training together") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: only the first keeps a history");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: trains in pairs" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 20});
  const int rank = group.rank();
  const d::Group pair = group.split(rank / 2);
  Small small(pair);
  const auto step = [&](const Lazy& x, const Lazy& t) {
    const d::GroupScope scope(pair);
    const Lazy loss = small.together(x, t);
    (void)loss.item<float>();
    return loss;
  };
  small.options.steps = rank < 2 ? 5 : 9;
  CHECK(told_by(step, small) == (rank < 2 ? "5 steps, signal 0" : "9 steps, signal 0"));
  small.options.after_step = [&](const nn::StepReport& now) {
    if (rank == 3 && now.steps == 2) throw std::runtime_error("the disk is full");
    return true;
  };
  const std::string told = told_by(step, small);
  if (rank < 2) CHECK(told == "5 steps, signal 0");
  if (rank == 2) CHECK(contains(told, "GraphError: train: rank 3 threw an exception"));
  if (rank == 3) CHECK(told == "the disk is full");
  group.barrier();
  // Messages alone are no training of all: rank 1 answers.
  using Eager = tyto::Tensor<tyto::Eager>;
  const Eager like = Eager::ones({2});
  if (rank == 0) {
    small.options.after_step = {};
    const auto asks = [&](const Lazy& x, const Lazy& t) {
      (void)d::send(like, 1);
      (void)d::recv(like, 1);
      return small.alone(x, t);
    };
    CHECK(told_by(asks, small) == "5 steps, signal 0");
  } else if (rank == 1) {
    for (int i = 0; i < 5; ++i) (void)d::send(d::recv(like, 0), 0);
  }
  group.barrier();
}

TEST_CASE("processes compare the end of training in the group in which they train alone") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 4, "rank: trains in pairs");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: a loss is NaN" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 20});
  Small small(group);
  small.options.keep = {{{"w", Any(small.w)}}};
  int steps = 0;
  std::vector<float> before;
  const auto step = [&](const Lazy& x, const Lazy& t) {
    before = small.w.to_vector<float>();
    const Lazy loss = small.together(x, t);
    return ++steps == 3 && group.rank() == 1 ? loss * std::nan("") : loss;
  };
  const std::string kept = "; the states that options.keep lists are as they were before this step; ";
  const std::string told = told_by(step, small);
  CHECK(contains(told, kept));
  CHECK(contains(told, group.is_first() ? "ValueError: train: the loss of rank 1 is NaN in step 3 of this call"
                                        : "ValueError: train: the loss is NaN in step 3 of this call, in epoch 1"));
  CHECK(small.w.to_vector<float>() == before);
  CHECK(before[0] == doctest::Approx(0.9801));
  group.barrier();
}

TEST_CASE("a NaN loss of one process puts the states of all back") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: a loss is NaN");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

}  // namespace interruption_test
}  // namespace distributed_tests
