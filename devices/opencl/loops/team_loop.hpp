// SPDX-License-Identifier: MIT
// A loop over pieces of work, such as lines, each done by all work-items of a work-group together (a team).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

class TeamLoop {
 public:
  /// `width`: how many items find something to do in a piece of work at the same time.
  TeamLoop(const Context& context, std::int64_t tasks, std::int64_t width);

  /// Teams there are, each with memory of its own if it needs some.
  std::int64_t teams() const { return teams_; }

  /// Opens the loop over `task`; `team` is the number of the team. Every item of a team runs all of the body: it is
  /// number `member` of `members` and shares the work as it likes.
  void open(KernelText& kernel) const;
  /// Closes it. The kernel is whole then.
  KernelLaunch close(KernelText& kernel) const;

  /// The head of a loop over `name` in [first, past), shared by the members.
  static std::string each(std::string_view name, std::string_view first, std::string_view past);
  /// A statement after which every member sees what the others wrote before it. All members must come to it.
  static constexpr std::string_view wait() { return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"; }

 private:
  std::int64_t tasks_, teams_, members_;
};

}  // namespace tyto::opencl
