// SPDX-License-Identifier: MIT
// Runs a step on the OpenCL device and on the CPU with the same inputs.
#pragma once

#include <vector>

#include "core/device/device.hpp"
#include "tests/devices/opencl_rig.hpp"

namespace tyto::opencl::test {

struct Step {
  core::OpId op;
  core::Attributes attributes;
  std::vector<HostTensor> inputs;
  double tolerance = 0;  // relative to the greatest value
};

/// The dense results that the operator's rule tells.
std::vector<core::Operand> results_of(const Step& step);

std::vector<HostTensor> on_cpu(const Step& step);
std::vector<HostTensor> on(OpenClDevice& device, core::OpId op, const core::Attributes& attributes,
                           const std::vector<HostTensor>& inputs);

/// Kernels of all steps built together: differences from the CPU's results are within tolerances.
void check(const std::vector<Step>& steps);
/// So for matrix products and convolutions, which have two styles.
void check_in_both_styles(const std::vector<Step>& steps);

/// Values of both signs, spread evenly.
HostTensor numbers(DType dtype, const Shape& shape);

/// A tolerance for sums and products of some dozens of elements; 0 for integers.
double rounding(DType dtype);

}  // namespace tyto::opencl::test
