// SPDX-License-Identifier: MIT
// Partial runs recompute only what depends on changed inputs, and give the numbers of a whole run.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/placed_tensor.hpp"

namespace tyto {
namespace {

using L = Tensor<Lazy>;

const CompileOptions poisoned{.check_plan = true, .poison = true, .passes = "none"};

float number(const L& x) { return x.item<float>(); }

}  // namespace

TEST_CASE("a run computes what depends on the inputs that were set, and nothing else") {
  const L a = L::placeholder({4}, DType::f32, "a"), b = L::placeholder({4}, DType::f32, "b");
  const L of_a = tanh(exp(a) + 1), of_b = sqrt(exp(b) + 2);
  const L both = (of_a * of_b).sum();
  Graph graph({.inputs = {a, b}, .outputs = {both, of_a.sum(), of_b.sum()}}, poisoned);
  const auto expected = [](float x, float y) { return 4 * std::tanh(std::exp(x) + 1) * std::sqrt(std::exp(y) + 2); };
  graph.set(a, L::full({4}, 0.1F));
  graph.set(b, L::full({4}, 0.2F));
  graph.run();
  const std::size_t all_steps = graph.report().last_run_steps;
  CHECK(all_steps == graph.report().steps);
  CHECK(number(graph[both]) == doctest::Approx(expected(0.1F, 0.2F)));

  graph.run();
  CHECK(graph.report().last_run_steps == 0);
  CHECK(number(graph[both]) == doctest::Approx(expected(0.1F, 0.2F)));

  for (int round = 0; round < 3; ++round) {
    const float x = 0.3F + static_cast<float>(round);
    graph.set(a, L::full({4}, x));
    graph.run();
    // exp, + 1, tanh, the product and its sum, the sum of of_a.
    CHECK(graph.report().last_run_steps == 6);
    CHECK(number(graph[both]) == doctest::Approx(expected(x, 0.2F)));
    CHECK(number(graph.output(2)) == doctest::Approx(4 * std::sqrt(std::exp(0.2F) + 2)));
  }
  graph.set(b, L::full({4}, 0.5F));
  graph.run();
  CHECK(graph.report().last_run_steps == 6);
  CHECK(number(graph[both]) == doctest::Approx(expected(2.3F, 0.5F)));
  CHECK(graph.report().kept_bytes > 0);
  CHECK(graph.report().unplanned_allocations == 0);
  graph.set(a, L::full({4}, 0.7F));
  graph.set(b, L::full({4}, 0.8F));
  graph.run();
  CHECK(number(graph[both]) == doctest::Approx(expected(0.7F, 0.8F)));
  CHECK(number(graph.output(1)) == doctest::Approx(4 * std::tanh(std::exp(0.7F) + 1)));
}

TEST_CASE("values that share memory in a whole run are right after a partial one") {
  // Owl's smallest wrong answer: y = transpose(d) + d * a with d = dot(sigmoid c, sigmoid b), then only a set anew.
  const L a = L::placeholder({2, 2}, DType::f32, "a"), b = L::placeholder({2, 2}, DType::f32, "b"),
          c = L::placeholder({2, 2}, DType::f32, "c");
  const L d = matmul(sigmoid(c), sigmoid(b));
  const L y = d.transpose() + d * a;
  Graph graph({.inputs = {a, b, c}, .outputs = {y}}, poisoned);
  graph.set(a, L::full({2, 2}, 1.0F));
  graph.set(b, L::zeros({2, 2}));
  graph.set(c, L::zeros({2, 2}));
  graph.run();
  CHECK(graph[y].to_vector<float>() == std::vector<float>(4, 1.0F));  // d is a half everywhere
  graph.set(a, L{{1.0F, 3.0F}, {5.0F, 7.0F}});
  graph.run();
  CHECK(graph[y].to_vector<float>() == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("results that were read stay as they are through partial runs") {
  const L a = L::placeholder({3}), b = L::placeholder({3});
  const L sum = a + exp(b), product = b * 2;
  Graph graph({.inputs = {a, b}, .outputs = {sum, product}}, poisoned);
  graph.set(a, L::zeros({3}));
  graph.set(b, L::zeros({3}));
  graph.run();
  const L first = graph[sum], second = graph[product];
  graph.set(a, L::full({3}, 5));
  graph.run();
  CHECK(first.to_vector<float>() == std::vector<float>{1, 1, 1});
  CHECK(graph[sum].to_vector<float>() == std::vector<float>{6, 6, 6});
  graph.set(b, L::full({3}, 1));
  graph.run();
  CHECK(second.to_vector<float>() == std::vector<float>{0, 0, 0});
  CHECK(graph[product].to_vector<float>() == std::vector<float>{2, 2, 2});
}

TEST_CASE("states: updated ones change from run to run, assigned ones when they are assigned") {
  const L x = L::placeholder({2}, DType::f32, "x");
  const L w = L::variable(L::full({2}, 1.0F), "w"), scale = L::persistent(L::full({2}, 2.0F), "scale");
  const L heavy = exp(x) * 0 + 1;  // ones
  const L next = w + heavy * scale, out = (w * heavy).sum();
  Graph graph({.inputs = {x}, .outputs = {out}, .updates = {{w, next}}}, poisoned);
  graph.set(x, L::zeros({2}));
  for (const float expected : {2.0F, 6.0F, 10.0F}) {  // w is 1, 3, 5
    graph.run();
    CHECK(number(graph[out]) == expected);
  }
  CHECK(graph.report().last_run_steps < graph.report().steps);  // nothing of x
  assign(scale, L::full({2}, 10.0F));
  graph.run();
  CHECK(number(graph[out]) == 14);
  graph.run();
  CHECK(number(graph[out]) == 34);
  assign(w, L::full({2}, 0.5F));
  graph.run();
  CHECK(number(graph[out]) == 1);
  CHECK(w.to_vector<float>() == std::vector<float>{10.5F, 10.5F});
}

TEST_CASE("a state whose update does not read it has its update again after it was assigned") {
  const L x = L::placeholder({2}, DType::f32, "x");
  const L w = L::variable(L::full({2}, 1.0F), "w"), v = L::variable(L::full({2}, 1.0F), "v");
  const L of_x = exp(x) * 0 + 3, seen = (v * of_x).sum();
  Graph graph({.inputs = {x}, .outputs = {seen}, .updates = {{w, of_x * 2}, {v, of_x * 4}}}, poisoned);
  graph.set(x, L::zeros({2}));
  graph.run();
  CHECK(number(graph[seen]) == 6);  // v is 1, then 12
  CHECK(w.to_vector<float>() == std::vector<float>{6, 6});
  for (const float given : {0.5F, 0.25F}) {
    assign(w, L::full({2}, given));
    CHECK(w.to_vector<float>() == std::vector<float>{given, given});
    graph.run();  // nothing but w has changed
    CHECK(w.to_vector<float>() == std::vector<float>{6, 6});
    CHECK(number(graph[seen]) == 72);
  }
  // One that is read before it is updated: the run sees what was assigned.
  assign(v, L::full({2}, 2.0F));
  graph.run();
  CHECK(number(graph[seen]) == 12);
  CHECK(v.to_vector<float>() == std::vector<float>{12, 12});
  graph.set(x, L::full({2}, 1.0F));
  assign(w, L::zeros({2}));
  graph.run();
  CHECK(w.to_vector<float>() == std::vector<float>{6, 6});
}

TEST_CASE("a state that another graph updates in place counts as changed") {
  const L w = L::variable(L::full({2}, 1.0F), "w");
  const L x = L::placeholder({2});
  const L seen = exp(w * 0) * w + x;
  Graph reader({.inputs = {x}, .outputs = {seen}}, poisoned);
  Graph writer({.inputs = {}, .outputs = {}, .updates = {{w, w + 1}}}, poisoned);
  reader.set(x, L::zeros({2}));
  reader.run();
  CHECK(reader[seen].to_vector<float>() == std::vector<float>{1, 1});
  writer.run();
  reader.run();
  CHECK(reader[seen].to_vector<float>() == std::vector<float>{2, 2});
  writer.run();
  writer.run();
  reader.set(x, L::full({2}, 10));
  reader.run();
  CHECK(reader[seen].to_vector<float>() == std::vector<float>{14, 14});
}

TEST_CASE("a state that a run wrote in place before it failed counts as changed") {
  const L w = L::variable(L::full({2}, 1.0F), "w");
  const L seen = exp(w * 0) * w;
  Graph reader({.inputs = {}, .outputs = {seen}}, poisoned);
  // The new value says which element is read, and there is none of that number.
  const L next = w + 1, index = cast(sum(next), DType::i64).reshape({1});
  Graph writer({.inputs = {}, .outputs = {take(L::zeros({3}), index, 0)}, .updates = {{w, next}}}, poisoned);
  reader.run();
  CHECK(reader[seen].to_vector<float>() == std::vector<float>{1, 1});
  CHECK_THROWS_AS(writer.run(), IndexError);
  reader.run();
  CHECK(reader[seen].to_vector<float>() == w.to_vector<float>());
}

TEST_CASE("random numbers are drawn anew in every run") {
  const L x = L::placeholder({2});
  const L noise = L::uniform({64}), out = noise.sum() + x.sum(), still = exp(x).sum();
  Graph graph({.inputs = {x}, .outputs = {out, still}}, poisoned);
  graph.set(x, L::zeros({2}));
  graph.run();
  const float first = number(graph[out]);
  graph.run();
  CHECK(number(graph[out]) != first);
  CHECK(number(graph[still]) == 2);
}

TEST_CASE("a function of the user's that takes nothing is called in every run, and by no change alone") {
  int calls = 0;
  const CustomOp counter = custom_op({.name = "counter",
                                      .inputs = 0,
                                      .results =
                                          [](ArrayTypes) {
                                            return std::vector<ArrayType>{{DType::f32, {2}}};
                                          },
                                      .host =
                                          [&](HostInputs, HostResults out) {
                                            ++calls;
                                            for (float& each : out[0].data<float>()) each = static_cast<float>(calls);
                                          }});
  const L a = L::placeholder({2}, DType::f32, "a");
  const L count = counter.apply(std::vector<L>{})[0];
  Graph graph({.inputs = {a}, .outputs = {(count * 10).sum(), exp(a).sum()}}, poisoned);
  const int before = calls;
  graph.set(a, L::zeros({2}));
  for (int run = 1; run < 4; ++run) {
    graph.run();
    CHECK(calls == before + run);
    CHECK(number(graph.output(0)) == 20.0F * static_cast<float>(calls));
    CHECK(number(graph.output(1)) == 2);
  }
}

TEST_CASE("a run that fails leaves nothing stale behind") {
  const L x = L::placeholder({2}), at = L::placeholder({1}, DType::i64, "at");
  const L picked = gather(exp(x), {at}).sum(), other = x.sum();
  Graph graph({.inputs = {x, at}, .outputs = {picked, other}}, poisoned);
  graph.set(x, L::zeros({2}));
  CHECK_THROWS_AS(graph.run(), GraphError);  // `at` was given no value
  graph.set(at, L{0});
  graph.run();
  CHECK(number(graph[picked]) == 1);
  graph.set(at, L{7});
  CHECK_THROWS_AS(graph.run(), IndexError);
  graph.set(at, L{1});
  graph.set(x, L{0.0F, 1.0F});
  graph.run();
  CHECK(number(graph[picked]) == doctest::Approx(std::exp(1.0F)));
  CHECK(number(graph[other]) == 1);
}

TEST_CASE("random graphs under random partial assignments agree with whole evaluations") {
  placed::Dice dice(20240607);
  constexpr int graphs = 60, rounds = 12;
  for (int g = 0; g < graphs; ++g) {
    CAPTURE(g);
    const Shape shape{2, 3};
    std::vector<L> inputs;
    const auto input_count = static_cast<std::size_t>(dice.between(1, 5));
    for (std::size_t i = 0; i < input_count; ++i) inputs.push_back(L::placeholder(shape, DType::f64));
    // The same moves are made on any leaves, so that what is expected comes from fresh evaluations.
    struct Move {
      int kind;
      std::size_t a, b;
    };
    std::vector<Move> moves;
    for (std::int64_t n = dice.between(3, 25); n > 0; --n) {
      const auto made = static_cast<std::int64_t>(input_count + moves.size());
      moves.push_back({static_cast<int>(dice.below(9)), static_cast<std::size_t>(dice.below(made)),
                       static_cast<std::size_t>(dice.below(made))});
    }
    const auto build = [&](std::vector<L> values) {
      for (const Move& move : moves) {
        const L a = values[move.a], b = values[move.b];
        switch (move.kind) {
          case 0: values.push_back(tanh(a + b)); break;
          case 1: values.push_back(tanh(a) * b); break;
          case 2: values.push_back(tanh(matmul(a, b.transpose())).sum() * a); break;
          case 3: values.push_back(a.transpose().reshape(shape) - b); break;
          case 4: values.push_back(concat<Lazy>({sin(a)(slice(0, 1)), cos(b)(slice(1, 2))}, 0)); break;
          case 5: {
            L c = sin(a);
            c(all, 1) = b(all, 0);
            values.push_back(c);
            break;
          }
          case 6: values.push_back(pad(sin(a)(all, slice(0, 2)), {0, 1}, {0, 0}) + b); break;
          case 7: values.push_back(where(a > b, a, sin(b))); break;
          default: values.push_back(softmax(a + b, 1)); break;
        }
      }
      return values;
    };
    const std::vector<L> recorded = build(inputs);
    std::vector<L> outputs;
    std::vector<std::size_t> numbers;
    for (std::int64_t n = dice.between(1, 3); n > 0; --n) {
      numbers.push_back(static_cast<std::size_t>(
          dice.between(static_cast<std::int64_t>(input_count), static_cast<std::int64_t>(recorded.size()) - 1)));
      outputs.push_back(recorded[numbers.back()]);
    }
    Graph graph({.inputs = inputs, .outputs = outputs}, {.check_plan = true, .poison = dice.below(2) == 0});
    std::vector<L> contents(input_count);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < input_count; ++i) {
        if (round != 0 && dice.below(3) != 0) continue;
        std::vector<double> data(6);
        for (double& element : data) element = dice.unit() * 4 - 2;
        contents[i] = L::from(data, shape);
        graph.set(inputs[i], contents[i]);
      }
      graph.run();
      const std::vector<L> fresh = build(contents);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const std::vector<double> got = graph.output(o).to_vector<double>();
        const std::vector<double> expected = fresh[numbers[o]].to_vector<double>();
        for (std::size_t k = 0; k < got.size(); ++k) {
          CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-12));
        }
      }
    }
  }
}

}  // namespace tyto
