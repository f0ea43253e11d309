// SPDX-License-Identifier: MIT
// Operators by name: the listing, calls, the shape rule alone, and what is known before anything runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tyto/tyto.hpp>
#include <vector>

using namespace tyto;
using doctest::Contains;

TEST_CASE("operators are listed once, with arity and attributes") {
  std::set<std::string> names;
  for (const OperatorInfo& info : operators()) {
    CHECK(names.insert(info.name).second);
    CHECK(!info.doc.empty());
    CHECK((info.max_inputs < 0 || info.max_inputs >= info.min_inputs));
    CHECK(find_operator(info.name) == &info);
  }
  for (const char* name : {"add", "sum", "matmul", "convolution", "scatter_max", "nms", "random_normal", "pad"}) {
    CHECK(names.contains(name));
  }
  for (const char* engine : {"constant", "state", "read", "fused", "matmul_epilogue", "custom"}) {
    CHECK(!names.contains(engine));
  }
  const OperatorInfo& sum = *find_operator("sum");
  CHECK(sum.min_inputs == 1);
  CHECK(sum.max_inputs == 1);
  CHECK(sum.differentiable);
  CHECK(sum.attributes.contains("axes"));
  CHECK(sum.attributes["keepdims"].to_string() == "false");
  CHECK(find_operator("concat")->max_inputs == -1);
  CHECK(find_operator("topk")->results == 2);
  CHECK(find_operator("where")->elementwise);
  CHECK(find_operator("random_uniform")->random);
  CHECK(find_operator("left_shift")->types.size() == 8);
  CHECK(find_operator("softmax")->types.size() == dtype_count - 2);  // all but the complex ones
  CHECK(find_operator("what") == nullptr);
}

TEST_CASE_TEMPLATE("call applies an operator by its name", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  CHECK(array_equal(call("add", {x, T(1)})[0], x + 1));
  CHECK(array_equal(call("sum", {x}, {{"axes", {-1}}, {"keepdims", true}})[0], sum(x, -1, true)));
  CHECK(array_equal(call("sum", {x}, {{"axes", 0}})[0], sum(x, 0)));
  CHECK(call("sum", {x})[0].template item<float>() == 21);
  CHECK(array_equal(call("softmax", {T{1, 2, 3}}, {{"axis", -1}})[0], softmax(T{1, 2, 3})));
  CHECK(array_equal(call("cast", {x}, {{"dtype", DType::i32}})[0], x.astype(DType::i32)));
  CHECK(array_equal(call("cast", {x}, {{"dtype", "i32"}})[0], x.astype(DType::i32)));
  CHECK(array_equal(call("pad", {x}, {{"before", {0, 1}}, {"after", {0, 2}}, {"mode", "wrap"}})[0],
                    pad(x, {0, 1}, {0, 2}, PaddingMode::wrap)));
  const std::vector<T> best = call("topk", {x}, {{"k", 2}, {"axis", 1}});
  REQUIRE(best.size() == 2);
  CHECK(array_equal(best[1], T{{2, 1}, {2, 1}}));
  CHECK(array_equal(
      call<M>("arange", std::vector<T>{}, {{"shape", {3}}, {"dtype", DType::i64}, {"start", 2}, {"step", 2}})[0],
      T{2, 4, 6}));
  CHECK(call<M>("concat", std::vector<T>(5, x), {{"axis", 1}})[0].shape() == Shape{2, 15});
  const T drawn = call<M>("random_normal", std::vector<T>{}, {{"shape", {3}}, {"key", 7}})[0];
  CHECK(array_equal(drawn, T::normal({3}, {.key = Key{7, 0}})));
}

TEST_CASE_TEMPLATE("call casts the operands of any and all to bool, as their functions do", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (int i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    CAPTURE(type);
    const T x = T{{1, 0, 2}, {3, 4, 5}, {0, 0, 0}}.astype(type);
    const T every = call("all", {x}, {{"axes", {1}}})[0], one = call("any", {x}, {{"axes", {1}}})[0];
    CHECK(every.dtype() == DType::boolean);
    CHECK(every.template to_vector<bool>() == std::vector<bool>{false, true, false});
    CHECK(one.template to_vector<bool>() == std::vector<bool>{true, true, false});
    CHECK(call("any", {x})[0].template item<bool>());
  }
  CHECK(find_operator("any")->types.size() == dtype_count);
}

TEST_CASE_TEMPLATE("call refuses shapes that an operator does not make", M, Eager, Lazy) {
  using T = Tensor<M>;
  const std::vector<T> none;
  CHECK(call<M>("eye", none, {{"shape", {2, 3}}, {"start", 1}})[0].template to_vector<float>() ==
        std::vector<float>{0, 1, 0, 0, 0, 1});
  CHECK_THROWS_WITH_AS(call<M>("eye", none), "eye: a matrix has two axes, not shape ()", ShapeError);
  CHECK_THROWS_WITH_AS(call<M>("eye", none, {{"shape", {3}}}), "eye: a matrix has two axes, not shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(call<M>("eye", none, {{"shape", {3, -1}}}), "eye: shape (3,-1) has a negative length",
                       ShapeError);
  CHECK_THROWS_WITH_AS(call<M>("arange", none, {{"shape", {-1}}}), "arange: shape (-1,) has a negative length",
                       ShapeError);
  CHECK_THROWS_WITH_AS(call<M>("random_normal", none, {{"shape", {-1}}}),
                       "random_normal: shape (-1,) has a negative length", ShapeError);
  for (const char* name : {"upsample_nearest", "upsample_bilinear"}) {
    CHECK(call(name, {T::ones({1, 2, 2, 1})}, {{"window", {2, 2}}})[0].shape() == Shape{1, 4, 4, 1});
    CHECK_THROWS_WITH_AS(call(name, {T::ones({1, 5, 3})}, {{"window", {2}}}),
                         "upsample: (batch, height, width, channels) are needed, not shape (1,5,3)", ShapeError);
  }
}

TEST_CASE("call is differentiated like any other function") {
  using T = Tensor<Eager>;
  const T x{1.0, 2.0, 3.0};
  CHECK(array_equal(grad([](const T& v) { return call("sum", {call("square", {v})[0]})[0]; })(x), 2 * x));
}

TEST_CASE("errors of call name the operator and the wrong argument") {
  using T = Tensor<Eager>;
  const T x = T::ones({2, 3});
  CHECK_THROWS_WITH_AS(call("plus", {x, x}),
                       "call: there is no operator 'plus'; operators() lists those that there are", ValueError);
  CHECK_THROWS_WITH_AS(call("state", {x}), Contains("there is no operator 'state'"), ValueError);
  CHECK_THROWS_WITH_AS(call("sum", {x}, {{"axis", 1}}), "sum: has no attribute 'axis'; it has axes, keepdims",
                       ValueError);
  CHECK_THROWS_WITH_AS(call("add", {x, x}, {{"axis", 1}}), "add: has no attribute 'axis'; it has none", ValueError);
  CHECK_THROWS_WITH_AS(call("sum", {x}, {{"axes", "all"}}), R"(sum: attribute 'axes' is a list of integers, not "all")",
                       TypeError);
  CHECK_THROWS_WITH_AS(call("sum", {x}, {{"keepdims", 2}}), "sum: attribute 'keepdims' is a truth, not 2", TypeError);
  CHECK_THROWS_WITH_AS(call("softmax", {x}, {{"axis", 0.5}}), "softmax: attribute 'axis' is an integer, not 0.5",
                       TypeError);
  CHECK_THROWS_WITH_AS(call("pad", {x}, {{"mode", "mirror"}}), Contains("is one of constant, edge, reflect"),
                       TypeError);
  CHECK_THROWS_WITH_AS(call("add", {x}), "add: given 1 inputs, takes 2", ValueError);
  CHECK_THROWS_WITH_AS(call("gather", {x}), "gather: given 1 inputs, takes 2 or more", ValueError);
  CHECK_THROWS_WITH_AS(call("random_normal", {x}), "random_normal: given 1 inputs, takes none", ValueError);
  CHECK_THROWS_WITH_AS(call("sum", {x}, {{"axes", {2}}}), Contains("sum: axis 2"), IndexError);
  CHECK_THROWS_AS(call("matmul", {x, x}), ShapeError);
}

TEST_CASE("result_types applies the shape rule and nothing else") {
  const std::vector<ArrayType> in{{DType::f32, {1 << 20, 1 << 20}}, {DType::f32, {1 << 20, 3}}};
  CHECK(result_types("matmul", in) == std::vector<ArrayType>{{DType::f32, {1 << 20, 3}}});
  CHECK(result_types("topk", std::vector<ArrayType>{{DType::i32, {5, 4}}}, {{"k", 2}}) ==
        std::vector<ArrayType>{{DType::i32, {5, 2}}, {DType::i64, {5, 2}}});
  CHECK_THROWS_AS(result_types("matmul", std::vector<ArrayType>{in[1], in[0]}), ShapeError);
  const RandomState before = random_state();
  CHECK(result_types("random_normal", {}, {{"shape", {2}}})[0].shape == Shape{2});
  CHECK(random_state().draws == before.draws);
}

TEST_CASE("values that depend on no input, state or draw are known") {
  using L = Tensor<Lazy>;
  const L input = L::placeholder({2}), w = L::variable(L{1.0, 2.0});
  const L constant = L{2.0, 3.0} * 2 + L::arange(2);
  REQUIRE(known(constant));
  CHECK(known(constant)->to_vector<float>() == std::vector<float>{4, 7});
  CHECK(known(L(3.0))->item<double>() == 3);
  CHECK(!known(input));
  CHECK(!known(input + constant));
  CHECK(!known(w));
  CHECK(!known(w * 2));
  CHECK(!known(L::uniform({2}) + 1));
  CHECK(known(Tensor<Eager>{1, 2} + 1)->to_vector<int>() == std::vector<int>{2, 3});
  auto f = compile([](const L& x) {
    CHECK(!known(x + 1));
    CHECK(known(L{1, 2} + 1).has_value());
    return x + 1;
  });
  CHECK(f(L{1, 2}).to_vector<int>() == std::vector<int>{2, 3});
}
