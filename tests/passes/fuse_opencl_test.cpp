// SPDX-License-Identifier: MIT
// Groups on OpenCL, with and without reductions, against their operators one by one.
#include <doctest/doctest.h>

#include <numeric>

#include "engine/run/devices.hpp"
#include "tests/passes/sketch.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;

namespace {

/// The result of a chain with casts, choices, numbers and a stretched row on the first OpenCL device.
std::vector<float> chain_on_opencl(DType type, const char* passes) {
  using T = Tensor<Lazy>;
  const DeviceScope scope("opencl");
  auto chain = compile(
      [type](T x, T row) {
        const T wide = cast(x, type) * 0.75 + cast(row, type);
        const T chosen = where(greater(wide, 1), wide - 1, wide * wide);
        return cast(maximum(chosen, 0.125) / (abs(wide) + 1), DType::f32);
      },
      {.passes = passes});
  const T x = reshape(T::arange(0, 350, 1, DType::f32), {10, 35}) * 0.01;
  return chain(x, T::arange(0, 35, 1, DType::f32) * 0.1).to_vector<float>();
}

}  // namespace

TEST_CASE("a group on OpenCL gives what its operators give there one by one") {
  if (run::all_devices().size() < 2) {
    MESSAGE("there is no OpenCL device");
    return;
  }
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32}) {
    CAPTURE(type);
    CHECK(chain_on_opencl(type, "fuse") == chain_on_opencl(type, "none"));
  }
}

namespace {

/// A normalised tensor, its softmax and a sum of squares, on the first OpenCL device; and what was done for it.
std::vector<std::vector<float>> rows_on_opencl(DType type, const char* passes, GraphReport* report = nullptr) {
  using T = Tensor<Lazy>;
  const DeviceScope scope("opencl");
  const T x = T::placeholder({37, 70}), scale = T::placeholder({70});
  const T wide = cast(x, type);
  const T centred = wide - mean(wide, {1}, true);
  const T normal = centred / sqrt(var(wide, {1}, true) + 0.125) * cast(scale, type);
  const T terms = exp(normal - max(normal, {1}, true));
  const T shares = terms / sum(terms, {1}, true);
  Graph graph{{.inputs = {x, scale}, .outputs = {cast(normal, DType::f32), cast(shares, DType::f32), sum(square(x))}},
              {.passes = passes}};
  graph.set(x, reshape(T::arange(0, 37 * 70, 1, DType::f32), {37, 70}) % 11.0 * 0.25);
  graph.set(scale, T::arange(0, 70, 1, DType::f32) * 0.0625);
  graph.run();
  if (report != nullptr) *report = graph.report();
  return {graph.output(0).to_vector<float>(), graph.output(1).to_vector<float>(), graph.output(2).to_vector<float>()};
}

}  // namespace

TEST_CASE("groups with reductions run on OpenCL, a kernel each, and give what their operators give there one by one") {
  if (run::all_devices().size() < 2) {
    MESSAGE("there is no OpenCL device");
    return;
  }
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    CAPTURE(type);
    GraphReport report;
    const auto fused = rows_on_opencl(type, "fuse", &report);
    CHECK(fused == rows_on_opencl(type, "none"));
    CHECK(report.passes.fired("groups") == 2);
    CHECK(report.fallbacks.empty());
    for (int row = 0; row < 37; ++row) {
      const auto first = fused[1].begin() + row * 70;
      CHECK(std::accumulate(first, first + 70, 0.0) == doctest::Approx(1).epsilon(0.02));
    }
  }
}
