// SPDX-License-Identifier: MIT
// SIGINT and SIGTERM while training runs, in processes of their own: what ends, how, and whose a signal is.
#include <doctest/doctest.h>
#include <signal.h>

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <tyto/nn.hpp>
#include <tyto/reduce.hpp>

#include "tests/support/child.hpp"
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

/// What a process does that begins as programs do; doctest has handlers of its own.
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
  const testing::Child child({"/proc/self/exe", "--no-skip", "--test-case=process: " + name}, folder / "output");
  const int status = child.wait();
  INFO(testing::text_of(folder / "output"));
  CHECK((WIFEXITED(status) || WIFSIGNALED(status)));
  return status;
}

volatile sig_atomic_t own_calls = 0;

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

TEST_CASE("signals that the program ignores or handles itself do not end training") {
  for (const char* name : {"ignoring", "with a handler of its own"}) {
    CAPTURE(name);
    const int status = status_of(name);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
  }
}

}  // namespace tyto::nn
