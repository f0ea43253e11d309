// SPDX-License-Identifier: MIT
// Reductions on OpenCL: any axes, any strides, one and two stages.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/op_ids.hpp"
#include "tests/devices/opencl_rig.hpp"

namespace opencl_reduction_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::OpId;
using core::View;

namespace {

using Integers = std::vector<std::int64_t>;

struct Request {
  OpId op;
  HostTensor input;
  IntList axes;
  bool keepdims = false;
  DType result = DType::f32;
};

core::Attributes attributes_of(const Request& request) {
  if (request.op == OpId::argmin || request.op == OpId::argmax) {
    return core::ArgAttributes{request.axes[0], request.keepdims};
  }
  return core::AxesAttributes{request.axes, request.keepdims};
}

// All requests in one program, each then run on its own.
std::vector<HostTensor> reduce(OpenClDevice& device, const std::vector<Request>& requests) {
  std::vector<core::Attributes> attributes;
  std::vector<core::Operand> inputs;
  std::vector<core::Operand> outputs;
  for (const Request& request : requests) {
    attributes.push_back(attributes_of(request));
    inputs.push_back(request.input.operand());
    const Shape shape = core::reduced_shape(request.input.view.shape, request.axes, request.keepdims);
    outputs.push_back({request.result, View::dense(shape)});
  }
  std::vector<core::Step> steps;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    steps.push_back({requests[i].op, &attributes[i], {&inputs[i], 1}, {&outputs[i], 1}});
  }
  const auto kernels = device.prepare_all(steps);
  std::vector<HostTensor> results;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    results.push_back(run(device, *kernels[i], {&requests[i].input, 1}, {&outputs[i], 1})[0]);
  }
  return results;
}

HostTensor seen_as(HostTensor tensor, View view) {
  tensor.view = std::move(view);
  return tensor;
}

double element(const HostTensor& tensor, std::int64_t at) {
  const auto i = static_cast<std::size_t>(at);
  return is_floating(tensor.dtype) ? tensor.values[i] : static_cast<double>(tensor.integers[i]);
}

// Sums over the axes in long double, in row-major order of what is kept.
std::vector<double> sums(const HostTensor& tensor, const IntList& axes) {
  const View& view = tensor.view;
  std::vector<long double> out(static_cast<std::size_t>(element_count(core::reduced_shape(view.shape, axes, false))));
  for (std::int64_t n = 0; n < view.count(); ++n) {
    std::int64_t at = view.offset, rest = n, target = 0, scale = 1;
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
      const std::int64_t c = rest % view.shape[axis];
      rest /= view.shape[axis];
      at += c * view.strides[axis];
      if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end()) continue;
      target += c * scale;
      scale *= view.shape[axis];
    }
    out[static_cast<std::size_t>(target)] += element(tensor, at);
  }
  return {out.begin(), out.end()};
}

}  // namespace

TEST_CASE("sums over any axes of any layout agree with the host's") {
  const HostTensor many = spread(DType::f32, {4600}, -1, 2);
  const View dense = View::dense({4, 5, 6, 37});
  const View transposed{{37, 6, 5, 4}, {1, 37, 222, 1110}, 0};
  const View sparse{{3, 4, 5, 70}, {1440, 360, 71, -1}, 75};
  std::vector<Request> requests;
  for (const View& view : {dense, transposed, sparse}) {
    for (const IntList& axes : {IntList{0, 1, 2, 3}, IntList{3}, IntList{0}, IntList{1, 2}, IntList{0, 3}, IntList{}}) {
      requests.push_back({OpId::sum, seen_as(many, view), axes, axes.size() == 1, DType::f32});
    }
  }
  if (OpenClDevice* const device = gpu_style()) {
    const std::vector<HostTensor> results = reduce(*device, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::vector<double> expected = sums(requests[i].input, requests[i].axes);
      CAPTURE(i);
      REQUIRE(results[i].values.size() == expected.size());
      double worst = 0;
      for (std::size_t e = 0; e < expected.size(); ++e) {
        worst = std::max(worst, std::fabs(results[i].values[e] - expected[e]));
      }
      CHECK(worst <= 2e-4);
    }
  }
}

TEST_CASE("sums of columns that lie side by side, few and many, whole and in parts") {
  const HostTensor many = spread(DType::f32, {80000}, -1, 2);
  std::vector<Request> requests;
  for (const View& view : {View::dense({5000, 16}), View::dense({16000, 5}), View::dense({700, 100}),
                           View::dense({60, 1300}), View::dense({10, 8000}), View{{2500, 15}, {32, 1}, 1}}) {
    requests.push_back({OpId::sum, seen_as(many, view), {0}});
    requests.push_back({OpId::mean, seen_as(many, view), {0}});
  }
  requests.push_back({OpId::sum, seen_as(many, View::dense({40, 50, 40})), {0, 1}});
  requests.push_back({OpId::sum, seen_as(many, View{{40, 25, 40}, {2000, 80, 1}, 7}), {0, 1}});
  requests.push_back({OpId::sum, seen_as(many, View::dense({20, 500, 8})), {1}});
  requests.push_back({OpId::sum, seen_as(many, View::dense({400, 5, 40})), {0}});
  if (OpenClDevice* const device = gpu_style()) {
    const std::vector<HostTensor> results = reduce(*device, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::vector<double> expected = sums(requests[i].input, requests[i].axes);
      CAPTURE(i);
      REQUIRE(results[i].values.size() == expected.size());
      const double count = static_cast<double>(requests[i].input.view.count()) / static_cast<double>(expected.size());
      const double divisor = requests[i].op == OpId::mean ? count : 1;
      double worst = 0;
      for (std::size_t e = 0; e < expected.size(); ++e) {
        worst = std::max(worst, std::fabs(results[i].values[e] * divisor - expected[e]));
      }
      // Rounding of sums of numbers up to 2, of which partial sums are as large as their count at most.
      CHECK(worst <= 0x1p-24 * count * 32);
    }
  }
}

TEST_CASE("long sums in two stages keep their accuracy, and do not depend on the number of compute units") {
  const std::int64_t n = 100003;
  const HostTensor x = spread(DType::f32, {n}, 0, 1);
  const HostTensor ones = HostTensor::of_integers(DType::u8, {n}, Integers(static_cast<std::size_t>(n), 1));
  const HostTensor tall = spread(DType::f32, {40001, 3}, 0, 1);
  const std::vector<double> columns = sums(tall, {0});
  // Columns by an item each, and by blocks of them. Rows overlap, which keeps the storage small.
  const std::int64_t rows = is_interpreted() ? 600 : 20000;
  const HostTensor tenths = spread(DType::f32, {2 * rows + 4096}, 0.1, 0.1);
  if (OpenClDevice* const device = gpu_style()) {
    const auto results = reduce(*device, {{OpId::sum, x, {0}, false, DType::f32},
                                          {OpId::mean, x, {0}, false, DType::f32},
                                          {OpId::sum, ones, {0}, false, DType::i64},
                                          {OpId::max, x, {0}, false, DType::f32},
                                          {OpId::sum, tall, {0}, false, DType::f32},
                                          {OpId::sum, seen_as(tenths, View{{rows, 4096}, {2, 1}, 0}), {0}},
                                          {OpId::sum, seen_as(tenths, View{{rows, 1000}, {2, 1}, 0}), {0}}});
    const double expected = sums(x, {0})[0];
    CHECK(std::fabs(results[0].values[0] - expected) <= 1e-6 * expected);
    CHECK(std::fabs(results[1].values[0] - 0.5) <= 1e-6);
    CHECK(results[2].integers[0] == n);
    CHECK(results[3].values[0] == 1);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::fabs(results[4].values[i] - columns[i]) <= 1e-6 * columns[i]);
    // An element goes through 256 additions of a subtotal and those of subtotals, each off by 2^-24 of it at most.
    const double sum = static_cast<double>(rows) * tenths.values[0];
    const double bound = 0x1p-24 * (256 + static_cast<double>(rows) / 256 + 2) * sum;
    for (const std::size_t wide : {5U, 6U}) {
      double worst = 0;
      for (const double value : results[wide].values) worst = std::max(worst, std::fabs(value - sum));
      CHECK(worst <= bound);
    }
  }
}

TEST_CASE("every reduction of every type") {
  const double nan = std::nan("");
  const HostTensor reals = HostTensor::of(DType::f32, {2, 3}, {1, 2, 3, -4, 5, -6});
  const HostTensor holes = HostTensor::of(DType::f32, {2, 3}, {1, nan, 3, -4, 5, -6});
  const HostTensor halves = HostTensor::of(DType::f16, {2, 3}, {1, 2, 3, -4, 5, -6});
  const HostTensor brains = HostTensor::of(DType::bf16, {2, 3}, {1, 2, 3, -4, 5, -6});
  const HostTensor doubles = HostTensor::of(DType::f64, {2, 3}, {1, 2, 3, -4, 5, -6});
  const HostTensor bytes = HostTensor::of_integers(DType::u8, {2, 3}, {1, 2, 3, 200, 5, 100});
  const HostTensor longs = HostTensor::of_integers(DType::i64, {2, 3}, {1LL << 40, 2, 3, -4, 5, -6});
  const HostTensor truths = HostTensor::of_integers(DType::boolean, {2, 3}, {1, 0, 1, 1, 1, 1});
  const HostTensor empty{DType::f32, View::dense({2, 0}), {}, {}};
  const HostTensor no_truths{DType::boolean, View::dense({2, 0}), {}, {}};
  struct Case {
    Request request;
    std::vector<double> reals;
    Integers integers;
  };
  using Reals = std::vector<double>;
  const std::vector<Case> all_cases = {
      {{OpId::sum, reals, {1}, false, DType::f32}, {6, -5}, {}},
      {{OpId::sum, reals, {0}, true, DType::f32}, {-3, 7, -3}, {}},
      {{OpId::prod, reals, {0, 1}, false, DType::f32}, {720}, {}},
      {{OpId::mean, reals, {1}, false, DType::f32}, {2, Reals{-5.0F / 3.0F}[0]}, {}},
      {{OpId::min, reals, {0}, false, DType::f32}, {-4, 2, -6}, {}},
      {{OpId::max, reals, {1}, false, DType::f32}, {3, 5}, {}},
      {{OpId::max, holes, {1}, false, DType::f32}, {nan, 5}, {}},
      {{OpId::min, holes, {0}, false, DType::f32}, {-4, nan, -6}, {}},
      {{OpId::sum, halves, {1}, false, DType::f16}, {6, -5}, {}},
      {{OpId::max, halves, {0, 1}, false, DType::f16}, {5}, {}},
      {{OpId::sum, brains, {0}, false, DType::bf16}, {-3, 7, -3}, {}},
      {{OpId::mean, doubles, {1}, false, DType::f64}, {2, -5.0 / 3.0}, {}},
      {{OpId::prod, doubles, {0}, false, DType::f64}, {-4, 10, -18}, {}},
      {{OpId::sum, bytes, {1}, false, DType::i64}, {}, {6, 305}},
      {{OpId::prod, bytes, {1}, false, DType::i64}, {}, {6, 100000}},
      {{OpId::max, bytes, {0}, false, DType::u8}, {}, {200, 5, 100}},
      {{OpId::sum, longs, {0, 1}, false, DType::i64}, {}, {(1LL << 40)}},
      {{OpId::min, longs, {1}, false, DType::i64}, {}, {2, -6}},
      {{OpId::sum, truths, {1}, false, DType::i64}, {}, {2, 3}},
      {{OpId::any, truths, {0}, false, DType::boolean}, {}, {1, 1, 1}},
      {{OpId::all, truths, {1}, false, DType::boolean}, {}, {0, 1}},
      {{OpId::min, truths, {1}, false, DType::boolean}, {}, {0, 1}},
      {{OpId::sum, empty, {1}, false, DType::f32}, {0, 0}, {}},
      {{OpId::prod, empty, {1}, false, DType::f32}, {1, 1}, {}},
      {{OpId::mean, empty, {1}, false, DType::f32}, {nan, nan}, {}},
      {{OpId::any, no_truths, {1}, false, DType::boolean}, {}, {0, 0}},
      {{OpId::all, no_truths, {1}, false, DType::boolean}, {}, {1, 1}},
      {{OpId::argmax, reals, {1}, false, DType::i64}, {}, {2, 1}},
      {{OpId::argmin, reals, {0}, true, DType::i64}, {}, {1, 0, 1}},
      {{OpId::argmax, holes, {1}, false, DType::i64}, {}, {1, 1}},
      {{OpId::argmin, holes, {1}, false, DType::i64}, {}, {1, 2}},
      {{OpId::argmax, truths, {1}, false, DType::i64}, {}, {0, 0}},
      {{OpId::argmin, longs, {1}, false, DType::i64}, {}, {1, 2}},
  };
  if (OpenClDevice* const device = gpu_style()) {
    std::vector<Case> cases = all_cases;
    std::erase_if(cases, [&](const Case& item) { return computed_types(*device, {item.request.input.dtype}).empty(); });
    std::vector<Request> requests;
    for (const Case& item : cases) requests.push_back(item.request);
    const std::vector<HostTensor> results = reduce(*device, requests);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      INFO(std::string(core::definition(cases[i].request.op).name), " of ",
           std::string(tyto::name_of(cases[i].request.input.dtype)), " over ", to_string(cases[i].request.axes));
      CHECK(results[i].integers == cases[i].integers);
      REQUIRE(results[i].values.size() == cases[i].reals.size());
      for (std::size_t e = 0; e < cases[i].reals.size(); ++e) {
        const double expected = cases[i].reals[e];
        CHECK((std::isnan(expected) ? std::isnan(results[i].values[e]) : results[i].values[e] == expected));
      }
    }
  }
}

TEST_CASE("places of extremes in long rows are the first ones") {
  const std::int64_t n = 3001;
  HostTensor x = spread(DType::f32, {2, n}, 0, 1);
  for (const std::int64_t at : {700, 701, 2900}) x.values[static_cast<std::size_t>(at)] = 7;
  for (const std::int64_t at : {n + 2000, n + 13}) x.values[static_cast<std::size_t>(at)] = 7;
  if (OpenClDevice* const device = gpu_style()) {
    CHECK(reduce(*device, {{OpId::argmax, x, {1}, false, DType::i64}})[0].integers == Integers{700, 13});
  }
}

}  // namespace opencl_reduction_test

#endif
