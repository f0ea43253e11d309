// SPDX-License-Identifier: MIT
// Errors of loops and branches, in both modes where both can tell.
#include <doctest/doctest.h>

#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/scaled_on_host.hpp"

using tyto::DType;
using tyto::Lazy;

BOTH_MODES("a carry that changes its shape or type is refused when the line is written") {
  using Tensor = tyto::Tensor<Mode>;
  using List = std::vector<Tensor>;
  const List init{Tensor::zeros({3}), Tensor::zeros({2, 3})};
  const auto once = [](const List& c) { return c[0].sum() < 1.0; };
  CHECK_THROWS_WITH_AS(while_loop(init, once,
                                  [](const List& c) {
                                    return List{c[0], Tensor::zeros({2, 4})};
                                  }),
                       "while_loop: carry 1 is f32(2,3), the body yields f32(2,4); what a loop carries keeps its shape",
                       tyto::ShapeError);
  CHECK_THROWS_WITH_AS(while_loop(init, once,
                                  [](const List& c) {
                                    return List{c[0].astype(DType::f64), c[1]};
                                  }),
                       "while_loop: carry 0 is f32(3,), the body yields f64(3,); what a loop carries keeps its type; "
                       "cast one of them with astype",
                       tyto::TypeError);
  CHECK_THROWS_WITH_AS(while_loop(init, once, [](const List& c) { return List{c[0]}; }),
                       "while_loop: the body yields 1 tensors for 2 carries", tyto::GraphError);
  CHECK_THROWS_WITH_AS(while_loop(init, once,
                                  [](const List& c) {
                                    return List{c[0], Tensor()};
                                  }),
                       doctest::Contains("while_loop: "), tyto::GraphError);
}

BOTH_MODES("a condition is one bool") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x{1.0, 2.0};
  const auto same = [](const Tensor& v) { return v; };
  CHECK_THROWS_WITH_AS(while_loop(
                           x, [](const Tensor& v) { return v; }, same),
                       "while_loop: the condition is f32(2,); it must be one bool", tyto::ShapeError);
  CHECK_THROWS_WITH_AS(while_loop(
                           x, [](const Tensor& v) { return v.sum(); }, same),
                       "while_loop: the condition is f32(); it must be one bool", tyto::TypeError);
  CHECK_THROWS_WITH_AS(cond(x, same, same, x), "cond: the condition is f32(2,); it must be one bool", tyto::ShapeError);
  CHECK_THROWS_WITH_AS(while_loop(
                           x, [](const Tensor& v) { return (v + Tensor::uniform({2})).sum() < 3.0; }, same),
                       "while_loop: the condition draws random numbers; draw them in the body and carry them",
                       tyto::GraphError);
}

TEST_CASE("the arms of a branch yield the same types and shapes") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor truth = Tensor::full({}, 1.0) > 0.0;
  const Tensor x{1.0, 2.0};
  CHECK_THROWS_WITH_AS(
      cond(
          truth, [](const Tensor& v) { return v; }, [](const Tensor& v) { return v.astype(DType::i64); }, x),
      "cond: result 0 is f32(2,) in the first arm and i64(2,) in the second arm", tyto::TypeError);
  CHECK_THROWS_WITH_AS(cond(
                           truth, [](const Tensor& v) { return v; }, [](const Tensor& v) { return v.sum(); }, x),
                       "cond: result 0 is f32(2,) in the first arm and f32() in the second arm", tyto::ShapeError);
  using List = std::vector<Tensor>;
  CHECK_THROWS_WITH_AS(cond(
                           truth, [](const Tensor& v) { return List{v}; },
                           [](const Tensor& v) {
                             return List{v, v};
                           },
                           x),
                       "cond: the first arm yields 1 tensors and the second arm 2", tyto::GraphError);
}

BOTH_MODES("an index of an arm is one integer, and there are arms") {
  using Tensor = tyto::Tensor<Mode>;
  using Arm = std::function<Tensor()>;
  const Arm arm = [] { return Tensor::ones({2}); };
  CHECK_THROWS_WITH_AS(switch_case(Tensor::full({}, 1.0), std::vector<Arm>{arm}),
                       "switch_case: the index is f32(); it must be a single integer", tyto::TypeError);
  CHECK_THROWS_WITH_AS(switch_case(Tensor{0, 1}, std::vector<Arm>{arm}),
                       "switch_case: the index is i64(2,); it must be a single integer", tyto::ShapeError);
  CHECK_THROWS_WITH_AS(switch_case(Tensor{0}, std::vector<Arm>{}), "switch_case: there are no arms", tyto::GraphError);
}

BOTH_MODES("stacks of rows have rows, and as many") {
  using Tensor = tyto::Tensor<Mode>;
  using Pair = std::pair<Tensor, Tensor>;
  const auto add_pair = [](const Tensor& c, const Pair& r) { return Pair(c + r.first + r.second, c); };
  const auto add_row = [](const Tensor& c, const Tensor& r) { return Pair(c + r, c); };
  const Tensor zero = Tensor::full({}, 0.0);
  CHECK_THROWS_WITH_AS(scan(add_pair, zero, Pair(Tensor::zeros({5}), Tensor::zeros({6}))),
                       "scan: xs 1 has 6 rows, xs 0 has 5", tyto::ShapeError);
  CHECK_THROWS_WITH_AS(scan(add_row, zero, zero), "scan: xs 0 is f32(); it has no axis to take rows along",
                       tyto::ShapeError);
  CHECK_THROWS_WITH_AS(
      scan([](const Tensor& c, const std::vector<Tensor>&) { return Pair(c, c); }, zero, std::vector<Tensor>{}),
      "scan: there is no tensor to take rows of", tyto::GraphError);
}

BOTH_MODES("options that make no sense are refused") {
  using Tensor = tyto::Tensor<Mode>;
  using Pair = std::pair<Tensor, Tensor>;
  const Tensor zero = Tensor::full({}, 0.0);
  const auto below = [](const Tensor& c) { return c < 1.0; };
  const auto next = [](const Tensor& c) { return c + 1.0; };
  CHECK_THROWS_WITH_AS(while_loop(zero, below, next, {.most = -1}),
                       "while_loop: `most` is -1; it must be positive, or 0 for none", tyto::ValueError);
  CHECK_THROWS_WITH_AS(while_loop(zero, below, next, {.reverse = true}), "while_loop: only scan runs in reverse",
                       tyto::ValueError);
  CHECK_THROWS_WITH_AS(
      scan([](const Tensor& c, const Tensor& r) { return Pair(c + r, c); }, zero, Tensor::zeros({3}), {.most = 2}),
      "scan: `most` is the number of rows", tyto::ValueError);
}

BOTH_MODES("a range whose length no integer holds runs no time where it ends before it begins") {
  using Tensor = tyto::Tensor<Mode>;
  const auto twice = [](const Tensor&, const Tensor& c) { return c * 2.0; };
  const Tensor one = Tensor::full({}, 1.0);
  CHECK(fori_loop(INT64_MAX, INT64_MIN, one, twice).template item<float>() == 1);
  CHECK(fori_loop(1, INT64_MIN, one, twice).template item<float>() == 1);
  const Tensor first = Tensor::full({}, INT64_MAX, DType::i64), last = Tensor::full({}, INT64_MIN, DType::i64);
  CHECK(fori_loop(first, last, one, twice).template item<float>() == 1);
}

TEST_CASE("a value cannot be read while a body is recorded") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor x{1.0, 2.0};
  CHECK_THROWS_WITH_AS(
      fori_loop(0, 3, x, [](const Tensor&, const Tensor& c) { return c.sum().item<float>() > 0 ? c + 1.0 : c; }),
      "a value is read while the body of a loop or branch is recorded, which happens once; choose by cond() or where()",
      tyto::GraphError);
}

TEST_CASE("values of a body cannot be used outside of it unless they are returned") {
  using Tensor = tyto::Tensor<Lazy>;
  Tensor leaked;
  const Tensor x = fori_loop(0, 3, Tensor{1.0, 2.0}, [&](const Tensor&, const Tensor& c) {
    leaked = c * 2.0;
    return c + 1.0;
  });
  CHECK(x.to_vector<float>() == std::vector<float>{4, 5});
  constexpr const char* message =
      "a tensor made while a function or the body of a loop or branch was recorded is used outside of it; return it";
  CHECK_THROWS_WITH_AS(leaked.to_vector<float>(), message, tyto::GraphError);
  CHECK_THROWS_WITH_AS((leaked + x).to_vector<float>(), message, tyto::GraphError);
}

TEST_CASE("a placeholder that nobody holds any more is named") {
  using Tensor = tyto::Tensor<Lazy>;
  const auto scaled = [](const Tensor& x) { return x * Tensor::placeholder({2}, DType::f32, "factor"); };
  constexpr const char* message =
      "placeholder 'factor' of shape (2,) can be given no value, since nobody holds it any more, as when it was made "
      "in "
      "a function that has returned; keep it and list it among the inputs of the graph, or make it an argument of the "
      "function";
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Tensor y = scaled(x);
  CHECK_THROWS_WITH_AS(tyto::Graph({.inputs = {x}, .outputs = {y}}), message, tyto::GraphError);
  CHECK_THROWS_WITH_AS(y.to_vector<float>(), message, tyto::GraphError);
  auto compiled = tyto::compile(scaled);
  CHECK_THROWS_WITH_AS(compiled(Tensor{1.0, 2.0}), message, tyto::GraphError);
  CHECK_THROWS_WITH_AS(fori_loop(0, 3, Tensor{1.0, 2.0}, [&](const Tensor&, const Tensor& c) { return scaled(c); }),
                       message, tyto::GraphError);
}

TEST_CASE("states are made before the loop that uses them") {
  using Tensor = tyto::Tensor<Lazy>;
  CHECK_THROWS_WITH_AS(fori_loop(0, 3, Tensor{1.0},
                                 [](const Tensor&, const Tensor& c) {
                                   const Tensor w = Tensor::variable(Tensor{2.0}, "w");
                                   return c * w;
                                 }),
                       "'w' is made inside the body of a loop or branch; make it before and use it there",
                       tyto::GraphError);
  std::vector<Tensor> kept;
  CHECK_THROWS_WITH_AS(fori_loop(0, 3, Tensor{1.0},
                                 [&](const Tensor&, const Tensor& c) {
                                   kept.push_back(Tensor::placeholder({1}, DType::f32, "p"));
                                   return c * kept.back();
                                 }),
                       "'p' is made inside the body of a loop or branch; make it before and use it there",
                       tyto::GraphError);
  CHECK_THROWS_AS(fori_loop(0, 3, Tensor{1.0},
                            [](const Tensor&, const Tensor& c) {
                              tyto::seed(3);
                              return c;
                            }),
                  tyto::GraphError);
}

TEST_CASE("a loop without a bound has a gradient in eager mode alone") {
  const auto doubled = []<class T>(const T& x) {
    return while_loop(
        x, [](const T& v) { return v < 100.0; }, [](const T& v) { return v * 2.0; });
  };
  const auto eager = tyto::value_and_grad(doubled)(tyto::Tensor<tyto::Eager>::full({}, 3.0));
  CHECK(eager.second[0].item<float>() == 64);
  CHECK_THROWS_WITH_AS(
      tyto::value_and_grad(doubled)(tyto::Tensor<Lazy>::full({}, 3.0)),
      "grad: a while_loop or fori_loop without a bound has no reverse mode in a graph; give {.most = n}",
      tyto::GraphError);
}

BOTH_MODES("the gradient of a loop that calls a user's function without one names that function") {
  using Tensor = tyto::Tensor<Mode>;
  const auto loop = [&](const Tensor& x) {
    return sum(fori_loop(0, 3, x, [&](const Tensor&, const Tensor& c) { return scaled_on_host("half", 0.5F)(c) + x; }));
  };
  CHECK(loop(Tensor::ones({2})).template item<float>() == 3.75F);
  CHECK_THROWS_WITH_AS(tyto::grad(loop)(Tensor::ones({2})), "grad: 'half' is a user's function without a gradient",
                       tyto::GraphError);
}

BOTH_MODES("a loss that does not depend on the function without a gradient has one") {
  using Tensor = tyto::Tensor<Mode>;
  using Pair = std::pair<Tensor, Tensor>;
  const auto beside = [&](const Tensor& x) {
    const auto [halved, cubed] = fori_loop(0, 2, Pair(x, x), [&](const Tensor&, const Pair& c) {
      return Pair(scaled_on_host("half", 0.5F)(c.first), c.second * x);
    });
    return sum(cubed);
  };
  CHECK(sum(tyto::grad(beside)(Tensor::full({2}, 2.0F))).template item<float>() == 24);
  const auto apart = [&](const Tensor& x) {
    const Tensor halved =
        fori_loop(0, 2, x, [&](const Tensor&, const Tensor& c) { return scaled_on_host("half", 0.5F)(c) * x; });
    return sum(x * tyto::stop_gradient(halved));
  };
  CHECK(sum(tyto::grad(apart)(Tensor::full({2}, 2.0F))).template item<float>() == 4);
}

TEST_CASE("a graph with a loop names an input that was given no value") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor p = Tensor::placeholder({2}, DType::f32, "start");
  tyto::Graph graph(
      {.inputs = {p}, .outputs = {fori_loop(0, 3, p, [](const Tensor&, const Tensor& c) { return c * 2.0; })}});
  CHECK_THROWS_WITH_AS(graph.run(), "input 'start' of shape (2,) was given no value", tyto::GraphError);
}
