// SPDX-License-Identifier: MIT
// Groups with reductions on OpenCL: what they compute, that they round as their operators do, and rows
// of any length, layout and kind.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/graph/op_ids.hpp"
#include "core/value/floating_format.hpp"
#include "tests/devices/opencl_rig.hpp"

namespace opencl_rows_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::LoopAttributes;
using core::LoopInstruction;
using core::OpId;
using core::View;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

// x0, then the scale and the shift of columns, then what keeps the root from zero.
LoopAttributes layer_norm(const Shape& shape, DType type, bool with_rows = false) {
  LoopAttributes group{shape, {shape.rank() - 1}, {}};
  group.program.inputs = 3;
  group.program.constants = {{0.5, type}};
  group.program.instructions = {{OpId::mean, type, {0}},         // 4
                                {OpId::subtract, type, {0, 4}},  // 5
                                {OpId::var, type, {0}},          // 6
                                {OpId::add, type, {6, 3}},       // 7
                                {OpId::sqrt, type, {7}},         // 8
                                {OpId::divide, type, {5, 8}},    // 9
                                {OpId::multiply, type, {9, 1}},  // 10
                                {OpId::add, type, {10, 2}}};     // 11
  group.program.outputs = {11};
  if (with_rows) group.program.outputs = {11, 4, 6};
  return group;
}

LoopAttributes softmax(const Shape& shape, DType type) {
  LoopAttributes group{shape, {shape.rank() - 1}, {}};
  group.program.inputs = 1;
  group.program.instructions = {{OpId::max, type, {0}},
                                {OpId::subtract, type, {0, 1}},
                                {OpId::exp, type, {2}},
                                {OpId::sum, type, {3}},
                                {OpId::divide, type, {3, 4}}};
  group.program.outputs = {5};
  return group;
}

Shape with_one(const Shape& shape) { return core::reduced_shape(shape, {shape.rank() - 1}, true); }

// The same by an operator at a time, each result stored in between.
HostTensor softmax_step_by_step(OpenClDevice& device, const HostTensor& x) {
  const Shape& shape = x.view.shape;
  const core::TensorType whole{x.dtype, shape}, row{x.dtype, with_one(shape)};
  const core::Attributes none, last = core::AxesAttributes{{shape.rank() - 1}, true};
  const auto stretched = [&](HostTensor tensor) {
    tensor.view = core::broadcast_to(tensor.view, shape);
    return tensor;
  };
  const auto one = [&](OpId op, const core::Attributes& attributes, const std::vector<HostTensor>& inputs,
                       const core::TensorType& type) {
    return run_step(device, op, attributes, inputs, {&type, 1})[0];
  };
  const HostTensor largest = stretched(one(OpId::max, last, {x}, row));
  const HostTensor terms = one(OpId::exp, none, {one(OpId::subtract, none, {x, largest}, whole)}, whole);
  const HostTensor total = stretched(one(OpId::sum, last, {terms}, row));
  return one(OpId::divide, none, {terms, total}, whole);
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) ? !std::isnan(b[i]) : a[i] != b[i] || std::signbit(a[i]) != std::signbit(b[i])) return false;
  }
  return true;
}

// The largest distance, with NaN and infinities expected exactly.
double distance(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool finite = std::isfinite(expected[i]);
    if (finite ? !std::isfinite(found[i]) : !same({found[i]}, {expected[i]})) return inf;
    if (finite) most = std::max(most, std::fabs(found[i] - expected[i]));
  }
  return most;
}

// Rows of a dense tensor of rank two, each through a function of its numbers in long double.
using Row = std::vector<long double>;
std::vector<double> by_rows(const HostTensor& x, const std::function<Row(const Row&)>& f) {
  const auto length = static_cast<std::size_t>(x.view.shape.back());
  std::vector<double> out;
  for (std::size_t i = 0; i < x.values.size(); i += length) {
    const auto first = x.values.begin() + static_cast<std::ptrdiff_t>(i);
    for (const long double value : f(Row(first, first + static_cast<std::ptrdiff_t>(length)))) {
      out.push_back(static_cast<double>(value));
    }
  }
  return out;
}

long double sum(const Row& row) {
  long double total = 0;
  for (const long double value : row) total += value;
  return total;
}
long double largest(const Row& row) {
  long double most = -inf;
  for (const long double value : row) most = std::max(most, value);
  return most;
}
Row true_log_softmax(const Row& row) {
  const long double most = largest(row);
  Row terms = row, out = row;
  for (long double& term : terms) term = std::exp(term - most);
  const long double shift = most + std::log(sum(terms));
  for (long double& value : out) value -= shift;
  return out;
}
Row true_softmax(const Row& row) {
  Row out = true_log_softmax(row);
  for (long double& value : out) value = std::exp(value);
  return out;
}
Row true_variance(const Row& row) {
  const long double mean = sum(row) / static_cast<long double>(row.size());
  Row squares = row;
  for (long double& value : squares) value = (value - mean) * (value - mean);
  return {sum(squares) / static_cast<long double>(row.size())};
}

}  // namespace

TEST_CASE("a layer norm in one kernel gives NumPy's numbers, and its rows") {
  // x = (arange(12) * 0.375 - 2) ** 2 / 4 - 0.5; (x - mean) / sqrt(var + 0.5) * scale + shift
  const HostTensor x = HostTensor::of(DType::f64, {3, 4},
                                      {0.5, 0.16015625, -0.109375, -0.30859375, -0.4375, -0.49609375, -0.484375,
                                       -0.40234375, -0.25, -0.02734375, 0.265625, 0.62890625});
  const HostTensor scale = HostTensor::of(DType::f64, {4}, {1, 2, -0.5, 0.25});
  const HostTensor shift = HostTensor::of(DType::f64, {4}, {0, 1, -1, 0.5});
  const std::vector<double> normal = {0.571130377908737,   1.258912437985294,    -0.8895814602709775,
                                      0.38006262063916524, 0.024824304066424212, 0.8841532476900203,
                                      -0.9793130799446464, 0.5186182280498182,   -0.5182763764558072,
                                      0.5343023863730428,  -1.071356892410582,   0.6521028496120304};
  const std::vector<double> means = {0.060546875, -0.455078125, 0.154296875};
  const std::vector<double> variances = {0.09204483032226562, 0.001407623291015625, 0.10852432250976562};
  const core::Attributes group = layer_norm({3, 4}, DType::f64, true);
  const std::vector<core::TensorType> types = {{DType::f64, {3, 4}}, {DType::f64, {3, 1}}, {DType::f64, {3, 1}}};
  if (OpenClDevice* const device = gpu_style()) {
    if (!computes_f64(*device)) return;
    const auto out = run_step(*device, OpId::fused, group, std::vector<HostTensor>{x, scale, shift}, types);
    CHECK(distance(out[0].values, normal) < 1e-15);
    CHECK(same(out[1].values, means));
    CHECK(distance(out[2].values, variances) < 1e-16);
  }
}

TEST_CASE("a softmax in one kernel rounds as its operators do one by one, whatever the type and the length of a row") {
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType type : computed_types(*device, {DType::f32, DType::f64, DType::f16, DType::bf16})) {
      for (const Shape& shape : {Shape{3, 1}, Shape{7, 16}, Shape{5, 37}, Shape{2, 3, 300}, Shape{2, 4113}}) {
        const HostTensor x = spread(type, shape, -4, 4);
        const core::TensorType whole{type, shape};
        const auto fused = run_step(*device, OpId::fused, softmax(shape, type), {&x, 1}, {&whole, 1})[0];
        CAPTURE(type);
        CAPTURE(shape);
        CHECK(same(fused.values, softmax_step_by_step(*device, x).values));
        CHECK(distance(fused.values, by_rows(x, true_softmax)) < 6 * core::format_of(type).epsilon());
      }
    }
  }
}

TEST_CASE("rows with infinities and NaN are as IEEE 754 has them, and leave other rows alone") {
  const HostTensor x =
      HostTensor::of(DType::f32, {5, 3}, {0, 0, 0, 1, not_a_number, 2, -inf, -inf, -inf, inf, 1, 2, -inf, 0, 0});
  const double third = static_cast<float>(1) / static_cast<float>(3);
  if (OpenClDevice* const device = gpu_style()) {
    const core::TensorType whole{DType::f32, {5, 3}}, rows{DType::f32, {5}};
    const core::Attributes last = core::AxisAttributes{-1};
    const std::vector<double> expected = {third,
                                          third,
                                          third,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          not_a_number,
                                          0,
                                          0.5,
                                          0.5};
    CHECK(same(run_step(*device, OpId::fused, softmax({5, 3}, DType::f32), {&x, 1}, {&whole, 1})[0].values, expected));
    CHECK(same(run_step(*device, OpId::softmax, last, {&x, 1}, {&whole, 1})[0].values, expected));
    const core::Attributes axes = core::AxesAttributes{{1}, false};
    const auto sums = run_step(*device, OpId::logsumexp, axes, {&x, 1}, {&rows, 1})[0].values;
    CHECK(distance(sums, {std::log(3.0), not_a_number, -inf, inf, std::log(2.0)}) < 1e-6);
    const core::Attributes spread_of = core::VarianceAttributes{{1}, false, 0};
    const auto variances = run_step(*device, OpId::var, spread_of, {&x, 1}, {&rows, 1})[0].values;
    CHECK(same(variances, {0, not_a_number, not_a_number, not_a_number, not_a_number}));
  }
}

TEST_CASE("softmax, its logarithm, variances and logarithms of sums of every floating type, over rows of any length") {
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType type : computed_types(*device, {DType::f32, DType::f64, DType::f16, DType::bf16})) {
      for (const Shape& shape : {Shape{4, 1}, Shape{9, 33}, Shape{3, 1000}, Shape{1, 20001}}) {
        CAPTURE(type);
        CAPTURE(shape[1]);
        const HostTensor x = spread(type, shape, -3, 5);
        const core::TensorType whole{type, shape}, rows{type, {shape[0]}};
        const core::Attributes last = core::AxisAttributes{1}, axes = core::AxesAttributes{{1}, false};
        const core::Attributes variance = core::VarianceAttributes{{1}, false, 0};
        const double fine = core::format_of(type).epsilon();
        const auto run_it = [&](OpId op, const core::Attributes& attributes, const core::TensorType& result) {
          return run_step(*device, op, attributes, {&x, 1}, {&result, 1})[0].values;
        };
        CHECK(distance(run_it(OpId::softmax, last, whole), by_rows(x, true_softmax)) < 4 * fine);
        CHECK(distance(run_it(OpId::log_softmax, last, whole), by_rows(x, true_log_softmax)) < 16 * fine);
        CHECK(distance(run_it(OpId::var, variance, rows), by_rows(x, true_variance)) < 16 * fine);
        const auto logarithms = by_rows(x, [](const Row& row) { return Row{row[0] - true_log_softmax(row)[0]}; });
        CHECK(distance(run_it(OpId::logsumexp, axes, rows), logarithms) < 16 * fine);
      }
    }
  }
}

TEST_CASE("any axes and any layout: columns, several axes, turned tensors, other divisors") {
  // Element (i, j, k) is i + 10 j + 100 k, of shape (2, 3, 4); with its axes turned the other way round it lies so that
  // the last axis goes in steps of 6.
  HostTensor x{DType::f64, View{{2, 3, 4}, {1, 2, 6}, 0}, {}, {}};
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) x.values.push_back(i + 10 * j + 100 * k);
  const auto variance = [&](OpenClDevice& device, const IntList& axes, std::int64_t ddof, const Shape& result) {
    const core::TensorType type{DType::f64, result};
    const core::Attributes attributes = core::VarianceAttributes{axes, false, ddof};
    return run_step(device, OpId::var, attributes, {&x, 1}, {&type, 1})[0].values;
  };
  if (OpenClDevice* const device = gpu_style()) {
    if (!computes_f64(*device)) return;
    CHECK(same(variance(*device, {1}, 0, {2, 4}), std::vector<double>(8, 200.0 / 3)));
    CHECK(same(variance(*device, {1}, 1, {2, 4}), std::vector<double>(8, 100.0)));
    CHECK(same(variance(*device, {2}, 0, {2, 3}), std::vector<double>(6, 12500.0)));
    CHECK(distance(variance(*device, {0, 2}, 0, {3}), std::vector<double>(3, 12500.25)) < 1e-11);
    CHECK(distance(variance(*device, {2, 0, 1}, 0, {}), {12500.25 + 200.0 / 3}) < 1e-11);
    // One element less the one that is not counted.
    CHECK(std::isnan(variance(*device, {}, 1, {2, 3, 4})[0]));
    // Softmax along the middle: differences of 10 whatever i and k.
    const core::TensorType type{DType::f64, {2, 3, 4}};
    const core::Attributes middle = core::AxisAttributes{1};
    const auto shares = run_step(*device, OpId::softmax, middle, {&x, 1}, {&type, 1})[0].values;
    const double total = 1 + std::exp(-10.0) + std::exp(-20.0);
    for (std::size_t n = 0; n < shares.size(); ++n) {
      CHECK(shares[n] == doctest::Approx(std::exp(-10.0 * (2 - static_cast<int>(n / 4 % 3))) / total).epsilon(1e-14));
    }
  }
}

TEST_CASE("variances of columns and of few long rows, in the mean's own way") {
  // Column c of n rows is c + c * (row % 2): its variance is (c / 2)^2 for even n, n / (n - 1) times that without bias.
  const std::int64_t n = 50000, columns = 70;
  std::vector<double> values, expected;
  for (std::int64_t i = 0; i < n * 4; ++i) values.push_back(static_cast<double>((i % 4) * (1 + i / 4 % 2)));
  const HostTensor tall = HostTensor::of(DType::f32, {n, 4}, values);
  for (std::int64_t c = 0; c < columns; ++c) expected.push_back(static_cast<double>(c * c) / 4);
  values.clear();
  for (std::int64_t i = 0; i < 10 * columns; ++i) {
    values.push_back(static_cast<double>((i % columns) * (1 + i / columns % 2)));
  }
  if (OpenClDevice* const device = gpu_style()) {
    const auto variance = [&](const HostTensor& x, const IntList& axes, std::int64_t ddof, bool keep) {
      const core::TensorType type{x.dtype, core::reduced_shape(x.view.shape, axes, keep)};
      const core::Attributes attributes = core::VarianceAttributes{axes, keep, ddof};
      return run_step(*device, OpId::var, attributes, {&x, 1}, {&type, 1})[0].values;
    };
    CHECK(distance(variance(tall, {0}, 0, false), {0, 0.25, 1, 2.25}) < 1e-5);
    CHECK(distance(variance(tall, {0}, 1, true), {0, 0.25, 1, 2.25}) < 1e-4);
    for (const DType type : computed_types(*device, {DType::f32, DType::f64, DType::bf16})) {
      // Ten rows of integers below 139: bf16 holds those below 257.
      const HostTensor wide = HostTensor::of(type, {10, columns}, values);
      std::vector<double> as_held = expected;
      for (double& value : as_held) value = rounded(type, value);
      CHECK(same(variance(wide, {0}, 0, false), as_held));
      // All of it as one long row, turned round, is no different for the type's width than by definition.
      const std::vector<double> all = variance(wide, {0, 1}, 0, true);
      REQUIRE(all.size() == 1);
      CHECK(all[0] == doctest::Approx(by_rows(HostTensor::of(type, {1, 10 * columns}, values), true_variance)[0])
                          .epsilon(2 * core::format_of(type).epsilon()));
    }
    HostTensor number = HostTensor::of_integers(DType::i32, {2, 3, 2}, {1, 0, 5, 0, 9, 0, 3, 4, 7, 4, 11, 4});
    const core::TensorType type{DType::f32, {2}};
    const core::Attributes attributes = core::VarianceAttributes{{0, 1}, false, 0};
    const auto found = run_step(*device, OpId::var, attributes, {&number, 1}, {&type, 1})[0].values;
    CHECK(distance(found, {35.0 / 3, 4}) < 1e-6);
  }
}

TEST_CASE("rows of nothing, and no rows") {
  if (OpenClDevice* const device = gpu_style()) {
    const HostTensor narrow{DType::f32, View::dense({3, 0}), {}, {}}, none{DType::f32, View::dense({0, 5}), {}, {}};
    const core::Attributes axes = core::AxesAttributes{{1}, false}, last = core::AxisAttributes{1};
    const core::Attributes variance = core::VarianceAttributes{{1}, false, 0};
    const core::TensorType three{DType::f32, {3}}, zero{DType::f32, {0}}, same_shape{DType::f32, {0, 5}};
    CHECK(same(run_step(*device, OpId::logsumexp, axes, {&narrow, 1}, {&three, 1})[0].values, {-inf, -inf, -inf}));
    CHECK(same(run_step(*device, OpId::var, variance, {&narrow, 1}, {&three, 1})[0].values,
               {not_a_number, not_a_number, not_a_number}));
    CHECK(run_step(*device, OpId::var, variance, {&none, 1}, {&zero, 1})[0].values.empty());
    CHECK(run_step(*device, OpId::softmax, last, {&none, 1}, {&same_shape, 1})[0].values.empty());
    const core::Attributes group = softmax({0, 5}, DType::f32);
    CHECK(run_step(*device, OpId::fused, group, {&none, 1}, {&same_shape, 1})[0].values.empty());
  }
}

TEST_CASE("a group over rows may write over what it reads") {
  const Shape shape{6, 100};
  const std::vector<HostTensor> inputs = {spread(DType::f32, shape, -2, 3), spread(DType::f32, {100}, 0.5, 2),
                                          spread(DType::f32, {100}, -1, 1)};
  const core::Attributes group = layer_norm(shape, DType::f32);
  const core::TensorType type{DType::f32, shape};
  if (OpenClDevice* const device = gpu_style()) {
    const std::vector<double> apart = run_step(*device, OpId::fused, group, inputs, {&type, 1})[0].values;
    std::vector<core::Operand> operands;
    for (const HostTensor& input : inputs) operands.push_back(input.operand());
    const core::Operand output{DType::f32, View::dense(shape)};
    const auto kernel = device->prepare({OpId::fused, &group, operands, {&output, 1}});
    const core::BufferRef x = device->allocate(6 * 100 * 4), columns = device->allocate(1024);
    const core::BufferRef workspace = device->allocate(kernel->workspace());
    device->copy_in(x->at(0), bytes_of(inputs[0]).data(), 6 * 100 * 4);
    device->copy_in(columns->at(0), bytes_of(inputs[1]).data(), 400);
    device->copy_in(columns->at(512), bytes_of(inputs[2]).data(), 400);
    const core::Address place{x->memory(), 0};
    const std::vector<core::Address> places = {place, {columns->memory(), 0}, {columns->memory(), 512}};
    kernel->launch(places, {&place, 1}, {workspace->memory(), 0});
    std::vector<std::byte> bytes(6 * 100 * 4);
    device->copy_out(bytes.data(), x->at(0), bytes.size());
    CHECK(same(from_bytes(DType::f32, {600}, bytes).values, apart));
  }
}

TEST_CASE("a reduction takes the elements that a group computes, over rows, columns, all, and stretched inputs") {
  struct Request {
    OpId fold;
    Shape shape, row;
    IntList axes;
  };
  const std::vector<Request> requests = {
      {OpId::sum, {6, 50}, {50}, {1}},        {OpId::sum, {70, 130}, {130}, {0}},
      {OpId::mean, {100, 3, 7}, {3, 1}, {0}}, {OpId::sum, {3, 40000}, {40000}, {0, 1}},
      {OpId::max, {5, 33}, {1}, {1}},         {OpId::min, {2, 3, 17}, {17}, {1, 2}},
      {OpId::sum, {5000, 20}, {20}, {0}},     {OpId::mean, {1, 100003}, {1}, {0, 1}},
      {OpId::prod, {4, 9}, {9}, {1}},         {OpId::sum, {0, 4}, {4}, {0}},
      {OpId::sum, {4097, 2}, {2}, {0}},       {OpId::max, {3, 5000, 2}, {5000, 2}, {1}}};
  if (OpenClDevice* const device = gpu_style()) {
    for (const DType type : computed_types(*device, {DType::f32, DType::f16, DType::f64})) {
      for (const Request& request : requests) {
        CAPTURE(type);
        CAPTURE(request.shape);
        const std::vector<HostTensor> inputs = {spread(type, request.shape, -1, 1.25), spread(type, request.row, 0, 1)};
        LoopAttributes group{request.shape, request.axes, {}};
        group.program.inputs = 2;
        group.program.instructions = {
            {OpId::subtract, type, {0, 1}}, {OpId::square, type, {2}}, {request.fold, type, {3}}};
        group.program.outputs = {4};
        const core::TensorType whole{type, request.shape};
        const core::TensorType reduced{type, core::reduced_shape(request.shape, request.axes, true)};
        const auto fused = run_step(*device, OpId::fused, group, inputs, {&reduced, 1})[0];
        // Differences and squares rounded to the type, then added up exactly.
        group.axes = {};
        group.program.instructions.pop_back();
        group.program.outputs = {3};
        const auto squares = run_step(*device, OpId::fused, group, inputs, {&whole, 1})[0];
        const core::Attributes over = core::AxesAttributes{request.axes, true};
        const auto apart = run_step(*device, request.fold, over, {&squares, 1}, {&reduced, 1})[0];
        const bool exact = request.fold == OpId::max || request.fold == OpId::min || type == DType::f16;
        double scale = 1;
        for (const double value : apart.values) scale = std::max(scale, std::isfinite(value) ? std::fabs(value) : 0);
        CHECK(distance(fused.values, apart.values) <= (exact ? 0 : 16 * core::format_of(type).epsilon()) * scale);
      }
    }
  }
}

TEST_CASE("products and sums of a group are rounded one after the other") {
  // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11; less that, 0. Rounded once it would be 2^-24.
  const HostTensor x = HostTensor::of(DType::f32, {2, 64}, std::vector<double>(128, 1 + 0x1p-12));
  LoopAttributes group{{2, 64}, {1}, {}};
  group.program.inputs = 1;
  group.program.constants = {{1 + 0x1p-11, DType::f32}};
  group.program.instructions = {
      {OpId::multiply, DType::f32, {0, 0}}, {OpId::subtract, DType::f32, {2, 1}}, {OpId::sum, DType::f32, {3}}};
  group.program.outputs = {4};
  const core::TensorType rows{DType::f32, {2, 1}};
  if (OpenClDevice* const device = gpu_style()) {
    CHECK(same(run_step(*device, OpId::fused, group, {&x, 1}, {&rows, 1})[0].values, {0, 0}));
  }
}

TEST_CASE("integers and truth values are reduced and read back in rows") {
  // How far each number is above the least of its row, where that is more than the mean.
  const HostTensor x = HostTensor::of_integers(DType::i32, {2, 5}, {3, 1, 4, 1, 5, -9, 2, -6, 5, 3});
  LoopAttributes group{{2, 5}, {1}, {}};
  group.program.inputs = 1;
  group.program.constants = {{0, DType::i32}};
  group.program.instructions = {{OpId::min, DType::i32, {0}},             // 2
                                {OpId::subtract, DType::i32, {0, 2}},     // 3
                                {OpId::sum, DType::i64, {3}},             // 4
                                {OpId::mean, DType::f32, {3}},            // 5
                                {OpId::cast, DType::f32, {3}},            // 6
                                {OpId::greater, DType::boolean, {6, 5}},  // 7
                                {OpId::where, DType::i32, {7, 3, 1}}};    // 8
  group.program.outputs = {8, 4};
  const std::vector<core::TensorType> types = {{DType::i32, {2, 5}}, {DType::i64, {2, 1}}};
  if (OpenClDevice* const device = gpu_style()) {
    if (!computes_f64(*device)) return;
    const auto out = run_step(*device, OpId::fused, group, {&x, 1}, types);
    CHECK(out[0].integers == std::vector<std::int64_t>{2, 0, 3, 0, 4, 0, 11, 0, 14, 12});
    CHECK(out[1].integers == std::vector<std::int64_t>{9, 40});
  }
}

}  // namespace opencl_rows_test

#endif
