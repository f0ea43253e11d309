// SPDX-License-Identifier: MIT
// Launches steps on either device and compares what they yield.
#if defined(TYTO_HAVE_OPENCL)

#include "tests/devices/opencl_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/device.hpp"

namespace tyto::opencl::test {

using core::Attributes;
using core::OpId;
using core::View;

namespace {

std::vector<core::Operand> operands(const std::vector<HostTensor>& tensors) {
  std::vector<core::Operand> out;
  for (const HostTensor& tensor : tensors) out.push_back(tensor.operand());
  return out;
}

/// The greatest difference, as a part of the greatest value; infinite where only one is NaN.
double difference(const HostTensor& a, const HostTensor& b) {
  if (a.values.empty()) return a.integers == b.integers ? 0 : INFINITY;
  double worst = 0, greatest = 1e-30;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    if (std::isfinite(y)) greatest = std::max(greatest, std::fabs(y));
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double apart = std::fabs(x - y);
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst / greatest;
}

// Random numbers of a gamma distribution are drawn in f64.
bool needs_f64(const Step& step) {
  if (step.op == OpId::random_gamma) return true;
  const auto wide = [](const auto& operand) { return real_type(operand.dtype) == DType::f64; };
  return std::ranges::any_of(step.inputs, wide) || std::ranges::any_of(results_of(step), wide);
}

}  // namespace

std::vector<core::Operand> results_of(const Step& step) {
  std::vector<core::TensorType> types;
  for (const HostTensor& input : step.inputs) types.push_back({input.dtype, input.view.shape});
  std::vector<core::Operand> out;
  for (const core::TensorType& type : core::definition(step.op).infer(step.attributes, types)) {
    out.push_back({type.dtype, View::dense(type.shape)});
  }
  return out;
}

std::vector<HostTensor> on_cpu(const Step& step) {
  core::Device& device = cpu::device();
  const std::vector<core::Operand> in = operands(step.inputs), out = results_of(step);
  const auto kernel = device.prepare({step.op, &step.attributes, in, out});
  std::vector<core::BufferRef> buffers;
  const auto allocate = [&](std::size_t bytes) {
    buffers.push_back(device.allocate(bytes));
    return core::Address{buffers.back()->memory(), 0};
  };
  std::vector<core::Address> from, to;
  for (const HostTensor& input : step.inputs) {
    const std::vector<std::byte> bytes = bytes_of(input);
    from.push_back(allocate(bytes.size()));
    device.copy_in(buffers.back()->at(0), bytes.data(), bytes.size());
  }
  for (const core::Operand& output : out) {
    to.push_back(allocate(static_cast<std::size_t>(output.view.count()) * size_of(output.dtype)));
  }
  kernel->launch(from, to, allocate(kernel->workspace()));
  std::vector<HostTensor> results;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t bytes = static_cast<std::size_t>(out[i].view.count()) * size_of(out[i].dtype);
    results.push_back(from_bytes(out[i].dtype, out[i].view.shape, {to[i].pointer(), bytes}));
  }
  return results;
}

std::vector<HostTensor> on(OpenClDevice& device, OpId op, const Attributes& attributes,
                           const std::vector<HostTensor>& inputs) {
  const Step step{op, attributes, inputs};
  std::vector<core::TensorType> types;
  for (const core::Operand& each : results_of(step)) types.push_back({each.dtype, each.view.shape});
  return run_step(device, op, attributes, inputs, types);
}

namespace {

void check_on(OpenClDevice& device, const std::vector<Step>& all_steps) {
  std::vector<Step> steps = all_steps;
  std::erase_if(steps, [&](const Step& step) { return needs_f64(step) && !computes_f64(device); });
  std::vector<std::vector<core::Operand>> in, out;
  for (const Step& step : steps) {
    in.push_back(operands(step.inputs));
    out.push_back(results_of(step));
  }
  std::vector<core::Step> prepared;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    prepared.push_back({steps[i].op, &steps[i].attributes, in[i], out[i]});
  }
  const auto kernels = device.prepare_all(prepared);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<HostTensor> found = run(device, *kernels[i], steps[i].inputs, out[i]);
    const std::vector<HostTensor> expected = on_cpu(steps[i]);
    for (std::size_t r = 0; r < expected.size(); ++r) {
      INFO(core::definition(steps[i].op).name, " number ", i, " yielding ", std::string(name_of(out[i][0].dtype)), ", ",
           core::to_string(steps[i].attributes));
      CHECK(difference(found[r], expected[r]) <= steps[i].tolerance);
    }
  }
}

}  // namespace

void check(const std::vector<Step>& steps) {
  if (OpenClDevice* const device = gpu_style()) check_on(*device, steps);
}

void check_in_both_styles(const std::vector<Step>& steps) {
  for (OpenClDevice* device : both_styles()) check_on(*device, steps);
}

HostTensor numbers(DType dtype, const Shape& shape) { return spread(dtype, shape, -3, 3.5); }

double rounding(DType dtype) {
  switch (dtype) {
    case DType::f16: return 2e-3;
    case DType::bf16: return 2e-2;
    case DType::f32:
    case DType::c64: return 1e-5;
    case DType::f64:
    case DType::c128: return 1e-13;
    default: return 0;
  }
}

}  // namespace tyto::opencl::test

#endif
