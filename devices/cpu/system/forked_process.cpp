// SPDX-License-Identifier: MIT
// The child's handler marks the one thread that a fork leaves. What a thread cannot run in parallel itself is handed to
// a helper of its own.
#include "devices/cpu/system/forked_process.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <pthread.h>

#include "devices/cpu/system/subnormals.hpp"

namespace tyto::cpu {

namespace {

thread_local bool lost_threads = false;

/// A thread that runs one thing after another for another thread, by that one's rules of arithmetic.
class HelperThread {
 public:
  HelperThread() : thread_([this] { serve(); }) {}
  ~HelperThread() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  void run(void (*task)(void* context), void* context) {
    std::unique_lock lock(mutex_);
    rules_ = arithmetic_rules();
    run_ = task;
    context_ = context;
    changed_.notify_all();
    changed_.wait(lock, [&] { return run_ == nullptr; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return run_ != nullptr || ends_; });
      if (ends_) return;
      set_arithmetic_rules(rules_);
      run_(context_);
      run_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  void (*run_)(void* context) = nullptr;
  void* context_ = nullptr;
  std::uint64_t rules_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

/// Under which each thread has its helper. A key of the system's, and no variable of each thread: for these a library
/// that is loaded late finds little room.
pthread_key_t helper_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* helper) { delete static_cast<HelperThread*>(helper); });
    return made;
  }();
  return key;
}

}  // namespace

void watch_for_forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  [[maybe_unused]] static const int watching = pthread_atfork(nullptr, nullptr, [] {
    lost_threads = true;
    pthread_setspecific(helper_key(), nullptr);  // it was left in the parent, and cannot be joined
  });
#endif
}

bool has_lost_threads() noexcept { return lost_threads; }

void run_with_new_threads(void (*run)(void* context), void* context) {
  auto* helper = static_cast<HelperThread*>(pthread_getspecific(helper_key()));
  if (helper == nullptr) {
    helper = new HelperThread;
    pthread_setspecific(helper_key(), helper);
  }
  helper->run(run, context);
}

}  // namespace tyto::cpu
