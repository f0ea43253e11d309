// SPDX-License-Identifier: MIT
// Waits on a thread of its own while a program is compiled, and prints the line when that takes long.
#include "devices/opencl/runtime/slow_build_notice.hpp"

#include "core/system/process.hpp"

namespace tyto::opencl {

SlowBuildNotice::Seconds SlowBuildNotice::patience_of(std::FILE* out) {
  return core::prints_to_terminal(out) ? Seconds(2) : Seconds(30);
}

void SlowBuildNotice::write() {
  std::fprintf(out_, "%s\n", line_.c_str());
  std::fflush(out_);
  is_written_ = true;
}

SlowBuildNotice::Build::Build(SlowBuildNotice& notice) : notice_(notice) {
  if (notice_.is_written_) return;
  watch_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, notice_.left_, [&] { return has_ended_; })) notice_.write();
  });
}

SlowBuildNotice::Build::~Build() {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  watch_.join();
  notice_.left_ -= std::chrono::steady_clock::now() - start_;
}

}  // namespace tyto::opencl
