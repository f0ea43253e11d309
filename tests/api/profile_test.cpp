// Profiles and pages: every step is there, what it moved and computed is counted, exports are well formed.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <tyto/tyto.hpp>

namespace {
using Tensor = tyto::Tensor<tyto::Lazy>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
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

TEST_CASE("a trace of a profile holds any label") {
  const Tensor x = Tensor::ones({2});
  Tensor y;
  {
    const tyto::Scope scope("not \xff UTF-8");
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
