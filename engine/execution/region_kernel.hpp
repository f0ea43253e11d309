// Loops and branches as kernels: their regions run inside of one step, in the step's workspace.
#pragma once

#include <memory>

#include "core/device.hpp"
#include "engine/execution/executable.hpp"
#include "engine/execution/planned_program.hpp"
#include "engine/execution/region_moves.hpp"

namespace tyto::run {

class RegionKernel : public core::Kernel {
 public:
  /// Appends what a launch copies, this kernel's regions included. `path` names the region.
  virtual void list_moves(const std::string& path, const LiesOver& over, std::vector<MovedBytes>& moved) const = 0;
  /// What a launch runs by, for the checker of contents.
  virtual PlannedRegion planned() const = 0;
};

/// The kernel of a branch or loop whose regions the device can run. Its operands are dense and lie in the device's
/// memory.
std::shared_ptr<const core::Kernel> region_kernel(const core::Step& step, core::Device& device,
                                                  const CompileOptions& options);

}  // namespace tyto::run
