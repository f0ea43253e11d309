// Packed weights of an executable: which are kept between runs, and whose plain contents no run reads any more.
#include "core/graph/op_ids.hpp"
#include "engine/prepare/executable_builder.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

using core::GraphNode;
using core::OpId;
using core::Port;

// Weights that the run itself does not change are packed when they have changed since the session packed them last.
bool ExecutableBuilder::keeps_packed(const GraphNode& node) const {
  if (node.op != OpId::pack_weights) return false;
  const Storage& weights = target_.storages_[device_location_[graph_.inputs_of(node)[0]].storage];
  if (weights.kind == StorageKind::constant) return true;
  return weights.kind == StorageKind::input && !target_.written_[weights.index] &&
         graph_.inputs()[weights.index].state != nullptr;
}

void ExecutableBuilder::note_packing(std::uint32_t node, std::uint32_t packed, std::size_t first_instruction) {
  const Port weights = graph_.inputs_of(graph_.nodes()[node])[0];
  const Storage& storage = target_.storages_[device_location_[weights].storage];
  Packing packing;
  packing.storage = packed;
  if (storage.kind == StorageKind::input) {
    packing.input = storage.index;
    if (&target_.device() == &cpu_device()) packing.path = reversible_path(graph_, node);
  }
  for (std::size_t i = first_instruction; i < target_.steps_.size(); ++i) {
    target_.steps_[i].packs = static_cast<std::uint32_t>(target_.packings_.size());
  }
  target_.packings_.push_back(std::move(packing));
}

// A state's contents are needed no more once it is packed, if nothing but packing reads them.
void ExecutableBuilder::note_releases() {
  target_.only_packed_.assign(graph_.inputs().size(), false);
  for (const Packing& packing : target_.packings_) {
    if (packing.path != nullptr) target_.only_packed_[packing.input] = true;
  }
  std::vector<std::uint32_t> last(graph_.inputs().size(), none);  // the last step that reads each
  for (std::uint32_t i = 0; i < target_.steps_.size(); ++i) {
    const ExecutableStep& step = target_.steps_[i];
    for (std::uint32_t k = 0; k < step.input_count + step.output_count; ++k) {
      const Storage& storage = target_.storages_[target_.operands_[step.first_operand + k]];
      if (storage.kind != StorageKind::input) continue;
      last[storage.index] = i;
      const bool packs = step.packs != none && target_.packings_[step.packs].path != nullptr;
      if (!packs) target_.only_packed_[storage.index] = false;
    }
  }
  for (std::uint32_t i = 0; i < last.size(); ++i) {
    if (target_.only_packed_[i] && last[i] != none) target_.steps_[last[i]].releases = i;
  }
}

}  // namespace tyto::run
