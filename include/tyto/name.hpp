// SPDX-License-Identifier: MIT
// Names of tensors, which may outlive them: parts refer to them, so that `x(index) = v` reaches x, and traces do.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "tyto/index.hpp"
#include "tyto/value.hpp"

namespace tyto TYTO_API {
namespace detail {

/// The address of a tensor while it exists, and, of one that is a part, the whole. Reference-counted.
struct Name {
  std::atomic<std::uint32_t> references{1};
  void* tensor = nullptr;        // null once the tensor is gone
  const Value* value = nullptr;  // the tensor's
  Name* whole = nullptr;         // the tensor is whole(entries)
  std::vector<Index> entries;
  Value unread;  // the whole's value where the part can be assigned through but not read: a mask in lazy mode
};

/// A counted reference to a Name.
class NameReference {
 public:
  explicit NameReference(Name* name);
  NameReference(NameReference&& other) noexcept : name_(std::exchange(other.name_, nullptr)) {}
  NameReference& operator=(NameReference other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~NameReference();
  const Name* operator->() const { return name_; }

 private:
  Name* name_;
};

/// The Name of one tensor, made at its first use: several threads that take parts of one tensor may do so at once.
class OwnName {
 public:
  OwnName() = default;
  OwnName(const OwnName&) = delete;
  OwnName& operator=(const OwnName&) = delete;
  ~OwnName() {
    if (Name* name = get()) end(name);
  }
  Name* get() const { return name_.load(std::memory_order_acquire); }
  Name* made(void* tensor, const Value* value);
  /// The tensor is the part `whole(entries)`.
  void make_part(void* tensor, const Value* value, Name* whole, std::vector<Index> entries, Value unread);
  /// The tensor got a value of its own.
  void forget_whole() {
    if (Name* name = get(); name != nullptr && name->whole != nullptr) forget_whole(name);
  }
  /// The tensor, which has no Name yet, becomes the part that the one of `other` was.
  void take(OwnName& other, void* tensor, const Value* value) noexcept;

 private:
  static void end(Name* name);
  static void forget_whole(Name* name);

  std::atomic<Name*> name_{nullptr};
};

}  // namespace detail
}  // namespace TYTO_API
