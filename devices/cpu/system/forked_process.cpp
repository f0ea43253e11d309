// SPDX-License-Identifier: MIT
// The child's handler marks the one thread that a fork leaves; what it runs in parallel is handed to another thread.
#include "devices/cpu/system/forked_process.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace tyto::cpu {

namespace {

thread_local bool lost_threads = false;

/// A thread that runs one thing after another for the thread that lost its own.
class HelperThread {
 public:
  HelperThread() : thread_([this] { serve(); }) { thread_.detach(); }

  void run(void (*task)(void* context), void* context) {
    std::unique_lock lock(mutex_);
    run_ = task;
    context_ = context;
    changed_.notify_all();
    changed_.wait(lock, [&] { return run_ == nullptr; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return run_ != nullptr; });
      run_(context_);
      run_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  void (*run_)(void* context) = nullptr;
  void* context_ = nullptr;
  std::thread thread_;
};

/// Of the thread that lost its own: a child's child has another. They live as long as their process.
thread_local HelperThread* deputy = nullptr;

}  // namespace

void watch_for_forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  [[maybe_unused]] static const int watching = pthread_atfork(nullptr, nullptr, [] {
    lost_threads = true;
    deputy = nullptr;
  });
#endif
}

bool has_lost_threads() noexcept { return lost_threads; }

void run_with_new_threads(void (*run)(void* context), void* context) {
  if (deputy == nullptr) deputy = new HelperThread;
  deputy->run(run, context);
}

}  // namespace tyto::cpu
