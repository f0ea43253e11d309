// SPDX-License-Identifier: MIT
// What processes do together: results are combined in place.
#include <cstring>
#include <span>
#include <string_view>

#include "core/device/process_group.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu {

namespace {

using Addresses = std::span<const core::Address>;

/// The operand of one process as bytes in a row, and what is done with it.
struct Collective {
  std::int64_t offset;  // of the operand, in bytes from its address
  std::int64_t count;
  std::int64_t bytes;
  DType dtype;
  core::Reduction reduction;
  int root;
  std::int64_t processes;  // of the group that it was recorded for

  const std::byte* own(Addresses inputs) const { return inputs[0].pointer() + offset; }
  /// The operand where the result is to be, to be changed there.
  std::byte* moved(Addresses inputs, Addresses outputs) const {
    std::byte* const result = outputs[0].pointer();
    if (result != own(inputs) && bytes != 0) std::memmove(result, own(inputs), static_cast<std::size_t>(bytes));
    return result;
  }
};

void all_reduce(const Collective& c, Addresses inputs, Addresses outputs) {
  core::process_group().all_reduce(c.moved(inputs, outputs), c.count, c.dtype, c.reduction);
}

void all_gather(const Collective& c, Addresses inputs, Addresses outputs) {
  core::process_group().all_gather(c.own(inputs), outputs[0].pointer(), c.bytes);
}

void reduce_scatter(const Collective& c, Addresses inputs, Addresses outputs) {
  core::process_group().reduce_scatter(c.own(inputs), outputs[0].pointer(), c.count / c.processes, c.dtype,
                                       c.reduction);
}

void broadcast(const Collective& c, Addresses inputs, Addresses outputs) {
  core::process_group().broadcast(c.moved(inputs, outputs), c.bytes, c.root);
}

void barrier(const Collective& c, Addresses inputs, Addresses outputs) {
  c.moved(inputs, outputs);
  core::process_group().barrier();
}

template <void (*run)(const Collective&, Addresses, Addresses)>
std::shared_ptr<const core::Kernel> prepare_collective(const core::Step& step) {
  const std::string_view name = core::definition(step.op).name;
  const auto& attributes = std::get<core::CollectiveAttributes>(*step.attributes);
  core::require_group_of(attributes.processes, name);
  const core::Operand& operand = step.inputs[0];
  const auto element = static_cast<std::int64_t>(size_of(operand.dtype));
  const std::int64_t count = operand.view.count();
  const Collective collective{operand.view.offset * element,
                              count,
                              count * element,
                              operand.dtype,
                              core::reduction_named(name, attributes.reduction),
                              static_cast<int>(attributes.root),
                              attributes.processes};
  return make_kernel([=](Addresses inputs, Addresses outputs, core::Address) {
    core::require_group_of(collective.processes, name);  // a group may have ended since
    run(collective, inputs, outputs);
  });
}

constexpr KernelEntry collective_entries[] = {
    {core::OpId::all_reduce, prepare_collective<all_reduce>, all_dense},
    {core::OpId::all_gather, prepare_collective<all_gather>, all_dense},
    {core::OpId::reduce_scatter, prepare_collective<reduce_scatter>, all_dense},
    {core::OpId::broadcast, prepare_collective<broadcast>, all_dense},
    {core::OpId::barrier, prepare_collective<barrier>, all_dense},
};

}  // namespace

std::span<const KernelEntry> collective_kernels() { return collective_entries; }

}  // namespace tyto::cpu
