// SPDX-License-Identifier: MIT
// Moves a dense value between the host and the device.
#pragma once

#include <span>

#include "core/device/device.hpp"

namespace tyto::run {

class TransferKernel final : public core::Kernel {
 public:
  TransferKernel(core::Device& device, std::size_t bytes, bool to_host)
      : device_(&device), bytes_(bytes), to_host_(to_host) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    if (to_host_) {
      device_->copy_out(outputs[0].pointer(), inputs[0], bytes_);
    } else {
      device_->copy_in(outputs[0], inputs[0].pointer(), bytes_);
    }
  }

 private:
  core::Device* device_;
  std::size_t bytes_;
  bool to_host_;
};

}  // namespace tyto::run
