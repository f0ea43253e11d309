// SPDX-License-Identifier: MIT
// LaunchPlan: a step as source text and launch geometry, before anything is compiled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/operator.hpp"
#include "core/value/text.hpp"
#include "core/value/view.hpp"

namespace tyto::opencl {

// Names that every source of kernels uses.
using core::OpId;
using core::text;
using core::View;

/// A kernel argument that stands for memory: two arguments in the source, `T* name_base, long name_offset` (elements).
struct MemoryArgument {
  enum class Role : std::uint8_t { input, output, workspace };
  Role role = Role::input;
  std::size_t index = 0;          // which input or output
  std::size_t element_bytes = 1;  // converts the address's byte offset
  std::int64_t offset = 0;        // elements after the address: the view's offset
};

/// A kernel argument that stands for the note of faults, see faults.hpp: `global int* faults` in the source.
struct FaultsArgument {};

/// Numbers known when the step is prepared. They are brought to the device then, and stay there with the kernel.
using Table = std::shared_ptr<const std::vector<std::byte>>;

/// A kernel argument that stands for a table of the launch: one argument in the source.
struct TableArgument {
  std::size_t index = 0;
};

using Argument = std::variant<MemoryArgument, std::int64_t, std::int32_t, double, float, FaultsArgument, TableArgument>;

/// A copy from input `input` to the result that moves nothing where the input's address lies `distance` bytes behind
/// the result's.
struct InPlace {
  std::size_t input = 0;
  std::int64_t distance = 0;
};

/// One kernel and how to launch it. In the source the kernel is called KERNEL, so that equal kernels have equal text;
/// the name it gets is made from a hash of that text.
struct KernelLaunch {
  std::string source;
  std::vector<Argument> arguments;
  std::vector<Table> tables = {};
  std::array<std::size_t, 3> global = {1, 1, 1};  // items
  /// Items of a work-group, fixed for each source; zeros leave them to the driver.
  std::array<std::size_t, 3> local = {1, 1, 1};
  std::optional<InPlace> unless = {};  // left out then
};

/// The kernels that a step enqueues, in order.
struct LaunchPlan {
  std::string name;  // of the operator, for errors
  std::vector<KernelLaunch> launches;
  std::size_t workspace = 0;  // bytes

  /// Adds so many bytes to the workspace, on a cache line of their own; returns where they begin.
  std::size_t reserve(std::size_t bytes) {
    constexpr std::size_t line = 64;
    const std::size_t at = (workspace + line - 1) / line * line;
    workspace = at + bytes;
    return at;
  }
};

}  // namespace tyto::opencl
