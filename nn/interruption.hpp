// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM while training runs: noted, so that the current step ends before the training does.
#pragma once

namespace tyto::nn::detail {

/// While one lives, the first SIGINT or SIGTERM of the process is noted instead of ending it; the second ends it at
/// once. A signal that the program ignores or handles itself stays the program's.
class Interruption {
 public:
  Interruption();
  /// Puts back what was there before the first of those that live. A signal that nobody asked for takes its course.
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that came meanwhile; 0: none. Who asks for it answers for it.
  int signal() const;
  /// Another process had this one, which ends the training of all. Where it comes here as well it is no second one.
  void came_elsewhere(int signal) const;

 private:
  bool listens_ = false;
};

}  // namespace tyto::nn::detail
