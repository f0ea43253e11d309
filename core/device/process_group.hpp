// SPDX-License-Identifier: MIT
// The processes that work together, as kernels see them: what a transport has to offer. One process is a group too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tyto/dtype.hpp"

namespace tyto::core {

/// How the elements that processes have become one.
enum class Reduction : std::uint8_t { sum, min, max };

/// The reduction of that name, or ValueError naming the operator.
Reduction reduction_named(std::string_view op, std::string_view name);

/// What a program does together with the other processes, in order: a line of words each, and a hash of them that is
/// the same on every machine.
class CollectiveCalls {
 public:
  void add(std::string call);
  bool empty() const { return calls_.empty(); }
  const std::vector<std::string>& calls() const { return calls_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<std::string> calls_;
  std::uint64_t hash_ = 0xcbf29ce484222325u;  // FNV-1a
};

/// Every process of the group makes the same calls in the same order; each returns when the others have made it as far
/// as it needs them. All processes see the same bits.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// In place. Elements are integers, f32 or f64; NaN is the least and the largest of what it is among.
  virtual void all_reduce(std::byte* data, std::int64_t count, DType dtype, Reduction reduction) = 0;
  /// `count` elements for each process come from every one; the own ones are combined into `own`.
  virtual void reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype,
                              Reduction reduction) = 0;
  /// `bytes` of each process, in the order of ranks.
  virtual void all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) = 0;
  virtual void broadcast(std::byte* data, std::int64_t bytes, int root) = 0;
  virtual void barrier() = 0;
  /// Throws GraphError on all processes where they are about to do different things, naming the first difference.
  virtual void agree(const CollectiveCalls& calls) = 0;
};

/// The group that operators work in: this process alone until another was set.
ProcessGroup& process_group();
/// From now on that group, or, for null, this process alone.
void set_process_group(std::shared_ptr<ProcessGroup> group);

/// Of how many processes a call is recorded. One that is recorded for this process alone is noted, since no larger
/// group can be joined after it. Throws GraphError under a CollectivesBarred. `call` names it, for the program's
/// lifetime.
int processes_of_call(std::string_view call);
/// The first call that was recorded for this process alone; empty while there is none.
std::string_view first_call_alone();
/// Throws GraphError for a call that was recorded for a group of another size.
void require_group_of(std::int64_t processes, std::string_view call);

/// While it lives, this thread calls nothing that processes do together: vmap makes many calls of one.
class CollectivesBarred {
 public:
  CollectivesBarred();
  ~CollectivesBarred();
  CollectivesBarred(const CollectivesBarred&) = delete;
  CollectivesBarred& operator=(const CollectivesBarred&) = delete;
};

}  // namespace tyto::core
