// SPDX-License-Identifier: MIT
// Profiles and pages: every step is there, what it moved and computed is counted, exports are well formed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <tyto/tyto.hpp>

#include "tests/support/message.hpp"
#include "tests/support/scaled_on_host.hpp"

namespace profile_test {

namespace {
using Tensor = tyto::Tensor<tyto::Lazy>;
using tyto_test::contains;
}  // namespace

TEST_CASE("a profile has a row a step, with the bytes it moved and the operations of its product") {
  const Tensor a = Tensor::placeholder({32, 48}, tyto::DType::f32, "a");
  const Tensor b = Tensor::placeholder({48, 16}, tyto::DType::f32, "b");
  tyto::Graph graph{{.inputs = {a, b}, .outputs = {matmul(a, b)}}, {.passes = "none"}};
  graph.set(a, Tensor::ones({32, 48}));
  graph.set(b, Tensor::ones({48, 16}));
  const tyto::GraphProfile profile = graph.profile();
  REQUIRE(profile.steps.size() == 1);
  CHECK(profile.steps[0].name == "matmul");
  CHECK(profile.steps[0].operations == 2 * 32 * 48 * 16);
  CHECK(profile.steps[0].bytes == 4 * (32 * 48 + 48 * 16 + 32 * 16));
  CHECK(profile.steps[0].milliseconds > 0);
  CHECK(profile.milliseconds >= profile.steps[0].milliseconds);
  CHECK(graph.output(0).to_vector<float>() == std::vector<float>(32 * 16, 48.0f));

  std::ostringstream table;
  table << profile;
  CHECK(contains(table.str(), "  matmul\n"));
  CHECK(contains(profile.chrome_trace(), "\"name\":\"matmul\""));
  CHECK(contains(profile.chrome_trace(), "\"ph\":\"X\""));
}

TEST_CASE("a printed profile has digits for steps of less than a microsecond") {
  tyto::GraphProfile profile{{{"tiny", "head", "", 0.00007, 8, 2, 0}, {"large", "", "", 20.5, 0, 0, 0}}, 20.50012};
  std::ostringstream table;
  table << profile;
  CHECK(table.str() ==
        "run: 20500.12 us in 2 steps\n"
        "        us      %   steps     GB/s    Gop/s  operator\n"
        "  20500.00  100.0       1      0.0      0.0  large\n"
        "      0.07    0.0       1      0.1      0.0  tiny\n"
        "        us      %   steps   forward  gradient  layer\n"
        "  20500.00  100.0       1  20500.00      0.00  (no layer)\n"
        "      0.07    0.0       1      0.07      0.00  head\n");
}

TEST_CASE("a compiled function's profile is that of a call, which updates variables as any other") {
  const Tensor total = Tensor::variable(Tensor::zeros({32, 16}), "total");
  auto step = tyto::compile([&](Tensor a, Tensor b) {
    assign(total, total + matmul(a, b));
    return sum(total);
  });
  const Tensor a = Tensor::ones({32, 48}), b = Tensor::ones({48, 16});
  CHECK(step(a, b).item<float>() == 32 * 16 * 48);
  const tyto::GraphProfile profile = step.profile(a, b);
  CHECK(std::ranges::any_of(profile.steps, [](const tyto::StepProfile& each) {
    return contains(each.name, "matmul") && each.operations >= 2 * 32 * 48 * 16 && each.milliseconds > 0;
  }));
  CHECK(profile.milliseconds > 0);
  CHECK(step(a, b).item<float>() == 3 * 32 * 16 * 48);
  using Eager = tyto::Tensor<tyto::Eager>;
  auto eager = tyto::compile([](Eager x) { return x + 1; });
  CHECK_THROWS_WITH_AS(eager.profile(Eager::ones({2})),
                       "compile: a profile is of a call in lazy mode, and this one was none", tyto::GraphError);
}

TEST_CASE("a trace of a profile holds any label") {
  const Tensor x = Tensor::ones({2});
  Tensor y;
  {
    const tyto::NameScope scope("not \xff UTF-8");
    y = exp(x);
  }
  tyto::Graph graph{{.outputs = {y}}, {.passes = "none"}};
  CHECK(contains(graph.profile().chrome_trace(), "UTF-8"));
}

TEST_CASE("profiling updates states as a run does") {
  const Tensor counter = Tensor::variable(Tensor{1.0}, "counter");
  tyto::Graph graph{{.outputs = {}, .updates = {{counter, counter + 1.0f}}}};
  graph.profile();
  graph.run();
  CHECK(counter.item<float>() == 3.0f);
}

TEST_CASE("the page of a graph stands alone and is safe from what labels hold") {
  const Tensor x = Tensor::placeholder({4}, tyto::DType::f32, "</script><script>alert(1)<!--<script>");
  tyto::Graph graph{{.inputs = {x}, .outputs = {exp(x) + x}}};
  const std::string page = graph.html();
  CHECK(page.starts_with("<!doctype html>"));
  CHECK_FALSE(contains(page, "</script><script>alert"));
  CHECK_FALSE(contains(page, "<!--"));
  CHECK_FALSE(contains(page, "src="));
  CHECK(contains(page, "\"recorded\":["));
  CHECK(contains(page, "\"blocks\":["));
}

TEST_CASE("a profile on an OpenCL device has the device's own times, of kernels, transfers and steps on the CPU") {
  if (tyto::devices().size() < 2) {
    MESSAGE("there is no OpenCL device");
    return;
  }
  const tyto::DeviceScope scope("opencl");
  const Tensor x = Tensor::placeholder({64, 512}, tyto::DType::f32, "x");
  const Tensor w = Tensor::placeholder({512, 64}, tyto::DType::f32, "w");
  const auto halved = scaled_on_host("halved", 0.5F);
  tyto::Graph graph{{.inputs = {x, w}, .outputs = {max(halved(matmul(exp(x), w)))}}, {.passes = "none"}};
  graph.set(x, Tensor::zeros({64, 512}));
  graph.set(w, Tensor::ones({512, 64}));
  const auto largest = [](const tyto::Graph& ran) { return ran.output(0).to_vector<float>().at(0); };
  for (int run = 0; run < 2; ++run) {
    const tyto::GraphProfile profile = graph.profile();
    double steps = 0;
    bool on_cpu = false;
    for (const tyto::StepProfile& step : profile.steps) {
      CAPTURE(step.name);
      CHECK(step.milliseconds >= 0);
      CHECK(step.bytes > 0);
      steps += step.milliseconds;
      if (step.name == "exp") CHECK(step.bytes == 2 * 4 * 64 * 512);
      if (step.name == "matmul") CHECK(step.bytes == 4 * (64 * 512 + 512 * 64 + 64 * 64));
      if (step.name == "matmul") CHECK(step.operations == 2 * 64 * 512 * 64);
      if (step.name == "exp" || step.name == "matmul") CHECK(step.milliseconds > 0);
      on_cpu = on_cpu || step.name == "custom";
    }
    CHECK(on_cpu);
    CHECK(profile.steps.size() >= 5);  // with the matrix carried there and back
    // Steps come one after the other, and none counts what a driver does before it begins.
    CHECK(profile.milliseconds >= steps);
    CHECK(contains(profile.chrome_trace(), "\"name\":\"matmul\""));
    std::ostringstream table;
    table << profile;
    CHECK(contains(table.str(), "  exp\n"));
    CHECK(largest(graph) == 256);
  }
  CHECK(graph.report().fallbacks == std::vector<std::string>{"halved"});
  // Afterwards runs go on as before.
  graph.set(x, Tensor::zeros({64, 512}));
  graph.run();
  CHECK(largest(graph) == 256);
}

TEST_CASE("a printed report shows at most eight copies, and says how many more there are") {
  const auto printed = [](std::size_t count) {
    tyto::GraphReport report;
    for (std::size_t i = 0; i < count; ++i) {
      report.moved.push_back(
          {.region = "loop", .value = "carry " + std::to_string(i), .why = "its next value is a view"});
    }
    std::ostringstream out;
    out << report;
    return out.str();
  };
  const std::string eight = printed(8), ten = printed(10);
  CHECK(contains(eight, "of carry 7: its next value is a view\n"));
  CHECK_FALSE(contains(eight, "more copies"));
  CHECK(contains(ten, "of carry 7: its next value is a view\n"));
  CHECK_FALSE(contains(ten, "carry 8"));
  CHECK(contains(ten, "\n  and 2 more copies at the borders of loops and branches\n"));
}

}  // namespace profile_test
