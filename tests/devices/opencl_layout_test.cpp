// SPDX-License-Identifier: MIT
// Layouts, conversions and made numbers on OpenCL: strides, broadcasts, offsets, casts, ranges.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/op_ids.hpp"
#include "tests/devices/opencl_rig.hpp"

namespace opencl_layout_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::OpId;
using core::View;

namespace {

using Integers = std::vector<std::int64_t>;

// The elements of a view in row-major order.
std::vector<double> elements(const HostTensor& tensor) {
  std::vector<double> out;
  const View& view = tensor.view;
  IntList index(view.shape.size(), 0);
  for (std::int64_t n = view.count(); n > 0; --n) {
    std::int64_t at = view.offset;
    for (std::size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * view.strides[axis];
    out.push_back(is_floating(tensor.dtype) ? tensor.values[static_cast<std::size_t>(at)]
                                            : static_cast<double>(tensor.integers[static_cast<std::size_t>(at)]));
    for (std::size_t axis = index.size(); axis-- > 0 && ++index[axis] == view.shape[axis];) index[axis] = 0;
  }
  return out;
}

HostTensor counting(std::int64_t n) {
  HostTensor tensor{DType::f32, View::dense({n}), {}, {}};
  for (std::int64_t i = 0; i < n; ++i) tensor.values.push_back(static_cast<double>(i));
  return tensor;
}

HostTensor seen_as(HostTensor tensor, View view) {
  tensor.view = std::move(view);
  return tensor;
}

void check_sum(OpenClDevice& device, const HostTensor& a, const HostTensor& b, const View& out) {
  const std::vector<HostTensor> inputs = {a, b};
  const std::vector<core::Operand> operands = {a.operand(), b.operand()};
  const std::vector<core::Operand> outputs = {{DType::f32, out}};
  const core::Attributes none;
  const auto kernel = device.prepare({OpId::add, &none, operands, outputs});
  const HostTensor result = run(device, *kernel, inputs, outputs)[0];
  std::vector<double> expected = elements(a);
  const std::vector<double> second = elements(b);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += second[i];
  CHECK(elements(result) == expected);
}

}  // namespace

TEST_CASE("operands of any strides meet element by element") {
  if (OpenClDevice* const device = gpu_style()) {
    const HostTensor many = counting(4000);
    const HostTensor dense = seen_as(many, View::dense({7, 5, 11}));
    const View dense_out = View::dense({7, 5, 11});
    // Dense, one number, a row, a column, a plane.
    check_sum(*device, dense, dense, dense_out);
    check_sum(*device, dense, seen_as(many, {{7, 5, 11}, {0, 0, 0}, 3}), dense_out);
    check_sum(*device, dense, seen_as(many, {{7, 5, 11}, {0, 0, 1}, 40}), dense_out);
    check_sum(*device, dense, seen_as(many, {{7, 5, 11}, {1, 0, 0}, 1}), dense_out);
    check_sum(*device, dense, seen_as(many, {{7, 5, 11}, {0, 11, 1}, 0}), dense_out);
    // Transposed, reversed, every third, with an offset.
    check_sum(*device, seen_as(many, {{7, 5, 11}, {1, 77, 7}, 0}), dense, dense_out);
    check_sum(*device, seen_as(many, {{7, 5, 11}, {-55, -11, -1}, 384}), dense, dense_out);
    check_sum(*device, seen_as(many, {{7, 5, 11}, {300, 50, 3}, 17}), dense, dense_out);
    // Into a slice, and into a transposed place.
    check_sum(*device, dense, dense, {{7, 5, 11}, {110, 11, 1}, 22});
    check_sum(*device, dense, dense, {{7, 5, 11}, {1, 77, 7}, 0});
    // Rank five that does not collapse.
    check_sum(*device, seen_as(many, {{3, 4, 2, 5, 3}, {700, 100, 40, 7, 2}, 5}),
              seen_as(many, {{3, 4, 2, 5, 3}, {1, 3, 12, 24, 120}, 0}), View::dense({3, 4, 2, 5, 3}));
  }
}

TEST_CASE("ragged sizes end where they should") {
  if (OpenClDevice* const device = gpu_style()) {
    for (const std::int64_t n : {1, 2, 63, 64, 65, 255, 257, 8191, 20001}) {
      const HostTensor x = counting(n);
      check_sum(*device, x, x, View::dense({n}));
    }
    const HostTensor empty{DType::f32, View::dense({0, 3}), {}, {}};
    check_sum(*device, empty, empty, View::dense({0, 3}));
    const HostTensor single = seen_as(counting(1), View{});
    check_sum(*device, single, single, View{});
  }
}

TEST_CASE("an output may be written over the input it replaces") {
  if (OpenClDevice* const device = gpu_style()) {
    const std::int64_t n = 5000;
    const core::Operand operand{DType::f32, View::dense({n})};
    const std::vector<core::Operand> inputs = {operand, operand};
    const core::Attributes none;
    const auto kernel = device->prepare({OpId::multiply, &none, inputs, {&operand, 1}});
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const core::BufferRef buffer = device->allocate(values.size() * sizeof(float));
    device->copy_in(buffer->at(0), values.data(), values.size() * sizeof(float));
    const core::Address place{buffer->memory(), 0};
    const std::vector<core::Address> places = {place, place};
    kernel->launch(places, {&place, 1}, {});
    std::vector<float> squares(values.size());
    device->copy_out(squares.data(), buffer->at(0), values.size() * sizeof(float));
    for (float& value : values) value *= value;
    CHECK(squares == values);
  }
}

TEST_CASE("casts truncate, saturate, wrap and round to even") {
  const double nan = std::nan("");
  const std::vector<double> reals = {0, -0.5, 1.9, -1.9, 300, -300, 3e9, -3e9, 1e30, -1e30, nan, HUGE_VAL, -HUGE_VAL};
  const auto n = static_cast<std::int64_t>(reals.size());
  constexpr std::int64_t i32_low = INT32_MIN, i32_high = INT32_MAX;
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType from : computed_types(*device, {DType::f32, DType::f64})) {
      const HostTensor input = HostTensor::of(from, {n}, reals);
      NamedLoop loop;
      core::LoopProgram& program = loop.bound.loop.program;
      loop.name = "casts";
      const std::vector<DType> targets = {DType::boolean, DType::u8,  DType::i8,  DType::i16, DType::i32,
                                          DType::i64,     DType::f16, DType::u16, DType::u32, DType::u64};
      for (const DType target : targets) {
        program.outputs.push_back(static_cast<core::LoopValue>(1 + program.instructions.size()));
        program.instructions.push_back({OpId::cast, target, {0}});
        loop.bound.outputs.push_back({target, View::dense({n})});
      }
      const auto out = run_program(*device, loop, {&input, 1});
      CHECK(out[0].integers == Integers{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
      CHECK(out[1].integers == Integers{0, 0, 1, 0, 255, 0, 255, 0, 255, 0, 0, 255, 0});
      CHECK(out[2].integers == Integers{0, 0, 1, -1, 127, -128, 127, -128, 127, -128, 0, 127, -128});
      CHECK(out[3].integers == Integers{0, 0, 1, -1, 300, -300, 32767, -32768, 32767, -32768, 0, 32767, -32768});
      CHECK(out[4].integers ==
            Integers{0, 0, 1, -1, 300, -300, i32_high, i32_low, i32_high, i32_low, 0, i32_high, i32_low});
      CHECK(out[5].integers ==
            Integers{0, 0, 1, -1, 300, -300, 3000000000, -3000000000, INT64_MAX, INT64_MIN, 0, INT64_MAX, INT64_MIN});
      CHECK(out[6].values[4] == 300);
      CHECK(out[6].values[6] == HUGE_VAL);
      CHECK(std::isnan(out[6].values[10]));
      CHECK(out[7].integers == Integers{0, 0, 1, 0, 300, 0, 65535, 0, 65535, 0, 0, 65535, 0});
      CHECK(out[8].integers == Integers{0, 0, 1, 0, 300, 0, 3000000000, 0, UINT32_MAX, 0, 0, UINT32_MAX, 0});
      CHECK(out[9].integers == Integers{0, 0, 1, 0, 300, 0, 3000000000, 0, -1, 0, 0, -1, 0});  // as signed bits
    }
    const HostTensor wide = HostTensor::of_integers(DType::i64, {5}, {-1, 300, 1LL << 40, 40000, -129});
    NamedLoop loop;
    core::LoopProgram& program = loop.bound.loop.program;
    loop.name = "casts";
    for (const DType target : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::f32, DType::u16,
                               DType::u32, DType::u64}) {
      program.outputs.push_back(static_cast<core::LoopValue>(1 + program.instructions.size()));
      program.instructions.push_back({OpId::cast, target, {0}});
      loop.bound.outputs.push_back({target, View::dense({5})});
    }
    const auto out = run_program(*device, loop, {&wide, 1});
    CHECK(out[0].integers == Integers{1, 1, 1, 1, 1});
    CHECK(out[1].integers == Integers{255, 44, 0, 64, 127});
    CHECK(out[2].integers == Integers{-1, 44, 0, 64, 127});
    CHECK(out[3].integers == Integers{-1, 300, 0, -25536, -129});
    CHECK(out[4].integers == Integers{-1, 300, 0, 40000, -129});
    CHECK(out[5].values == std::vector<double>{-1, 300, 1099511627776.0, 40000, -129});
    CHECK(out[6].integers == Integers{65535, 300, 0, 40000, 65407});
    CHECK(out[7].integers == Integers{4294967295, 300, 0, 40000, 4294967167});
    CHECK(out[8].integers == wide.integers);
  }
}

TEST_CASE("values inside a fused group are rounded as if each had been stored") {
  // 2049 is no f16: adding 1 to 2048 stays 2048, and adding 1 again, too.
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const double edge = dtype == DType::f16 ? 2048 : 256;
      const std::vector<HostTensor> inputs = {HostTensor::of(dtype, {3}, {edge, 0x1p-24, 1}),
                                              HostTensor::of(dtype, {3}, {1, 0x1p-24, 3})};
      NamedLoop loop;
      core::LoopProgram& program = loop.bound.loop.program;
      loop.name = "fused";
      program.instructions.push_back({OpId::add, dtype, {0, 1}});
      program.instructions.push_back({OpId::add, dtype, {2, 1}});
      program.instructions.push_back({OpId::cast, DType::f32, {3}});
      program.outputs = {3, 4};
      loop.bound.outputs = {{dtype, View::dense({3})}, {DType::f32, View::dense({3})}};
      const auto out = run_program(*device, loop, inputs);
      const double tiny = 3 * 0x1p-24;
      CHECK(out[0].values == std::vector<double>{edge, tiny, 7});
      CHECK(out[1].values == std::vector<double>{edge, tiny, 7});
    }
  }
}

TEST_CASE("numbers are made on the device") {
  if (OpenClDevice* const device = gpu_style()) {
    const auto make = [&](OpId op, DType dtype, const Shape& shape, Scalar start, Scalar step) {
      const core::Attributes attributes = core::RangeAttributes{shape, dtype, start, step};
      const std::vector<core::TensorType> types = {{dtype, shape}};
      return run_step(*device, op, attributes, {}, types)[0];
    };
    CHECK(make(OpId::fill, DType::f32, {3}, 2.5, 0).values == std::vector<double>{2.5, 2.5, 2.5});
    CHECK(make(OpId::fill, DType::i64, {2}, INT64_MAX, 0).integers == Integers{INT64_MAX, INT64_MAX});
    CHECK(make(OpId::fill, DType::boolean, {2}, 0.5, 0).integers == Integers{1, 1});
    CHECK(make(OpId::arange, DType::i32, {4}, 5, -2).integers == Integers{5, 3, 1, -1});
    CHECK(make(OpId::eye, DType::f32, {2, 3}, 1, 0).values == std::vector<double>{0, 1, 0, 0, 0, 1});
    if (!computes_f64(*device)) return;
    CHECK(make(OpId::arange, DType::f64, {3}, 0.1, 0.2).values == std::vector<double>{0.1, 0.1 + 0.2, 0.1 + 2 * 0.2});
  }
}

TEST_CASE("random numbers are those of the Philox counter on OpenCL") {
  // The generator's published answer for counter and key of all zeros.
  const std::vector<std::uint32_t> words = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  std::vector<double> uniform;
  for (const std::uint32_t word : words) uniform.push_back((word >> 8) * 0x1p-24);
  const double pi = 3.141592653589793;
  const double normal =
      std::sqrt(-2 * std::log(((words[0] >> 8) + 0.5) * 0x1p-24)) * std::cos(2 * pi * (words[1] >> 8) * 0x1p-24);
  if (OpenClDevice* const device = gpu_style()) {
    const auto draw = [&](OpId op, DType dtype, std::int64_t n, Integers key, std::int64_t drawn, double first,
                          double second) {
      const core::Attributes attributes = core::RandomAttributes{{n}, dtype, drawn, first, second};
      const HostTensor input = HostTensor::of_integers(DType::i64, {2}, std::move(key));
      const std::vector<core::TensorType> types = {{dtype, {n}}};
      return run_step(*device, op, attributes, {&input, 1}, types)[0];
    };
    CHECK(draw(OpId::random_uniform, DType::f32, 4, {0, 0}, 0, 0, 1).values == uniform);
    CHECK(draw(OpId::random_uniform, DType::f32, 4, {0, 3}, -3, 0, 1).values == uniform);
    CHECK(draw(OpId::random_uniform, DType::f32, 4, {1, 0}, 0, 0, 1).values != uniform);
    const HostTensor shifted = draw(OpId::random_uniform, DType::f32, 4, {0, 0}, 0, -2, 2);
    for (std::size_t i = 0; i < 4; ++i) CHECK(shifted.values[i] == doctest::Approx(-2 + 4 * uniform[i]));
    CHECK(draw(OpId::random_normal, DType::f32, 1, {0, 0}, 0, 5, 3).values[0] ==
          doctest::Approx(5 + 3 * normal).epsilon(1e-6));
    CHECK(draw(OpId::random_bernoulli, DType::boolean, 4, {0, 0}, 0, 0.7, 0).integers == Integers{1, 0, 0, 1});
    for (const DType type : computed_types(*device, {DType::f32, DType::f64})) {
      // Mean and spread of many.
      const HostTensor many = draw(OpId::random_normal, type, 20000, {7, 1}, 0, 0, 1);
      double sum = 0, squares = 0;
      for (const double x : many.values) sum += x, squares += x * x;
      CHECK(std::fabs(sum / 20000) < 0.03);
      CHECK(std::fabs(squares / 20000 - 1) < 0.04);
    }
    if (!computes_f64(*device)) return;
    const double wide = draw(OpId::random_uniform, DType::f64, 1, {0, 0}, 0, 0, 1).values[0];
    CHECK(wide == static_cast<double>(((std::uint64_t{words[0]} << 32) | words[1]) >> 11) * 0x1p-53);
  }
}

}  // namespace opencl_layout_test

#endif
