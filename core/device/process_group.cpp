// SPDX-License-Identifier: MIT
// The group of one process, and which group there is.
#include "core/device/process_group.hpp"

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

}  // namespace tyto::core
