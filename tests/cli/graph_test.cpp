// SPDX-License-Identifier: MIT
// `tyto graph` as a user runs it, on a graph that was saved by the library.
#include <tyto/flow.hpp>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/cli/program.hpp"

namespace {

using namespace tyto::cli_tests;
using Tensor = tyto::Tensor<tyto::Lazy>;

std::string saved(const Workplace& place) {
  const Tensor x = Tensor::placeholder({8, 4}, tyto::DType::f32, "x");
  const Tensor weight = Tensor::variable(Tensor::ones({4}), "weight");
  const tyto::Graph graph{{.inputs = {x}, .outputs = {sum(exp(x * weight))}, .updates = {{weight, weight * 0.5f}}}};
  tyto::save_graph(place.path("model.graph"), graph);
  return place.path("model.graph");
}

}  // namespace

TEST_CASE("tyto graph says what a saved graph is made of") {
  const Workplace place;
  const Ran ran = run("graph " + saved(place));
  CHECK(ran.status == 0);
  CHECK(contains(ran.output, "inputs     1\n"));
  CHECK(contains(ran.output, "outputs    1\n"));
  CHECK(contains(ran.output, "variables  1\n"));
  CHECK(contains(ran.output, "states     16 bytes\n"));
  CHECK(contains(ran.output, "  1  exp\n"));
  CHECK(contains(ran.output, "  2  multiply\n"));
}

TEST_CASE("tyto graph prints nodes, a picture and the plan when asked to") {
  const Workplace place;
  const std::string path = saved(place);
  const Ran text = run("graph --text " + path);
  CHECK(text.status == 0);
  CHECK(contains(text.output, "read : f32(8,4) \"x\"\n"));
  CHECK(contains(text.output, "update \"weight\" = "));
  const Ran both = run("graph --text --stats " + path);
  CHECK(contains(both.output, "read : f32(8,4) \"x\"\n"));
  CHECK(contains(both.output, "inputs     1\n"));
  const Ran dot = run("graph --dot " + path);
  CHECK(dot.output.starts_with("digraph tyto {\n"));
  CHECK(contains(dot.output, "exp"));
  const Ran page = run("graph --html " + path);
  CHECK(page.output.starts_with("<!doctype html>"));
  CHECK(contains(page.output, "\"op\":\"exp\""));
  const Ran plan = run("graph --plan --strategy bump " + path);
  CHECK(plan.output.starts_with("memory plan: "));
  CHECK(contains(plan.output, "by bump"));
}

TEST_CASE("tyto graph refuses what is no graph, and says so with status 2") {
  const Workplace place;
  const std::string path = place.write("notes.graph", "these are notes, not a graph at all");
  const Ran ran = run("graph " + path);
  CHECK(ran.status == 2);
  CHECK(ran.output == "tyto: " + path + ": at byte 8: this is no graph file of Tyto\n");
  CHECK(run("graph " + place.path("missing.graph")).status == 2);
  CHECK(run("graph").status == 2);
}

TEST_CASE("ten processes plan the memory of loops and branches alike, on one thread or several") {
  const Workplace place;
  const Tensor x = Tensor::placeholder({16, 16}, tyto::DType::f32, "x");
  const auto [last, rows] = scan(
      [&](const std::vector<Tensor>& c, const Tensor& row) {
        const Tensor mixed = cond(
            row.sum() > 0.0, [&] { return tanh(matmul(c[0], x)) + row; }, [&] { return softmax(c[1]) * 2; });
        return std::pair(std::vector<Tensor>{c[1], mixed}, mixed.sum());
      },
      std::vector<Tensor>{x, x * 2}, Tensor::ones({5, 16}));
  const Tensor looped = while_loop(
      matmul(x, x), [](const Tensor& c) { return c.sum() < 9.0; },
      [&](const Tensor& c) {
        return fori_loop(0, 3, c, [&](const Tensor& i, const Tensor& inner) { return matmul(inner, x) + i; });
      },
      {.most = 5});
  const tyto::Graph graph{{.inputs = {x}, .outputs = {last[0], last[1], rows, looped}}};
  tyto::save_graph(place.path("regions.graph"), graph);
  const auto shown = [&](const std::string& threads) {
    const Ran ran = run("graph --html " + place.path("regions.graph"), "TYTO_THREADS=" + threads);
    CHECK(ran.status == 0);
    return ran.output;
  };
  const std::string expected = shown("1");
  CHECK(contains(expected, "\"offset\""));
  CHECK(contains(expected, "loop"));
  for (int process = 1; process < 10; ++process) {
    CAPTURE(process);
    CHECK(shown(process % 3 == 0 ? "1" : process % 3 == 1 ? "2" : "4") == expected);
  }
}
