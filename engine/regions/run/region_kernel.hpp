// SPDX-License-Identifier: MIT
// Kernels of loops and branches: their regions run inside of one step, in memory planned with that of all steps.
#pragma once

#include <memory>

#include "core/device/device.hpp"
#include "engine/prepare/planned_program.hpp"
#include "engine/regions/run/region_layout.hpp"
#include "engine/regions/run/region_moves.hpp"
#include "engine/run/executable.hpp"

namespace tyto::run {

class RegionKernel : public core::Kernel {
 public:
  /// The blocks of its workspace; until place() is called they are planned alone, in workspace() bytes.
  const RegionLayout& layout() const { return layout_; }
  /// Sets the offset of each block from the workspace that launches are given.
  virtual void place(std::span<const std::size_t> offsets) = 0;
  std::size_t workspace() const final { return workspace_; }

  /// Appends what a launch copies, this kernel's regions included. `path` names the region.
  virtual void list_moves(const std::string& path, const SharesAddress& over, std::vector<MovedBytes>& moved) const = 0;
  /// The steps and places of a launch, for the checker of contents.
  virtual PlannedRegion planned() const = 0;

 protected:
  void place_alone(const core::Device& device);

  RegionLayout layout_;
  std::size_t workspace_ = 0;
};

/// The kernel of a branch or loop whose regions the device can run. Its operands are dense and lie in the device's
/// memory.
std::shared_ptr<RegionKernel> region_kernel(const core::Step& step, core::Device& device,
                                            const CompileOptions& options);

}  // namespace tyto::run
