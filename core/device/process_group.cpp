// SPDX-License-Identifier: MIT
// The group of one process, and which group there is.
#include "core/device/process_group.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/value/copy_bytes.hpp"
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
  void agree(const CollectiveCalls&) override {}
};

std::shared_ptr<ProcessGroup>& current() {
  static std::shared_ptr<ProcessGroup> group = std::make_shared<SingleProcess>();
  return group;
}

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
  throw ValueError(text(op, ": '", name, "' is no reduction; there are sum, min and max"));
}

void CollectiveCalls::add(std::string call) {
  constexpr std::uint64_t prime = 0x100000001b3u;
  for (const char letter : call) hash_ = (hash_ ^ static_cast<unsigned char>(letter)) * prime;
  hash_ = (hash_ ^ '\n') * prime;
  calls_.push_back(std::move(call));
}

ProcessGroup& process_group() { return *current(); }

void set_process_group(std::shared_ptr<ProcessGroup> group) {
  current() = group ? std::move(group) : std::make_shared<SingleProcess>();
}

int processes_of_call(std::string_view call) {
  if (is_barred())
    throw GraphError(text("vmap: ", call, " works on what processes have as a whole; call it outside of vmap"));
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

void require_group_of(std::int64_t processes, std::string_view call) {
  const int size = process_group().size();
  if (processes == size) return;
  throw GraphError(text(call, ": recorded for a group of ", processes, ", but this group has ", size,
                        size == 1 ? " process" : " processes", "; record it again"));
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
