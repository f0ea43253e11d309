// SPDX-License-Identifier: MIT
// A thread that does jobs one after the other, in the order in which they were given.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace tyto::nn {

template <class Result>
class Worker {
 public:
  using Job = std::function<Result()>;

  Worker() : thread_([this] { work(); }) {}
  ~Worker() {
    drop();
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    woken_.notify_one();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The future returns the job's result, or throws its exception.
  std::future<Result> start(Job job) {
    std::packaged_task<Result()> task(std::move(job));
    std::future<Result> result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    woken_.notify_one();
    return result;
  }

  /// Forgets the jobs that were not begun.
  void drop() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
      if (ended_) return;
      std::packaged_task<Result()> task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<std::packaged_task<Result()>> waiting_;
  bool ended_ = false;
  std::thread thread_;  // the last member: it uses the others from its first moment on
};

}  // namespace tyto::nn
