// SPDX-License-Identifier: MIT
// Sorts runs of sixteen keys by a work-item each; then pairs of runs are merged, every element finding its position by
// a binary search in the other run. All of it is the same for any number of items.
#include "devices/opencl/moves/ordering.hpp"

#include <utility>

#include "core/value/text.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"
#include "devices/opencl/text/element_types.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

constexpr std::int64_t first_run = 16;

KernelLaunch runs_kernel(const Keys& keys, const Ordered& to) {
  const std::int64_t runs = (keys.length + first_run - 1) / first_run;
  KernelText kernel(false);
  keys.declare(kernel);
  to.declare(kernel);
  kernel.number("length", keys.length);
  kernel.number("runs", runs);
  kernel.item_a_task(keys.lines * runs);
  kernel.line("    const long line = task / runs, begin = task % runs * 16;");
  kernel.line("    const int width = min(length - begin, 16L);");
  kernel.line(text("    ", to.key_type(), " key[16]; ", to.position_type(), " position[16];"));
  kernel.line("    for (int j = 0; j < width; ++j) {");
  kernel.line("      const long i = begin + j;");
  kernel.line(text("      const ", to.key_type(), " mine = ", keys.key(kernel), ";"));
  kernel.line("      int at = j;");
  kernel.line(
      "      for (; at > 0 && key[at - 1] > mine; --at) { key[at] = key[at - 1]; position[at] = position[at - 1]; }");
  kernel.line("      key[at] = mine; position[at] = i;");
  kernel.line("    }");
  kernel.line("    for (int j = 0; j < width; ++j) {");
  kernel.line("      keys[line * length + begin + j] = key[j]; positions[line * length + begin + j] = position[j];");
  kernel.line("    }");
  return kernel.finish();
}

// Of two equal keys the one of the first run comes first.
KernelLaunch merge_kernel(const Context& context, const Keys& keys, const Ordered& from, const Ordered& to,
                          std::int64_t width) {
  KernelText kernel(false);
  const CoordinateLoop loop(context, {keys.lines, keys.length});
  from.declare(kernel, "_from");
  to.declare(kernel);
  kernel.number("length", keys.length);
  kernel.number("width", width);
  loop.open(kernel);
  kernel.line("    const long line = c0 * length, run = c1 / width;");
  kernel.line("    const long other = min((run ^ 1) * width, length), past = min(other + width, length);");
  kernel.line(text("    const ", from.key_type(), " mine = keys_from[line + c1];"));
  kernel.line("    long low = other, high = past;");
  kernel.line("    while (low < high) {");
  kernel.line("      const long middle = (low + high) / 2;");
  kernel.line(text("      const ", from.key_type(), " theirs = keys_from[line + middle];"));
  kernel.line("      const int before = (run & 1) ? theirs <= mine : theirs < mine;");
  kernel.line("      low = before ? middle + 1 : low; high = before ? high : middle;");
  kernel.line("    }");
  kernel.line("    const long place = line + (run & ~1L) * width + c1 % width + low - other;");
  kernel.line("    keys[place] = mine; positions[place] = positions_from[line + c1];");
  return loop.close(kernel);
}

}  // namespace

void Ordered::declare(KernelText& kernel, std::string_view suffix) const {
  const auto array = [&](const char* type, std::size_t bytes, std::size_t at, std::string_view name) {
    kernel.memory(Role::workspace, 0, type, bytes, static_cast<std::int64_t>(at / bytes), text(name, suffix));
  };
  array(key_type(), key_bytes(), keys_at_, "keys");
  array(position_type(), position_bytes(), positions_at_, "positions");
}

Ordered append_ordering(LaunchPlan& plan, const Context& context, const Keys& keys) {
  const auto reserve = [&] {
    const auto count = static_cast<std::size_t>(keys.lines * keys.length);
    const Ordered sizes(keys, 0, 0);
    const std::size_t keys_at = plan.reserve(count * sizes.key_bytes());
    return Ordered(keys, keys_at, plan.reserve(count * sizes.position_bytes()));
  };
  Ordered from = reserve();
  plan.launches.push_back(runs_kernel(keys, from));
  if (keys.length <= first_run) return from;
  Ordered to = reserve();
  for (std::int64_t width = first_run; width < keys.length; width *= 2) {
    plan.launches.push_back(merge_kernel(context, keys, from, to, width));
    std::swap(from, to);
  }
  return from;
}

std::string order_key(DType type, std::string_view value, bool descending) {
  return text("order_key_", suffix(compute_of(type)), "(", value, ", ", descending ? 1 : 0, ")");
}

bool has_wide_keys(DType type) { return is_wide(compute_of(type)); }

}  // namespace tyto::opencl
