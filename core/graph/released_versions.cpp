// SPDX-License-Identifier: MIT
// A table of released contents by node: hardly any node has an entry, so nodes have no field for it.
#include "core/graph/released_versions.hpp"

#include <unordered_map>
#include <utility>

#include "core/graph/held_constant.hpp"

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

}  // namespace

Array release_contents(Node& version, std::shared_ptr<const DeferredContents> deferred) {
  Released& all = released();
  const std::lock_guard lock(all.mutex);
  all.versions.insert_or_assign(&version, std::move(deferred));
  ++released_count;
  return std::exchange(version.result(0).array, {});
}

bool is_released(const Node& version) { return deferred_of(version) != nullptr; }

void end_release(Node& version, Array contents) {
  if (released_count.load(std::memory_order_acquire) == 0) return;
  Released& all = released();
  decltype(all.versions)::node_type found;  // freed after the lock
  const std::lock_guard lock(all.mutex);
  found = all.versions.extract(&version);
  if (found.empty()) return;  // another thread was faster
  version.result(0).array = std::move(contents);
  --released_count;
}

Array restored_contents(Node& version) {
  // Where restoring them throws, they can still be restored later.
  if (const auto deferred = deferred_of(version)) end_release(version, deferred->make());
  return version.result(0).array;
}

Array contents_of(const Value& value) {
  Node& node = *value.node();
  if (const std::shared_ptr<State> holder = holder_of(node)) return contents_of_constant(node.attributes());
  if (!node.is_version()) return result_of(value).array;
  const std::shared_ptr<State> state = std::get<VersionAttributes>(node.attributes()).state.lock();
  return state ? state->contents_of(node) : restored_contents(node);  // of a state that is gone nobody releases any
}

}  // namespace tyto::core
