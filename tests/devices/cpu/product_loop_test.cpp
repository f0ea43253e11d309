// SPDX-License-Identifier: MIT
// Loops that run over the parts of a product's result as these are stored: the bits of the two steps one after the
// other.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "core/device/device.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/system/threads.hpp"
#include "tests/support/placed_tensor.hpp"
#include "tyto/tyto.hpp"

namespace product_loop_test {

using namespace tyto;
using core::LoopAttributes;
using core::LoopProgram;
using core::Operand;
using core::OpId;
using core::ProductAttributes;
using core::View;

namespace {

/// An operand's elements in memory of the device, and a copy of them.
struct Held {
  Operand operand;
  core::BufferRef buffer;

  Held(DType dtype, const Shape& shape, placed::Dice& dice) : operand{dtype, View::dense(shape)} {
    const auto count = static_cast<std::size_t>(element_count(shape));
    buffer = cpu::device().allocate(std::max<std::size_t>(count, 1) * size_of(dtype));
    for (std::size_t i = 0; i < count; ++i)
      placed::store(dtype, static_cast<std::byte*>(buffer->memory()) + i * size_of(dtype), 4 * dice.unit() - 2);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(operand.view.count()) * size_of(operand.dtype); }
  core::Address address() const { return {buffer->memory(), 0}; }
  std::vector<std::byte> contents() const {
    const auto* const first = static_cast<const std::byte*>(buffer->memory());
    return {first, first + bytes()};
  }
};

struct Product {
  OpId op;
  ProductAttributes attributes;
  std::vector<Shape> operands;
  Shape result;
};

Product pointwise(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t in, std::int64_t out) {
  ProductAttributes attributes;
  attributes.bias = true;
  attributes.window = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, {}};
  return {OpId::convolution_epilogue,
          attributes,
          {{batch, height, width, in}, {1, 1, in, out}, {out}},
          {batch, height, width, out}};
}

Product windowed(std::int64_t batch, std::int64_t size, std::int64_t in, std::int64_t out, std::int64_t stride,
                 std::int64_t dilation, std::int64_t groups) {
  ProductAttributes attributes;
  attributes.bias = true;
  attributes.residual = true;
  attributes.window = {{3, 3}, {stride, stride}, {dilation, dilation}, {1, 1}, {2, 1}, groups, false, {}};
  const std::int64_t reach = 2 * dilation + 1;
  const std::int64_t high = (size + 3 - reach) / stride + 1, wide = (size + 2 - reach) / stride + 1;
  const Shape result{batch, high, wide, out};
  return {OpId::convolution_epilogue,
          attributes,
          {{batch, size, size, in}, {3, 3, in / groups, out}, {out}, result},
          result};
}

Product matrices(std::int64_t m, std::int64_t k, std::int64_t n) {
  ProductAttributes attributes;
  attributes.bias = true;
  attributes.low = -3;
  return {OpId::matmul_epilogue, attributes, {{m, k}, {k, n}, {n}}, {m, n}};
}

/// x is the product's result, the other values what else is read.
struct Loop {
  const char* name;
  std::vector<Shape> others;
  std::function<LoopProgram(DType)> program;
};

LoopProgram program_of(DType t, std::uint16_t inputs, std::vector<double> constants,
                       std::vector<core::LoopInstruction> instructions) {
  LoopProgram program;
  program.inputs = inputs;
  for (const double each : constants) program.constants.push_back({Scalar(each), t});
  for (core::LoopInstruction& each : instructions) each.dtype = each.dtype == DType::boolean ? DType::boolean : t;
  program.instructions = std::move(instructions);
  program.outputs = {static_cast<std::uint16_t>(program.values() - 1)};
  return program;
}

std::vector<Loop> loops_over(const Shape& result) {
  const std::int64_t channels = result.back();
  Shape image(static_cast<std::size_t>(result.rank()), 1), pixel = result;
  image[0] = result[0];
  image[image.size() - 1] = channels;
  pixel[pixel.size() - 1] = 1;
  const auto f = [](OpId op, std::array<core::LoopValue, 3> operands) {
    return core::LoopInstruction{op, DType::f32, operands};
  };
  return {
      {"hard swish",
       {},
       [=](DType t) {
         return program_of(
             t, 1, {3, 0, 6},
             {f(OpId::add, {0, 1}), f(OpId::clip, {4, 2, 3}), f(OpId::multiply, {0, 5}), f(OpId::divide, {6, 3})});
       }},
      {"silu", {}, [=](DType t) { return program_of(t, 1, {}, {f(OpId::silu, {0})}); }},
      {"gelu", {}, [=](DType t) { return program_of(t, 1, {}, {f(OpId::gelu, {0})}); }},
      {"leaky relu",
       {},
       [=](DType t) {
         return program_of(
             t, 1, {0, 0.1},
             {{OpId::greater, DType::boolean, {0, 1}}, f(OpId::multiply, {0, 2}), f(OpId::where, {3, 0, 4})});
       }},
      {"sum with a tensor of the shape",
       {result},
       [=](DType t) {
         return program_of(t, 2, {}, {f(OpId::tanh, {0}), f(OpId::add, {2, 1})});
       }},
      {"scale a channel",
       {{channels}},
       [=](DType t) {
         return program_of(t, 2, {}, {f(OpId::multiply, {0, 1}), f(OpId::exp, {2})});
       }},
      {"scale a channel of each image, shift a pixel",
       {image, pixel},
       [=](DType t) {
         return program_of(t, 3, {}, {f(OpId::multiply, {1, 0}), f(OpId::subtract, {3, 2})});
       }},
      {"a number that is no constant",
       {{}},
       [=](DType t) {
         return program_of(t, 2, {}, {f(OpId::power, {0, 1}), f(OpId::maximum, {2, 0})});
       }},
  };
}

/// Launches the product and the loop apart and together, and compares every byte of the result. Whether they were
/// joined.
bool check(const Product& product, const Loop& loop, DType dtype, bool in_place = true) {
  CAPTURE(loop.name);
  CAPTURE(product.result);
  CAPTURE(dtype);
  placed::Dice dice(7);
  core::Device& device = cpu::device();
  std::vector<Held> operands;
  for (const Shape& shape : product.operands) operands.emplace_back(dtype, shape, dice);
  std::vector<Held> others;
  for (const Shape& shape : loop.others) others.emplace_back(dtype, shape, dice);
  const Held result(dtype, product.result, dice), elsewhere(dtype, product.result, dice);

  std::vector<Operand> given;
  std::vector<core::Address> from;
  for (const Held& each : operands) {
    given.push_back(each.operand);
    from.push_back(each.address());
  }
  const core::Attributes of_product = product.attributes;
  const auto multiply = device.prepare({product.op, &of_product, given, {&result.operand, 1}});

  std::vector<Operand> read{result.operand};
  std::vector<core::Address> behind{result.address()};
  for (const Held& each : others) {
    read.push_back(each.operand);
    behind.push_back(each.address());
  }
  const core::Attributes of_loop = LoopAttributes{product.result, {}, loop.program(dtype)};
  const auto apply = device.prepare({OpId::fused, &of_loop, read, {&elsewhere.operand, 1}});

  const std::size_t bytes = std::max<std::size_t>(multiply->workspace(), 1);
  const core::BufferRef workspace = device.allocate(bytes);
  const core::Address space{workspace->memory(), 0};
  const Held& last = in_place ? result : elsewhere;
  const core::Address to = result.address(), end = last.address();
  multiply->launch(from, {&to, 1}, space);
  apply->launch(behind, {&end, 1}, {});
  const std::vector<std::byte> want = last.contents();

  if (!multiply->joins(*apply)) return false;
  for (int again = 0; again < 2; ++again) {
    std::memset(last.buffer->memory(), 0xff, last.bytes());
    multiply->launch_joined({from, {&to, 1}, space}, *apply, {behind, {&end, 1}, {}});
    CHECK(last.contents() == want);
  }
  return true;
}

class Threads {
 public:
  explicit Threads(int count) : before_(cpu::threads()) { cpu::set_threads(count); }
  ~Threads() { cpu::set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

std::vector<Product> products() {
  return {pointwise(1, 13, 7, 40, 72),
          pointwise(3, 9, 11, 16, 33),
          pointwise(2, 40, 40, 600, 64),
          windowed(2, 14, 12, 20, 1, 1, 1),
          windowed(2, 17, 8, 48, 2, 1, 2),
          windowed(1, 19, 24, 24, 1, 2, 4),
          windowed(2, 15, 40, 40, 1, 1, 40),
          windowed(1, 33, 70, 70, 2, 1, 70),
          matrices(67, 129, 90),
          matrices(200, 1100, 65)};
}

}  // namespace

TEST_CASE("a loop behind a product gives the bits of the two steps one after the other") {
  for (const int threads : {1, 2}) {
    const Threads these(threads);
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const Product& product : products()) {
        for (const Loop& loop : loops_over(product.result)) {
          const bool joined = check(product, loop, dtype);
          if (dtype == DType::f64 && cpu::jit::is_available()) CHECK(joined);
        }
      }
    }
  }
}

TEST_CASE("a loop whose result lies elsewhere runs after the product") {
  for (const Product& product : products()) check(product, loops_over(product.result)[0], DType::f64, false);
}

TEST_CASE("a loop that reads a product's result across its rows, or another way as well, runs after it") {
  // x + x^T, in place of x: the second operand is a view of the first.
  const Shape square{64, 64};
  placed::Dice dice(3);
  core::Device& device = cpu::device();
  const Threads one(1);
  const Held a(DType::f64, square, dice), b(DType::f64, square, dice), c(DType::f64, square, dice);
  const core::Attributes none = ProductAttributes{};
  const std::vector<Operand> given{a.operand, b.operand};
  const auto multiply = device.prepare({OpId::matmul_epilogue, &none, given, {&c.operand, 1}});
  const core::Attributes sum = LoopAttributes{square, {}, LoopProgram{2, {}, {{OpId::add, DType::f64, {0, 1}}}, {2}}};
  const std::vector<Operand> read{c.operand, {DType::f64, View{square, {1, 64}, 0}}};
  const auto apply = device.prepare({OpId::fused, &sum, read, {&c.operand, 1}});
  const core::BufferRef workspace = device.allocate(std::max<std::size_t>(multiply->workspace(), 1));
  const core::Address space{workspace->memory(), 0}, to = c.address();
  const core::Address from[] = {a.address(), b.address()}, behind[] = {c.address(), c.address()};
  multiply->launch(from, {&to, 1}, space);
  apply->launch(behind, {&to, 1}, {});
  const std::vector<std::byte> want = c.contents();
  if (cpu::jit::is_available()) CHECK(multiply->joins(*apply));
  std::memset(c.buffer->memory(), 0xff, c.bytes());
  multiply->launch_joined({from, {&to, 1}, space}, *apply, {behind, {&to, 1}, {}});
  CHECK(c.contents() == want);
}

namespace {

template <class T>
T activation(int which, const T& x) {
  switch (which) {
    case 0: return relu(x);
    case 1: return clip(x, -1, 1.5);
    case 2: return silu(x);
    case 3: return gelu(x);
    case 4: return x * clip(x + 3, 0, 6) / 6;
    case 5: return where(x > 0, x, x * 0.1);
    case 6: return clip(x / 6 + 0.5, 0, 1);
    case 7: return sigmoid(x);
    case 8: return softplus(x);
    default: return where(x > 0, x, expm1(x));
  }
}
constexpr int activations = 10;

}  // namespace

TEST_CASE("activations behind convolutions in a compiled function are those of eager mode") {
  placed::Dice dice(11);
  const auto numbers = [&](const Shape& shape, double scale) {
    std::vector<float> list(static_cast<std::size_t>(element_count(shape)));
    for (float& each : list) each = static_cast<float>(scale * (2 * dice.unit() - 1));
    return list;
  };
  for (const int threads : {1, 2}) {
    const Threads these(threads);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const float tolerance = dtype == DType::f32 ? 2e-5f : dtype == DType::f16 ? 4e-3f : 3e-2f;
      for (const bool last : {true, false}) {
        for (const std::int64_t groups : {1, 32}) {
          const ConvolutionOptions options{
              .stride = groups == 1 ? 1 : 2, .padding = same, .groups = groups, .layout = last ? nhwc : nchw};
          const std::int64_t side = groups == 1 ? 1 : 3, in = 32 / groups;
          const Shape image = last ? Shape{2, 14, 13, 32} : Shape{2, 32, 14, 13};
          const Shape kernel = last ? Shape{side, side, in, 32} : Shape{32, in, side, side};
          const Shape channels = last ? Shape{32} : Shape{32, 1, 1};
          const auto x = numbers(image, 2), w = numbers(kernel, 1), b = numbers(channels, 1);
          for (int which = 0; which < activations; ++which) {
            CAPTURE(which);
            CAPTURE(dtype);
            const auto network = [&](const auto& picture, const auto& weights, const auto& bias) {
              return activation(which, conv2d(picture, weights, options) + bias);
            };
            const auto in_mode = [&](auto mode, const std::vector<float>& list, const Shape& shape) {
              return cast(Tensor<decltype(mode)>::from(list, shape), dtype);
            };
            const auto eagerly =
                network(in_mode(Eager(), x, image), in_mode(Eager(), w, kernel), in_mode(Eager(), b, channels));
            const std::vector<float> want = cast(eagerly, DType::f32).template to_vector<float>();
            const auto weights = Tensor<Lazy>::variable(in_mode(Lazy(), w, kernel));
            const auto bias = Tensor<Lazy>::variable(in_mode(Lazy(), b, channels));
            auto compiled = compile([&](Tensor<Lazy> picture) { return network(picture, weights, bias); });
            for (int again = 0; again < 2; ++again) {
              const auto got = cast(compiled(in_mode(Lazy(), x, image)), DType::f32).template to_vector<float>();
              REQUIRE(got.size() == want.size());
              std::size_t wrong = 0;
              for (std::size_t i = 0; i < got.size(); ++i)
                wrong += !(std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i])));
              CHECK(wrong == 0);
            }
          }
        }
      }
    }
  }
}

}  // namespace product_loop_test
