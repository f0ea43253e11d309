// SPDX-License-Identifier: MIT
// A group of processes on an MPI.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/device/process_group.hpp"
#include "distributed/mpi/table.hpp"
#include "distributed/watchdog.hpp"
#include "tyto/distributed.hpp"

namespace tyto::distributed {

/// Its calls come from the thread that made it. All of one executable are agreed on before the first, so that no
/// process waits for what another never does.
class MpiGroup final : public core::ProcessGroup {
 public:
  MpiGroup(const TytoMpi& mpi, const StartOptions& options, std::int32_t number = 0);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(std::byte* data, std::int64_t count, DType dtype, core::Reduction reduction) override;
  void reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype,
                      core::Reduction reduction) override;
  void all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) override;
  void broadcast(std::byte* data, std::int64_t bytes, int root) override;
  void barrier() override;
  void send(const std::byte* data, std::int64_t bytes, int to) override;
  void recv(std::byte* data, std::int64_t bytes, int from) override;
  std::shared_ptr<core::ProcessGroup> split(int colour, int key) override;
  void agree(const core::CollectiveCalls::With& calls, const core::GraphOutline& graph) override;

 private:
  class Call;

  // Tags: of what tells which messages come, and of the messages of so many runs before they are used again.
  static constexpr std::int32_t announcement = 0, most_runs = 16384;

  /// The calls that were agreed on last, and which of them is next.
  struct Agreed {
    const std::vector<std::string>* calls = nullptr;
    std::size_t next = 0;
  };
  using Lists = std::vector<std::pair<int, std::vector<std::string>>>;  // of each of these processes

  void agree_on_messages(const core::CollectiveCalls::With& calls);
  /// The first difference of their calls or operators, as `what` says.
  std::string difference(const Lists& all, const char* what, const char* rule) const;
  Lists lines_of_all(const std::string& own);
  std::int32_t among_all(int rank) const;

  const TytoMpi& mpi_;
  std::int32_t number_;  // of the group, for MPI
  int rank_;
  int size_;
  StartOptions options_;
  std::vector<std::int32_t> members_;                                   // by their ranks among all
  std::thread::id thread_ = std::this_thread::get_id();                 // that MPI serves
  std::unordered_map<std::uint64_t, std::vector<std::string>> agreed_;  // by hash
  std::map<int, Agreed> current_;                                       // by peer
  std::map<int, std::int32_t> sent_, received_;                         // tag of the last run with messages, by peer
  std::map<int, std::string> refused_;                                  // why, by peer
  std::vector<std::byte> packed_;                                       // a piece of each process's part
  Watchdog watchdog_;
};

}  // namespace tyto::distributed
