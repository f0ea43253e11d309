// SPDX-License-Identifier: MIT
// The group of one process, and the registry of groups by number.
#include "core/device/process_group.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "core/device/agreements.hpp"
#include "core/value/copy_bytes.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

namespace {

class SingleProcess final : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(std::byte*, std::int64_t, DType, Reduction) override {}
  void reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype, Reduction) override {
    copy_bytes(own, parts, static_cast<std::size_t>(count) * size_of(dtype));
  }
  void all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) override {
    copy_bytes(all, own, static_cast<std::size_t>(bytes));
  }
  void broadcast(std::byte*, std::int64_t, int) override {}
  void barrier() override {}
  void send(const std::byte*, std::int64_t, int) override {}
  void recv(std::byte*, std::int64_t, int) override {}
  std::shared_ptr<ProcessGroup> split(int, int) override { return std::make_shared<SingleProcess>(); }
  void agree(const CollectiveCalls::With&, const GraphOutline&) override {}
};

std::shared_ptr<ProcessGroup>& everyone() {
  static std::shared_ptr<ProcessGroup> group = std::make_shared<SingleProcess>();
  return group;
}

/// Groups of some of the processes by number; only the thread that calls MPI has any.
std::map<std::int64_t, std::shared_ptr<ProcessGroup>>& parts() {
  static std::map<std::int64_t, std::shared_ptr<ProcessGroup>> known;
  return known;
}

std::atomic<std::int64_t> current = 0;
std::atomic<std::uint64_t> agreed = 0;
std::mutex agreed_mutex;
std::map<std::int64_t, std::uint64_t> last_agreement;  // of all of a group, by its number

std::atomic<bool> called_alone = false;
std::once_flag first_is_noted;
std::string_view first_alone;

// A list, as the system keeps few bytes of each thread for libraries that are loaded late.
std::mutex barred_mutex;
std::multiset<std::thread::id> barred_threads;

bool is_barred() {
  const std::lock_guard lock(barred_mutex);
  return barred_threads.contains(std::this_thread::get_id());
}

}  // namespace

Reduction reduction_named(std::string_view op, std::string_view name) {
  if (name == "sum") return Reduction::sum;
  if (name == "min") return Reduction::min;
  if (name == "max") return Reduction::max;
  throw_error<ValueError>(op, ": '", name, "' is no reduction; there are sum, min and max");
}

CollectiveCalls::With& CollectiveCalls::with(Party party) {
  const auto place = std::ranges::lower_bound(parties_, party, {}, &With::party);
  return place != parties_.end() && place->party == party ? *place
                                                          : *parties_.insert(place, With{party, {}, fnv_basis});
}

void CollectiveCalls::add(std::string call, Party party, std::string seen) {
  if (seen.empty()) seen = call;
  if (party.peer != Party::everyone) {
    // Sender and receiver have made the same number of collective calls before a message.
    const std::size_t before = with({party.group, Party::everyone}).calls.size();
    if (before != 0) seen += text(", after ", before, before == 1 ? " call" : " calls", " of all");
  }
  With& list = with(party);
  const std::string line = seen + '\n';
  list.hash = fnv1a(std::as_bytes(std::span(line)), list.hash);
  list.calls.push_back(std::move(seen));
  calls_.push_back(std::move(call));
}

ProcessGroup& process_group() { return process_group(current); }
std::int64_t process_group_number() { return current; }

ProcessGroup& process_group(std::int64_t number) {
  if (number == 0) return *everyone();
  const auto place = parts().find(number);
  if (place == parts().end())
    throw_error<GraphError>("distributed: there is no group number ", number, ", or it has ended");
  return *place->second;
}

void set_process_group(std::shared_ptr<ProcessGroup> group) {
  parts().clear();
  {
    const std::lock_guard lock(agreed_mutex);
    last_agreement.clear();
  }
  everyone() = group ? std::move(group) : std::make_shared<SingleProcess>();
}

void add_process_group(std::int64_t number, std::shared_ptr<ProcessGroup> group) { parts()[number] = std::move(group); }

std::int64_t next_process_group() { return parts().empty() ? 1 : parts().rbegin()->first + 1; }

void agree(const CollectiveCalls& calls) {
  for (const CollectiveCalls::With& each : calls.parties()) {
    ProcessGroup& group = process_group(each.party.group);
    if (group.size() == 1 || each.calls.empty()) continue;
    if (each.party.peer == Party::everyone) {
      const std::lock_guard lock(agreed_mutex);
      last_agreement[each.party.group] = ++agreed;
    }
    try {
      group.agree(each, calls.outline());
    } catch (DifferentCalls& error) {
      error.group = each.party.group;
      throw;
    }
  }
}

std::uint64_t agreements() { return agreed; }

std::optional<std::int64_t> group_that_agreed(std::uint64_t before) {
  if (agreed == before) return {};
  const std::lock_guard lock(agreed_mutex);
  std::optional<std::int64_t> only;
  for (const auto& [group, last] : last_agreement) {  // that of all processes comes first
    if (last <= before) continue;
    if (group == 0) return group;
    if (only) return {};
    only = group;
  }
  return only;
}

std::int64_t largest_of_all(std::string_view call, std::int64_t number, std::int64_t group) {
  CollectiveCalls calls;
  calls.add(std::string(call), {group});
  agree(calls);
  process_group(group).all_reduce(reinterpret_cast<std::byte*>(&number), 1, DType::i64, Reduction::max);
  return number;
}

std::int64_t enter_process_group(std::int64_t number) { return current.exchange(number); }

int processes_of_call(std::string_view call) {
  if (is_barred())
    throw_error<GraphError>("vmap: ", call, " works on what processes have as a whole; call it outside of vmap");
  const int processes = process_group().size();
  if (processes == 1 && !called_alone.load(std::memory_order_acquire)) {
    std::call_once(first_is_noted, [&] {
      first_alone = call;
      called_alone.store(true, std::memory_order_release);
    });
  }
  return processes;
}

std::string_view first_call_alone() {
  return called_alone.load(std::memory_order_acquire) ? first_alone : std::string_view();
}

ProcessGroup& require_group_of(std::int64_t processes, std::string_view call, std::int64_t number) {
  ProcessGroup& group = process_group(number);
  const int size = group.size();
  if (processes == size) return group;
  throw_error<GraphError>(call, ": recorded for a group of ", processes, ", but this group has ", size,
                          size == 1 ? " process" : " processes", "; record it again");
}

CollectivesBarred::CollectivesBarred() {
  const std::lock_guard lock(barred_mutex);
  barred_threads.insert(std::this_thread::get_id());
}

CollectivesBarred::~CollectivesBarred() {
  const std::lock_guard lock(barred_mutex);
  barred_threads.erase(barred_threads.find(std::this_thread::get_id()));
}

}  // namespace tyto::core
