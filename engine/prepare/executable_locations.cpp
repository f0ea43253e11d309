// SPDX-License-Identifier: MIT
// Locates results: in an output's own buffer, in place of a state or of an input at its last use, in their part of a
// whole, or in a new storage.
#include "engine/prepare/executable_builder.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

using core::GraphNode;
using core::Port;
using core::View;

// True when every consumer that the storage still has is an input of this node that may be overwritten. A dense copy
// made for this node has none but it.
bool ExecutableBuilder::may_overwrite(const GraphNode& node, Port result, std::span<const Location> inputs,
                                      std::uint32_t storage) const {
  // Whether the whole that a result is a part of is a port of another node.
  const bool own = result - node.first_result < node.result_count;
  if (!own && node.result_count != 1) return false;
  const Port written = own ? result : node.first_result;
  for (Port other = node.first_result; other < written; ++other) {
    if (device_location_[other].storage == storage || host_location_[other].storage == storage) return false;
  }
  std::uint32_t due = 0;
  const optimiser::InPlaceRule rule(graph_, node, written);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].storage != storage) continue;
    if (!rule.allows(i, inputs[i].view, target_.storages_[storage].bytes)) return false;
    ++due;
  }
  return storage_consumers_[storage] == due || (due != 0 && storage_consumers_[storage] == 0);
}

// A part goes to its place in the whole. The whole's storage is chosen when the first part is computed; by a part that
// covers it all as if it were the whole.
ExecutableBuilder::Location ExecutableBuilder::target_location(const GraphNode& node, Port result,
                                                               std::span<const Location> inputs, bool on_host,
                                                               std::uint32_t index) {
  const View dense = View::dense(graph_.type(result).shape);
  if (const optimiser::Destination& destination = destination_[result]) {
    std::uint32_t& storage = whole_storage_[destination.whole];
    const bool covers = core::is_dense(destination.view) && bytes_of(result) == bytes_of(destination.whole);
    if (storage == none) {
      storage = covers ? target_storage(node, destination.whole, inputs, on_host, index)
                       : storage_of_whole(destination.whole);
    }
    return {storage, destination.view};
  }
  if (whole_storage_[result] != none) return {whole_storage_[result], dense};
  return {target_storage(node, result, inputs, on_host, index), dense};
}

std::uint32_t ExecutableBuilder::storage_of_whole(Port whole) {
  const std::uint32_t index = graph_.producer(whole);
  if (output_of_[whole] != none) return new_storage(StorageKind::output, output_of_[whole], bytes_of(whole), index);
  if (const std::uint32_t update = update_of_[whole]; update != none) {
    const std::uint32_t state = device_location_[graph_.inputs()[graph_.updates()[update].input].port].storage;
    if (storage_consumers_[state] == 0) {
      updated_in_place_[update] = true;
      return state;
    }
  }
  return new_storage(StorageKind::arena, 0, bytes_of(whole), index);
}

// Order of preference: the output's own buffer, the state's memory, the memory of an input at its last use, fresh
// memory.
std::uint32_t ExecutableBuilder::target_storage(const GraphNode& node, Port result, std::span<const Location> inputs,
                                                bool on_host, std::uint32_t index) {
  if (output_of_[result] != none) return new_storage(StorageKind::output, output_of_[result], bytes_of(result), index);
  if (update_of_[result] != none && !on_host) {
    const std::uint32_t update = update_of_[result];
    const std::uint32_t storage = device_location_[graph_.inputs()[graph_.updates()[update].input].port].storage;
    if (may_overwrite(node, result, inputs, storage)) {
      updated_in_place_[update] = true;
      return storage;
    }
  }
  for (const Location& input : inputs) {
    const StorageKind kind = target_.storages_[input.storage].kind;
    const bool planned = kind == StorageKind::arena || kind == StorageKind::host;
    if (planned && may_overwrite(node, result, inputs, input.storage)) return input.storage;
  }
  return new_storage(on_host && split_ ? StorageKind::host : StorageKind::arena, 0, bytes_of(result), index);
}

}  // namespace tyto::run
