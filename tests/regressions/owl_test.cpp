// SPDX-License-Identifier: MIT
// The faults of Owl's computation graph, one named case each: what it got silently wrong, or could not do, must be
// right.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

namespace {

using Tensor = tyto::Tensor<tyto::Lazy>;
using Eager = tyto::Tensor<tyto::Eager>;
using tyto::all;
using tyto::DType;
using tyto::Graph;
using tyto::slice;
using tyto_test::numbers;
using tyto_test::Numbers;

Tensor number_grid(std::int64_t rows, std::int64_t columns, double first = 1) {
  return (Tensor::arange(rows * columns).reshape({rows, columns}) + first).astype(DType::f32);
}

struct Setting {
  Tensor input;
  Tensor value;
};

// The outputs of a graph with all passes and with none, which must be alike; then with the passes' work passed through
// them once more, by compiling what computes them.
std::vector<Numbers> outputs_of(const std::vector<Tensor>& outputs, const std::vector<Setting>& settings) {
  std::vector<std::vector<Numbers>> runs;
  for (const char* passes : {"none", ""}) {
    tyto::CompileOptions options;
    options.passes = passes;
    std::vector<Tensor> inputs;
    for (const Setting& setting : settings) inputs.push_back(setting.input);
    Graph g{{.inputs = inputs, .outputs = outputs}, options};
    for (const Setting& setting : settings) g.set(setting.input, setting.value);
    g.run();
    std::vector<Numbers> found;
    for (std::size_t i = 0; i < outputs.size(); ++i) found.push_back(numbers(g.output(i)));
    runs.push_back(found);
  }
  CHECK(runs[0] == runs[1]);
  return runs[1];
}

}  // namespace

TEST_CASE("owl: a product of two transposed matrices, square and not") {
  const Tensor a = Tensor::placeholder({2, 3}), b = Tensor::placeholder({4, 2});
  // A'B' with A = [[1,2,3],[4,5,6]], B = [[1,2],[3,4],[5,6],[7,8]]
  CHECK(outputs_of({matmul(a.T(), b.T())}, {{a, number_grid(2, 3)}, {b, number_grid(4, 2)}})[0] ==
        Numbers{9, 19, 29, 39, 12, 26, 40, 54, 15, 33, 51, 69});
  const Tensor p = Tensor::placeholder({2, 2}), q = Tensor::placeholder({2, 2});
  CHECK(outputs_of({matmul(p.T(), q.T())}, {{p, number_grid(2, 2)}, {q, number_grid(2, 2, 5)}})[0] ==
        Numbers{23, 31, 34, 46});
}

TEST_CASE("owl: a transposition that changes nothing is not taken for one that does") {
  const Tensor a = Tensor::placeholder({2, 2}), x = Tensor::placeholder({2, 2});
  const Tensor same = tyto::transpose(a, {0, 1});
  CHECK(outputs_of({matmul(same, x)}, {{a, number_grid(2, 2)}, {x, Tensor::eye(2)}})[0] == Numbers{1, 2, 3, 4});
  // Nor an n-d permutation for a transposition of matrices.
  const Tensor t = Tensor::placeholder({2, 2, 2});
  CHECK(outputs_of({matmul(tyto::transpose(t, {1, 0, 2}), x)},
                   {{t, number_grid(4, 2).reshape({2, 2, 2})}, {x, Tensor::eye(2)}})[0] ==
        Numbers{1, 2, 5, 6, 3, 4, 7, 8});
}

TEST_CASE("owl: adding zeros still stretches the other operand") {
  const Tensor x = Tensor::placeholder({1, 2});
  const Tensor y = x + Tensor::zeros({3, 2});
  CHECK(y.shape() == tyto::Shape{3, 2});
  CHECK(outputs_of({y, y * Tensor::ones({3, 1})}, {{x, number_grid(1, 2)}})[0] == Numbers{1, 2, 1, 2, 1, 2});
}

TEST_CASE("owl: one node of zeros added to itself") {
  const Tensor zeros = Tensor::zeros({2});
  const Tensor x = Tensor::placeholder({2});
  CHECK(outputs_of({zeros + zeros, (zeros + zeros) + x}, {{x, Tensor{1.0, 2.0}}}) ==
        std::vector<Numbers>{{0, 0}, {1, 2}});
}

TEST_CASE("owl: one product added to itself") {
  const Tensor a = Tensor::placeholder({2}), b = Tensor::placeholder({2});
  const Tensor m = a * b;
  CHECK(outputs_of({m + m}, {{a, Tensor{2.0, 3.0}}, {b, Tensor{5.0, 7.0}}})[0] == Numbers{20, 42});
}

TEST_CASE("owl: a product that is output and operand of a sum follows its inputs") {
  const Tensor a = Tensor::placeholder({2}), b = Tensor::placeholder({2}), c = Tensor::placeholder({2});
  const Tensor m = a * b, sum = m + c;
  Graph g{{.inputs = {a, b, c}, .outputs = {m, sum}}};
  g.set(a, Tensor{2.0, 3.0});
  g.set(b, Tensor{5.0, 7.0});
  g.set(c, Tensor{1.0, 1.0});
  g.run();
  CHECK(numbers(g[m]) == Numbers{10, 21});
  CHECK(numbers(g[sum]) == Numbers{11, 22});
  g.set(a, Tensor{1.0, 1.0});
  g.run();
  CHECK(numbers(g[m]) == Numbers{5, 7});
  CHECK(numbers(g[sum]) == Numbers{6, 8});
}

TEST_CASE("owl: a repeated row added to a small operand") {
  const Tensor a = Tensor::placeholder({1, 2}), b = Tensor::placeholder({1, 2});
  const Tensor y = tyto::tile(a, {3, 1}) + b;
  CHECK(outputs_of({y, repeat(a, 3, 0) * b}, {{a, number_grid(1, 2)}, {b, number_grid(1, 2, 10)}}) ==
        std::vector<Numbers>{{11, 13, 11, 13, 11, 13}, {10, 22, 10, 22, 10, 22}});
}

TEST_CASE("owl: optimising twice changes nothing the second time") {
  const Tensor x = Tensor::placeholder({2});
  const Tensor y = x * 3.0 + x + Tensor::zeros({2}), z = -(-y) * 1.0;
  Graph first{{.inputs = {x}, .outputs = {y, z}}};
  first.prepare();
  first.prepare();
  Graph second{{.inputs = {x}, .outputs = {y, z}}};
  CHECK(first.report().nodes == second.report().nodes);
  CHECK(first.report().steps == second.report().steps);
  for (Graph* g : {&first, &second}) {
    g->set(x, Tensor{1.0, -2.0});
    g->run();
    CHECK(numbers(g->output(1)) == Numbers{4, -8});
  }
}

TEST_CASE("owl: maxima, minima, hypotenuses, stacks and fancy indices can be optimised") {
  const Tensor a = Tensor::placeholder({2}), b = Tensor::placeholder({2});
  CHECK(outputs_of({maximum(a, b), minimum(a, b), hypot(a, b), stack(std::vector<Tensor>{a, b}), a(Tensor{1, 1, 0}),
                    set(a, {Tensor{1}}, 9.0)},
                   {{a, Tensor{3.0, 8.0}}, {b, Tensor{4.0, 6.0}}}) ==
        std::vector<Numbers>{{4, 8}, {3, 6}, {5, 10}, {3, 8, 4, 6}, {8, 8, 3}, {3, 9}});
}

TEST_CASE("owl: what lies above a number divided by a tensor is optimised too") {
  const Tensor x = Tensor::placeholder({2});
  const Tensor common = exp(x * 1.0) + exp(x * 1.0);
  const Tensor y = 1.0 / (common + Tensor::zeros({2}) + 1.0);
  tyto::CompileOptions none;
  none.passes = "none";
  Graph plain{{.inputs = {x}, .outputs = {y}}, none};
  Graph optimised{{.inputs = {x}, .outputs = {y}}};
  CHECK(optimised.report().nodes < plain.report().nodes);
  CHECK(outputs_of({y}, {{x, Tensor{0.0, 0.0}}})[0] == Numbers{1.0f / 3.0f, 1.0f / 3.0f});
}

TEST_CASE("owl: two roots, one computed from the other") {
  const Tensor x = Tensor{0.25, -1.0} * 2.0;
  const Tensor s = x * x, c = -s;
  tyto::eval({s, c});
  CHECK(numbers(s) == Numbers{0.25, 4});
  CHECK(numbers(c) == Numbers{-0.25, -4});
}

TEST_CASE("owl: an intermediate value read after the whole was evaluated") {
  const Tensor x = Tensor{1.0, 2.0} + 1.0;
  const Tensor a = x * x, b = a + 1.0, c = b * b, d = c - x;
  CHECK(numbers(d) == Numbers{23, 97});
  CHECK(numbers(c) == Numbers{25, 100});
  CHECK(numbers(a) == Numbers{4, 9});
  CHECK(numbers(b) == Numbers{5, 10});
}

TEST_CASE("owl: an expression over two intermediate values") {
  const Tensor x = Tensor{1.0, 2.0} + 1.0;
  const Tensor a = x * 2.0, b = a + 1.0, c = b * 3.0;
  CHECK(numbers(c) == Numbers{15, 21});
  CHECK(numbers(a + b) == Numbers{9, 13});
  CHECK(numbers(a * c) == Numbers{60, 126});
}

TEST_CASE("owl: an update of one input does not spoil what the other inputs gave") {
  const Tensor a = Tensor::placeholder({2, 2}), b = Tensor::placeholder({2, 2}), c = Tensor::placeholder({2, 2});
  const Tensor d = matmul(c * 2.0, b * 2.0);
  const Tensor y = d.T() + d * a;
  Graph g{{.inputs = {a, b, c}, .outputs = {y}}};
  g.set(a, Tensor::ones({2, 2}));
  g.set(b, Tensor::eye(2));
  g.set(c, number_grid(2, 2));
  g.run();
  CHECK(numbers(g[y]) == Numbers{8, 20, 20, 32});
  g.set(a, Tensor::full({2, 2}, 10, DType::f32));
  g.run();
  CHECK(numbers(g[y]) == Numbers{44, 92, 128, 176});
}

TEST_CASE("owl: random graphs follow partial updates of their inputs") {
  std::mt19937 random(1);
  const auto pick = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    // A list of operations on numbered values, played in either mode.
    struct Line {
      std::size_t op, a, b;
    };
    std::vector<Line> lines;
    const std::size_t length = 2 + pick(25);
    for (std::size_t i = 0; i < length; ++i) lines.push_back({pick(7), pick(3 + i), pick(3 + i)});
    const auto play = [&](auto values) {
      for (const Line& line : lines) {
        const auto a = values[line.a], b = values[line.b];
        switch (line.op) {
          case 0: values.push_back(a + b); break;
          case 1: values.push_back(a * b * 0.5); break;
          case 2: values.push_back(a.T() - b); break;
          case 3: values.push_back(maximum(a, b)); break;
          case 4: values.push_back(tanh(matmul(a, b))); break;
          case 5: values.push_back(set(a, {0}, b(1))); break;
          default: values.push_back(a(slice({}, {}, -1)) + b.sum(0)); break;
        }
        values.back() = tanh(values.back());
      }
      return values;
    };
    const std::vector<Tensor> inputs{Tensor::placeholder({3, 3}), Tensor::placeholder({3, 3}),
                                     Tensor::placeholder({3, 3})};
    const std::vector<Tensor> values = play(inputs);
    const std::vector<Tensor> outputs{values.back(), values[3 + pick(length)]};
    const std::size_t second = static_cast<std::size_t>(
        std::find_if(values.begin(), values.end(),
                     [&](const Tensor& v) { return same_value(v.value(), outputs[1].value()); }) -
        values.begin());
    std::vector<Eager> given;
    for (int i = 0; i < 3; ++i) given.push_back(Eager::normal({3, 3}));
    for (const char* passes : {"none", ""}) {
      tyto::CompileOptions options;
      options.passes = passes;
      Graph g{{.inputs = inputs, .outputs = outputs}, options};
      for (std::size_t i = 0; i < 3; ++i) g.set(inputs[i], Tensor::from(given[i].to_vector<float>(), {3, 3}));
      for (int update = 0; update < 4; ++update) {
        g.run();
        const std::vector<Eager> expected = play(given);
        REQUIRE(tyto::allclose(Eager::from(g.output(0).to_vector<float>(), {3, 3}), expected.back(), 1e-5, 1e-6));
        REQUIRE(tyto::allclose(Eager::from(g.output(1).to_vector<float>(), {3, 3}), expected[second], 1e-5, 1e-6));
        const std::size_t which = pick(3);
        given[which] = Eager::normal({3, 3});
        g.set(inputs[which], Tensor::from(given[which].to_vector<float>(), {3, 3}));
      }
    }
  }
}

TEST_CASE("owl: a diamond below an input whose shape is known at the first call only") {
  auto f = tyto::compile([](Tensor x) {
    const Tensor left = x + 1.0, right = x * 2.0;
    return left * right;
  });
  CHECK(numbers(f(Tensor{1.0, 2.0})) == Numbers{4, 12});
  CHECK(numbers(f(number_grid(2, 2))) == Numbers{4, 12, 24, 40});
}

TEST_CASE("owl: an input without a value is an error that names it") {
  const Tensor x = Tensor::placeholder({2}, DType::f32, "speed");
  CHECK_THROWS_WITH_AS(numbers(x + 1.0), "input 'speed' of shape (2,) is read before a value was assigned to it",
                       tyto::GraphError);
  Graph g{{.inputs = {x}, .outputs = {x + 1.0}}};
  CHECK_THROWS_WITH_AS(g.run(), "input 'speed' of shape (2,) was given no value", tyto::GraphError);
}

TEST_CASE("owl: an input of another shape than before") {
  auto f = tyto::compile([](Tensor x) { return x / static_cast<double>(x.size()) + x.mean(); });
  CHECK(numbers(f(Tensor{2.0, 4.0})) == Numbers{4, 5});
  CHECK(numbers(f(Tensor{2.0, 4.0, 6.0, 8.0})) == Numbers{5.5, 6, 6.5, 7});
  CHECK(numbers(f(Tensor{2.0, 4.0})) == Numbers{4, 5});
  // A placeholder keeps its shape, since what is recorded below it was recorded for that; it says so and stays whole.
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Tensor y = x * 2.0;
  assign(x, Tensor{1.0, 2.0});
  CHECK_THROWS_WITH_AS(assign(x, Tensor{1.0, 2.0, 3.0}),
                       "assign: 'x' has shape (2,), given (3,); what was recorded from a placeholder keeps its shapes, "
                       "compile() records anew for each",
                       tyto::ShapeError);
  CHECK(numbers(y) == Numbers{2, 4});
  Graph g{{.inputs = {x}, .outputs = {y}}};
  CHECK_THROWS_AS(g.set(x, Tensor{1.0, 2.0, 3.0}), tyto::ShapeError);
}

TEST_CASE("owl: an operation added after the graph was made follows its inputs") {
  const Tensor x = Tensor::placeholder({2});
  const Tensor y = x * 2.0;
  Graph g{{.inputs = {x}, .outputs = {y}}};
  g.set(x, Tensor{1.0, 1.0});
  g.run();
  const Tensor z = y + x;
  assign(x, Tensor{5.0, 6.0});
  CHECK(numbers(z) == Numbers{15, 18});
  assign(x, Tensor{1.0, 0.0});
  CHECK(numbers(z) == Numbers{3, 0});
  CHECK(numbers(g[y]) == Numbers{2, 2});
}

TEST_CASE("owl: a result that is held does not change when the graph runs again") {
  const Tensor x = Tensor::placeholder({2});
  const Tensor y = x + 1.0;
  Graph g{{.inputs = {x}, .outputs = {y}}};
  g.set(x, Tensor{1.0, 1.0});
  g.run();
  const Tensor held = g[y];
  const Tensor keeps_seen_alive = g[y];
  const std::span<const float> seen = keeps_seen_alive.data<float>();
  g.set(x, Tensor{7.0, 7.0});
  g.run();
  CHECK(numbers(held) == Numbers{2, 2});
  CHECK(numbers(keeps_seen_alive) == Numbers{2, 2});
  CHECK(numbers(g[y]) == Numbers{8, 8});
  (void)seen;
}

TEST_CASE("owl: the caller's array is not touched") {
  std::vector<float> first{1, 2}, second{3, 4};
  const Tensor x = Tensor::placeholder({2});
  const Tensor w = Tensor::variable(Tensor::borrow(first.data(), {2}));
  Graph g{{.inputs = {x}, .outputs = {x * 2.0 + w}, .updates = {{w, w + x}}}};
  for (std::vector<float>* mine : {&first, &second, &first}) {
    g.set(x, Tensor::borrow(mine->data(), {2}));
    g.run();
  }
  CHECK(first == std::vector<float>{1, 2});
  CHECK(second == std::vector<float>{3, 4});
  CHECK(numbers(w) == Numbers{1 + 1 + 3 + 1, 2 + 2 + 4 + 2});
}

TEST_CASE("owl: writing a slice is seen") {
  Tensor x = Tensor::zeros({2, 3});
  x(all, slice(1, 3)) = 5;
  CHECK(numbers(x) == Numbers{0, 5, 5, 0, 5, 5});
  x(Tensor{1}) = Tensor{1.0, 2.0, 3.0};
  CHECK(numbers(x) == Numbers{0, 5, 5, 1, 2, 3});
}

TEST_CASE("owl: powers, extremes, hypotenuses and comparisons broadcast") {
  const Tensor column = number_grid(2, 1), row = number_grid(1, 3);
  CHECK(numbers(power(column, row)) == Numbers{1, 1, 1, 2, 4, 8});
  CHECK(numbers(minimum(column, row)) == Numbers{1, 1, 1, 1, 2, 2});
  CHECK(numbers(maximum(column, row)) == Numbers{1, 2, 3, 2, 2, 3});
  CHECK(numbers(hypot(column * 3.0, row * 4.0))[0] == 5);
  CHECK(numbers(column < row) == Numbers{0, 1, 1, 0, 0, 1});
  CHECK(numbers(column == row) == Numbers{1, 0, 0, 0, 1, 0});
  CHECK(numbers(column >= row) == Numbers{1, 0, 0, 1, 1, 0});
}

TEST_CASE("owl: pooling over one axis and over three") {
  const Tensor line = number_grid(1, 4).reshape({1, 4, 1});
  CHECK(numbers(max_pool(line, 2)) == Numbers{2, 4});
  CHECK(numbers(average_pool(line, 2)) == Numbers{1.5, 3.5});
  const Tensor cube = number_grid(2, 4).reshape({1, 2, 2, 2, 1});
  CHECK(numbers(max_pool(cube, 2)) == Numbers{8});
  CHECK(numbers(average_pool(cube, 2)) == Numbers{4.5});
}

TEST_CASE("owl: a sum without its axis has the shape without its axis") {
  const Tensor x = number_grid(2, 3);
  const Tensor s = x.sum(0);
  CHECK(s.shape() == tyto::Shape{3});
  CHECK(numbers(s) == Numbers{5, 7, 9});
  CHECK(x.sum(0, true).shape() == tyto::Shape{1, 3});
}

TEST_CASE("owl: operators that could be built but not run") {
  const Tensor x = number_grid(2, 3);
  CHECK(numbers(logsumexp(Tensor{0.0, 0.0}))[0] == doctest::Approx(std::log(2.0)));
  CHECK(numbers(stack(std::vector<Tensor>{x(0), x(1)}, 1)) == Numbers{1, 4, 2, 5, 3, 6});
  CHECK(numbers(tyto::fold<tyto::Lazy>(
            x, 1, Tensor{0.0, 0.0}, [](const Tensor& a, const Tensor& b) { return a * 2.0 + b; })) == Numbers{11, 32});
  CHECK(numbers(tyto::scan<tyto::Lazy>(x, 1, [](const Tensor& a, const Tensor& b) { return a + b; })) ==
        Numbers{1, 3, 6, 4, 9, 15});
  CHECK(numbers(split(x, 3, 1)[2]) == Numbers{3, 6});
  CHECK(numbers(Tensor::from_function({2, 2}, [](std::span<const std::int64_t> i) {
          return double(10 * i[0] + i[1]);
        })) == Numbers{0, 1, 10, 11});
  CHECK(numbers(x(Tensor{1, 0}, Tensor{2, 2})) == Numbers{6, 3});
  CHECK(numbers(set(x, {Tensor{1, 0}, Tensor{2, 2}}, 0.0)) == Numbers{1, 2, 0, 4, 5, 0});
  CHECK(choice(x, 5).shape() == tyto::Shape{5, 3});
  CHECK(numbers(dawsn(Tensor{0.0})) == Numbers{0});
  const Tensor mapped =
      tyto::delay<tyto::Lazy>({3}, DType::f32, [](const std::vector<Eager>& in) { return in[0] * in[0]; }, {x(0)});
  CHECK(numbers(mapped) == Numbers{1, 4, 9});
}

TEST_CASE("owl: gradients of slices, items and concatenations are not zero") {
  const Tensor x = number_grid(2, 2);
  CHECK(numbers(tyto::grad([](Tensor v) { return (v(all, 1) * 3.0).sum(); })(x)) == Numbers{0, 3, 0, 3});
  CHECK(numbers(tyto::grad([](Tensor v) { return v(0, 0) * v(1, 1); })(x)) == Numbers{4, 0, 0, 1});
  CHECK(numbers(tyto::grad([](Tensor v) {
          return (concat(std::vector<Tensor>{v, v * v}, 0) * 2.0).sum();
        })(x)) == Numbers{6, 10, 14, 18});
}

TEST_CASE("owl: jacobians and hessians are not zero") {
  const Tensor x{2.0, 3.0};
  CHECK(numbers(tyto::jacobian([](Tensor v) { return v * v; })(x)) == Numbers{4, 0, 0, 6});
  CHECK(numbers(tyto::hessian([](Tensor v) { return v(0) * v(0) * v(1); })(x)) == Numbers{6, 4, 4, 0});
}

TEST_CASE("owl: the embedding of a recurrent network gets its gradient") {
  // Three steps of a gated recurrence over embedded words, in both modes.
  const auto run = []<class M>(M) {
    using T = tyto::Tensor<M>;
    tyto::seed(9);
    const T embedding = T::variable(T::normal({5, 4}, {.stddev = 0.5}));
    const T weights = T::variable(T::normal({7, 6}, {.stddev = 0.5}));
    const T words{{1, 3, 1}, {0, 1, 4}};
    const auto loss = [&](T indices) {
      T h = T::zeros({2, 3}), c = T::zeros({2, 3});
      for (int t = 0; t < 3; ++t) {
        const T gates = matmul(concat(std::vector<T>{take(embedding, indices(all, t), 0), h}, 1), weights);
        c = sigmoid(gates(all, slice(0, 3))) * (c + tanh(gates(all, slice(3, 6))));
        h = tanh(c);
      }
      return square(h).sum();
    };
    return numbers(value_and_grad(loss, std::vector<T>{embedding})(words).second[0]);
  };
  const Numbers gradient = run(tyto::Lazy());
  CHECK(gradient == run(tyto::Eager()));
  for (const std::size_t word : {0u, 1u, 3u, 4u}) CHECK(std::abs(gradient[4 * word]) > 1e-4);
  for (std::size_t i = 8; i < 12; ++i) CHECK(gradient[i] == 0);  // word 2 does not occur
}

TEST_CASE("owl: batches of seven out of twenty samples") {
  const Tensor inputs = number_grid(20, 1), targets = inputs * 2.0;
  const Tensor w = Tensor::variable(Tensor{0.0});
  auto step = tyto::compile([&](Tensor x, Tensor t) {
    const auto [loss, gradients] =
        value_and_grad([&](Tensor v) { return mean_squared_error(v * w, t); }, std::vector<Tensor>{w})(x);
    assign(w, w - 0.001 * gradients[0]);
    return loss;
  });
  tyto::nn::Batches<Tensor> batches(inputs, targets, {.size = 7, .shuffle = false});
  std::vector<std::int64_t> sizes;
  for (auto [x, t] : batches) {
    sizes.push_back(x.shape()[0]);
    (void)numbers(step(x, t));
  }
  CHECK(sizes == std::vector<std::int64_t>{7, 7, 6});
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (auto [x, t] : batches) step(x, t);
  }
  CHECK(numbers(w)[0] == doctest::Approx(2).epsilon(1e-3));
}

TEST_CASE("owl: dropout is off and kept statistics are used when a network is used") {
  const tyto::nn::Dropout dropout(0.5);
  const Tensor x = Tensor::ones({100});
  auto use = tyto::compile([&](Tensor v) { return Tensor(dropout.forward(v.value(), tyto::nn::inference).value()); });
  auto train = tyto::compile([&](Tensor v) { return Tensor(dropout.forward(v.value(), tyto::nn::training).value()); });
  CHECK(numbers(use(x)) == Numbers(100, 1));
  CHECK(numbers(train(x)) != numbers(train(x)));
  // Running statistics are persistent states: training moves them, use reads them, whatever the batch.
  const Tensor mean = Tensor::persistent(Tensor::zeros({1}));
  auto normalise = tyto::compile([&](Tensor v) {
    assign(mean, mean * 0.5 + 0.5 * v.mean(0));
    return v - v.mean(0);
  });
  auto infer = tyto::compile([&](Tensor v) { return v - mean; });
  normalise(number_grid(4, 1));
  normalise(number_grid(4, 1));
  CHECK(numbers(mean) == Numbers{1.875});
  CHECK(numbers(infer(number_grid(1, 1))) == Numbers{-0.875});
  CHECK(numbers(infer(number_grid(2, 1))) == Numbers{-0.875, 0.125});
}

TEST_CASE("owl: samples drawn in the default order train") {
  const Tensor inputs = number_grid(6, 1);
  tyto::nn::Batches<Tensor> batches(inputs, inputs, {.size = 4});
  Numbers seen;
  for (auto [x, t] : batches) {
    for (const double each : numbers(x)) seen.push_back(each);
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == Numbers{1, 2, 3, 4, 5, 6});
}

TEST_CASE("owl: training stops when it is told to") {
  const Tensor inputs = number_grid(8, 1);
  tyto::nn::Batches<Tensor> batches(inputs, inputs, {.size = 1});
  auto step = tyto::compile([](Tensor x, Tensor t) { return mean_squared_error(x, t); });
  const auto report = tyto::nn::train(
      step, batches,
      {.epochs = 5, .progress = false, .after_step = [](const tyto::nn::StepReport& r) { return r.steps < 3; }});
  CHECK(report.steps == 3);
}

TEST_CASE("owl: Adam and decaying rates count the true number of updates in a compiled step") {
  const Tensor w = Tensor::variable(Tensor{1.0});
  tyto::nn::Descent adam = tyto::nn::adam({.rate = tyto::nn::inverse_decay(0.1, 1.0)});
  auto step =
      tyto::compile([&](Tensor gradient) { adam.update(std::vector<Tensor>{w}, std::vector<Tensor>{gradient}); });
  // With a constant gradient the corrected means give a change of just the rate: 0.1 / (1 + n) at update n.
  double expected = 1;
  for (int n = 0; n < 4; ++n) {
    step(Tensor{3.0});
    expected -= 0.1 / (1 + n);
    CHECK(numbers(w)[0] == doctest::Approx(expected).epsilon(1e-5));
  }
  CHECK(adam.count() == 4);
}

TEST_CASE("owl: a chain of a million nodes is built, evaluated and taken down") {
  Tensor x = Tensor::zeros({});
  for (int i = 0; i < 1000000; ++i) x = x + 1.0;
  CHECK(x.item<float>() == 1e6f);
  Tensor never_read = x;
  for (int i = 0; i < 1000000; ++i) never_read = never_read * 1.0;
}

TEST_CASE("owl: forty thousand readers of one node") {
  const Tensor x = Tensor{1.0, 2.0} * 3.0;
  std::vector<Tensor> readers;
  for (int i = 0; i < 40000; ++i) readers.push_back(x + static_cast<double>(i));
  const Tensor total = stack(readers).sum(0);
  const double sum = 40000.0 * 39999.0 / 2;
  CHECK(numbers(total)[0] == doctest::Approx(sum + 3 * 40000.0).epsilon(1e-5));
  CHECK(numbers(readers[123]) == Numbers{126, 129});
}

TEST_CASE("owl: eight hundred pairs of states and their next values") {
  std::vector<Tensor> states;
  std::vector<tyto::Update> updates;
  const Tensor x = Tensor::placeholder({});
  for (int i = 0; i < 800; ++i) {
    states.push_back(Tensor::variable(Tensor::full({}, static_cast<double>(i), DType::f32)));
    updates.push_back({states.back(), states.back() * 0.5 + x});
  }
  Graph g{{.inputs = {x}, .updates = updates}};
  g.set(x, Tensor::full({}, 1.0));
  for (int run = 0; run < 3; ++run) g.run();
  for (int i = 0; i < 800; ++i) {
    REQUIRE(states[static_cast<std::size_t>(i)].item<float>() == static_cast<float>(i) / 8.0f + 1.75f);
  }
  CHECK(g.variables().size() == 800);
}
