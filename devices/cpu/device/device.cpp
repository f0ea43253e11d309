// SPDX-License-Identifier: MIT
// The CPU as a device: aligned memory from a recycling pool, and the kernel table assembled from the families.
#include "devices/cpu/device/device.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/device/allocation_limit.hpp"
#include "core/graph/op_ids.hpp"
#include "core/system/pages.hpp"
#include "core/system/recycled_blocks.hpp"
#include "core/value/copy_bytes.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/memory.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

void release_block(core::Device*, void* memory, std::size_t bytes, void*) { release_memory(memory, bytes); }

class CpuDevice final : public core::Device {
 public:
  CpuDevice() {
    require_compiled_set();
    properties_.name = "cpu";
    properties_.description = processor_name();
    properties_.alignment = memory_alignment;
    properties_.product_operations = machine::tile_operations;
    properties_.other_operations = machine::scalar_operations;
    properties_.bytes_moved = machine::shared_rate;
    properties_.nanoseconds_to_meet = machine::worth_waking(2) / 2;
    for (const auto family :
         {elementwise_kernels, create_kernels,    random_kernels,      reduce_kernels,     scan_kernels,
          move_kernels,        gather_kernels,    scatter_kernels,     bounds_kernels,     sort_kernels,
          matmul_kernels,      quantised_kernels, linalg_kernels,      fourier_kernels,    attention_kernels,
          loop_kernels,        window_kernels,    suppression_kernels, collective_kernels, epilogue_kernels}) {
      for (const KernelEntry& entry : family()) table_[static_cast<std::size_t>(entry.op)] = &entry;
    }
  }

  const core::DeviceProperties& properties() const override { return properties_; }

  core::BufferRef allocate(std::size_t bytes) override {
    core::AllocationLimit::require(*this, bytes);
    const Block block = allocate_memory(bytes);
    // A result that is still held when the next one is computed costs no heap call either.
    auto buffer = std::allocate_shared<core::Buffer>(core::RecyclingAllocator<core::Buffer>(), this, block.memory,
                                                     bytes, release_block);
    if (block.zeroed) buffer->set_began_zeroed();
    return buffer;
  }

  void discard(core::Buffer& buffer) override {
    if (buffer.is_released_by(release_block)) core::discard_pages(buffer.memory(), buffer.bytes());
  }

  void copy_in(core::Address target, const void* source, std::size_t bytes) override {
    core::copy_bytes(target.pointer(), source, bytes);
  }
  void copy_out(void* target, core::Address source, std::size_t bytes) override {
    core::copy_bytes(target, source.pointer(), bytes);
  }
  void copy(core::Address target, core::Address source, std::size_t bytes) override {
    copy_in(target, source.pointer(), bytes);
  }
  void fill(core::Address target, std::span<const std::byte> pattern, std::size_t bytes) override {
    if (pattern.size() == 1) {
      if (bytes != 0) std::memset(target.pointer(), std::to_integer<int>(pattern[0]), bytes);
      return;
    }
    for (std::size_t done = 0; done < bytes; done += pattern.size()) {
      std::memcpy(target.pointer() + done, pattern.data(), pattern.size());
    }
  }

  bool supports(OpId op, std::span<const DType>, std::span<const DType>) const override {
    return table_[static_cast<std::size_t>(op)] != nullptr;
  }

  std::uint64_t requires_dense(const core::Step& step) const override {
    const KernelEntry* entry = table_[static_cast<std::size_t>(step.op)];
    return entry == nullptr || entry->requires_dense == nullptr ? 0 : entry->requires_dense(step);
  }

  bool writes_strided(const core::Step& step) const override {
    bool plain = true;
    for (const core::Operand& output : step.outputs) {
      plain = plain && core::is_dense(output.view) && output.view.offset == 0;
    }
    if (plain) return true;
    const KernelEntry* entry = table_[static_cast<std::size_t>(step.op)];
    return entry != nullptr && entry->writes_strided != nullptr && entry->writes_strided(step);
  }

  std::int64_t packed_bytes(OpId op, const core::ProductAttributes& product, DType dtype) const override {
    return cpu::packed_bytes(op, product, dtype);
  }

  KernelRef prepare(const core::Step& step) override {
    const KernelEntry* entry = table_[static_cast<std::size_t>(step.op)];
    if (entry == nullptr) core::throw_error<DeviceError>("cpu: no kernel for ", core::definition(step.op).name);
    if (!step.beside_others) return entry->prepare(step);
    const OneThread alone;
    return entry->prepare(step);
  }

  int lanes() const override { return threads(); }
  void run_lanes(int count, void (*body)(const void* context, int lane), const void* context) override {
    run_team(std::min(count, threads()), [&](Team team) {
      const OneThread alone;
      for (int lane = team.member; lane < count; lane += team.size) body(context, lane);
    });
  }

  void synchronise() override {}
  std::size_t allocated() const override { return allocated_memory(); }
  std::size_t allocations() const override { return thread_allocation_count(); }

 private:
  core::DeviceProperties properties_;
  std::array<const KernelEntry*, core::op_count> table_{};
};

}  // namespace

core::Device& device() {
  static CpuDevice cpu;
  return cpu;
}

}  // namespace tyto::cpu
