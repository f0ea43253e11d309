// SPDX-License-Identifier: MIT
// Reference-counted names of tensors, which outlive the tensor and tell whether it still exists.
#include "tyto/name.hpp"

namespace tyto TYTO_API {
namespace detail {

namespace {

void release(Name* name) {
  while (name != nullptr && name->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Name* const whole = name->whole;
    delete name;
    name = whole;
  }
}

Name* retained(Name* name) {
  name->references.fetch_add(1, std::memory_order_relaxed);
  return name;
}

}  // namespace

NameReference::NameReference(Name* name) : name_(retained(name)) {}
NameReference::~NameReference() { release(name_); }

Name* OwnName::made(void* tensor, const Value* value) {
  Name* name = get();
  if (name != nullptr) return name;
  auto* const fresh = new Name{.tensor = tensor, .value = value, .entries = {}, .unread = {}};
  if (name_.compare_exchange_strong(name, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) return fresh;
  delete fresh;
  return name;
}

void OwnName::make_part(void* tensor, const Value* value, Name* whole, std::vector<Index> entries, Value unread) {
  name_.store(new Name{.tensor = tensor,
                       .value = value,
                       .whole = retained(whole),
                       .entries = std::move(entries),
                       .unread = std::move(unread)},
              std::memory_order_release);
}

void OwnName::take(OwnName& other, void* tensor, const Value* value) noexcept {
  Name* const name = other.name_.exchange(nullptr, std::memory_order_acq_rel);
  name->tensor = tensor;
  name->value = value;
  name_.store(name, std::memory_order_release);
}

void OwnName::end(Name* name) {
  name->tensor = nullptr;
  name->value = nullptr;
  release(name);
}

void OwnName::forget_whole(Name* name) {
  release(std::exchange(name->whole, nullptr));
  name->entries.clear();
  name->unread = {};
}

}  // namespace detail
}  // namespace TYTO_API
