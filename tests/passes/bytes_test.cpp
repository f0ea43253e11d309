// SPDX-License-Identifier: MIT
// Products of integers widened from bytes, which the optimiser multiplies as bytes.
#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/session.hpp"
#include "tests/passes/outcome.hpp"

namespace bytes_test {

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

Port cast(Sketch& s, Port x, DType to) { return s.add(OpId::cast, {x}, core::CastAttributes{to}); }
Port wide(Sketch& s, const Shape& shape, DType from, DType to = DType::i32) {
  return cast(s, s.input(shape, from), to);
}
Port transposed(Sketch& s, Port x) { return s.add(OpId::transpose, {x}, core::ListAttributes{{1, 0}}); }
Port reshaped(Sketch& s, Port x, const Shape& to) { return s.add(OpId::reshape, {x}, core::ListAttributes{to}); }

core::Graph drawn(bool fires, const std::function<Port(Sketch&)>& draw) {
  return expect("bytes", fires, draw, {}, "bytes").graph;
}

/// A convolution in f32 of a picture of u8 with so many channels by three filters of i8, all of one weight; optimised
/// for a device that packs so many bytes of weights.
core::Graph convolved(std::int64_t channels, double weight, std::int64_t packed_bytes, DType picture = DType::u8) {
  Sketch s;
  const Shape kernel{3, channels, 3, 3};
  const Port w =
      s.constant(std::vector<double>(static_cast<std::size_t>(element_count(kernel)), weight), kernel, DType::i8);
  const Port filters = s.add(OpId::transpose, {cast(s, w, DType::f32)}, core::ListAttributes{{2, 3, 1, 0}});
  core::WindowAttributes window;
  window.window = {3, 3};
  window.stride = window.dilation = {1, 1};
  window.before = window.after = {1, 0};
  const core::Graph graph =
      s.graph({s.add(OpId::convolution, {wide(s, {2, 4, 5, channels}, picture, DType::f32), filters}, window)});
  optimiser::PassOptions options;
  options.passes = {"bytes"};
  options.packed_bytes = [=](OpId, const core::ProductAttributes& product, DType dtype) {
    CHECK(product.left == Shape{2, 4, 5, channels});
    CHECK(product.weights == Shape{3, 3, channels, 3});
    CHECK(dtype == DType::u8);
    return packed_bytes;
  };
  options.evaluate = [](core::Graph constants) {
    CompileOptions as_it_is;
    as_it_is.passes = run::as_recorded;
    run::Session session(std::make_shared<const run::Executable>(std::move(constants), run::cpu_device(), as_it_is));
    session.run();
    return std::vector{session.take_output(0)};
  };
  const core::Graph found = optimiser::optimise(graph, options);
  CHECK(agree(results_of(graph, 0, 200), results_of(found, 0, 200)));
  return found;
}

}  // namespace

TEST_CASE("a convolution in f32 of widened bytes reads the bytes where f32 holds its sums and the device gains by it") {
  const auto fires = [](std::int64_t channels, double weight, std::int64_t packed_bytes, DType picture = DType::u8) {
    return count(convolved(channels, weight, packed_bytes, picture), OpId::convolution_epilogue) == 1;
  };
  CHECK(fires(2, 127, 64));
  CHECK_FALSE(fires(2, 127, 0));
  CHECK_FALSE(fires(2, 127, 64, DType::i8));
  CHECK(count(convolved(2, -128, 64), OpId::cast) == 1);
  // 9 taps of 60 channels: 255 times 540 times 121 is less than 2^24, times 122 it is more.
  CHECK(fires(60, 121, 64));
  CHECK(fires(60, -121, 64));
  CHECK_FALSE(fires(60, 122, 64));
  CHECK_FALSE(fires(60, -122, 64));
}

TEST_CASE("a product of widened bytes reads the bytes, through views too") {
  for (const DType left : {DType::u8, DType::i8}) {
    const core::Graph graph = drawn(true, [=](Sketch& s) {
      return s.add(OpId::matmul, {wide(s, {4, 5}, left), wide(s, {5, 6}, DType::i8)});
    });
    CHECK(count(graph, OpId::cast) == 0);
    CHECK(count(graph, OpId::matmul_epilogue) == 1);
  }
  drawn(true, [](Sketch& s) {
    return s.add(OpId::matmul,
                 {reshaped(s, wide(s, {2, 3, 5}, DType::u8), {6, 5}), transposed(s, wide(s, {6, 5}, DType::i8))});
  });
  drawn(true, [](Sketch& s) {
    return s.add(OpId::matmul, {wide(s, {2, 3, 4}, DType::i8), wide(s, {2, 4, 5}, DType::i8)});
  });
  drawn(true, [](Sketch& s) { return s.add(OpId::matmul, {wide(s, {3, 0}, DType::u8), wide(s, {0, 2}, DType::i8)}); });
}

TEST_CASE("a product of other integers stays as it is") {
  const auto stays = [](DType left, DType right, DType sums) {
    drawn(false, [=](Sketch& s) {
      return s.add(OpId::matmul, {wide(s, {4, 5}, left, sums), wide(s, {5, 6}, right, sums)});
    });
  };
  stays(DType::u8, DType::u8, DType::i32);
  stays(DType::i8, DType::u8, DType::i32);
  stays(DType::u8, DType::i16, DType::i32);
  stays(DType::u8, DType::i8, DType::i64);
  stays(DType::u8, DType::i8, DType::f32);
  drawn(false, [](Sketch& s) {
    return s.add(OpId::matmul, {s.input({4, 5}, DType::i32), wide(s, {5, 6}, DType::i8)});
  });
}

TEST_CASE("constant weights are packed for products of bytes, not for products in 8 bits") {
  const auto packed = [](bool widened) {
    Sketch s;
    const Port w = s.constant({1, 2, 3, 4, 5, 6}, {3, 2}, widened ? DType::i8 : DType::u8);
    const Port x = s.input({4, 3}, DType::u8);
    const Port y =
        widened ? s.add(OpId::matmul, {cast(s, x, DType::i32), cast(s, w, DType::i32)}) : s.add(OpId::matmul, {x, w});
    optimiser::PassOptions options;
    options.passes = {"bytes,packing"};
    options.packed_bytes = [](OpId, const core::ProductAttributes&, DType dtype) {
      return dtype == DType::u8 ? std::int64_t{64} : std::int64_t{0};
    };
    return count(optimiser::optimise(s.graph({y}), options), OpId::pack_weights);
  };
  CHECK(packed(true) == 1);
  CHECK(packed(false) == 0);
}

TEST_CASE("a device without products of bytes multiplies them in 32 bits") {
  Sketch s;
  const core::Graph graph = s.graph({s.add(OpId::matmul, {wide(s, {4, 5}, DType::u8), wide(s, {5, 6}, DType::i8)})});
  optimiser::PassOptions options;
  options.passes = {"bytes"};
  options.supports = [](OpId, std::span<const DType>, std::span<const DType>) { return false; };
  CHECK(count(optimiser::optimise(graph, options), OpId::matmul) == 1);
}

}  // namespace bytes_test
