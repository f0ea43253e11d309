// SPDX-License-Identifier: MIT
// Prints one line while a driver takes long to compile kernels, so that nobody takes the program for dead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace tyto::opencl {

/// Counts the time that a device's driver takes to compile programs, and writes the line when it exceeds `patience`,
/// also in the middle of a compilation; once.
class SlowBuildNotice {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit SlowBuildNotice(std::string line, std::FILE* out = stderr) : SlowBuildNotice(line, out, patience_of(out)) {}
  SlowBuildNotice(std::string line, std::FILE* out, Seconds patience)
      : line_(std::move(line)), out_(out), left_(patience) {}

  /// As long as one lives, programs are being compiled. One at a time.
  class Build {
   public:
    explicit Build(SlowBuildNotice& notice);
    ~Build();
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;

   private:
    SlowBuildNotice& notice_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
    std::thread watch_;
  };

 private:
  /// As nn::ProgressLine: soon on a terminal, and where there is none, after half a minute.
  static Seconds patience_of(std::FILE* out);
  void write();

  std::string line_;
  std::FILE* out_;
  Seconds left_;
  bool is_written_ = false;
};

}  // namespace tyto::opencl
