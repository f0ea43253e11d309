// SPDX-License-Identifier: MIT
// Routine: base of products, convolutions and pooling, prepared once and run many times without allocating; and
// Prepared, through which kernels call one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// The name of our own code for a set.
constexpr const char* own_code_of(InstructionSet set) noexcept {
  return set == InstructionSet::avx512 ? "own avx512" : set == InstructionSet::avx2 ? "own avx2" : "own baseline";
}

template <class Arguments>
class Routine {
 public:
  virtual ~Routine() = default;
  const WorkspaceLayout& workspace() const noexcept { return space_; }
  const WorkspaceLayout& packed() const noexcept { return packed_space_; }
  virtual void pack(const void* /*weights*/, void* /*packed*/) const {}
  virtual std::string packed_layout() const { return {}; }
  virtual void run(const Arguments& arguments) const = 0;
  virtual bool takes_loop() const noexcept { return false; }
  virtual const char* name() const noexcept { return "own"; }

 protected:
  // Laid out by the constructors of those who use them.
  WorkspaceLayout space_, packed_space_;
};

/// A prepared routine. Copies share what was prepared; one may run on several threads at once with separate workspaces.
template <class Arguments>
class Prepared {
 public:
  explicit Prepared(std::shared_ptr<const Routine<Arguments>> routine) : routine_(std::move(routine)) {}

  std::size_t workspace_bytes() const noexcept { return workspace().bytes(); }
  /// Bytes of the weights in packed form; 0 unless the problem asked for it.
  std::size_t packed_bytes() const noexcept { return packed().bytes(); }
  /// How both are cut into parts.
  const WorkspaceLayout& workspace() const noexcept { return routine_->workspace(); }
  const WorkspaceLayout& packed() const noexcept { return routine_->packed(); }
  /// Brings weights, laid out as the problem says, into packed form (64-byte aligned).
  void pack(const void* weights, void* packed) const { routine_->pack(weights, packed); }
  /// Routines of the same text lay weights of the same shape, type and groups out alike; empty where nothing says so.
  std::string packed_layout() const { return routine_->packed_layout(); }
  void run(const Arguments& arguments) const { routine_->run(arguments); }
  /// Whether run() can take a loop over its dense result along.
  bool takes_loop() const noexcept { return routine_->takes_loop(); }
  /// Which code runs: "own avx512", "onednn", ...
  const char* implementation() const noexcept { return routine_->name(); }

 private:
  std::shared_ptr<const Routine<Arguments>> routine_;
};

}  // namespace tyto::cpu
