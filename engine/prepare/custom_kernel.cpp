// SPDX-License-Identifier: MIT
// Calls user functions with their operands by pointer, and names them in errors.
#include "engine/prepare/custom_kernel.hpp"

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"

namespace tyto::run {

namespace {

class CustomKernel final : public core::Kernel {
 public:
  explicit CustomKernel(const core::Step& step)
      : op_(std::get<core::CustomAttributes>(*step.attributes).op),
        inputs_(step.inputs.begin(), step.inputs.end()),
        outputs_(step.outputs.begin(), step.outputs.end()) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const std::vector<core::HostBuffer> from = arrays(inputs_, inputs);
    const std::vector<core::HostBuffer> to = arrays(outputs_, outputs);
    try {
      op_->host(from, to);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      core::throw_error<GraphError>("'", op_->name, "': ", error.what());
    }
  }

 private:
  static std::vector<core::HostBuffer> arrays(const std::vector<core::Operand>& operands,
                                              std::span<const core::Address> addresses) {
    std::vector<core::HostBuffer> list;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto skip = static_cast<std::ptrdiff_t>(operands[i].view.offset) *
                        static_cast<std::ptrdiff_t>(size_of(operands[i].dtype));
      list.push_back({operands[i].dtype, operands[i].view.shape, addresses[i].pointer() + skip});
    }
    return list;
  }

  std::shared_ptr<const core::CustomOperator> op_;
  std::vector<core::Operand> inputs_;
  std::vector<core::Operand> outputs_;
};

}  // namespace

const core::CustomOperator& custom_operator(const core::Attributes& attributes) {
  return *std::get<core::CustomAttributes>(attributes).op;
}

bool has_device_kernel(const core::CustomOperator& op, const core::Device& device, std::span<const DType> inputs,
                       std::span<const DType> outputs) {
  return !op.opencl.text.empty() && device.supports(core::OpId::custom, inputs, outputs);
}

std::shared_ptr<const core::Kernel> custom_kernel(const core::Step& step) {
  const core::CustomOperator& op = custom_operator(*step.attributes);
  if (!op.host) {
    core::throw_error<DeviceError>("'", op.name,
                                   "' has no host function: its OpenCL kernel runs where a DeviceScope(\"opencl\") is "
                                   "open and the device has the element types");
  }
  return std::make_shared<CustomKernel>(step);
}

}  // namespace tyto::run
