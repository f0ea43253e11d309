// SPDX-License-Identifier: MIT
// Thread counts, and run_team, by which kernels run on several threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tyto::cpu {

/// Threads that kernels prepared from now on may use: set_threads, else TYTO_THREADS, else what OpenMP offers.
int threads() noexcept;

/// Sets threads() for the whole process; throws ValueError unless count is positive.
void set_threads(int count);

/// While it lives, threads() is 1 on the thread that made it: kernels prepared meanwhile use no others.
class OneThread {
 public:
  OneThread() noexcept;
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

/// So many threads, or as many as OpenMP's limit (OMP_THREAD_LIMIT) grants.
int granted_threads(int count) noexcept;

/// Threads worth waking for work that one thread finishes in so many nanoseconds. Waking sleeping threads costs up to
/// 100 us: below 20 us of work, and 2 us for each of many threads, the calling thread stays alone. Else all threads
/// take part, even where fewer would do: OpenMP ends the threads that a smaller team leaves out, and the next larger
/// one begins them anew.
int threads_for(double nanoseconds) noexcept;

/// How many threads run a step.
struct TeamRequest {
  int count = 1;
  bool only_if_awake = false;  ///< the step is too short to wake them
  double nanoseconds = 0;      ///< that one thread would take, roughly
};

/// threads_for(), and for shorter work the threads that are awake already.
TeamRequest team_for(double nanoseconds) noexcept;

/// A half-open range of work items.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const noexcept { return end - begin; }
};

/// The share of `part` when `total` items are divided among `parts` in runs that are multiples of `grain`.
inline Range share(std::int64_t total, std::int64_t part, std::int64_t parts, std::int64_t grain = 1) noexcept {
  const std::int64_t grains = (total + grain - 1) / grain;
  const std::int64_t base = grains / parts, extra = grains % parts;
  const std::int64_t first = part * base + std::min(part, extra);
  const std::int64_t last = first + base + (part < extra ? 1 : 0);
  return {std::min(first * grain, total), std::min(last * grain, total)};
}

/// A member's view of the threads that run one step together.
struct Team {
  int member = 0;
  int size = 1;

  /// Waits for the other members; every member must call it equally often.
  void barrier() const noexcept;
};

/// Runs body(context, member) for each member of a team in one parallel region; see run_team.
void run_region(TeamRequest request, void (*body)(const void* context, Team member), const void* context);

/// Makes `count` threads, for regions of a library, compute by the calling thread's rules
/// (devices/cpu/system/subnormals.hpp), as those of run_team do anyway.
void share_arithmetic_rules(int count);

/// Runs body(Team) on at most so many threads in one parallel region, or on the calling thread where a short step finds
/// the others asleep. The system may grant fewer, so the body divides its work by Team::size. The body must not throw.
template <class Body>
void run_team(TeamRequest request, const Body& body) {
  if (request.count <= 1) return body(Team{});
  run_region(
      request, [](const void* context, Team member) { (*static_cast<const Body*>(context))(member); }, &body);
}

template <class Body>
void run_team(int wanted, const Body& body) {
  run_team(TeamRequest{wanted}, body);
}

}  // namespace tyto::cpu
