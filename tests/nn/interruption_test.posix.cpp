// SPDX-License-Identifier: MIT
// SIGINT and SIGTERM during training, in processes of their own: which run ends, how, and who handles the signal.
#include <doctest/doctest.h>
#include <signal.h>

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <tyto/autodiff.hpp>
#include <tyto/elementwise.hpp>
#include <tyto/graph.hpp>
#include <tyto/nn.hpp>
#include <tyto/reduce.hpp>

#include "tests/support/child.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::nn {
namespace {

/// Ten steps, each followed by what the case does.
TrainingReport ten_steps(const std::function<void(std::int64_t)>& after, bool interruptible = true) {
  using T = Tensor<Eager>;
  Batches<T> batches(T::zeros({20}), T::zeros({20}), {.size = 2});
  const auto step = [](const T& x, const T&) { return mean(x); };
  const auto after_step = [&](const StepReport& report) {
    after(report.steps);
    return true;
  };
  return train(step, batches, {.progress = false, .after_step = after_step, .interruptible = interruptible});
}

/// Runs `body` with default signal handlers (doctest installs its own) and exits with its status.
template <class F>
void as_a_program(F&& body) {
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  std::_Exit(body());
}

bool has_default(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_DFL;
}

/// The status, as waitpid gives it, of this program run with one of the cases below.
int status_of(const std::string& name) {
  const testing::TemporaryFolder folder;
  const testing::Child child({testing::this_program(), "--no-skip", "--test-case=process: " + name}, folder / "output");
  const int status = child.wait();
  INFO(testing::text_of(folder / "output"));
  CHECK((WIFEXITED(status) || WIFSIGNALED(status)));
  return status;
}

volatile sig_atomic_t own_calls = 0;

/// Ways to end a call of train.
enum class End { itself, signal, steps, after_step };

/// The outcome of a call of train.
struct Course {
  TrainingReport report;
  std::vector<double> losses;
  std::vector<std::string>
      saved;  // the checkpoint after each step but the last, of a run from its beginning to its end
  std::size_t rows = 0;
};

/// A program that trains for three epochs of three batches from the checkpoint `file` on, if there is one. With early
/// stopping the second epoch, which is no better than the first one, is the last.
template <class M>
Course run_program(const std::string& file, bool stops_early, End end = End::itself, std::int64_t last = 0) {
  using T = Tensor<M>;
  seed(11);
  const Sequential model{Linear({.in = 1, .out = 8}), Dropout(0.1), Linear({.in = 8, .out = 1})};
  Descent descent = adam({.rate = 0.02});
  const T inputs = T::linspace(-3, 3, 10).reshape({10, 1});
  Batches<T> batches(inputs, inputs * inputs, {.size = 4, .seed = 2});
  TrainingHistory history;
  Checkpoint checkpoint;
  checkpoint.add("model", model).add("descent", descent, model.named_parameters());
  checkpoint.add("batches", batches).add("history", history);
  const bool is_whole = !checkpoint.load_if_present(file) && end == End::itself;
  auto step = compile([&](T x, T t) {
    const auto objective = [&](const T& a, const T& b) { return mean_squared_error(model(a, training), b); };
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(x, t);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  Course course;
  TrainingOptions options{.epochs = 3, .progress = false, .history = &history, .save = {&checkpoint, file, is_whole}};
  if (stops_early) options.stop_early = EarlyStop{.figure = "same", .patience = 1};
  if (end == End::steps) options.steps = last;
  options.validate = [&] {
    const double outputs = static_cast<double>(mean(model(inputs)).template item<float>());
    return Figures{{"outputs", outputs}, {"drawn", double(T::uniform({}).template item<float>())}, {"same", 1}};
  };
  options.after_step = [&](const StepReport& now) {
    course.losses.push_back(now.loss);
    if (is_whole && now.steps > 1) course.saved.push_back(testing::text_of(file));
    if (end == End::signal && now.steps == last) ::raise(SIGINT);
    return end != End::after_step || now.steps != last;
  };
  course.report = train(step, batches, options);
  course.rows = history.rows().size();
  return course;
}

}  // namespace

TEST_CASE("process: interrupted" * doctest::skip()) {
  as_a_program([] {
    const TrainingReport report = ten_steps([](std::int64_t step) {
      if (step == 3) ::raise(SIGINT);
    });
    const bool right = report.steps == 3 && report.interrupted_by == SIGINT && !report.stopped_early;
    return right && has_default(SIGINT) && has_default(SIGTERM) ? 7 : 1;
  });
}
TEST_CASE("process: terminated in its last step" * doctest::skip()) {
  as_a_program([] {
    const TrainingReport report = ten_steps([](std::int64_t step) {
      if (step == 10) ::raise(SIGTERM);
    });
    return report.steps == 10 && report.interrupted_by == SIGTERM ? 7 : 1;
  });
}
TEST_CASE("process: twice" * doctest::skip()) {
  as_a_program([] {
    ten_steps([](std::int64_t) {
      ::raise(SIGINT);
      ::raise(SIGTERM);
      std::_Exit(1);
    });
    return 2;
  });
}
TEST_CASE("process: the same again" * doctest::skip()) {
  as_a_program([] {
    ten_steps([](std::int64_t) {
      ::raise(SIGTERM);
      ::raise(SIGTERM);
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      ::raise(SIGTERM);
      std::_Exit(2);
    });
    return 3;
  });
}
TEST_CASE("process: told twice" * doctest::skip()) {
  as_a_program([] {
    const TrainingReport report = ten_steps([](std::int64_t step) {
      if (step != 3) return;
      ::raise(SIGTERM);
      ::raise(SIGTERM);
    });
    return report.steps == 3 && report.interrupted_by == SIGTERM && has_default(SIGTERM) ? 7 : 1;
  });
}
TEST_CASE("process: in the next call" * doctest::skip()) {
  as_a_program([] {
    const auto interrupt = [](std::int64_t) { ::raise(SIGINT); };
    if (ten_steps(interrupt).steps != 1) return 1;
    const TrainingReport next = ten_steps([](std::int64_t) {});
    if (next.steps != 10 || next.interrupted_by != 0) return 2;
    ten_steps(interrupt);
    return 3;
  });
}
TEST_CASE("process: with an exception" * doctest::skip()) {
  as_a_program([] {
    try {
      ten_steps([](std::int64_t) {
        ::raise(SIGTERM);
        throw std::runtime_error("of the caller");
      });
    } catch (const std::runtime_error&) {
      return 1;
    }
    return 2;
  });
}
TEST_CASE("process: not interruptible" * doctest::skip()) {
  as_a_program([] {
    ten_steps([](std::int64_t) { ::raise(SIGINT); }, false);
    return 1;
  });
}
TEST_CASE("process: ignoring" * doctest::skip()) {
  as_a_program([] {
    ::signal(SIGINT, SIG_IGN);
    const TrainingReport report = ten_steps([](std::int64_t) { ::raise(SIGINT); });
    struct sigaction now {};
    ::sigaction(SIGINT, nullptr, &now);
    return report.steps == 10 && report.interrupted_by == 0 && now.sa_handler == SIG_IGN ? 7 : 1;
  });
}
TEST_CASE("process: with a handler of its own" * doctest::skip()) {
  as_a_program([] {
    ::signal(SIGINT, [](int) { own_calls = own_calls + 1; });
    const TrainingReport report = ten_steps([](std::int64_t) { ::raise(SIGINT); });
    return report.steps == 10 && report.interrupted_by == 0 && own_calls == 10 ? 7 : 1;
  });
}

TEST_CASE("a signal ends training after its step, and what was there before is there again") {
  for (const char* name : {"interrupted", "terminated in its last step", "told twice"}) {
    CAPTURE(name);
    const int status = status_of(name);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
  }
}

TEST_CASE("a second signal, and one that nobody asks for, end the process") {
  const std::pair<const char*, int> ends[] = {{"twice", SIGTERM},
                                              {"the same again", SIGTERM},
                                              {"in the next call", SIGINT},
                                              {"with an exception", SIGTERM},
                                              {"not interruptible", SIGINT}};
  for (const auto& [name, signal] : ends) {
    CAPTURE(name);
    const int status = status_of(name);
    CAPTURE(status);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
  }
}

TEST_CASE("process: left by a signal" * doctest::skip()) {
  ::signal(SIGINT, SIG_DFL);
  std::int64_t last = 0;
  bool stops_early = false, is_lazy = false;
  std::string file;
  std::istringstream(std::getenv("LEFT")) >> last >> stops_early >> is_lazy >> file;
  const Course left = (is_lazy ? run_program<Lazy> : run_program<Eager>)(file, stops_early, End::signal, last);
  CHECK(left.report.steps == last);
  CHECK(left.report.interrupted_by == SIGINT);
  CHECK(left.rows == static_cast<std::size_t>(last / 3));
}

TEST_CASE_TEMPLATE("a run that is left after any step and resumed has the bits of one that is not", M, Eager, Lazy) {
  for (const bool stops_early : {false, true}) {
    CAPTURE(stops_early);
    const testing::TemporaryFolder folder;
    Course whole = run_program<M>(folder / "whole", stops_early);
    const std::int64_t steps = stops_early ? 6 : 9;
    CHECK(whole.report.steps == steps);
    CHECK(whole.rows == static_cast<std::size_t>(steps / 3));
    whole.saved.push_back(testing::text_of(folder / "whole"));
    for (const End end : {End::signal, End::steps, End::after_step}) {
      for (std::int64_t last = 1; last <= steps; ++last) {
        CAPTURE(int(end));
        CAPTURE(last);
        const std::string file = folder / (std::to_string(int(end)) + "_" + std::to_string(last));
        if (end == End::signal) {
          std::ostringstream words;
          words << last << ' ' << stops_early << ' ' << std::is_same_v<M, Lazy> << ' ' << file;
          setenv("LEFT", words.str().c_str(), 1);
          CHECK(status_of("left by a signal") == 0);
        } else {
          const Course left = run_program<M>(file, stops_early, end, last);
          CHECK(left.report.steps == last);
          CHECK(left.rows == static_cast<std::size_t>(last / 3));
        }
        CHECK((testing::text_of(file) == whole.saved[static_cast<std::size_t>(last - 1)]));
        const Course rest = run_program<M>(file, stops_early);
        CHECK(rest.report.steps == steps - last);
        CHECK((testing::text_of(file) == whole.saved.back()));
        CHECK(rest.rows == whole.rows);
        CHECK(rest.losses == std::vector(whole.losses.begin() + last, whole.losses.end()));
      }
    }
  }
  unsetenv("LEFT");
}

TEST_CASE("signals that the program ignores or handles itself do not end training") {
  for (const char* name : {"ignoring", "with a handler of its own"}) {
    CAPTURE(name);
    const int status = status_of(name);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
  }
}

}  // namespace tyto::nn
