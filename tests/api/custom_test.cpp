// SPDX-License-Identifier: MIT
// Users' operators: values, gradients, compiled code, several results, OpenCL kernels, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace custom_test {

using namespace tyto;
using tyto_test::doubles;
using tyto_test::finite_differences;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

int run() { return 7; }

bool has_opencl() {
  for (const DeviceInfo& device : devices()) {
    if (device.name.starts_with("opencl")) return true;
  }
  return false;
}

std::vector<std::string> both_devices() {
  return has_opencl() ? std::vector<std::string>{"cpu", "opencl"} : std::vector<std::string>{"cpu"};
}

// The example of <tyto/custom.hpp>.
CustomOp cube_operator() {
  const auto cube = custom_op({
      .name = "cube",
      .results = [](ArrayTypes in) { return std::vector{in[0]}; },
      .host =
          [](HostInputs in, HostResults out) {
            const auto x = in[0].data<float>();
            const auto y = out[0].data<float>();
            for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
          },
      .opencl = {.source = "kernel void cube(global const float* x, global float* y) {"
                           "  const size_t i = get_global_id(0);"
                           "  y[i] = x[i] * x[i] * x[i];"
                           "}"},
      .gradient = [](const auto& in, const auto&, const auto& g) { return std::vector{g[0] * 3 * square(in[0])}; },
  });
  return cube;
}

// Rows of x times a number each, and their sums: two inputs, two results, any floating-point type on OpenCL, f64 on the
// host.
CustomOp scaled_rows(bool with_host, bool with_source) {
  CustomOptions options{.name = "scaled_rows", .inputs = 2, .results = [](ArrayTypes in) {
                          if (in[0].shape.rank() != 2 || in[1].shape != Shape{in[0].shape[0]}) {
                            throw std::invalid_argument("one number a row is wanted");
                          }
                          return std::vector<ArrayType>{in[0], {in[0].dtype, in[1].shape}};
                        }};
  if (with_host) {
    options.host = [](HostInputs in, HostResults out) {
      const auto x = in[0].data<double>(), w = in[1].data<double>();
      const auto y = out[0].data<double>(), sums = out[1].data<double>();
      const std::size_t columns = w.empty() ? 0 : x.size() / w.size();
      for (std::size_t i = 0; i < w.size(); ++i) {
        sums[i] = 0;
        for (std::size_t j = 0; j < columns; ++j) sums[i] += y[i * columns + j] = w[i] * x[i * columns + j];
      }
    };
  }
  if (with_source) {
    options.opencl = {
        .source =
            "kernel void scale(global const input0_t* x, global const input1_t* w, global result0_t* y,\n"
            "                  global result1_t* sums, long columns) {\n"
            "  const long i = get_global_id(0);\n"
            "  result1_t sum = 0;\n"
            "  for (long j = 0; j < columns; ++j) sum += y[i * columns + j] = w[i] * x[i * columns + j];\n"
            "  sums[i] = sum;\n"
            "}\n",
        .kernel = "scale",
        .global_size = [](ArrayTypes in, ArrayTypes) { return std::vector{static_cast<std::size_t>(in[0].shape[0])}; },
        .scalar_arguments = [](ArrayTypes in, ArrayTypes) { return std::vector{in[0].shape[1]}; }};
  }
  options.gradient = [](const auto& in, const auto&, const auto& g) {
    const auto pulled = g[0] + expand_dims(g[1], 1);
    return std::vector{pulled * expand_dims(in[1], 1), sum(pulled * in[0], {1})};
  };
  return custom_op(options);
}

}  // namespace

BOTH_MODES("an operator of one's own computes, is differentiated twice, and compiles, on each device") {
  using Tensor = tyto::Tensor<Mode>;
  const CustomOp cube = cube_operator();
  for (const std::string& name : both_devices()) {
    CAPTURE(name);
    const DeviceScope device(name);
    const Tensor x{1.0, 2.0, -3.0};
    const Tensor y = cube(x);
    CHECK(numbers(y) == Numbers{1, 8, -27});
    CHECK(numbers(cube(y + 1.0) * 2.0) == Numbers{16, 1458, -35152});
    const auto f = [&](Tensor v) { return sum(cube(v)); };
    CHECK(numbers(grad(f)(x)) == Numbers{3, 12, 27});
    CHECK(numbers(grad([&](Tensor v) { return sum(grad(f)(v)); })(x)) == Numbers{6, 12, -18});
    auto compiled = compile([&](Tensor v) { return std::pair(cube(cube(v)), grad(f)(v)); });
    for (int i = 0; i < 3; ++i) {
      const auto [ninth, gradient] = compiled(Tensor{2.0, 1.0 * i});
      CHECK(numbers(ninth) == Numbers{512, std::pow(i, 9)});
      CHECK(numbers(gradient) == Numbers{12, 3.0 * i * i});
    }
  }
}

BOTH_MODES("several results, each with a gradient that finite differences confirm") {
  using Tensor = tyto::Tensor<Mode>;
  const CustomOp rows = scaled_rows(true, true);
  for (const std::string& name : both_devices()) {
    CAPTURE(name);
    const DeviceScope device(name);
    const Tensor x = doubles<Tensor>({1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor w = doubles<Tensor>({10, -1}, {2});
    const auto both = rows.apply(std::vector<Tensor>{x, w});
    REQUIRE(both.size() == 2);
    CHECK(numbers(both[0]) == Numbers{10, 20, 30, -4, -5, -6});
    CHECK(numbers(both[1]) == Numbers{60, -15});
    const auto scaled = [&](Tensor v) { return sum(sin(rows.apply(std::vector<Tensor>{v, w})[0] / 10.0)); };
    const auto sums = [&](Tensor v) { return sum(square(rows.apply(std::vector<Tensor>{x, v})[1])); };
    const auto agrees = [&](const auto& f, const Tensor& at) {
      const Numbers found = numbers(grad(f)(at));
      const Numbers expected = finite_differences<Tensor>(f, numbers(at), at.shape());
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
    };
    agrees(scaled, x);
    agrees(sums, w);
  }
}

BOTH_MODES("inputs may be parts and turned views of other tensors") {
  using Tensor = tyto::Tensor<Mode>;
  const CustomOp cube = cube_operator();
  for (const std::string& name : both_devices()) {
    CAPTURE(name);
    const DeviceScope device(name);
    const Tensor x = Tensor::arange(6.0).reshape({2, 3}) + 0.0;
    CHECK(numbers(cube(std::as_const(x)(1))) == Numbers{27, 64, 125});
    CHECK(numbers(cube(std::as_const(x)(all, 1))) == Numbers{1, 64});
    CHECK(numbers(cube(x.T())) == Numbers{0, 27, 1, 64, 8, 125});
    CHECK(numbers(concat(std::vector<Tensor>{cube(x), x}, 0)) == Numbers{0, 1, 8, 27, 64, 125, 0, 1, 2, 3, 4, 5});
    CHECK(numbers(cube(Tensor::zeros({0, 4}))) == Numbers{});
    CHECK(numbers(cube(Tensor(2.0))) == Numbers{8});
  }
}

BOTH_MODES("numbers as operands take their own element type") {
  using Tensor = tyto::Tensor<Mode>;
  const auto power = custom_op({.name = "power",
                                .inputs = 2,
                                .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                                .host =
                                    [](HostInputs in, HostResults out) {
                                      const auto x = in[0].data<float>();
                                      const auto n = in[1].data<std::int64_t>()[0];
                                      for (std::size_t i = 0; i < x.size(); ++i) {
                                        out[0].data<float>()[i] = std::pow(x[i], static_cast<float>(n));
                                      }
                                    }});
  CHECK(numbers(power(Tensor{2.0, 3.0}, 3)) == Numbers{8, 27});
}

BOTH_MODES("an operator without inputs makes a tensor in the mode asked for") {
  using Tensor = tyto::Tensor<Mode>;
  const auto answer = custom_op({.name = "answer",
                                 .inputs = 0,
                                 .results =
                                     [](ArrayTypes) {
                                       return std::vector<ArrayType>{{DType::i32, {2}}};
                                     },
                                 .host =
                                     [](HostInputs, HostResults out) {
                                       out[0].data<std::int32_t>()[0] = 42;
                                       out[0].data<std::int32_t>()[1] =
                                           static_cast<std::int32_t>(out[0].bytes().size());
                                     }});
  CHECK(numbers(answer.apply(std::vector<Tensor>{})[0]) == Numbers{42, 8});
}

TEST_CASE("a kernel with its own groups and local memory runs on the device, without copies to the host") {
  if (!has_opencl()) return;
  const DeviceScope device("opencl");
  using Tensor = tyto::Tensor<Lazy>;
  // Turns groups of four round.
  const auto turn = custom_op({.name = "turn",
                               .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                               .opencl = {.source = R"(
                                 float twice(float x) { return 2 * x; }
                                 kernel void turn(global const float* x, global float* y) {
                                   local float part[4];
                                   const size_t i = get_local_id(0);
                                   part[i] = x[get_global_id(0)];
                                   barrier(CLK_LOCAL_MEM_FENCE);
                                   y[get_global_id(0)] = twice(part[3 - i]);
                                 })",
                                          .local_size = {4}}});
  const Tensor x = Tensor::placeholder({8}, DType::f32, "x");
  const Tensor y = turn(x * 1.5) + 1.0;
  Graph graph{{.inputs = {x}, .outputs = {y}}};
  graph.set(x, Tensor::arange(8.0));
  graph.run();
  CHECK(numbers(graph[y]) == Numbers{10, 7, 4, 1, 22, 19, 16, 13});
  CHECK(graph.report().fallbacks.empty());
  CHECK(graph.report().unplanned_allocations == 0);
  CHECK_THROWS_WITH_AS(turn(Tensor::ones({6})).to_string(),
                       "'turn': 6 work-items along axis 0 are not a multiple of the local size 4", ShapeError);
}

TEST_CASE("a host function serves an OpenCL graph by planned copies, which its report names") {
  if (!has_opencl()) return;
  const DeviceScope device("opencl");
  using Tensor = tyto::Tensor<Lazy>;
  const CustomOp rows = scaled_rows(true, false);
  const Tensor x = Tensor::placeholder({2, 2}, DType::f64, "x");
  const Tensor w = doubles<Tensor>({2, 3}, {2});
  const Tensor y = rows.apply(std::vector<Tensor>{x + 1.0, w})[1] * 10.0;
  Graph graph{{.inputs = {x}, .outputs = {y}}};
  graph.set(x, doubles<Tensor>({1, 2, 3, 4}, {2, 2}));
  graph.run();
  CHECK(numbers(graph[y]) == Numbers{100, 270});
  CHECK(graph.report().fallbacks == std::vector<std::string>{"scaled_rows"});
  CHECK(graph.report().unplanned_allocations == 0);
}

BOTH_MODES("what a user's operator is refused for") {
  using Tensor = tyto::Tensor<Mode>;
  const auto same = [](ArrayTypes in) { return std::vector{in[0]}; };
  const auto nothing = [](HostInputs, HostResults) {};
  const Tensor x{1.0, 2.0};

  CHECK_THROWS_WITH_AS(custom_op({.name = "", .results = same, .host = nothing}), "custom_op: the operator has no name",
                       ValueError);
  CHECK_THROWS_WITH_AS(custom_op({.name = "f", .results = {}, .host = nothing}),
                       "custom_op: 'f' has no rule for its results", ValueError);
  CHECK_THROWS_WITH_AS(custom_op({.name = "f", .results = same}),
                       "custom_op: 'f' has neither a host function nor OpenCL source", ValueError);
  CHECK_THROWS_WITH_AS(custom_op({.name = "f", .results = same, .opencl = {.source = "kernel void g() {}"}}),
                       "custom_op: the OpenCL source of 'f' has no kernel 'f'", ValueError);

  const CustomOp cube = cube_operator();
  CHECK_THROWS_WITH_AS(cube(x, x), "'cube' takes 1 input, given 2", GraphError);
  CHECK_THROWS_WITH_AS(cube(Tensor{1, 2}).to_string(), "'cube': input 0 is i64(2,), asked for as f32", TypeError);
  CHECK_THROWS_AS(cube(Tensor()), GraphError);
  const CustomOp rows = scaled_rows(true, true);
  CHECK_THROWS_WITH_AS(rows.apply(std::vector<Tensor>{x, x}),
                       "'scaled_rows'(f32(2,), f32(2,)): rule for results: one number a row is wanted", ShapeError);
  CHECK_THROWS_WITH_AS(rows(Tensor::ones({2, 2}), x), "'scaled_rows' has 2 results: apply() yields them all",
                       GraphError);
  const auto shaped = [&](std::vector<ArrayType> results) {
    return custom_op({.name = "f", .results = [results](ArrayTypes) { return results; }, .host = nothing});
  };
  CHECK_THROWS_WITH_AS(shaped({})(x), "'f': the rule for results yields none", GraphError);
  CHECK_THROWS_WITH_AS(shaped({{DType::f32, {2, -1}}})(x),
                       "'f'(f32(2,)): a result of shape (2,-1) has a negative length", ShapeError);
  const std::int64_t huge = std::int64_t{1} << 61;
  CHECK_THROWS_WITH_AS(shaped({{DType::f64, {huge}}})(x),
                       "a tensor of shape (2305843009213693952,) has more bytes than 63 bits can count", ShapeError);
  const auto failing = custom_op({.name = "f", .results = same, .host = [](HostInputs, HostResults) {
                                    throw std::runtime_error("no weather today");
                                  }});
  CHECK_THROWS_WITH_AS(failing(x).to_string(), "'f': no weather today", GraphError);
}

BOTH_MODES("a rule may apply the operator that it belongs to") {
  using Tensor = tyto::Tensor<Mode>;
  std::vector<CustomOp> own;
  own.push_back(custom_op({.name = "halves",
                           .results =
                               [&](ArrayTypes in) {
                                 if (!own.empty() && in[0].shape.rank() == 2) (void)own[0](Tensor{1.0, 2.0});
                                 return std::vector{in[0]};
                               },
                           .host =
                               [](HostInputs in, HostResults out) {
                                 const auto x = in[0].template data<float>();
                                 const auto y = out[0].template data<float>();
                                 for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / 2;
                               }}));
  CHECK(numbers(own[0](Tensor{{2.0, 4.0}})) == Numbers{1, 2});
}

BOTH_MODES("gradients of users' operators that do not fit") {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x{1.0, 2.0};
  const auto with = [](auto gradient) {
    return custom_op({.name = "f",
                      .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                      .host = [](HostInputs, HostResults) {},
                      .gradient = gradient});
  };
  const auto gradient = [&](const CustomOp& f) { return grad([&](Tensor v) { return sum(f(v)); })(x).to_string(); };
  using Tensors = std::vector<tyto::Tensor<Any>>;
  const auto none = custom_op({.name = "f",
                               .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                               .host = [](HostInputs, HostResults) {}});
  CHECK_THROWS_WITH_AS(gradient(none), "grad: 'f' is a user's function without a gradient", GraphError);
  CHECK_THROWS_WITH_AS(gradient(with([](const Tensors&, const Tensors&, const Tensors&) { return Tensors(); })),
                       "grad: the gradient of 'f' yields 0 values for 1 inputs", GraphError);
  CHECK_THROWS_WITH_AS(
      gradient(with([](const Tensors& in, const Tensors&, const Tensors&) { return Tensors{sum(in[0])}; })),
      "grad: gradient 0 of 'f' has shape (), its input (2,)", ShapeError);
  CHECK_THROWS_WITH_AS(gradient(with([](const Tensors&, const Tensors&, const Tensors&) -> Tensors {
                         throw std::runtime_error("no gradient today");
                       })),
                       "'f'(f32(2,)): gradient: no gradient today", ShapeError);
  CHECK(gradient(with([](const Tensors&, const Tensors&, const Tensors&) { return Tensors(1); })) == "[0. 0.]");
}

BOTH_MODES("source that does not compile is shown with the compiler's words, and a missing host function is said") {
  using Tensor = tyto::Tensor<Mode>;
  const auto wrong = custom_op({.name = "wrong",
                                .results = [](ArrayTypes in) { return std::vector{in[0]}; },
                                .opencl = {.source = "kernel void wrong(global const float* x, global float* y) {\n"
                                                     "  y[get_global_id(0)] = unheard_of;\n"
                                                     "}\n"}});
  CHECK_THROWS_WITH_AS(wrong(Tensor{1.0}).to_string(),
                       "'wrong' has no host function: its OpenCL kernel runs where a DeviceScope(\"opencl\") is open "
                       "and the device has the element types",
                       DeviceError);
  if (!has_opencl()) return;
  const DeviceScope device("opencl");
  const auto message = [&] {
    try {
      return wrong(Tensor{1.0}).to_string();
    } catch (const DeviceError& error) {
      return std::string(error.what());
    }
  }();
  CHECK(message.find("opencl:0: 'wrong': clBuildProgram") == 0);
  CHECK(message.find("unheard_of") != std::string::npos);
}

TEST_CASE("a graph with a user's operator is not saved, by the operator's name") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor x = Tensor::placeholder({2}, DType::f32, "x");
  const Graph graph{{.inputs = {x}, .outputs = {cube_operator()(x)}}};
  CHECK_THROWS_WITH_AS(graph.to_bytes(),
                       "save: the graph holds 'cube', a function of this program, which no file can hold; compose "
                       "it of Tyto's operators",
                       GraphError);
}

TEST_CASE("equal expressions of one operator share a compiled graph") {
  using Tensor = tyto::Tensor<Lazy>;
  int asked = 0;
  const auto counted =
      custom_op({.name = "counted",
                 .results =
                     [&](ArrayTypes in) {
                       ++asked;
                       return std::vector{in[0]};
                     },
                 .host =
                     [](HostInputs in, HostResults out) {
                       std::copy_n(in[0].bytes().begin(), in[0].bytes().size(), out[0].bytes().begin());
                     }});
  for (int i = 0; i < 5; ++i) CHECK(numbers(counted(Tensor{1.0 * i, 2.0})) == Numbers{1.0 * i, 2});
  CHECK(asked == 1);
  CHECK(numbers(counted(Tensor{1, 2, 3})) == Numbers{1, 2, 3});
  CHECK(asked == 2);
}

TEST_CASE("a program that uses the namespace may have a function of the name run") { CHECK(run() == 7); }

}  // namespace custom_test
