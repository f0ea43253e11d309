// SPDX-License-Identifier: MIT
// Sums over processes in buckets: the same numbers by fewer calls, with operands computed where they are summed.
#include <doctest/doctest.h>

#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>

#include "core/graph/op_ids.hpp"
#include "tests/passes/sketch.hpp"
#include "tests/passes/twin_process.hpp"

namespace buckets_test {

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

Port sum_of(Sketch& s, Port x, const char* reduction = "sum") {
  return s.add(OpId::all_reduce, {x}, core::CollectiveAttributes{.reduction = reduction, .processes = 2});
}

core::Graph bucketed(const core::Graph& graph) {
  const core::Graph out = optimised(graph, "buckets,dead_code,views");
  CHECK(agree(results_of(graph), results_of(out)));
  // A second time changes nothing.
  CHECK(core::same_structure(out, optimised(out, "buckets,dead_code,views")));
  return out;
}

}  // namespace

TEST_CASE("sums over processes that follow one another are one, of any shapes") {
  const WithTwin twin;
  Sketch s;
  const Port a = s.add(OpId::sin, {s.input({2, 3})}), b = s.add(OpId::exp, {s.input({})}), c = s.input({0, 4}),
             d = s.input({5});
  const std::vector<Port> sums{sum_of(s, a), sum_of(s, b), sum_of(s, c), sum_of(s, d)};
  CHECK(count(bucketed(s.graph(sums)), OpId::all_reduce) == 1);
}

TEST_CASE("a sum that needs another, is of another kind, or too large for the bucket begins the next one") {
  const WithTwin twin;
  {
    Sketch s;
    const Port first = sum_of(s, s.input({3})), second = sum_of(s, s.input({3}));
    const Port third = sum_of(s, s.add(OpId::sin, {first})), fourth = sum_of(s, s.input({3}));
    CHECK(count(bucketed(s.graph({second, third, fourth})), OpId::all_reduce) == 2);
  }
  {
    Sketch s;
    const Port x = s.input({3}), y = s.input({3}, DType::f32);
    const std::vector<Port> sums{sum_of(s, x), sum_of(s, y, "max"), sum_of(s, x, "max"), sum_of(s, y)};
    CHECK(count(bucketed(s.graph(sums)), OpId::all_reduce) == 3);
  }
  {
    Sketch s;
    const Port x = s.input({3}), y = s.input({2});
    const Port first = sum_of(s, x);
    const Port between = s.add(OpId::barrier, {y}, core::CollectiveAttributes{.processes = 2});
    CHECK(count(bucketed(s.graph({first, between, sum_of(s, y)})), OpId::all_reduce) == 2);
  }
  {
    Sketch s;
    const std::int64_t half = 1 << 17, most = 1 << 18;  // f32 elements of half a MiB and of one
    const std::vector<Port> sums{sum_of(s, s.input({half})), sum_of(s, s.input({half})),     sum_of(s, s.input({most})),
                                 sum_of(s, s.input({1})),    sum_of(s, s.input({most + 1})), sum_of(s, s.input({2}))};
    const core::Graph out = bucketed(s.graph(sums));
    CHECK(count(out, OpId::all_reduce) == 5);
  }
}

TEST_CASE("a sum that nobody reads stays a part of its bucket") {
  const WithTwin twin;
  Sketch s;
  const Port x = s.input({3}), y = s.input({2});
  sum_of(s, y);
  const core::Graph out = bucketed(s.graph({sum_of(s, x)}));
  REQUIRE(count(out, OpId::all_reduce) == 1);
  for (const core::GraphNode& node : out.nodes()) {
    if (node.op == OpId::all_reduce) CHECK(out.type(node.first_result).shape == Shape{5});
  }
}

TEST_CASE("gradients are computed into their bucket, summed there, and read there by the update") {
  const WithTwin twin;
  using T = Tensor<Lazy>;
  std::vector<T> parameters{T::variable(T::ones({8, 16}), "a"), T::variable(T::ones({16}), "b"),
                            T::variable(T::ones({16, 4}), "c")};
  const auto objective = [&](T x) {
    {
      const NameScope scope("first");
      x = tanh(matmul(x, parameters[0]) + parameters[1]);
    }
    const NameScope scope("last");
    return mean(square(matmul(x, parameters[2])));
  };
  const auto make = [&](const std::string& passes) {
    CompileOptions options;
    options.passes = {passes};
    return compile(
        [&](T x) {
          auto [loss, gradients] = value_and_grad(objective, parameters)(x);
          const std::vector<T> averages = distributed::average(gradients, x.shape()[0]);
          for (std::size_t i = 0; i < parameters.size(); ++i) {
            assign(parameters[i], parameters[i] - 0.1 * averages[i]);
          }
          return loss;
        },
        options);
  };
  auto with = make(""), without = make("-buckets");
  const T x = T::ones({32, 8}) * 0.25;
  (void)with(x).item<float>();
  (void)without(x).item<float>();
  CHECK(with.report().collectives ==
        std::vector<std::string>{"all_reduce(sum) of f64()", "all_reduce(sum) of f32(208,)"});
  CHECK(without.report().collectives.size() == 4);
  const std::string page = with.html();
  CHECK(page.find(R"("name":"all_reduce","label":"last.c, first.b, first.a","exchanged":832)") != std::string::npos);
  CHECK(page.find(R"("states":832)") != std::string::npos);  // 8 x 16, 16 and 16 x 4
  CHECK(with.report().exchanged_bytes == sizeof(double) + 832);
  CHECK(with.report().unplanned_allocations == 0);
  // No step copies a gradient into the bucket or out of it.
  CHECK(with.report().steps <= without.report().steps - 2);
  CHECK(with.report().arena_bytes <= without.report().arena_bytes + 1024);
}

}  // namespace buckets_test
