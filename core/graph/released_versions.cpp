// SPDX-License-Identifier: MIT
// A table beside the nodes, since hardly any node ever stands in it.
#include "core/graph/released_versions.hpp"

#include <unordered_map>
#include <utility>

#include "core/graph/op_ids.hpp"

namespace tyto::core {

namespace {

struct Released {
  std::mutex mutex;
  std::unordered_map<const Node*, std::shared_ptr<const DeferredContents>> versions;
};

std::atomic<std::size_t> released_count{0};

// Never destroyed: tensors of static lifetime go while the process ends.
Released& released() {
  static Released* const all = new Released;
  return *all;
}

std::shared_ptr<const DeferredContents> deferred_of(const Node& version) {
  if (released_count.load(std::memory_order_acquire) == 0) return nullptr;
  Released& all = released();
  const std::lock_guard lock(all.mutex);
  const auto found = all.versions.find(&version);
  return found == all.versions.end() ? nullptr : found->second;
}

std::shared_ptr<const DeferredContents> take(const Node& version) {
  if (released_count.load(std::memory_order_acquire) == 0) return nullptr;
  Released& all = released();
  const std::lock_guard lock(all.mutex);
  auto found = all.versions.extract(&version);
  if (found.empty()) return nullptr;
  --released_count;
  return std::move(found.mapped());
}

bool may_be_released(const Node& node) {
  return node.op() == OpId::read && node.inputs().empty() && !node.results()[0].array;
}

}  // namespace

Array release_contents(Node& version, std::shared_ptr<const DeferredContents> deferred) {
  Released& all = released();
  const std::lock_guard lock(all.mutex);
  all.versions.insert_or_assign(&version, std::move(deferred));
  ++released_count;
  return std::exchange(version.result(0).array, {});
}

bool is_released(const Node& version) { return deferred_of(version) != nullptr; }

void restore_contents(Node& node) {
  if (!may_be_released(node)) return;
  const std::shared_ptr<const DeferredContents> deferred = deferred_of(node);
  if (deferred == nullptr) return;
  node.result(0).array = deferred->make();  // where that throws, they can still be made later
  take(node);
}

void forget_released(const Node& version) {
  if (may_be_released(version)) take(version);
}

}  // namespace tyto::core
