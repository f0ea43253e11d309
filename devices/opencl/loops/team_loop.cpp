// SPDX-License-Identifier: MIT
// Distributes pieces of work over a fixed number of work-groups, each of which takes every teams-th piece.
#include "devices/opencl/loops/team_loop.hpp"

#include <algorithm>

#include "core/value/text.hpp"

namespace tyto::opencl {

namespace {

// Of two sizes only, since drivers compile a kernel for each.
constexpr std::int64_t small_team = 32;
constexpr std::int64_t teams_of_a_unit = 8;  // enough to hide one another's waits

}  // namespace

TeamLoop::TeamLoop(const Context& context, std::int64_t tasks, std::int64_t width) : tasks_(tasks) {
  const auto units = static_cast<std::int64_t>(context.units), most = static_cast<std::int64_t>(context.group);
  members_ = width > small_team ? most : std::min(small_team, most);
  teams_ = std::clamp<std::int64_t>(tasks, 1, units * teams_of_a_unit);
}

void TeamLoop::open(KernelText& kernel) const {
  kernel.number("tasks", tasks_);
  kernel.number("teams", teams_);
  kernel.line("  const long team = get_group_id(0);");
  kernel.line("  const int member = get_local_id(0);");
  kernel.line(text("  const int members = ", members_, ";"));
  kernel.line("  for (long task = team; task < tasks; task += teams) {");
}

KernelLaunch TeamLoop::close(KernelText& kernel) const {
  // The next piece of work may overwrite what this one reads.
  kernel.line(text("    ", wait()));
  kernel.line("  }");
  KernelLaunch launch = kernel.finish(text("__attribute__((reqd_work_group_size(", members_, ", 1, 1))) "));
  launch.local[0] = static_cast<std::size_t>(members_);
  launch.global[0] = static_cast<std::size_t>(teams_ * members_);
  return launch;
}

std::string TeamLoop::each(std::string_view name, std::string_view first, std::string_view past) {
  return text("for (int ", name, " = ", first, " + member; ", name, " < ", past, "; ", name, " += members)");
}

}  // namespace tyto::opencl
