// SPDX-License-Identifier: MIT
// An OpenCL device as core::Device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device/device.hpp"
#include "devices/opencl/runtime/context.hpp"
#include "devices/opencl/runtime/enqueued_kernel.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"

namespace tyto::opencl {

class OpenClDevice final : public core::Device {
 public:
  OpenClDevice(std::string name, cl_device_id id, Style style, std::filesystem::path cache_directory);

  const core::DeviceProperties& properties() const override { return properties_; }
  core::BufferRef allocate(std::size_t bytes) override;
  void copy_in(core::Address target, const void* source, std::size_t bytes) override;
  void copy_out(void* target, core::Address source, std::size_t bytes) override;
  void copy(core::Address target, core::Address source, std::size_t bytes) override;
  void fill(core::Address target, std::span<const std::byte> pattern, std::size_t bytes) override;

  core::BufferRef share_from_host(const core::BufferRef& host, std::size_t offset, std::size_t bytes) override;
  core::BufferRef share_with_host(const core::BufferRef& buffer, std::size_t offset, std::size_t bytes,
                                  core::Device& host) override;

  bool supports(core::OpId op, std::span<const DType> inputs, std::span<const DType> outputs) const override;
  std::uint64_t requires_dense(const core::Step& step) const override;
  bool writes_strided(const core::Step& step) const override;
  std::shared_ptr<const core::Kernel> prepare(const core::Step& step) override;
  /// The kernels of many steps at once: those not yet compiled are built as one program.
  std::vector<std::shared_ptr<const core::Kernel>> prepare_all(std::span<const core::Step> steps) override;
  /// The kernels of launch plans, such as those of fused groups; built as one program.
  std::vector<std::shared_ptr<const core::Kernel>> build(std::span<const LaunchPlan> plans);

  void synchronise() override;
  void start_clock() override { context_.queue.start_timing(); }
  std::optional<double> lap() override;
  void stop_clock() override { context_.queue.stop_timing(); }
  std::size_t allocated() const override { return allocated_.load(std::memory_order_relaxed); }
  std::size_t allocations() const override;

  const Context& context() const { return context_; }
  ProgramCache::Counts cache_counts() const { return context_.programs.counts(); }

 private:
  LaunchPlan launch_plan_of(const core::Step& step) const;
  /// Compiles what is missing, as one program; afterwards every launch of the plans has an entry.
  void compile_missing(std::span<const LaunchPlan> plans);

  Context context_;
  core::DeviceProperties properties_;
  std::atomic<std::size_t> allocated_{0};
  std::mutex mutex_;
  std::unordered_map<std::string, EnqueuedKernel::Compiled> compiled_;  // by kernel text
};

}  // namespace tyto::opencl
