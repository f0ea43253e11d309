// SPDX-License-Identifier: MIT
// Register files: which register holds which value while a body is emitted, and which value is spilled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "devices/cpu/loop/jit/body.hpp"

namespace tyto::cpu::jit {

/// One file of registers, of vectors or of masks. Registers that are pinned hold one value for the whole kernel; of the
/// others, where one is wanted and none is free, the value is moved that is read again last.
class RegisterFile {
 public:
  static constexpr int never = 1 << 30;

  /// Registers from `first` on.
  RegisterFile(const Body& body, int first, int count)
      : body_(&body),
        first_(first),
        owners_(static_cast<std::size_t>(first + count), no_value),
        registers_(body.root.size(), -1),
        passed_(body.root.size(), 0) {}

  int end() const { return static_cast<int>(owners_.size()); }
  Value owner(int which) const { return owners_[static_cast<std::size_t>(which)]; }
  /// The value's register, or -1.
  int find(Value value) const { return registers_[static_cast<std::size_t>(value)]; }
  bool is_pinned(int which) const { return (pinned_ >> which & 1u) != 0; }

  void pin(Value value, int which) {
    assign(value, which);
    pinned_ |= 1u << which;
  }
  /// Reserves a register for something other than a value.
  void reserve(int which) { pinned_ |= 1u << which; }
  void assign(Value value, int which) {
    owners_[static_cast<std::size_t>(which)] = value;
    registers_[static_cast<std::size_t>(value)] = static_cast<std::int8_t>(which);
  }
  void release(int which) {
    const Value value = owner(which);
    if (value != no_value) registers_[static_cast<std::size_t>(value)] = -1;
    owners_[static_cast<std::size_t>(which)] = no_value;
  }
  void release_all() {
    locked_ = 0;
    for (int i = first_; i < end(); ++i) {
      if (!is_pinned(i)) release(i);
    }
  }
  /// A register without a value that is not locked, or -1.
  int find_free() const {
    for (int i = first_; i < end(); ++i) {
      if (owner(i) == no_value && !is_locked(i) && !is_pinned(i)) return i;
    }
    return -1;
  }
  /// The register whose value is read last of all from `position` on: the one to empty. -1 where all are in use.
  int farthest(int position) const {
    int best = -1, best_use = -1;
    for (int i = first_; i < end(); ++i) {
      if (is_pinned(i) || is_locked(i)) continue;
      const int use = next_use(owner(i), position);
      if (use > best_use) best = i, best_use = use;
    }
    return best;
  }
  /// The first position from `position` on that reads the value, or never. No position that was let pass is asked for.
  int next_use(Value value, int position) const {
    const std::span<const int> uses = body_->uses(value);
    for (std::size_t at = passed_[static_cast<std::size_t>(value)]; at < uses.size(); ++at) {
      if (uses[at] >= position) return uses[at];
    }
    return never;
  }
  /// The positions before this one are over.
  void pass(Value value, int position) {
    const std::span<const int> uses = body_->uses(value);
    std::uint32_t& at = passed_[static_cast<std::size_t>(value)];
    while (at < uses.size() && uses[at] < position) ++at;
  }
  void begin() { std::ranges::fill(passed_, 0); }

  /// Locks the registers that the current instruction uses.
  void lock(int which) { locked_ |= 1u << which; }
  void unlock_all() { locked_ = 0; }
  bool is_locked(int which) const { return (locked_ >> which & 1u) != 0; }
  std::uint32_t used() const {
    std::uint32_t used = locked_ | pinned_;
    for (int i = first_; i < end(); ++i) {
      if (owner(i) != no_value) used |= 1u << i;
    }
    return used;
  }

 private:
  const Body* body_;
  int first_;
  std::vector<Value> owners_;
  std::vector<std::int8_t> registers_;  // by value
  std::vector<std::uint32_t> passed_;   // by value: uses that are over
  std::uint32_t pinned_ = 0, locked_ = 0;
};

}  // namespace tyto::cpu::jit
