// SPDX-License-Identifier: MIT
// Operators, loops and branches written as ONNX and read again give the same numbers.
#include <fstream>
#include <functional>
#include <iterator>

#include "tests/onnx/written.hpp"

namespace tyto::onnx_tests {
namespace {
using L = Tensor<Lazy>;
}  // namespace

TEST_CASE("element-wise operators come back from ONNX as they were") {
  const L x = L::placeholder({2, 5}, DType::f32, "x");
  const Tensor<Eager> given{{0.25, -0.5, 0.75, 0.1, -0.9}, {0.6, 0.3, -0.2, 0.45, 0.05}};
  const L one_up = x + 1.5;
  check_written("unary", x, given,
                {abs(x),
                 acos(x),
                 acosh(one_up + 1),
                 asin(x),
                 asinh(x),
                 atan(x),
                 atanh(x),
                 ceil(x * 3),
                 cos(x),
                 cosh(x),
                 erf(x),
                 exp(x),
                 floor(x * 3),
                 gelu(x),
                 log(one_up),
                 negate(x),
                 reciprocal(one_up),
                 relu(x),
                 round(x * 3),
                 sigmoid(x),
                 sign(x),
                 sin(x),
                 sinh(x),
                 softplus(x),
                 softsign(x),
                 sqrt(one_up),
                 tan(x),
                 tanh(x),
                 square(x),
                 rsqrt(one_up),
                 exp2(x),
                 exp10(x),
                 expm1(x),
                 log1p(x),
                 log2(one_up),
                 log10(one_up),
                 cbrt(x),
                 log_sigmoid(x),
                 silu(x),
                 erfc(x),
                 trunc(x * 5),
                 isfinite(x),
                 isnan(x),
                 isinf(x)});
  const L y = flip(x, 1) * 2.0 + 0.01;
  check_written("binary", x, given,
                {x + y,
                 x - y,
                 x * y,
                 x / y,
                 maximum(x, y),
                 minimum(x, y),
                 power(one_up, y),
                 x == y,
                 x != y,
                 x<y, x <= y, x>
                     y,
                 x >= y,
                 (x > 0) && (y > 0),
                 (x > 0) || (y > 0),
                 logical_xor(x > 0, y > 0),
                 !(x > 0),
                 where(x > 0, x, y),
                 clip(x, -0.3, 0.4),
                 fmod(x * 7, y + 3),
                 remainder(x * 7, y + 3),
                 hypot(x, y),
                 logaddexp(x, y),
                 cast(x * 10, DType::i32) + 3,
                 cast(x * 10, DType::i64) * cast(y * 9, DType::i32),
                 cast(x * 10, DType::i32) & 6,
                 x * cast(x > 0, DType::f64)});
}

TEST_CASE("functions of bits, exponents and divisors come back from ONNX, also of the ends of their types") {
  const L x = L::placeholder({7, 1}, DType::f32, "x");
  const Tensor<Eager> given{{0.75}, {-0x1p-149}, {0x1.8p127}, {0x1p-126}, {0x1.fffffep-1}, {-4.0}, {0.0}};
  constexpr std::int64_t least = INT64_MIN, largest = INT64_MAX;
  const L whole = (x * 0 + 1).astype(DType::i64);  // not known before the run
  const L a = whole * L{least, largest, -1, 12, 0};
  const L b = whole * L{least, least, least, largest, -18};
  const auto [mantissa, exponent] = frexp(x);
  check_written("bits", x, given,
                {mantissa, exponent, ldexp(x, L{-300, -149, -1, 0, 24, 127, 400}), gcd(a, L{18}), gcd(a, b),
                 gcd(a, least), lcm(a, L{6}), lcm(a, -1), bitwise_count(a),
                 gcd(a.astype(DType::i16), b.astype(DType::i16)), bitwise_count(a.astype(DType::u64))});
}

TEST_CASE("reductions, views and movements come back from ONNX as they were") {
  const L x = L::placeholder({3, 4, 5}, DType::f32, "x");
  std::vector<float> numbers(60);
  for (std::size_t i = 0; i < 60; ++i) numbers[i] = static_cast<float>((i * 37) % 60) / 20 - 1.3F;
  const Tensor<Eager> given = Tensor<Eager>::from(numbers, {3, 4, 5});
  const TopK<Lazy> best = topk(x, 2, 1);
  check_written("reductions", x, given,
                {sum(x),
                 sum(x, {0, 2}),
                 sum(x > 0, 1),
                 mean(x, 1, true),
                 prod(x, 2),
                 max(x, {1}),
                 min(x),
                 var(x, 2),
                 var(x, {0, 1}, true, 1),
                 stddev(x),
                 logsumexp(x, 1),
                 any(x > 1.5, 2),
                 all(x > -1.2, 0),
                 argmax(x, 1),
                 argmin(x, 2, true),
                 cumsum(x, 1),
                 cumsum(x, 2, {.exclusive = true, .reverse = true}),
                 softmax(x, 1),
                 log_softmax(x),
                 best.values,
                 best.indices,
                 l2_norm(x, 2)});
  check_written("movements", x, given,
                {transpose(x),
                 transpose(x, {1, 0, 2}),
                 reshape(x, {6, -1}),
                 x(0),
                 x(all, slice({}, {}, -2), slice(1, 4, 2)),
                 flip(x, {0, 2}),
                 concat<Lazy>({x, x * 2}, 1),
                 stack<Lazy>({x, x}, 0),
                 tile(x, {1, 2, 1}),
                 pad(x, {0, 1, 2}, {1, 0, 0}, PaddingMode::constant, 7),
                 pad(x, {0, 1, 2}, {1, 0, 0}, PaddingMode::reflect),
                 broadcast_to(expand_dims(x, 0), {2, 3, 4, 5}),
                 tril(x),
                 triu(x, 1),
                 take(x, L{2, 0}, 0),
                 take_along_axis(x, L{{{4, 0}}} * L::ones({3, 4, 1}, DType::i64), 2),
                 x + L::arange(5),
                 x * L::eye(4, 5),
                 x + L::linspace(0, 1, 5),
                 L::full({3, 4, 1}, 2.5) * x,
                 expand_dims(x, 1),
                 squeeze(x(slice(0, 1)))});
}

TEST_CASE("scans along an axis without elements come back from ONNX, and give nothing") {
  const L x = L::placeholder({0, 3}, DType::f32, "x");
  check_written("scans_of_nothing", x, Tensor<Eager>::zeros({0, 3}),
                {cumsum(x, 0), cumprod(x, 0), cumprod(x, 0, {.exclusive = true}),
                 cumprod(x, 0, {.exclusive = true, .reverse = true}), cummax(x, 0), cummin(x, 0, true)});
}

TEST_CASE("products, convolutions and pools come back from ONNX as they were") {
  const L x = L::placeholder({2, 9, 8, 4}, DType::f32, "x");
  std::vector<float> numbers(2 * 9 * 8 * 4);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>((i * 131) % 97) / 50 - 1;
  const Tensor<Eager> given = Tensor<Eager>::from(numbers, {2, 9, 8, 4});
  seed(5);
  const L w = L::from(Tensor<Eager>::normal({3, 2, 4, 6}).to_vector<float>(), {3, 2, 4, 6});
  const L depthwise = L::from(Tensor<Eager>::normal({3, 3, 1, 4}).to_vector<float>(), {3, 3, 1, 4});
  const L matrix = L::from(Tensor<Eager>::normal({4, 5}).to_vector<float>(), {4, 5});
  check_written("images", x, given,
                {conv2d(x, w, {.stride = {2, 1}, .padding = same}), conv2d(x, depthwise, {.padding = 1, .groups = 4}),
                 relu(conv2d(relu(conv2d(x, depthwise, {.padding = 1, .groups = 4})), w)),
                 max_pool(x, {3, 2}, {.stride = 2, .padding = 1}), average_pool(x, 2),
                 average_pool(x, 3, {.padding = 1, .count_padding = true}), upsample(x, {2, 3}), global_average_pool(x),
                 matmul(x, matrix), conv2d(transpose(x, {0, 3, 1, 2}), transpose(w, {3, 2, 0, 1}), {.layout = nchw})});
}

TEST_CASE("second gradients of pools come back from ONNX as they were") {
  const L x = L::placeholder({2, 6, 5, 3}, DType::f32, "x");
  seed(6);
  const Tensor<Eager> given = Tensor<Eager>::normal({2, 6, 5, 3}), direction = Tensor<Eager>::normal({2, 6, 5, 3});
  const L u = L::from(direction.to_vector<float>(), direction.shape());
  const auto gradient = [&](const L& weights) {
    const auto pooled = [&](const L& in) { return sum(max_pool(in, {3, 2}, {.stride = 2, .padding = 1}) * weights); };
    return sum(value_and_grad(pooled)(x).second[0] * u);
  };
  check_written("pick", x, given, {value_and_grad(gradient)(L::ones({2, 3, 3, 3})).second[0]});
}

TEST_CASE("operators that ONNX lacks are named before anything is written") {
  const testing::TemporaryFolder folder;
  const L x = L::placeholder({3}, DType::f32, "x"), state = L::variable(L{1.0, 2.0, 3.0}, "total");
  const std::string path = folder / "m.onnx";
  CHECK_THROWS_WITH_AS(write_onnx(path, Graph{{.inputs = {x}, .outputs = {lgamma(x) + sort(x), digamma(x)}}}),
                       "write_onnx: ONNX has no operators for these of the graph: digamma, lgamma", GraphError);
  CHECK_THROWS_WITH_AS(write_onnx(path, Graph{{.inputs = {x}, .outputs = {x}, .updates = {{state, state + x}}}}),
                       "write_onnx: the graph gives 'total' a new value in each run; ONNX has no states", GraphError);
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("loops and branches come back from ONNX as they were") {
  const L x = L::placeholder({4, 3}, DType::f32, "x");
  const Tensor<Eager> given{{0.25, -0.5, 0.75}, {0.1, -0.9, 0.6}, {0.3, -0.2, 0.45}, {0.05, 0.8, -0.7}};
  const L w = L{{0.5, -0.25, 0.125}, {0.75, -0.5, 0.25}, {1.0, 0.5, -0.75}};
  const auto step = [&](const L& h, const L& row) {
    const L next = tanh(matmul(h, w) + row);
    return std::pair(next, next * row);
  };
  const L start = L::zeros({1, 3});
  const auto [last, rows] = scan(step, start, x);
  const auto [first, backwards] = scan(step, start, x, {.reverse = true});
  check_written("scans", x, given, {last, rows, first, backwards});

  const L count = sum(abs(x)).astype(DType::i64);  // 5
  const L product =
      fori_loop(Count(1), Count(count), x, [](const L& i, const L& c) { return c * i.astype(DType::f32); });
  const L halved = while_loop(
      x, [](const L& c) { return sum(abs(c)) > 1.0; }, [&](const L& c) { return c * 0.5; });
  const auto [until, stopped, reached] =
      scan_until([](const L& c, const L& row) { return std::tuple(c + row, c - row, sum(c + row) > 0.5); }, x(3), x);
  check_written("loops", x, given, {product, halved, until, stopped, reached});

  std::vector<std::function<L()>> arms;
  for (const double factor : {2.0, 3.0, 4.0}) arms.emplace_back([=] { return x * factor; });
  std::vector<L> chosen;
  for (const std::int64_t number : {-1, 1, 7}) {
    chosen.push_back(switch_case(L::full({}, number, DType::i64) + sum(x).astype(DType::i64) * 0, arms));
  }
  const L largest = max(abs(x));
  chosen.push_back(cond(
      largest > 0.5, [&] { return x / largest; }, [&] { return x; }));
  chosen.push_back(fori_loop(0, 5, x, [&](const L& i, const L& c) {
    return cond(
        i % 2 == 0, [&] { return c + x; }, [&] { return sin(c); });
  }));
  check_written("branches", x, given, chosen);

  auto [loss, gradients] = value_and_grad([&](const L& in) { return sum(square(scan(step, start, in).second)); })(x);
  check_written("gradient_of_scan", x, given, {loss, gradients[0]});
}

TEST_CASE("weights of few bits are written as they are, also within a loop, and read without being written out") {
  const std::int64_t columns = 256, depth = 256;
  const L x = L::placeholder({3, depth}, DType::f32, "x");
  const Tensor<Eager> given = sin(reshape(Tensor<Eager>::arange(0, 3.0 * static_cast<double>(depth)), {3, depth}));
  const L numbers = sin(reshape(L::arange(0, static_cast<double>(columns * depth)), {columns, depth}));
  std::vector<L> outputs;
  for (const std::int64_t bits : {2, 4, 8}) {
    const QuantisedWeights<Lazy> weights = quantise(numbers.astype(DType::f32), {.bits = bits, .block = 32});
    const auto constant = [](const L& y) { return L::from_bytes(y.bytes().data(), y.size(), y.shape(), y.dtype()); };
    const QuantisedWeights<Lazy> known{constant(weights.numbers), constant(weights.scales), {}, bits};
    outputs = {quantised_matmul(x, known),
               fori_loop(0, 2, x, [&](const L&, const L& c) { return quantised_matmul(c, known) * 0.1; })};
    check_written(core::text("few_bits_", bits), x, given, outputs);
    const testing::TemporaryFolder folder;
    write_onnx(folder / "few_bits.onnx", Graph{{.inputs = {x}, .outputs = {outputs[0]}}});
    Graph read = read_onnx<L>(folder / "few_bits.onnx").graph();
    read.prepare();
    CHECK(read.report().constant_bytes < static_cast<std::size_t>(columns * depth * (bits + 2) / 8));
  }
}

TEST_CASE("blocks of up to 65536 numbers are read without being written out") {
  const std::int64_t columns = 8, depth = 8192;
  const L x = L::placeholder({3, depth}, DType::f32, "x");
  const L numbers = sin(reshape(L::arange(0, static_cast<double>(columns * depth)), {columns, depth}));
  const auto constant = [](const L& y) { return L::from_bytes(y.bytes().data(), y.size(), y.shape(), y.dtype()); };
  for (const std::int64_t bits : {4, 8}) {
    for (const std::int64_t block : {512, 4096}) {
      CAPTURE(bits);
      CAPTURE(block);
      const QuantisedWeights<Lazy> w = quantise(numbers.astype(DType::f32), {.bits = bits, .block = block});
      const QuantisedWeights<Lazy> known{constant(w.numbers), constant(w.scales), {}, bits};
      const testing::TemporaryFolder folder;
      write_onnx(folder / "blocks.onnx", Graph{{.inputs = {x}, .outputs = {quantised_matmul(x, known)}}});
      Graph read = read_onnx<L>(folder / "blocks.onnx").graph();
      read.prepare();
      CHECK(read.report().constant_bytes < static_cast<std::size_t>(columns * depth * (bits + 2) / 8));
    }
  }
}

TEST_CASE("products with weights of few bits that ONNX Runtime refuses are written out") {
  struct Case {
    std::int64_t bits, block;
    bool floating_zeros;
    DType dtype;
    bool written_out;
  };
  const std::int64_t columns = 5, depth = 40;
  const Tensor<Eager> given = sin(reshape(Tensor<Eager>::arange(0, 3.0 * static_cast<double>(depth)), {3, depth}));
  const auto constant = [](const L& y) { return L::from_bytes(y.bytes().data(), y.size(), y.shape(), y.dtype()); };
  for (const Case& c : std::vector<Case>{{2, 256, false, DType::f32, false},
                                         {2, 256, true, DType::f32, false},
                                         {2, 512, false, DType::f32, true},
                                         {2, 512, true, DType::f32, true},
                                         {4, 512, false, DType::f32, false},
                                         {4, 16, true, DType::f32, false},
                                         {4, 16, false, DType::f16, false},
                                         {4, 16, false, DType::f64, true},
                                         {8, 16, false, DType::f32, false},
                                         {8, 4096, false, DType::f32, false},
                                         {8, 16, true, DType::f32, true},
                                         {8, 16, true, DType::f16, true}}) {
    CAPTURE(c.bits);
    CAPTURE(c.block);
    CAPTURE(c.floating_zeros);
    CAPTURE(name_of(c.dtype));
    const L numbers = cos(reshape(L::arange(0, static_cast<double>(columns * depth)), {columns, depth}));
    const QuantisedWeights<Lazy> w = quantise(numbers.astype(c.dtype), {.bits = c.bits, .block = c.block});
    QuantisedWeights<Lazy> known{constant(w.numbers), constant(w.scales), {}, c.bits};
    if (c.floating_zeros) known.zero_points = constant(L::full(w.scales.shape(), 1.25, c.dtype));
    const L x = L::placeholder({3, depth}, c.dtype, "x");
    const L y = quantised_matmul(x, known);
    const testing::TemporaryFolder folder;
    const std::string path = folder / "m.onnx";
    write_onnx(path, Graph{{.inputs = {x}, .outputs = {y}}});
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    CHECK((bytes.find("MatMulNBits") == std::string::npos) == c.written_out);
    // A half that is summed in another order may round to its neighbour.
    const double relative = c.dtype == DType::f16 ? 1e-2 : 1e-5;
    check_written(core::text("few_bits_", c.bits, "_", c.block, c.floating_zeros ? "_zeros_" : "_", name_of(c.dtype)),
                  x, given.astype(c.dtype), {y}, {.relative = relative, .absolute = relative});
  }
}

}  // namespace tyto::onnx_tests
