// SPDX-License-Identifier: MIT
// A simulated group of two processes, the other of which always has what this one has: for graphs that communicate,
// without MPI.
#pragma once

#include <cstring>
#include <memory>

#include "core/device/process_group.hpp"

namespace tyto::testing {

/// Elements are f32.
class TwinProcess final : public core::ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(std::byte* data, std::int64_t count, DType, core::Reduction reduction) override {
    if (reduction != core::Reduction::sum) return;
    for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(data)[i] *= 2;
  }
  void reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype,
                      core::Reduction reduction) override {
    std::memcpy(own, parts, static_cast<std::size_t>(count) * sizeof(float));
    all_reduce(own, count, dtype, reduction);
  }
  void all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) override {
    std::memcpy(all, own, static_cast<std::size_t>(bytes));
    std::memcpy(all + bytes, own, static_cast<std::size_t>(bytes));
  }
  void broadcast(std::byte*, std::int64_t, int) override {}
  void barrier() override {}
  void send(const std::byte*, std::int64_t, int) override {}
  void recv(std::byte*, std::int64_t, int) override {}
  std::shared_ptr<core::ProcessGroup> split(int, int) override { return nullptr; }
  void agree(const core::CollectiveCalls::With&, const core::GraphOutline&) override {}
};

/// While alive, operators work in such a group.
class WithTwin {
 public:
  WithTwin() { core::set_process_group(std::make_shared<TwinProcess>()); }
  ~WithTwin() { core::set_process_group(nullptr); }
  WithTwin(const WithTwin&) = delete;
  WithTwin& operator=(const WithTwin&) = delete;
};

}  // namespace tyto::testing
