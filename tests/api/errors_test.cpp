// SPDX-License-Identifier: MIT
// Typical mistakes of users: each is an exception of the right kind whose message says what is wrong, in both modes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

using tyto::DType;
using tyto::IndexError;
using tyto::ShapeError;
using tyto::TypeError;
using tyto::ValueError;

TEST_CASE_TEMPLATE("operands whose shapes do not fit together are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({2, 3});
  const Tensor v = Tensor::ones({4});
  CHECK_THROWS_WITH_AS(
      x + v, "add: shapes (2,3) and (4,) do not broadcast: axis lengths 3 and 4 differ and neither is 1", ShapeError);
  CHECK_THROWS_WITH_AS(where(x > 0, x, v),
                       "where: shapes (2,3) and (4,) do not broadcast: axis lengths 3 and 4 differ and neither is 1",
                       ShapeError);
  CHECK_THROWS_WITH_AS(matmul(x, x), "matmul: inner sizes differ: (2,3) x (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(matmul(x, Tensor(2.0)),
                       "matmul: operands need at least one axis: (2,3) x (); use * for a number", ShapeError);
  CHECK_THROWS_WITH_AS(matmul(Tensor::ones({2, 3, 4}), Tensor::ones({3, 4, 5})),
                       "matmul: batch axes do not broadcast: (2,3,4) x (3,4,5)", ShapeError);
  CHECK_THROWS_WITH_AS(dot(x, v), "dot: inner sizes differ: (2,3) . (4,)", ShapeError);
  CHECK_THROWS_WITH_AS(x.reshape({4, 2}), "reshape: (2,3) has 6 elements, (4,2) would have 8", ShapeError);
  CHECK_THROWS_WITH_AS(x.reshape({4, -1}), "reshape: (2,3) with 6 elements does not fit (4,-1)", ShapeError);
  CHECK_THROWS_WITH_AS(x.reshape({-1, -1}), "reshape: (-1,-1) has more than one -1", ShapeError);
  CHECK_THROWS_WITH_AS(x.reshape({-6}), "reshape: (-6,) has a negative length", ShapeError);
  CHECK_THROWS_WITH_AS(broadcast_to(x, {3, 2}), "broadcast_to: (2,3) does not stretch to (3,2)", ShapeError);
  CHECK_THROWS_WITH_AS(broadcast_to(Tensor::ones({1}), {-5}), "broadcast_to: shape (-5,) has a negative length",
                       ShapeError);
  CHECK_THROWS_WITH_AS(tyto::concat<Mode>({x, Tensor::ones({2, 4})}),
                       "concat: parts of shapes (2,3) and (2,4) must agree but for axis 0", ShapeError);
  CHECK_THROWS_WITH_AS(tyto::stack<Mode>({x, x.T()}), "stack: parts of shapes (2,3) and (3,2) must have one shape",
                       ShapeError);
  CHECK_THROWS_WITH_AS(squeeze(x, 0), "squeeze: axis 0 of shape (2,3) has length 2, not 1", ShapeError);
  CHECK_THROWS_WITH_AS(x.transpose({0}), "transpose: order (0,) names 1 of the 2 axes of shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(split(x, 2, 1),
                       "split: axis 1 of length 3 does not divide into 2 equal parts; name the positions instead",
                       ShapeError);
  CHECK_THROWS_WITH_AS(cross_entropy(x, Tensor{0, 1, 2}),
                       "cross_entropy: labels (3,) for logits (2,3) must have shape (2,)", ShapeError);
  CHECK_THROWS_WITH_AS(mean_squared_error(x, v), "mean_squared_error: prediction (2,3) and target (4,) differ in shape",
                       ShapeError);
  Tensor target = x;
  CHECK_THROWS_WITH_AS(target(0) = v, "set: a value of shape (4,) does not broadcast to the part's shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(max(Tensor::zeros({0, 3}), 0), "max: axis 0 of shape (0,3) is empty, so it has no extreme",
                       ShapeError);
  CHECK_THROWS_WITH_AS(argmin(Tensor::zeros({0})), "argmin: axis 0 of shape (0,) is empty, so it has no extreme",
                       ShapeError);
  CHECK_THROWS_WITH_AS(x.template item<float>(), "item: a tensor of shape (2,3) has 6 elements, not one", ShapeError);
  CHECK_THROWS_WITH_AS((void)static_cast<bool>(x),
                       "bool: the truth of a tensor of shape (2,3) is ambiguous; use any() or all()", ValueError);
}

TEST_CASE_TEMPLATE("tensors that cannot be made are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  constexpr std::int64_t large = std::int64_t{1} << 40;
  CHECK_THROWS_WITH_AS(Tensor::zeros({2, -1}), "zeros: shape (2,-1) has a negative length", ShapeError);
  CHECK_THROWS_WITH_AS(Tensor::ones({large, large}),
                       "ones: a tensor of shape (1099511627776,1099511627776) has more bytes than 63 bits can count",
                       ShapeError);
  CHECK_THROWS_WITH_AS(Tensor::normal({-3}), "random_normal: shape (-3,) has a negative length", ShapeError);
  CHECK_THROWS_WITH_AS((Tensor{{1, 2}, {3}}), "Tensor{...}: ragged rows: axis 1 has rows of 2 and of 1 elements",
                       ShapeError);
  CHECK_THROWS_WITH_AS((Tensor{{1, 2}, 3}), "Tensor{...}: ragged rows: a number stands beside a row", ShapeError);
  CHECK_THROWS_WITH_AS((Tensor{1, {2, 3}}), "Tensor{...}: ragged rows: a row stands beside a number", ShapeError);
  CHECK_THROWS_WITH_AS(Tensor::from(std::vector<float>{1, 2, 3}, {2, 2}),
                       "from: 3 elements do not fill shape (2,2) of 4", ShapeError);
  CHECK_THROWS_WITH_AS(Tensor::borrow(static_cast<const float*>(nullptr), {2}), "borrow: there is no memory to borrow",
                       ValueError);
  CHECK_THROWS_WITH_AS(Tensor::arange(0, 10, 0), "arange: the step is 0", ValueError);
  CHECK_THROWS_WITH_AS(Tensor::linspace(0, 1, -4), "linspace: count -4 is negative", ValueError);
  CHECK_THROWS_WITH_AS(Tensor::uniform({2}, {.dtype = DType::i32}), "uniform: a floating type is needed, not i32",
                       TypeError);
  CHECK_THROWS_WITH_AS(Tensor::integers({2}, {.low = 5, .high = 5}), "integers: the range [5, 5) is empty", ValueError);
  CHECK_THROWS_WITH_AS(Tensor::integers({2}, {.low = 0, .high = 257, .dtype = DType::u8}),
                       "integers: the range [0, 257) does not fit the elements' type u8", ValueError);
  CHECK(Tensor::integers({2}, {.low = -128, .high = 128, .dtype = DType::i8}).size() == 2);
  CHECK_THROWS_WITH_AS(Tensor::bernoulli({2}, {.probability = 1.5}),
                       "bernoulli: probability must be in [0, 1], not 1.5", ValueError);
  CHECK_THROWS_WITH_AS(Tensor::normal({2}, {.stddev = -1}), "normal: stddev must be >= 0, not -1", ValueError);
  CHECK_THROWS_WITH_AS(Tensor::from_function({2}, {}), "from_function: the function is empty", ValueError);
}

TEST_CASE_TEMPLATE("element types that an operator, or a read, does not take are refused", Mode, tyto::Eager,
                   tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({3});
  CHECK_THROWS_WITH_AS(x.template data<double>(), "data: the elements are f32, read as f64; cast first with astype",
                       TypeError);
  CHECK_THROWS_WITH_AS(mean(x / 2).template item<std::int64_t>(),
                       "item: the element is 0.5 (f32), which i64 does not hold; cast first with astype", TypeError);
  CHECK_THROWS_WITH_AS(x & 1, "bitwise_and: operands of type f32 are not accepted; it works on bool and integers",
                       TypeError);
  CHECK_THROWS_WITH_AS(x << 1, "left_shift: operands of type f32 are not accepted; it works on integers", TypeError);
  CHECK_THROWS_WITH_AS(
      -(x > 0),
      "negate: operands of type bool are not accepted; cast bool to a number, or use logical_xor and logical_not",
      TypeError);
  CHECK_THROWS_WITH_AS(x(x), "index: a tensor of f32 cannot index; integers or a mask can", TypeError);
  CHECK_THROWS_WITH_AS(take(x, x), "take: indices must be integers, not f32", TypeError);
  CHECK_THROWS_WITH_AS(one_hot(x, 3), "one_hot: classes must be integers, not f32", TypeError);
}

TEST_CASE_TEMPLATE("indices and axes out of range are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({2, 3});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK_THROWS_WITH_AS(x(2), "index: 2 is outside axis 0 of length 2", IndexError);
  CHECK_THROWS_WITH_AS(x(0, -4), "index: -4 is outside axis 1 of length 3", IndexError);
  CHECK_THROWS_WITH_AS(x(0, 0, 0), "index: 3 indices for a tensor of rank 2, shape (2,3)", IndexError);
  CHECK_THROWS_WITH_AS(x(tyto::ellipsis, tyto::ellipsis), "index: more than one ellipsis", IndexError);
  CHECK_THROWS_WITH_AS(x(tyto::slice(0, 2, 0)), "index: a slice's step is 0", ValueError);
  CHECK_THROWS_WITH_AS(x(least), "index: -9223372036854775808 is outside axis 0 of length 2", IndexError);
  CHECK_THROWS_WITH_AS(sum(x, 2), "sum: axis 2 is outside [-2, 1] for a tensor of rank 2", IndexError);
  CHECK_THROWS_WITH_AS(sum(x, least), "sum: axis -9223372036854775808 is outside [-2, 1] for a tensor of rank 2",
                       IndexError);
  CHECK_THROWS_WITH_AS(sum(x, {0, -2}), "sum: axis 0 is named twice in (0,-2)", ValueError);
  CHECK_THROWS_WITH_AS(softmax(Tensor(1.0), 0), "softmax: axis 0 given, but a 0-d tensor has no axes", IndexError);
  CHECK_THROWS_WITH_AS(x.transpose({0, 0}), "transpose: axis 0 is named twice in (0,0)", ValueError);
  CHECK_THROWS_WITH_AS(diagonal(x, 0, 1, -1), "diagonal: both axes are axis 1", ValueError);
  CHECK_THROWS_WITH_AS(take(x, Tensor{0, 7}, 1).template to_vector<float>(),
                       "take: index 7 is outside an axis of length 3; it must lie in [-3, 2]", IndexError);
  CHECK_THROWS_WITH_AS(tyto::gather<Mode>(x, {Tensor{0}, Tensor{0}, Tensor{0}}),
                       "gather: 3 index tensors for a tensor of rank 2, shape (2,3)", IndexError);
}

TEST_CASE_TEMPLATE("invalid numbers are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor v = Tensor{3, 1, 2};
  CHECK_THROWS_WITH_AS(one_hot(v, -1), "one_hot: depth -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(choice(v, 4, false), "choice: 4 of 3 elements cannot be drawn without putting back", ValueError);
  CHECK_THROWS_WITH_AS(Tensor::uniform({2}, {.low = 0, .high = INFINITY}),
                       "uniform: the range [0, inf) is too wide, or has no end", ValueError);
  CHECK_THROWS_AS(Tensor::uniform({2}, {.low = -3e38, .high = 3e38}), ValueError);
  CHECK_THROWS_WITH_AS(topk(v, 4), "topk: k = 4 is outside [0, 3], the length of axis 0 of shape (3,)", ValueError);
  CHECK_THROWS_WITH_AS(tile(v, {-1}), "tile: counts (-1,) hold a negative one", ValueError);
  CHECK_THROWS_WITH_AS(repeat(v, -1), "repeat: count -1 is negative", ValueError);
  CHECK_THROWS_WITH_AS(split(v, 0), "split: 0 parts are asked for; at least one is needed", ValueError);
  CHECK_THROWS_WITH_AS(pad(v, {-1}, {0}), "pad: widths -1 and 0 of axis 0 must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(dropout_mask(Tensor::ones({2}), 1.5), "dropout_mask: rate 1.5 is outside [0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(histogram(v, Tensor{1}), "histogram: edges must be a vector of two or more, not of shape (1,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(tyto::concat<Mode>({}), "concat: no parts are given", ValueError);
}

TEST_CASE_TEMPLATE("malformed einsum equations are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({2, 3});
  CHECK_THROWS_WITH_AS(tyto::einsum<Mode>("ij,jk->ik", {x}),
                       "einsum(\"ij,jk->ik\"): the equation names 2 operands, given are 1", ValueError);
  CHECK_THROWS_WITH_AS(tyto::einsum<Mode>("ijk->i", {x}),
                       "einsum(\"ijk->i\"): \"ijk\" names 3 axes; operand 1 has shape (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(tyto::einsum<Mode>("ij->ik", {x}),
                       "einsum(\"ij->ik\"): the result names 'k', which no operand has", ValueError);
  CHECK_THROWS_WITH_AS(tyto::einsum<Mode>("ij->ii", {x}), "einsum(\"ij->ii\"): the result names 'i' twice", ValueError);
  CHECK_THROWS_WITH_AS(tyto::einsum<Mode>("i1->i", {x}),
                       "einsum(\"i1->i\"): '1' is neither a letter nor one \"...\" a term", ValueError);
  CHECK_THROWS_WITH_AS(tyto::einsum<Mode>("ij,jk", {x, x}), "einsum(\"ij,jk\"): 'j' stands for lengths 3 and 2",
                       ShapeError);
}

TEST_CASE_TEMPLATE("convolutions and pools that do not fit are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor image = Tensor::ones({1, 8, 8, 3});
  CHECK_THROWS_WITH_AS(conv2d(image, Tensor::ones({3, 3, 4, 5})),
                       "conv2d: 3 input channels in 1 groups need kernels with 3 input channels and a multiple of 1 "
                       "results; given kernels (3,3,4,5) for input (1,8,8,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(conv2d(Tensor::ones({8, 8, 3}), Tensor::ones({3, 3, 3, 5})),
                       "conv2d: the input must be (batch, spatial..., channels) with 2 spatial axes, not (8,8,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(conv2d(image, Tensor::ones({9, 9, 3, 5})),
                       "convolution: the window reaches over 9 elements, but the padded input has only 8", ShapeError);
  CHECK_THROWS_WITH_AS(
      transposed_convolution(image, Tensor::ones({3, 3, 5, 3}), {.dilation = 2, .output_padding = 2}),
      "transposed_convolution: output_padding (2,2) must be below the stride (1,1) or the dilation (2,2)", ValueError);
  CHECK_THROWS_WITH_AS(conv2d(image, Tensor::ones({0, 3, 3, 5})), "conv2d: window (0,3) must be at least 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(conv2d(image, Tensor::ones({3, 3, 3, 5}), {.stride = 0}),
                       "conv2d: stride (0,) must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(conv2d(image, Tensor::ones({3, 3, 3, 5}), {.stride = {1, 1, 1}}),
                       "conv2d: stride (1,1,1) has 3 entries for 2 spatial axes", ShapeError);
  CHECK_THROWS_WITH_AS(
      conv2d(image, Tensor::ones({3, 3, 3, 5}), {.dilation = {1, std::numeric_limits<std::int64_t>::max()}}),
      "conv2d: dilation (1,9223372036854775807) must be at most 1073741824", ValueError);
  CHECK_THROWS_WITH_AS(max_pool(image, 9),
                       "max_pool: the window reaches over 9 elements, but the padded input has only 8", ShapeError);
  CHECK_THROWS_WITH_AS(
      average_pool(Tensor::ones({8, 8}), 2),
      "average_pool: the input must be (batch, spatial..., channels) with 1 to 3 spatial axes, not (8,8)", ShapeError);
  CHECK_THROWS_WITH_AS(max_pool(image, 2, {.padding = 2}), "max_pool: padding 2 leaves windows of 2 without an element",
                       ValueError);
}

TEST_CASE_TEMPLATE("gradients that do not exist are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({3});
  const auto total = [](const Tensor& at) { return sum(at); };
  CHECK_THROWS_WITH_AS(tyto::grad(total)(Tensor{1, 2}),
                       "grad: a gradient with respect to a tensor of i64 does not exist; {1.0, 2.0} makes one of f32, "
                       "{1, 2} one of integers",
                       TypeError);
  CHECK_THROWS_WITH_AS(
      tyto::grad([](const Tensor& at) { return at * at; })(x),
      "value_and_grad: the loss must be one number, not of shape (3,); take sum or mean, or use jacobian", ShapeError);
  CHECK_THROWS_WITH_AS(tyto::grad([](const Tensor& at) { return sum(at > 0); })(x),
                       "value_and_grad: the loss must be floating, not i64", TypeError);
  CHECK_THROWS_WITH_AS(tyto::value_and_grad(total, std::vector<std::size_t>{1})(x),
                       "value_and_grad: there is no argument number 1", IndexError);
  CHECK_THROWS_WITH_AS(
      tyto::value_and_grad(total, std::vector<Tensor>{x})(x),
      "value_and_grad: the parameters must be variables (Tensor::variable); `w = ...` makes a plain tensor of "
      "such a name: write w -= ... or assign(w, ...)",
      tyto::GraphError);
  const auto same = [](auto& in) { return in[0]; };
  CHECK_THROWS_WITH_AS(vjp(same, std::vector<Tensor>{x}, Tensor::ones({2})),
                       "vjp: cotangent (2,) for a result of shape (3,)", ShapeError);
  CHECK_THROWS_WITH_AS(jvp(same, std::vector<Tensor>{x}, std::vector<Tensor>{}), "jvp: 0 tangents for 1 inputs",
                       tyto::GraphError);
  CHECK_THROWS_WITH_AS(jvp(same, std::vector<Tensor>{x}, std::vector<Tensor>{Tensor::ones({2})}),
                       "jvp: tangent (2,) for an input of shape (3,)", ShapeError);
}

TEST_CASE_TEMPLATE("invalid uses of states are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({2});
  const Tensor w = Tensor::variable(x, "w");
  CHECK_THROWS_WITH_AS(assign(x, x),
                       "assign: the tensor is no variable, persistent tensor or placeholder; Tensor::variable and "
                       "Tensor::persistent make one",
                       tyto::GraphError);
  CHECK_THROWS_WITH_AS(assign(w, Tensor::ones({3})), "assign: 'w' has shape (2,), given (3,)", ShapeError);
  const Tensor input = Tensor::placeholder({2}, DType::f32, "pixels");
  CHECK_THROWS_WITH_AS((input + 1).to_string(),
                       "input 'pixels' of shape (2,) is read before a value was assigned to it", tyto::GraphError);
}

TEST_CASE_TEMPLATE("unknown devices and strategies are refused", Mode, tyto::Eager, tyto::Lazy) {
  std::string message;
  try {
    const tyto::DeviceScope scope("gpu");
  } catch (const tyto::DeviceError& error) {
    message = error.what();
  }
  CHECK(message.find("no device 'gpu'; there are: cpu") == 0);
  CHECK_THROWS_WITH_AS(tyto::threads(0), "threads: the count must be from 1 to 1024, got 0", ValueError);
  CHECK_THROWS_WITH_AS(tyto::threads(1025), "threads: the count must be from 1 to 1024, got 1025", ValueError);
}

TEST_CASE("invalid uses of lazy tensors and graphs are refused") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor x = Tensor::placeholder({2, 3}, DType::f32, "x");
  const Tensor w = Tensor::variable(Tensor::ones({2, 3}), "w");
  const Tensor y = x * w;
  CHECK_THROWS_WITH_AS(unique(y), "unique: the shape depends on the data, so it works in eager mode only",
                       tyto::GraphError);
  CHECK_THROWS_WITH_AS(
      (void)y(y > 0).shape(),
      "index: the shape of what a mask picks depends on the data, so only eager mode reads it or gives "
      "each element a value of its own; choose by where(mask, v, x), or assign a single number: "
      "x(mask) = 0",
      tyto::GraphError);
  tyto::Graph graph{{.inputs = {x}, .outputs = {y}}};
  CHECK_THROWS_WITH_AS(graph.set(x, Tensor::ones({3, 2})), "input 'x' takes shape (2,3), given (3,2)", ShapeError);
  CHECK_THROWS_WITH_AS(
      graph.set(y, y),
      "Graph::set: the tensor is no variable, persistent tensor or placeholder; Tensor::placeholder makes one",
      tyto::GraphError);
  CHECK_THROWS_WITH_AS(graph[y], "Graph: an output is read before the first run", tyto::GraphError);
  CHECK_THROWS_WITH_AS(graph.run(), "input 'x' of shape (2,3) was given no value", tyto::GraphError);
  CHECK_THROWS_WITH_AS(graph.output(3), "Graph::output: 3 of 1 outputs", IndexError);
  CHECK_THROWS_WITH_AS(graph[x], "Graph: a tensor of shape (2,3) is read that is no output of this graph",
                       tyto::GraphError);
  CHECK_THROWS_WITH_AS(tyto::Graph({.inputs = {w}, .outputs = {y}}), "Graph: input 'w' is no placeholder",
                       tyto::GraphError);
  CHECK_THROWS_WITH_AS(tyto::Graph({.updates = {{w, y}, {w, y}}}), "Graph: 'w' is updated twice", tyto::GraphError);
  CHECK_THROWS_WITH_AS(tyto::Graph({.updates = {{w, sum(y)}}}), "Graph: update of 'w', f32(2,3), with a value of f32()",
                       ShapeError);
  CHECK_THROWS_WITH_AS(tyto::Graph({.updates = {{w, w.astype(DType::f64)}}}),
                       "Graph: update of 'w', f32(2,3), with a value of f64(2,3)", tyto::TypeError);
}

TEST_CASE("a compiled function raises what its lines raise, and works afterwards") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const Tensor w = Tensor::variable(Tensor::ones({3, 2}), "w");
  auto f = tyto::compile([&](const Tensor& x) {
    assign(w, w * 2);
    return matmul(x, w);
  });
  CHECK_THROWS_WITH_AS(f(Tensor::ones({4, 4})), "matmul: inner sizes differ: (4,4) x (3,2)", ShapeError);
  CHECK(f(Tensor::ones({1, 3})).to_vector<float>() == std::vector<float>{6, 6});
  CHECK(w.to_vector<float>() == std::vector<float>(6, 2.0F));
}

TEST_CASE_TEMPLATE("a delayed function whose result has another shape than promised is an error", Mode, tyto::Eager,
                   tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor x = Tensor::ones({2});
  const auto late = [&] { return tyto::delay<Mode>({3}, DType::f32, [](auto& in) { return in[0]; }, {x}).to_string(); };
  CHECK_THROWS_WITH_AS(late(), "delay: the function yields f32(2,), declared were f32(3,)", ShapeError);
  CHECK_THROWS_WITH_AS(tyto::delay<Mode>({3}, DType::f32, {}, {x}), "delay: the function is empty", ValueError);
}

TEST_CASE_TEMPLATE("extreme integers as arguments are refused or computed, without overflow", Mode, tyto::Eager,
                   tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = Tensor::arange(6).reshape({2, 3});
  const Tensor v = Tensor{3, 1, 2};
  CHECK(Tensor(v(tyto::slice({}, {}, least))).template to_vector<std::int64_t>() == std::vector<std::int64_t>{2});
  CHECK(Tensor(v(tyto::slice({}, {}, most))).template to_vector<std::int64_t>() == std::vector<std::int64_t>{3});
  CHECK(Tensor(v(tyto::slice(least, most))).template to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 1, 2});
  CHECK(diagonal(x, least).size() == 0);
  CHECK(diagonal(x, most).size() == 0);
  CHECK(trace(x, most).template item<std::int64_t>() == 0);
  CHECK(sum(tril(x, least)).template item<std::int64_t>() == 0);
  CHECK(sum(triu(x, least)).template item<std::int64_t>() == 15);
  CHECK(sum(Tensor::eye(2, 2, least)).template item<float>() == 0);
  CHECK(sum(Tensor::tri(2, 2, most)).template item<float>() == 4);
  CHECK(roll(v, {least}).size() == 3);
  CHECK(split(v, tyto::IntList{least, most}).size() == 3);
  CHECK_THROWS_AS(diag(v, least), ValueError);
  CHECK_THROWS_AS(Tensor::zeros({least}), ShapeError);
  CHECK_THROWS_AS(Tensor::eye(most, most), ShapeError);
  CHECK_THROWS_AS(Tensor::linspace(0, 1, most), ShapeError);
  CHECK_THROWS_AS(Tensor::arange(0, 1e30, 1), ShapeError);
  CHECK_THROWS_AS(Tensor::permutation(least), ShapeError);
  CHECK_THROWS_AS(x.reshape({most, most}), ShapeError);
  CHECK_THROWS_AS(broadcast_to(v, {most, 3}), ShapeError);
  CHECK_THROWS_AS(tile(v, {most}), ShapeError);
  CHECK_THROWS_AS(repeat(v, most), ShapeError);
  CHECK_THROWS_AS(pad(v, {most}, {most}), ShapeError);
  CHECK_THROWS_AS(split(v, most), ShapeError);
  CHECK_THROWS_AS(topk(v, most), ValueError);
  CHECK_THROWS_AS(swapaxes(x, least, 0), IndexError);
  CHECK_THROWS_AS(moveaxis(x, 0, most), IndexError);
  CHECK_THROWS_AS(expand_dims(x, most), IndexError);
  CHECK_THROWS_AS(tensordot(x, x, most), ValueError);
  CHECK_THROWS_AS(upsample(Tensor::ones({1, 2, 2, 1}), tyto::PerAxis{most, most}), ValueError);
  CHECK_THROWS_AS(max_pool(Tensor::ones({1, 2, 2, 1}), tyto::PerAxis{most, most}), ValueError);
}

TEST_CASE("compiled functions say which label is no class") {
  using T = tyto::Tensor<tyto::Lazy>;
  auto value = tyto::compile([](const T& x, const T& labels) { return cross_entropy(x, labels); });
  auto gradient = tyto::compile([](const T& x, const T& labels) {
    return tyto::grad([&](const T& of) { return cross_entropy(of, labels); })(x);
  });
  auto weighted = tyto::compile([](const T& x, const T& labels) {
    return tyto::nn::cross_entropy(x, labels, {.weights = T{1.0, 2.0, 3.0}, .smoothing = 0.1});
  });
  const T x = T::zeros({2, 3});
  const auto check = [&](const T& labels, const char* message) {
    CHECK_THROWS_WITH_AS((void)value(x, labels), message, IndexError);
    CHECK_THROWS_WITH_AS((void)gradient(x, labels), message, IndexError);
    CHECK_THROWS_WITH_AS((void)weighted(x, labels), message, IndexError);
  };
  check(T{1, 5}, "cross_entropy: label 5 is out of range; the classes are 0 to 2");
  check(T{-1, 0}, "cross_entropy: label -1 is out of range; the classes are 0 to 2");
}

TEST_CASE("out-of-range indices such as -1 as a mark name the operator that was given them") {
  using E = tyto::Tensor<tyto::Eager>;
  using L = tyto::Tensor<tyto::Lazy>;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), power = std::int64_t{1} << 62;
  const E three{1, 2, 3};
  const L recorded{1, 2, 3};
  auto taken = tyto::compile([](const L& x, const L& at) { return take(x, at); });
  auto beside = tyto::compile([](const L& x, const L& at) { return take_along_axis(x, at, 0); });
  for (const std::int64_t index :
       {least, least + 1, least / 2, most, most - 1, most / 2, most / 2 + 2, most / 3, most / 4, power, power + 1,
        power + (power >> 12), power / 2, power + power / 2, -power, -power - 1, std::int64_t{999'999'999'999'999'999},
        std::int64_t{0x5555'5555'5555'5555}, std::int64_t{1} << 31}) {
    const std::string rest =
        ": index " + std::to_string(index) + " is outside an axis of length 3; it must lie in [-3, 2]";
    const std::string by_take = "take" + rest, by_axis = "take_along_axis" + rest;
    CHECK_THROWS_WITH_AS((void)take(E{1, 2, 3}, E{index}).to_string(), by_take.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)take_along_axis(E{1, 2, 3}, E{index}, 0).to_string(), by_axis.c_str(), IndexError);
    const std::string by_get = "gather or x(indices)" + rest, by_set = "scatter or x(indices) = v" + rest;
    CHECK_THROWS_WITH_AS((void)gather(E{1, 2, 3}, {E{index}}).to_string(), by_get.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)scatter(E{1, 2, 3}, {E{index}}, E{0}).to_string(), by_set.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)three(E{index}).to_string(), by_get.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)recorded(L{index}).to_string(), by_get.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)set(three, {E{index}}, E{0}).to_string(), by_set.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)set(recorded, {L{index}}, L{0}).to_string(), by_set.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)taken(L{1, 2, 3}, L{index}), by_take.c_str(), IndexError);
    CHECK_THROWS_WITH_AS((void)beside(L{1, 2, 3}, L{index}), by_axis.c_str(), IndexError);
  }
}

TEST_CASE_TEMPLATE("invalid labels and weights are refused", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  const Tensor logits = Tensor{{1.0, 2.0}, {3.0, 1.0}};
  CHECK_THROWS_AS(cross_entropy(logits, Tensor{0, 2}).to_string(), IndexError);
  CHECK_THROWS_AS(cross_entropy(logits, Tensor{0, -1}).to_string(), IndexError);
  CHECK_THROWS_AS(cross_entropy(logits, Tensor{0, -2}.astype(DType::i8)).to_string(), IndexError);
  const auto told = [&](const Tensor& labels) {
    std::string message;
    try {
      (void)cross_entropy(logits, labels).to_string();
    } catch (const IndexError& error) {
      message = error.what();
    }
    return message;
  };
  CHECK(told(Tensor{0, -1}) == "cross_entropy: label -1 is out of range; the classes are 0 to 1");
  CHECK(told(Tensor{0, 2}) == "cross_entropy: label 2 is out of range; the classes are 0 to 1");
  CHECK(told(Tensor{0, 200}.astype(DType::u8)) == "cross_entropy: label 200 is out of range; the classes are 0 to 1");
  CHECK(told(Tensor{std::int64_t{0}, std::int64_t{-123456789012}}) ==
        "cross_entropy: label -123456789012 is out of range; the classes are 0 to 1");
  CHECK(told(Tensor{std::int64_t{0}, std::numeric_limits<std::int64_t>::min()}) ==
        "cross_entropy: label -9223372036854775808 is out of range; the classes are 0 to 1");
  CHECK(told(Tensor{std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) ==
        "cross_entropy: label 9223372036854775807 is out of range; the classes are 0 to 1");
  const Tensor v = Tensor{3, 1, 2};
  CHECK_THROWS_AS(choice(v, 2, true, Tensor{-1.0, 1.0, 1.0}).to_string(), tyto::Error);
  CHECK_THROWS_AS(choice(v, 2, true, Tensor{0.0, 0.0, 0.0}).to_string(), tyto::Error);
  CHECK_THROWS_AS(choice(v, 2, true, Tensor{NAN, 1.0, 1.0}).to_string(), tyto::Error);
  CHECK_THROWS_AS(choice(v, 2, false, Tensor{1.0, 0.0, 0.0}).to_string(), tyto::Error);
  CHECK(choice(v, 1, false, Tensor{0.0, 5.0, 0.0}).template to_vector<std::int64_t>() == std::vector<std::int64_t>{1});
}

TEST_CASE("errors of weights state which is invalid where they are known") {
  using Tensor = tyto::Tensor<tyto::Eager>;
  const Tensor v = Tensor{3, 1, 2};
  CHECK_THROWS_WITH_AS(choice(v, 2, true, Tensor{-1.0, 1.0, 1.0}),
                       "choice: weights must be 0 or more, their sum above 0 and finite", ValueError);
  CHECK_THROWS_WITH_AS(choice(v, 2, false, Tensor{1.0, 0.0, 0.0}),
                       "choice: 2 elements cannot be drawn without putting back, as 1 have a weight above 0",
                       ValueError);
}

TEST_CASE_TEMPLATE("a shape that memory cannot hold is refused, whatever fills it", Mode, tyto::Eager, tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  const tyto::Shape huge{std::int64_t{1} << 46};
  CHECK_THROWS_AS(T::from_function(huge, [](auto) { return 0.0; }), tyto::DeviceError);
  const T table = T::from_function({2, 2}, [](auto at) { return 10.0 * double(at[0]) + double(at[1]); });
  CHECK(table.template to_vector<float>() == std::vector<float>{0, 1, 10, 11});
  CHECK(T::from_function(
            {0}, [](auto) { return 1.0; }, DType::i32)
            .dtype() == DType::i32);
  CHECK(T::from_function({}, [](auto) { return 4.0; }).template item<float>() == 4);
}
