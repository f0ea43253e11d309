// SPDX-License-Identifier: MIT
// One executable, many sessions: prepared kernels are shared, arenas and states of inputs are each session's own.
#include "engine/run/session.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/evaluate.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "tests/support/clients.hpp"
#include "tyto/tyto.hpp"

namespace session_test {

namespace run = tyto::run;
using Tensor = tyto::Tensor<tyto::Lazy>;
using tyto::DType;

namespace {

std::shared_ptr<const run::Executable> executable_of(const Tensor& input, const std::vector<tyto::Value>& outputs) {
  const std::vector<std::shared_ptr<tyto::core::State>> inputs{run::state_behind(input, "test")};
  run::Traced traced = run::trace({.outputs = outputs, .updates = {}, .inputs = inputs});
  return std::make_shared<const run::Executable>(std::move(traced.graph), run::cpu_device(), tyto::CompileOptions());
}

float first_element(const tyto::core::Array& array) {
  return static_cast<const float*>(array.buffer->memory())[array.view.offset];
}

}  // namespace

TEST_CASE("equal steps of a graph share a kernel") {
  const Tensor x = Tensor::placeholder({3, 4});
  const Tensor y = cumsum(x, 1), z = cumsum(y, 1), wide = cumsum(tyto::concat({z, x}, 1), 1);
  const auto executable = executable_of(x, {z, wide});
  std::vector<const tyto::core::Kernel*> kernels;
  for (const run::ExecutableStep& step : executable->steps()) {
    if (std::string_view(step.name) == "cumsum") kernels.push_back(step.kernel.get());
  }
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0] == kernels[1]);
  CHECK(kernels[2] != kernels[0]);
  run::Session session(executable);
  session.bind(0, run::contents(tyto::Tensor<tyto::Eager>::ones({3, 4})));
  session.run();
  const auto numbers = [&](std::size_t output) {
    const auto* const first = static_cast<const float*>(session.output(output).buffer->memory());
    return std::vector<float>(first, first + session.output(output).view.shape[1]);
  };
  CHECK(numbers(0) == std::vector<float>{1, 3, 6, 10});
  CHECK(numbers(1) == std::vector<float>{1, 4, 10, 20, 21, 22, 23, 24});
}

TEST_CASE("threads run one executable with a session each") {
  const Tensor x = Tensor::placeholder({32, 32});
  Tensor h = x;
  for (int i = 0; i < 10; ++i) h = matmul(h, Tensor::eye(32)) + concat(split(h, 2, 1), 1) * 0.0;
  const auto executable = executable_of(x, {h, h.sum() * 0.0 + h});
  CHECK(tyto_test::by_clients([&](int thread) {
          run::Session session(executable);
          bool right = true;
          for (int i = 0; i < 50; ++i) {
            const auto value = static_cast<float>(100 * thread + i);
            session.bind(0, run::contents(tyto::Tensor<tyto::Eager>::full({32, 32}, value)));
            session.run();
            right = right && first_element(session.output(0)) == value && first_element(session.output(1)) == value;
          }
          return right;
        }) == "");
}

TEST_CASE("eight threads run one executable with loops and branches, each in a session of its own") {
  const Tensor x = Tensor::placeholder({16});
  const auto [last, rows] = scan(
      [](const std::vector<Tensor>& c, const Tensor& row) {
        const Tensor next = cond(
            row.sum() > 8.0, [&] { return tanh(c[0] + row) * 2.0; }, [&] { return softmax(c[1]) + row; });
        return std::pair(std::vector<Tensor>{c[1], next}, next);
      },
      std::vector<Tensor>{x, x * 2.0}, Tensor::arange(5 * 16).astype(DType::f32).reshape({5, 16}) * 0.03125);
  const Tensor looped = while_loop(
      sum(x), [](const Tensor& c) { return c < 1000.0; }, [](const Tensor& c) { return c * 2.0 + 1.0; });
  const auto executable = executable_of(x, {sum(last[0]) + sum(last[1]) + sum(rows), looped});
  const auto computed = [&](run::Session& session, float value) {
    session.bind(0, run::contents(tyto::Tensor<tyto::Eager>::full({16}, value)));
    session.run();
    return std::pair(first_element(session.output(0)), first_element(session.output(1)));
  };
  std::vector<std::pair<float, float>> expected;
  run::Session alone(executable);
  for (int i = 0; i < 20; ++i) expected.push_back(computed(alone, static_cast<float>(i) * 0.125F));
  CHECK(tyto_test::by_clients([&](int thread) {
          run::Session session(executable);
          bool right = true;
          for (int i = 0; i < 100; ++i) {
            const auto at = static_cast<std::size_t>(i * 7 + thread) % expected.size();
            right = right && computed(session, static_cast<float>(at) * 0.125F) == expected[at];
          }
          return right;
        }) == "");
}

TEST_CASE("a session allocates nothing from the second run on, unless its outputs are held") {
  const Tensor x = Tensor::placeholder({64});
  const auto executable = executable_of(x, {tanh(x * 2.0) + x, x(tyto::slice({}, {}, -1))});
  run::Session session(executable);
  session.bind(0, run::contents(Tensor::ones({64})));
  session.run();
  const void* first = session.output(0).buffer->memory();
  session.run();
  CHECK(session.output(0).buffer->memory() == first);
  const tyto::core::Array held = session.output(0);
  session.run();
  CHECK(session.output(0).buffer->memory() != first);
  CHECK(first_element(held) == first_element(session.output(0)));
}

TEST_CASE("an output that is another shape of what is computed is computed in its own buffer") {
  const Tensor x = Tensor::placeholder({8, 8});
  const Tensor y = tanh(x * 2.0);
  const Tensor z = cumsum(x, 0);
  // The second of two outputs of one tensor, a part of one and an input are copied.
  const auto executable = executable_of(x, {y.reshape({64}), z, z.reshape({4, 16}), y(0), x.reshape({64})});
  std::size_t copies = 0;
  for (const run::ExecutableStep& step : executable->steps()) copies += std::string(step.name) == "copy" ? 1 : 0;
  CHECK(copies == 3);
  run::Session session(executable);
  const Tensor values = (Tensor::arange(64.0) * 0.01).astype(DType::f32).reshape({8, 8});
  session.bind(0, run::contents(values));
  session.run();
  const auto numbers = [&](std::size_t output) {
    const tyto::core::Array& array = session.output(output);
    const auto* first = static_cast<const float*>(array.buffer->memory());
    return std::vector<float>(first, first + array.view.count());
  };
  CHECK(numbers(0) == tanh(values * 2.0).reshape({64}).to_vector<float>());
  CHECK(numbers(1) == cumsum(values, 0).reshape({64}).to_vector<float>());
  CHECK(numbers(2) == numbers(1));
  CHECK(numbers(3) == tanh(values * 2.0)(0).to_vector<float>());
  CHECK(numbers(4) == values.reshape({64}).to_vector<float>());
}

TEST_CASE("a session refuses what is not the input's type or shape") {
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  run::Session session(executable_of(x, {x + 1.0}));
  CHECK_THROWS_WITH_AS(session.run(), "input 'x' of shape (2,) was given no value", tyto::GraphError);
  CHECK_THROWS_WITH_AS(session.bind(0, run::contents(Tensor{1, 2})), "input 'x' takes f32, given i64", tyto::TypeError);
  CHECK_THROWS_WITH_AS(session.bind(0, run::contents(Tensor{1.0})), "input 'x' takes shape (2,), given (1,)",
                       tyto::ShapeError);
}

}  // namespace session_test
