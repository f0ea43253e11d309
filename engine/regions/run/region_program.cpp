// SPDX-License-Identifier: MIT
// Builds the executable of a region once; a launch fills a table of addresses and runs its steps.
#include "engine/regions/run/region_program.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "engine/prepare/graph_passes.hpp"
#include "engine/prepare/storage_lifetimes.hpp"
#include "engine/regions/run/region_moves.hpp"
#include "engine/run/arrays.hpp"

namespace tyto::run {

namespace {

CompileOptions options_of_region(CompileOptions options) {
  options.passes = as_recorded;  // it went through them with the graph that holds it
  options.memory_limit = 0;
  options.concurrency = 1;
  options.dump = nullptr;
  return options;
}

}  // namespace

RegionProgram::BoundOperands::BoundOperands(const Executable& plan, StorageKind kind, std::size_t count) {
  std::vector<std::vector<BoundOperand>> of(count);
  for (std::uint32_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    if (storage.kind == kind) of[storage.index].push_back({i, plan.shifts()[i]});
  }
  begins_.push_back(0);
  for (const std::vector<BoundOperand>& list : of) {
    operands_.insert(operands_.end(), list.begin(), list.end());
    begins_.push_back(static_cast<std::uint32_t>(operands_.size()));
  }
}

RegionProgram::RegionProgram(core::Graph region, core::Device& device, const CompileOptions& options,
                             std::size_t more_addresses)
    : memory_(device),
      executable_(std::make_unique<Executable>(std::move(region), device, options_of_region(options))),
      more_addresses_(more_addresses) {
  const Executable& plan = *executable_;
  inputs_ = BoundOperands(plan, StorageKind::input, plan.graph().inputs().size());
  outputs_ = BoundOperands(plan, StorageKind::output, plan.graph().outputs().size());
  for (const ExecutableStep& step : plan.steps()) {
    steps_.push_back(
        {step.kernel.get(), step.first_operand, step.input_count, step.output_count, 0, passes_on(plan, step)});
  }
  if (!plan.is_poisoned()) return;
  born_.resize(steps_.size());
  dying_.resize(steps_.size());
  for (std::uint32_t i = 0; i < plan.storages().size(); ++i) {
    const Storage& storage = plan.storages()[i];
    if (storage.kind != StorageKind::arena) continue;
    const bool begins = !storage.begins_within && storage.first_instruction < steps_.size();
    const bool ends = !storage.ends_within && storage.last_step < steps_.size();
    if (begins) born_[storage.first_instruction].push_back(i);
    if (ends) dying_[storage.last_step].push_back(i);
  }
}

RegionProgram::BoundLifetimes RegionProgram::bound_lifetimes() const {
  const Executable& plan = *executable_;
  BoundLifetimes bound{std::vector<std::vector<Span>>(plan.graph().inputs().size()),
                       std::vector<std::vector<Span>>(plan.graph().outputs().size())};
  std::vector<StorageLifetime> lifetimes = storage_lifetimes(plan);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Storage& storage = plan.storages()[i];
    if (storage.kind == StorageKind::input) bound.inputs[storage.index] = std::move(lifetimes[i].spans);
    if (storage.kind == StorageKind::output) bound.outputs[storage.index] = std::move(lifetimes[i].spans);
  }
  return bound;
}

const core::Kernel* RegionProgram::repeated_kernel(bool stops) const {
  if (steps_.size() != 1 || steps_[0].passes_on || executable_->is_poisoned() || executable_->number_check().nan)
    return nullptr;
  return steps_[0].kernel->repeats(stops) ? steps_[0].kernel : nullptr;
}

void RegionProgram::list_blocks(RegionLayout& layout, const std::string& name, bool loop) const {
  const std::int64_t begin = layout.duration;
  layout.duration += std::max<std::int64_t>(1, executable_->duration());
  const std::int64_t lower = loop ? 0 : begin, upper = loop ? layout.duration + 1 : layout.duration;
  layout.blocks.push_back({lower, upper, table_bytes(), name + "/addresses"});
  for (std::size_t i = 0; i < executable_->blocks().size(); ++i) {
    const Block& block = executable_->blocks()[i];
    layout.blocks.push_back({begin + block.lower, begin + block.upper, static_cast<std::size_t>(block.size),
                             name + "/" + executable_->block_labels()[i]});
    append_later(layout.blocks.back().spans, {block.spans.begin(), block.spans.end()}, begin);
  }
}

void RegionProgram::place(RegionOffsets& offsets) {
  table_at_ = offsets.next();
  executable_->place(offsets.next(executable_->blocks().size()));
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const std::uint32_t workspace = executable_->steps()[i].workspace;
    if (workspace != UINT32_MAX) steps_[i].workspace_at = executable_->storages()[workspace].offset;
  }
}

std::unique_ptr<core::Address[]> RegionProgram::take_table() const {
  if (memory_.on_host()) return nullptr;
  const std::lock_guard lock(spare_.mutex);
  if (spare_.tables.empty()) return std::make_unique<core::Address[]>(addresses());
  std::unique_ptr<core::Address[]> table = std::move(spare_.tables.back());
  spare_.tables.pop_back();
  return table;
}

RegionProgram::Frame::Frame(const RegionProgram& program, core::Address workspace)
    : program_(program),
      arena_(workspace),
      table_(program.take_table()),
      addresses_(table_ ? table_.get() : reinterpret_cast<core::Address*>((workspace + program.table_at_).pointer())) {
  const Executable& plan = *program.executable_;
  for (std::size_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    core::Address address;
    switch (storage.kind) {
      case StorageKind::arena: address = arena_ + storage.offset; break;
      case StorageKind::constant: address = address_of(plan.constants()[storage.index]); break;
      case StorageKind::host:
      case StorageKind::input:
      case StorageKind::output: break;
    }
    ::new (addresses_ + i) core::Address(address + plan.shifts()[i]);
  }
  std::uninitialized_value_construct_n(more_addresses(), program.more_addresses_);
}

RegionProgram::Frame::~Frame() {
  if (table_ == nullptr) return;
  const std::lock_guard lock(program_.spare_.mutex);
  program_.spare_.tables.push_back(std::move(table_));
}

// All bits set is NaN in every floating-point type.
void RegionProgram::Frame::poison(const Storage& storage) const {
  program_.memory_.fill(arena_ + storage.offset, std::byte{0xFF}, storage.bytes);
}

void RegionProgram::Frame::launch(const Step& step) const {
  const core::Address* const operands = addresses_ + step.first_operand;
  if (step.passes_on && program_.memory_.is_same(operands[0], operands[1])) return;
  try {
    step.kernel->launch({operands, step.inputs}, {operands + step.inputs, step.outputs}, arena_ + step.workspace_at);
  } catch (...) {
    program_.executable_->rethrow(static_cast<std::size_t>(&step - program_.steps_.data()));
  }
}

void RegionProgram::Frame::run() const {
  if (program_.executable_->is_poisoned()) return run_poisoned();
  if (program_.executable_->number_check().nan) return run_checked();
  for (const Step& step : program_.steps_) launch(step);
}

std::int64_t RegionProgram::Frame::repeat(const core::Kernel& kernel, const core::Repetition& repetition) const {
  const std::int64_t done = kernel.repeat({addresses_, repetition.strides.size()}, repetition);
  for (std::size_t i = 0; i < repetition.strides.size(); ++i) {
    addresses_[i].offset += static_cast<std::size_t>((done - 1) * repetition.strides[i]);
  }
  return done;
}

void RegionProgram::Frame::run_checked() const {
  for (std::size_t i = 0; i < program_.steps_.size(); ++i) {
    const CheckedStep checked(*program_.executable_, i, addresses_);
    launch(program_.steps_[i]);
    checked.check_results();
  }
}

void RegionProgram::Frame::run_poisoned() const {
  const std::span<const Storage> storages = program_.executable_->storages();
  for (std::size_t i = 0; i < program_.steps_.size(); ++i) {
    for (const std::uint32_t storage : program_.born_[i]) poison(storages[storage]);
    launch(program_.steps_[i]);
    for (const std::uint32_t storage : program_.dying_[i]) poison(storages[storage]);
  }
}

}  // namespace tyto::run
