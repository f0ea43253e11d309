// SPDX-License-Identifier: MIT
// ProcessGroup: what a transport between processes implements, and kernels call. One process is a group too.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tyto/dtype.hpp"

namespace tyto::core {

/// How elements of several processes are combined.
enum class Reduction : std::uint8_t { sum, min, max };

/// The reduction of that name, or ValueError naming the operator.
Reduction reduction_named(std::string_view op, std::string_view name);

/// With whom a call is made: all processes of a group, or one of them, to which or from which a message goes.
struct Party {
  static constexpr int everyone = -1;
  std::int64_t group = 0;
  int peer = everyone;
  bool receives = false;
  friend auto operator<=>(const Party&, const Party&) = default;
};

/// The operators that lead to collective calls, a line of text each. Processes that are given arguments of the same
/// types and shapes have the same.
struct GraphOutline {
  std::string lines = {};
  std::uint64_t hash = 0;  // of the lines; 0: there is none
  std::uint64_t arguments = 0;
};

/// The collective calls of a program, in order: a line of text each. The calls with each party have a hash, which is
/// the same on every machine.
class CollectiveCalls {
 public:
  struct With {
    Party party;
    std::vector<std::string> calls = {};  // as all of the party see them
    std::uint64_t hash = 0;               // of their lines
  };
  /// The party describes the call as `seen`, or in the same words.
  void add(std::string call, Party party = {}, std::string seen = "");
  bool empty() const { return calls_.empty(); }
  const std::vector<std::string>& calls() const { return calls_; }
  /// The calls by party, in the order of parties.
  const std::vector<With>& parties() const { return parties_; }
  /// The outline of the graph that makes the calls.
  const GraphOutline& outline() const { return outline_; }
  void set_outline(GraphOutline outline) { outline_ = std::move(outline); }

 private:
  With& with(Party party);

  GraphOutline outline_;
  std::vector<std::string> calls_;
  std::vector<With> parties_;
};

/// Every process of the group makes the same calls in the same order; each returns when the others have made it as far
/// as it needs them. All processes see the same bits. Messages are of two processes alone.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Reduces `data` in place. Elements are integers, f32 or f64; both minimum and maximum propagate NaN.
  virtual void all_reduce(std::byte* data, std::int64_t count, DType dtype, Reduction reduction) = 0;
  /// `count` elements for each process come from every one; the own ones are combined into `own`.
  virtual void reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype,
                              Reduction reduction) = 0;
  /// `bytes` of each process, in the order of ranks.
  virtual void all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) = 0;
  virtual void broadcast(std::byte* data, std::int64_t bytes, int root) = 0;
  virtual void barrier() = 0;
  /// Does not wait for the other one.
  virtual void send(const std::byte* data, std::int64_t bytes, int to) = 0;
  virtual void recv(std::byte* data, std::int64_t bytes, int from) = 0;
  /// The group of processes that passed the same colour, in the order of their keys, then ranks.
  virtual std::shared_ptr<ProcessGroup> split(int colour, int key) = 0;
  /// Throws GraphError on all processes where their next calls, or the graphs that lead to them, differ, naming the
  /// first difference. The receiver of a message compares it; the sender does not wait.
  virtual void agree(const CollectiveCalls::With& calls, const GraphOutline& graph) = 0;
};

/// The group that operators work in: that of all processes, of which there is one until a group was set, or the one
/// that was entered.
ProcessGroup& process_group();
std::int64_t process_group_number();
/// The group of that number. Throws GraphError where it has ended.
ProcessGroup& process_group(std::int64_t number);
/// Sets the group of all processes; null: this process alone.
void set_process_group(std::shared_ptr<ProcessGroup> group);
/// A part of the processes. Numbers are above those of all groups that there were, and are agreed on by who is in it.
void add_process_group(std::int64_t number, std::shared_ptr<ProcessGroup> group);
std::int64_t next_process_group();

/// Compares the calls with each party that takes part in them.
void agree(const CollectiveCalls& calls);

/// Makes operators work in the group of that number, and returns the number of the previous group.
std::int64_t enter_process_group(std::int64_t number);

/// The number of processes that a call is recorded for. A call that is recorded for this process alone is remembered,
/// since no larger group can be joined after it. Throws GraphError under a CollectivesBarred. `call` names it, for the
/// program's lifetime.
int processes_of_call(std::string_view call);
/// The first call that was recorded for this process alone; empty while there is none.
std::string_view first_call_alone();
/// The group of that number. Throws GraphError for a call that was recorded for a group of another size.
ProcessGroup& require_group_of(std::int64_t processes, std::string_view call, std::int64_t number);

/// Forbids collective calls on this thread while it is alive: vmap makes many calls of one.
class CollectivesBarred {
 public:
  CollectivesBarred();
  ~CollectivesBarred();
  CollectivesBarred(const CollectivesBarred&) = delete;
  CollectivesBarred& operator=(const CollectivesBarred&) = delete;
};

}  // namespace tyto::core
