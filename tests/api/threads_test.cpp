// SPDX-License-Identifier: MIT
// Concurrent use: each thread its own tensors, graphs and compiled functions, in both modes; computed tensors may be
// read by all. A graph or a compiled function is one thread's at a time, and so is a state.
#include <doctest/doctest.h>

#if defined(__unix__)
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <chrono>
#include <string>
#include <thread>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/clients.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

template <class F>
std::string at_once(F work) {
  return tyto_test::by_clients(work, 4);
}

}  // namespace

BOTH_MODES("threads compute with tensors of their own") {
  CHECK(at_once([](int thread) {
          using Tensor = tyto::Tensor<Mode>;
          for (int i = 0; i < 30; ++i) {
            const Tensor x = Tensor::full({8, 8}, thread + i, DType::f32);
            const Tensor y = matmul(x, Tensor::eye(8)) + x.sum() * 0.0;
            if (numbers(y) != Numbers(64, thread + i)) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("threads read one computed view") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor turned = Tensor::arange(65'536).astype(DType::f32).reshape({256, 256}).T();
  tyto::eval({turned});
  CHECK(at_once([&](int) {
          for (int i = 0; i < 50; ++i) {
            if (turned.template data<float>()[1] != 256 || turned.template to_vector<float>()[2] != 512) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("threads train models of their own") {
  CHECK(at_once([](int thread) {
          using Tensor = tyto::Tensor<Mode>;
          const Tensor w = Tensor::variable(Tensor::zeros({4}, DType::f64));
          const Tensor target = Tensor::full({4}, static_cast<double>(thread), DType::f64);
          auto step = tyto::compile([&](Tensor t) {
            const auto [loss, gradients] =
                value_and_grad([&](Tensor v) { return square(w - v).sum(); }, std::vector<Tensor>{w})(t);
            assign(w, w - 0.25 * gradients[0]);
            return loss;
          });
          for (int i = 0; i < 60; ++i) (void)numbers(step(target));
          return numbers(w - target) == Numbers(4, 0.0) || std::abs(numbers(w - target)[0]) < 1e-12;
        }) == "");
}

TEST_CASE("threads run graphs of their own made from the same recorded values") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor x = Tensor::placeholder({16});
  const Tensor y = tanh(x * 2.0) * 0.0 + x * 3.0;
  std::vector<tyto::Graph> graphs;
  for (int i = 0; i < 4; ++i) graphs.emplace_back(tyto::GraphSpec{.inputs = {x}, .outputs = {y}});
  CHECK(at_once([&](int thread) {
          tyto::Graph& g = graphs[static_cast<std::size_t>(thread)];
          for (int i = 0; i < 100; ++i) {
            g.set(x, Tensor::full({16}, thread * 1000 + i, DType::f32));
            g.run();
            if (numbers(g[y]) != Numbers(16, 3.0 * (thread * 1000 + i))) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("a computed tensor is read and used by all threads") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor shared = Tensor::arange(100).astype(DType::f64) * 1.0;
  (void)numbers(shared);
  CHECK(at_once([&](int thread) {
          for (int i = 0; i < 50; ++i) {
            const Tensor mine = shared + static_cast<double>(thread);
            if (mine.sum().template item<double>() != 4950.0 + 100.0 * thread) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("threads draw from one sequence without drawing anything twice") {
  std::vector<Numbers> drawn(4);
  tyto::seed(1);
  CHECK(at_once([&](int thread) {
          using Tensor = tyto::Tensor<Mode>;
          for (int i = 0; i < 50; ++i)
            drawn[static_cast<std::size_t>(thread)].push_back(
                Tensor::uniform({1}, {.dtype = DType::f64}).template item<double>());
          return true;
        }) == "");
  Numbers every;
  for (const Numbers& each : drawn) every.insert(every.end(), each.begin(), each.end());
  std::sort(every.begin(), every.end());
  CHECK(std::adjacent_find(every.begin(), every.end()) == every.end());
  CHECK(tyto::random_state().draws == 200);
}

#if defined(__unix__)
TEST_CASE("a forked child computes on, on threads of its own") {
  using Tensor = tyto::Tensor<tyto::Eager>;
  const int before = tyto::threads();
  tyto::threads(2);
  const Tensor x = Tensor::full({1 << 20}, 3.0, DType::f32), a = Tensor::full({300, 300}, 0.5, DType::f32);
  const auto compute = [&] { return (x * 2.0 + 1.0).sum().item<float>() + dot(a, a).sum().item<float>(); };
  const float expected = 7.0f * (1 << 20) + 300 * 300 * 75.0f;
  REQUIRE(compute() == expected);  // the parent has used two threads
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(compute() == expected && compute() == expected ? 7 : 1);
  int status = 0;
  pid_t ended = 0;
  for (int tenths = 0; tenths < 300 && ended == 0; ++tenths) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
  }
  CHECK(ended == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(compute() == expected);
  tyto::threads(before);
}
#endif

TEST_CASE("threads compile new functions at once, each with a graph of another shape") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  CHECK(
      at_once([](int thread) {
        for (int i = 1; i <= 20; ++i) {
          const std::int64_t size = 3 + (thread * 20 + i) % 7;
          auto step = tyto::compile([](Tensor x) { return exp(x - max(x)) * 2.0 + sum(x, {0}, true) * 0.0; });
          if (numbers(step(Tensor::full({size, 3}, i, DType::f64))) != Numbers(static_cast<std::size_t>(size) * 3, 2)) {
            return false;
          }
        }
        return true;
      }) == "");
}

BOTH_MODES("threads change the number of threads while others compute large things") {
  const int before = tyto::threads();
  CHECK(at_once([](int thread) {
          using Tensor = tyto::Tensor<Mode>;
          const Tensor x = Tensor::full({600, 500}, thread, DType::f32);
          for (int i = 0; i < 12; ++i) {
            tyto::threads(1 + (thread + i) % 3);
            const Tensor y = tanh(x * 0.0) + x;
            if (y.sum().template item<float>() != 300000.0f * static_cast<float>(thread)) return false;
            if (matmul(y, transpose(y))(0, 0).template item<float>() != static_cast<float>(500 * thread * thread)) {
              return false;
            }
          }
          return true;
        }) == "");
  tyto::threads(before);
}

TEST_CASE("threads that use an OpenCL device at once share its programs, and one of them times its work") {
  if (tyto::devices().size() < 2) {
    MESSAGE("there is no OpenCL device");
    return;
  }
  using Tensor = tyto::Tensor<tyto::Lazy>;
  using Now = tyto::Tensor<tyto::Eager>;
  CHECK(at_once([](int thread) {
          const tyto::DeviceScope scope("opencl");
          const Tensor x = Tensor::placeholder({16, 20});
          const Tensor shares = exp(x - max(x, {1}, true)) * static_cast<double>(1 + thread % 2);
          tyto::Graph graph{{.inputs = {x}, .outputs = {shares / sum(shares, {1}, true)}}};
          for (int i = 0; i < 10; ++i) {
            graph.set(x, Tensor::full({16, 20}, thread + i, DType::f32));
            if (thread == 0) graph.profile();
            else graph.run();
            if (graph.output(0).to_vector<float>() != std::vector<float>(320, 0.05f)) return false;
            const Now y = Now::full({8, 8}, thread + i, DType::f32);
            if (numbers(y * 2.0 + y.sum() * 0.0) != Numbers(64, 2 * (thread + i))) return false;
          }
          return true;
        }) == "");
}
