// SPDX-License-Identifier: MIT
// Kernels of collective calls, which combine results in place.
#include <cstring>
#include <span>
#include <string_view>

#include "core/device/process_group.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

namespace {

/// The operand of one process as bytes in a row, and what is done with it.
struct Collective {
  std::int64_t offset;  // of the operand, in bytes from its address
  std::int64_t count;
  std::int64_t bytes;
  DType dtype;
  core::Reduction reduction;
  int root;
  std::int64_t processes;  // of the group that it was recorded for
  std::int64_t number;

  const std::byte* own(Addresses inputs) const { return inputs[0].pointer() + offset; }
  /// The operand where the result is to be, to be changed there.
  std::byte* moved(Addresses inputs, Addresses outputs) const {
    std::byte* const result = outputs[0].pointer();
    if (result != own(inputs) && bytes != 0) std::memmove(result, own(inputs), static_cast<std::size_t>(bytes));
    return result;
  }
};

void all_reduce(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  group.all_reduce(c.moved(inputs, outputs), c.count, c.dtype, c.reduction);
}

void all_gather(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  group.all_gather(c.own(inputs), outputs[0].pointer(), c.bytes);
}

void reduce_scatter(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  group.reduce_scatter(c.own(inputs), outputs[0].pointer(), c.count / c.processes, c.dtype, c.reduction);
}

void broadcast(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  group.broadcast(c.moved(inputs, outputs), c.bytes, c.root);
}

void barrier(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  c.moved(inputs, outputs);
  group.barrier();
}

// A process alone receives what it has.
void send(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  const std::byte* const sent = c.moved(inputs, outputs);
  if (c.processes > 1) group.send(sent, c.bytes, c.root);
}

void recv(core::ProcessGroup& group, const Collective& c, Addresses inputs, Addresses outputs) {
  if (c.processes > 1) group.recv(outputs[0].pointer(), c.bytes, c.root);
  else c.moved(inputs, outputs);
}

template <void (*run)(core::ProcessGroup&, const Collective&, Addresses, Addresses)>
KernelRef prepare_collective(const core::Step& step) {
  const std::string_view name = core::definition(step.op).name;
  const auto& attributes = std::get<core::CollectiveAttributes>(*step.attributes);
  core::require_group_of(attributes.processes, name, attributes.group);
  const core::Operand& operand = step.inputs[0];
  const auto element = static_cast<std::int64_t>(size_of(operand.dtype));
  const std::int64_t count = operand.view.count();
  const Collective collective{operand.view.offset * element,
                              count,
                              count * element,
                              operand.dtype,
                              core::reduction_named(name, attributes.reduction),
                              static_cast<int>(attributes.root),
                              attributes.processes,
                              attributes.group};
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    // A group may have ended since.
    run(core::require_group_of(collective.processes, name, collective.number), collective, inputs, outputs);
  });
}

constexpr KernelEntry collective_entries[] = {
    {core::OpId::all_reduce, prepare_collective<all_reduce>, all_dense},
    {core::OpId::all_gather, prepare_collective<all_gather>, all_dense},
    {core::OpId::reduce_scatter, prepare_collective<reduce_scatter>, all_dense},
    {core::OpId::broadcast, prepare_collective<broadcast>, all_dense},
    {core::OpId::barrier, prepare_collective<barrier>, all_dense},
    {core::OpId::send, prepare_collective<send>, all_dense},
    {core::OpId::recv, prepare_collective<recv>, all_dense},
};

}  // namespace

std::span<const KernelEntry> collective_kernels() { return collective_entries; }

}  // namespace tyto::cpu
