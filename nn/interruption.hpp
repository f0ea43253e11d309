// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM while training runs: noted, so that the current step ends before the training does.
#pragma once

namespace tyto::nn::detail {

/// While one lives, the first SIGINT or SIGTERM of the process is noted instead of ending it; the second ends it at
/// once. The same signal within half a second of the first is no second one: `timeout` sends it to a process and to its
/// group. A signal that the program ignores or handles itself stays the program's.
class Interruption {
 public:
  Interruption();
  /// Puts back what was there before the first of those that live, but leaves the handler of a signal that another
  /// process received, which may still come. A signal that nobody asked for takes its course.
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that came meanwhile; 0: none. Who asks for it answers for it.
  int signal() const;
  /// Notes a signal that another process received, which ends the training of all. Where this process receives the same
  /// one within a few seconds, that is no second signal.
  void note_signal_of_other_process(int signal) const;

 private:
  bool listens_ = false;
};

}  // namespace tyto::nn::detail
