// SPDX-License-Identifier: MIT
// Stable merge sort of lines of keys with their positions, in the workspace.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

/// The keys to sort: `lines` of `length` keys each, unsigned integers of 32 bits or 64.
struct Keys {
  std::int64_t lines = 0, length = 0;
  bool wide = false;
  /// Declares what the key needs.
  std::function<void(KernelText&)> declare;
  /// The key of element `i` of line `line`, after statements of its own.
  std::function<std::string(KernelText&)> key;
};

/// Keys and their positions after the launches, line after line.
class Ordered {
 public:
  Ordered(const Keys& keys, std::size_t keys_at, std::size_t positions_at)
      : is_wide_(keys.wide), has_long_lines_(long_lines(keys)), keys_at_(keys_at), positions_at_(positions_at) {}

  static bool long_lines(const Keys& keys) { return keys.length > std::int64_t{1} << 30; }
  const char* key_type() const { return is_wide_ ? "ulong" : "uint"; }
  const char* position_type() const { return has_long_lines_ ? "long" : "int"; }
  std::size_t key_bytes() const { return is_wide_ ? 8 : 4; }
  std::size_t position_bytes() const { return has_long_lines_ ? 8 : 4; }

  /// Declares the two in a kernel that reads or writes them, with names that end in `suffix`.
  void declare(KernelText& kernel, std::string_view suffix = "") const;

 private:
  bool is_wide_, has_long_lines_;
  std::size_t keys_at_, positions_at_;
};

/// Appends the launches that put the keys in order. Equal keys stay in the order of their positions.
Ordered append_ordering(LaunchPlan& plan, const Context& context, const Keys& keys);

/// The key of `value`, of the compute form of a type: an expression that compares as the elements do, NaN last. It has
/// 64 bits where has_wide_keys.
std::string order_key(DType type, std::string_view value, bool descending);
bool has_wide_keys(DType type);

}  // namespace tyto::opencl
