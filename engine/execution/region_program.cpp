// The executable is built once; a launch fills a table of addresses and runs its steps.
#include "engine/execution/region_program.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/execution/arrays.hpp"
#include "engine/execution/graph_passes.hpp"
#include "engine/execution/region_moves.hpp"
#include "engine/execution/storage_lives.hpp"

namespace tyto::run {

namespace {

CompileOptions options_of_region(CompileOptions options) {
  options.passes = as_recorded;  // it went through them with the graph that holds it
  options.memory_limit = 0;
  options.dump = nullptr;
  return options;
}

}  // namespace

RegionProgram::RegionProgram(core::Graph region, core::Device& device, const CompileOptions& options)
    : memory_(device),
      executable_(std::make_unique<Executable>(std::move(region), device, options_of_region(options))) {
  const Executable& plan = *executable_;
  operands_of_input_.resize(plan.graph().inputs().size());
  operands_of_output_.resize(plan.graph().outputs().size());
  for (std::uint32_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    if (storage.kind == StorageKind::input) operands_of_input_[storage.index].push_back(i);
    if (storage.kind == StorageKind::output) operands_of_output_[storage.index].push_back(i);
  }
  for (const ExecutableStep& step : plan.steps()) {
    steps_.push_back({step.kernel.get(), step.first_operand, step.input_count, step.output_count, step.workspace,
                      passes_on(plan, step)});
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

RegionProgram::BoundLives RegionProgram::bound_lives() const {
  const Executable& plan = *executable_;
  BoundLives bound{std::vector<std::vector<Span>>(plan.graph().inputs().size()),
                   std::vector<std::vector<Span>>(plan.graph().outputs().size())};
  std::vector<StorageLife> lives = storage_lives(plan);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Storage& storage = plan.storages()[i];
    if (storage.kind == StorageKind::input) bound.inputs[storage.index] = std::move(lives[i].spans);
    if (storage.kind == StorageKind::output) bound.outputs[storage.index] = std::move(lives[i].spans);
  }
  return bound;
}

void RegionProgram::list_blocks(RegionLayout& layout, const std::string& name, bool loop) const {
  const std::int64_t begin = layout.duration;
  layout.duration += std::max<std::int64_t>(1, executable_->duration());
  const std::int64_t lower = loop ? 0 : begin, upper = loop ? layout.duration + 1 : layout.duration;
  layout.blocks.push_back({lower, upper, table_bytes(), name + "/addresses"});
  layout.blocks.push_back({lower, upper, executable_->kept_bytes(), name + "/packed weights"});
  for (std::size_t i = 0; i < executable_->blocks().size(); ++i) {
    const Block& block = executable_->blocks()[i];
    layout.blocks.push_back({begin + block.lower, begin + block.upper, static_cast<std::size_t>(block.size),
                             name + "/" + executable_->block_labels()[i]});
    append_later(layout.blocks.back().spans, {block.spans.begin(), block.spans.end()}, begin);
  }
}

void RegionProgram::place(RegionOffsets& offsets) {
  table_at_ = offsets.next();
  kept_at_ = offsets.next();
  executable_->place(offsets.next(executable_->blocks().size()));
}

std::unique_ptr<core::Address[]> RegionProgram::take_table() const {
  if (memory_.on_host()) return nullptr;
  const std::lock_guard lock(spare_.mutex);
  if (spare_.tables.empty()) return std::make_unique<core::Address[]>(executable_->operands().size());
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
  const core::Address kept = arena_ + program.kept_at_;
  for (std::size_t i = 0; i < plan.operands().size(); ++i) {
    const Storage& storage = plan.storages()[plan.operands()[i]];
    core::Address address;
    switch (storage.kind) {
      case StorageKind::arena: address = arena_ + storage.offset; break;
      case StorageKind::kept: address = kept + storage.offset; break;
      case StorageKind::constant: address = address_of(plan.constants()[storage.index]); break;
      case StorageKind::host:
      case StorageKind::input:
      case StorageKind::output: break;
    }
    ::new (addresses_ + i) core::Address(address + plan.shifts()[i]);
  }
}

RegionProgram::Frame::~Frame() {
  if (table_ == nullptr) return;
  const std::lock_guard lock(program_.spare_.mutex);
  program_.spare_.tables.push_back(std::move(table_));
}

void RegionProgram::Frame::bind(std::span<const std::uint32_t> operands, core::Address address) const {
  const std::span<const std::size_t> shifts = program_.executable_->shifts();
  for (const std::uint32_t i : operands) addresses_[i] = address + shifts[i];
}

void RegionProgram::Frame::bind_input(std::size_t input, core::Address address) const {
  bind(program_.operands_of_input_[input], address);
}

void RegionProgram::Frame::bind_output(std::size_t output, core::Address address) const {
  bind(program_.operands_of_output_[output], address);
}

// All bits set is NaN in every floating-point type.
void RegionProgram::Frame::poison(const Storage& storage) const {
  program_.memory_.fill(arena_ + storage.offset, std::byte{0xFF}, storage.bytes);
}

void RegionProgram::Frame::run() const {
  const std::span<const Storage> storages = program_.executable_->storages();
  const bool poisoned = program_.executable_->is_poisoned();
  for (std::size_t i = 0; i < program_.steps_.size(); ++i) {
    const Step& step = program_.steps_[i];
    for (std::size_t k = 0; poisoned && k < program_.born_[i].size(); ++k) poison(storages[program_.born_[i][k]]);
    const core::Address* const operands = addresses_ + step.first_operand;
    if (step.passes_on && program_.memory_.is_same(operands[0], operands[1])) continue;
    const std::size_t workspace = step.workspace == UINT32_MAX ? 0 : storages[step.workspace].offset;
    step.kernel->launch({operands, step.inputs}, {operands + step.inputs, step.outputs}, arena_ + workspace);
    if (!poisoned) continue;
    for (const std::uint32_t storage : program_.dying_[i]) poison(storages[storage]);
  }
}

}  // namespace tyto::run
