// Which vector register holds which value while a body is emitted; what there is no room for goes to the stack.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "devices/cpu/jit/body.hpp"

namespace tyto::cpu::jit {

/// The allocator's state at one point of the code. Registers that are pinned hold one value for the whole kernel; of the
/// others, where one is wanted and none is free, the value is moved that is read again last.
class Registers {
 public:
  static constexpr int count = 16;

  struct Home {
    int register_ = -1;
    int slot = -1;  // of the stack
  };

  explicit Registers(const Body& body) : body_(body), homes_(body.root.size()) { owners_.fill(no_value); }

  Home& home(Value value) { return homes_[static_cast<std::size_t>(value)]; }
  Value owner(int which) const { return owners_[static_cast<std::size_t>(which)]; }
  bool is_pinned(int which) const { return (pinned_ >> which & 1u) != 0; }
  /// Stack slots: so many at most, the next one, and taking one.
  int slots() const { return slots_; }
  int next_slot() const { return next_slot_; }
  int new_slot() {
    slots_ = std::max(slots_, next_slot_ + 1);
    return next_slot_++;
  }
  void reuse_slots_from(int slot) { next_slot_ = slot; }

  void pin(Value value, int which) {
    assign(value, which);
    pinned_ |= 1u << which;
  }
  void assign(Value value, int which) {
    owners_[static_cast<std::size_t>(which)] = value;
    home(value).register_ = which;
  }
  void release(int which) {
    const Value value = owner(which);
    if (value != no_value) home(value).register_ = -1;
    owners_[static_cast<std::size_t>(which)] = no_value;
  }
  /// A register without a value that is not locked, or -1.
  int find_free() const {
    for (int i = 0; i < count; ++i) {
      if (owner(i) == no_value && (locked_ >> i & 1u) == 0) return i;
    }
    return -1;
  }
  /// The register whose value is read last of all after `position`: the one to empty.
  int farthest(int position) const {
    int best = -1, best_use = -1;
    for (int i = 0; i < count; ++i) {
      if (is_pinned(i) || (locked_ >> i & 1u) != 0) continue;
      const int use = next_use(owner(i), position);
      if (use > best_use) best = i, best_use = use;
    }
    return best;
  }
  /// The first position from `position` on that reads the value.
  int next_use(Value value, int position) const {
    for (const int at : body_.readers[static_cast<std::size_t>(value)]) {
      if (at >= position) return at;
    }
    return 1 << 30;
  }

  void lock(int which) { locked_ |= 1u << which; }
  void unlock_all() { locked_ = 0; }
  bool is_locked(int which) const { return (locked_ >> which & 1u) != 0; }
  std::uint32_t used() const {
    std::uint32_t used = locked_;
    for (int i = 0; i < count; ++i) {
      if (owner(i) != no_value) used |= 1u << i;
    }
    return used;
  }

 private:
  const Body& body_;
  std::vector<Home> homes_;
  std::array<Value, count> owners_{};
  std::uint32_t pinned_ = 0, locked_ = 0;
  int slots_ = 0, next_slot_ = 0;
};

}  // namespace tyto::cpu::jit
