// SPDX-License-Identifier: MIT
// Arenas, conversions and devices for the tests of the OpenCL device.
#if defined(TYTO_HAVE_OPENCL)

#include "tests/devices/opencl_rig.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>

#include "core/value/element_types.hpp"
#include "devices/opencl/device/device.hpp"

namespace tyto::opencl::test {

namespace {

// Removed when the process ends, with all that was compiled into it.
struct Scratch {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tyto-opencl-test-" + std::to_string(::getpid()));
  Scratch() { std::filesystem::create_directories(path); }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

cl_device_id first_device() {
  const auto found = devices();
  return found.empty() ? nullptr : static_cast<OpenClDevice*>(found[0])->context().id;
}

template <class T>
void append(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

template <class T>
T take(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

constexpr std::byte guard{0xA5};

}  // namespace

std::filesystem::path scratch_folder() {
  static Scratch scratch;
  return scratch.path;
}

OpenClDevice* device(Style style) {
  static const cl_device_id id = first_device();
  if (id == nullptr) {
    static const bool said = [] {
      MESSAGE("no OpenCL platform on this machine: the tests of the OpenCL device check nothing");
      return true;
    }();
    (void)said;
    return nullptr;
  }
  // One for the process, so that each program is compiled once for all test cases. Nothing is kept on disk: that has
  // its own test, and the driver under test keeps its own copies.
  static OpenClDevice* const cpu = new OpenClDevice("opencl:0", id, Style::cpu, {});
  static OpenClDevice* const gpu = new OpenClDevice("opencl:0", id, Style::gpu, {});
  return style == Style::cpu ? cpu : gpu;
}

OpenClDevice* cpu_style() {
  OpenClDevice* const cpu = device(Style::cpu);
  if (cpu == nullptr || !cpu->context().ends_loops) return cpu;
  static const bool said = [] {
    MESSAGE("llvmpipe translates the CPU style's vectors for minutes, and is never given them: the GPU style alone");
    return true;
  }();
  (void)said;
  return nullptr;
}

OpenClDevice* gpu_style() { return device(Style::gpu); }

std::vector<OpenClDevice*> both_styles() {
  if (gpu_style() == nullptr) return {};
  if (cpu_style() == nullptr) return {gpu_style()};
  return {cpu_style(), gpu_style()};
}

bool is_interpreted() {
  const OpenClDevice* const any = device(Style::cpu);
  return any != nullptr && any->properties().description.find("Oclgrind") != std::string::npos;
}

std::vector<DType> computed_types(const OpenClDevice& device, std::vector<DType> types) {
  if (device.context().has_f64 || std::erase(types, DType::f64) == 0) return types;
  static const bool said = [&] {
    MESSAGE(device.properties().description, " has no f64: tests of this type check nothing");
    return true;
  }();
  (void)said;
  return types;
}

double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return static_cast<float>(Half(static_cast<float>(value)));
    case DType::bf16: return static_cast<float>(BFloat16(static_cast<float>(value)));
    case DType::f32:
    case DType::c64: return static_cast<float>(value);
    default: return value;
  }
}

HostTensor HostTensor::of(DType dtype, const Shape& shape, std::vector<double> values) {
  for (double& value : values) value = rounded(dtype, value);
  return {dtype, core::View::dense(shape), std::move(values), {}};
}

HostTensor HostTensor::of_integers(DType dtype, const Shape& shape, std::vector<std::int64_t> values) {
  return {dtype, core::View::dense(shape), {}, std::move(values)};
}

HostTensor spread(DType dtype, const Shape& shape, double low, double high) {
  const std::int64_t count = element_count(shape) * (is_complex(dtype) ? 2 : 1);
  HostTensor tensor{dtype, core::View::dense(shape), {}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    // A stride coprime to the count visits the interval out of order.
    const auto step = static_cast<double>((i * 7919) % count) / static_cast<double>(count > 1 ? count - 1 : 1);
    const double value = low + (high - low) * step;
    if (is_floating(dtype) || is_complex(dtype)) {
      tensor.values.push_back(rounded(dtype, value));
    } else {
      tensor.integers.push_back(dtype == DType::boolean ? (i * 7) % 3 == 0 : static_cast<std::int64_t>(value));
    }
  }
  return tensor;
}

std::vector<std::byte> bytes_of(const HostTensor& tensor) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < tensor.storage(); ++i) {
    core::with_element_type(tensor.dtype, [&]<class E>() {
      if constexpr (ComplexNumber<E>) {
        using Part = typename E::value_type;
        append(out, E(static_cast<Part>(tensor.values[2 * i]), static_cast<Part>(tensor.values[2 * i + 1])));
      } else if constexpr (std::is_same_v<E, bool>) {
        append(out, static_cast<std::uint8_t>(tensor.integers[i]));
      } else if constexpr (std::is_integral_v<E>) {
        append(out, static_cast<E>(tensor.integers[i]));
      } else {
        append(out, core::element_from<E>(tensor.values[i]));
      }
    });
  }
  return out;
}

HostTensor from_bytes(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  HostTensor tensor{dtype, core::View::dense(shape), {}, {}};
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (std::size_t i = 0; i < count; ++i) {
    core::with_element_type(dtype, [&]<class E>() {
      if constexpr (ComplexNumber<E>) {
        const E element = take<E>(bytes, i);
        for (const auto part : {element.real(), element.imag()}) tensor.values.push_back(part);
      } else if constexpr (std::is_same_v<E, bool>) {
        tensor.integers.push_back(take<std::uint8_t>(bytes, i));
      } else if constexpr (std::is_integral_v<E>) {
        tensor.integers.push_back(static_cast<std::int64_t>(take<E>(bytes, i)));
      } else {
        tensor.values.push_back(core::number_from<double>(take<E>(bytes, i)));
      }
    });
  }
  return tensor;
}

std::vector<HostTensor> run(OpenClDevice& device, const core::Kernel& kernel, std::span<const HostTensor> inputs,
                            std::span<const core::Operand> outputs) {
  const std::size_t alignment = device.properties().alignment;
  std::size_t height = alignment;
  const auto place = [&](std::size_t bytes) {
    const std::size_t at = height;
    height += (bytes + alignment - 1) / alignment * alignment + alignment;
    return at;
  };
  std::vector<std::size_t> input_places;
  std::vector<std::size_t> output_places;
  std::vector<std::size_t> output_sizes;
  for (const HostTensor& input : inputs) input_places.push_back(place(input.storage() * size_of(input.dtype)));
  for (const core::Operand& output : outputs) {
    output_sizes.push_back(static_cast<std::size_t>(core::touched(output.view).past) * size_of(output.dtype));
    output_places.push_back(place(output_sizes.back()));
  }
  const std::size_t workspace = place(kernel.workspace());

  std::vector<std::byte> arena(height, guard);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<std::byte> bytes = bytes_of(inputs[i]);
    std::copy(bytes.begin(), bytes.end(), arena.begin() + static_cast<std::ptrdiff_t>(input_places[i]));
  }
  const core::BufferRef buffer = device.allocate(height);
  device.copy_in(buffer->at(0), arena.data(), height);
  std::vector<core::Address> input_addresses;
  std::vector<core::Address> output_addresses;
  for (const std::size_t at : input_places) input_addresses.push_back({buffer->memory(), at});
  for (const std::size_t at : output_places) output_addresses.push_back({buffer->memory(), at});
  kernel.launch(input_addresses, output_addresses, {buffer->memory(), workspace});
  std::vector<std::byte> after(height);
  device.copy_out(after.data(), buffer->at(0), height);

  std::vector<HostTensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::span<const std::byte> bytes(after.data() + output_places[i], output_sizes[i]);
    const auto elements = static_cast<std::int64_t>(output_sizes[i] / size_of(outputs[i].dtype));
    results.push_back(from_bytes(outputs[i].dtype, Shape{elements}, bytes));
    results.back().view = outputs[i].view;
  }
  // Nothing but the outputs and the workspace may have been written.
  for (std::size_t i = 0; i < output_places.size(); ++i) {
    std::fill_n(after.begin() + static_cast<std::ptrdiff_t>(output_places[i]), output_sizes[i], guard);
  }
  std::fill_n(after.begin() + static_cast<std::ptrdiff_t>(workspace), kernel.workspace(), guard);
  CHECK(std::equal(arena.begin(), arena.end(), after.begin()));
  return results;
}

std::vector<HostTensor> run_step(OpenClDevice& device, core::OpId op, const core::Attributes& attributes,
                                 std::span<const HostTensor> inputs, std::span<const core::TensorType> outputs) {
  std::vector<core::Operand> input_operands;
  std::vector<core::Operand> output_operands;
  for (const HostTensor& input : inputs) input_operands.push_back(input.operand());
  for (const core::TensorType& output : outputs) {
    output_operands.push_back({output.dtype, core::View::dense(output.shape)});
  }
  const auto kernel = device.prepare({op, &attributes, input_operands, output_operands});
  return run(device, *kernel, inputs, output_operands);
}

std::vector<HostTensor> run_program(OpenClDevice& device, NamedLoop loop, std::span<const HostTensor> inputs) {
  for (const HostTensor& input : inputs) loop.bound.inputs.push_back(input.operand());
  loop.bound.loop.program.inputs = static_cast<core::LoopValue>(inputs.size());
  const LaunchPlan plan = element_launch_plan(device.context(), loop);
  return run(device, *device.build({&plan, 1}).front(), inputs, loop.bound.outputs);
}

}  // namespace tyto::opencl::test

#endif
