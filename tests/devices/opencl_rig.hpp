// SPDX-License-Identifier: MIT
// Shared by the tests of the OpenCL device: devices of both styles, and tensors copied there and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/device.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "devices/opencl/loops/named_loop.hpp"

namespace tyto::opencl::test {

/// The first OpenCL device of the machine, opened in the given style with the cache of this test run; null, with a
/// message once, where there is no OpenCL platform.
OpenClDevice* device(Style style);

/// The CPU style; null, with a message once, without OpenCL and on llvmpipe, which is never given that style.
OpenClDevice* cpu_style();

/// The GPU style, for kernels that have one form; null, with a message once, without OpenCL.
OpenClDevice* gpu_style();

/// Both styles, for matrix products and convolutions; empty without OpenCL. On llvmpipe just the GPU style, which is
/// the one that it is given.
std::vector<OpenClDevice*> both_styles();

/// Those of the types that the device computes in: f64 is an extension that it may lack, which is said once.
std::vector<DType> computed_types(const OpenClDevice& device, std::vector<DType> types);
/// Whether kernels are interpreted, as Oclgrind does: what takes a second elsewhere takes an hour there.
bool is_interpreted();
inline bool computes_f64(const OpenClDevice& device) { return !computed_types(device, {DType::f64}).empty(); }

/// A folder of its own that is removed at the end of the process.
std::filesystem::path scratch_folder();

/// A tensor on the host whose elements are held as f64 (i64 for integers) beside their type; complex ones as pairs.
struct HostTensor {
  DType dtype = DType::f32;
  core::View view;             // into `values`, which stands for the storage
  std::vector<double> values;  // floating-point types; rounded to the type when made
  std::vector<std::int64_t> integers;

  static HostTensor of(DType dtype, const Shape& shape, std::vector<double> values);
  static HostTensor of_integers(DType dtype, const Shape& shape, std::vector<std::int64_t> values);

  std::size_t storage() const {
    return is_complex(dtype) ? values.size() / 2 : is_floating(dtype) ? values.size() : integers.size();
  }
  core::Operand operand() const { return {dtype, view}; }
};

/// Evenly spread values of [low, high], rounded to the type.
HostTensor spread(DType dtype, const Shape& shape, double low, double high);

/// `value` as the type holds it.
double rounded(DType dtype, double value);

/// Storage bytes of a tensor, and back.
std::vector<std::byte> bytes_of(const HostTensor& tensor);
HostTensor from_bytes(DType dtype, const Shape& shape, std::span<const std::byte> bytes);

/// Runs a prepared kernel: every operand lies in one arena, at offsets that are aligned but not zero.
std::vector<HostTensor> run(OpenClDevice& device, const core::Kernel& kernel, std::span<const HostTensor> inputs,
                            std::span<const core::Operand> outputs);

/// Prepares and runs one step with dense outputs.
std::vector<HostTensor> run_step(OpenClDevice& device, core::OpId op, const core::Attributes& attributes,
                                 std::span<const HostTensor> inputs, std::span<const core::TensorType> outputs);

/// Builds and runs a fused program.
std::vector<HostTensor> run_program(OpenClDevice& device, NamedLoop loop, std::span<const HostTensor> inputs);

}  // namespace tyto::opencl::test
