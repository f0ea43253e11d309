// SPDX-License-Identifier: MIT
// A group of processes on an MPI.
#pragma once

#include <cstddef>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/device/process_group.hpp"
#include "distributed/mpi/table.hpp"
#include "distributed/watchdog.hpp"

namespace tyto::distributed {

/// Its calls come from the thread that made it. All of one executable are agreed on before the first, so that no
/// process waits for what another never does.
class MpiGroup final : public core::ProcessGroup {
 public:
  MpiGroup(const TytoMpi& mpi, double timeout_seconds);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(std::byte* data, std::int64_t count, DType dtype, core::Reduction reduction) override;
  void reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype,
                      core::Reduction reduction) override;
  void all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) override;
  void broadcast(std::byte* data, std::int64_t bytes, int root) override;
  void barrier() override;
  void agree(const core::CollectiveCalls& calls) override;

 private:
  class Call;

  [[noreturn]] void refuse_difference(const std::vector<std::string>& own);
  std::vector<std::vector<std::string>> calls_of_all(const std::vector<std::string>& own);

  const TytoMpi& mpi_;
  int rank_;
  int size_;
  std::thread::id thread_ = std::this_thread::get_id();                 // that MPI serves
  std::unordered_map<std::uint64_t, std::vector<std::string>> agreed_;  // by hash
  const std::vector<std::string>* current_ = nullptr;                   // that were agreed on last
  std::size_t next_ = 0;                                                // of them
  std::vector<std::byte> packed_;                                       // a piece of each process's part
  Watchdog watchdog_;
};

}  // namespace tyto::distributed
