// The process-wide thread count.
#include "devices/cpu/threads.hpp"

#include <atomic>
#include <cstdlib>
#include <string>

#include <tyto/error.hpp>

#include "devices/cpu/layout_threads.hpp"

namespace tyto::cpu {

namespace {

int read_initial_threads() noexcept {
  if (const char* wish = std::getenv("TYTO_THREADS")) {
    char* end = nullptr;
    const long count = std::strtol(wish, &end, 10);
    if (*end == '\0' && count >= 1 && count <= 1024) return static_cast<int>(count);
  }
#if defined(_OPENMP)
  return std::max(1, omp_get_max_threads());
#else
  return 1;
#endif
}

int initial_threads() noexcept {
  static const int count = read_initial_threads();
  return count;
}

std::atomic<int>& thread_count() noexcept {
  static std::atomic<int> count{initial_threads()};
  return count;
}

// With two threads both are measured; with more, what meeting costs grows with their number.
double shortest_region(int count) noexcept { return std::max(20'000.0, 2'000.0 * count); }
double shortest_awake(int count) noexcept { return 2'000.0 + 1'000.0 * count; }

int worth_waking(int most, double nanoseconds) noexcept { return nanoseconds < shortest_region(most) ? 1 : most; }

}  // namespace

int threads() noexcept { return thread_count().load(std::memory_order_relaxed); }

void set_threads(int count) {
  if (count < 1) throw ValueError("threads: the count must be at least 1, got " + std::to_string(count));
  thread_count().store(count, std::memory_order_relaxed);
}

int threads_for(double nanoseconds) noexcept { return worth_waking(threads(), nanoseconds); }

Workers workers_for(double nanoseconds) noexcept {
  const int all = threads();
  if (nanoseconds < shortest_awake(all)) return {};
  return {all, nanoseconds < shortest_region(all), nanoseconds};
}

int layout_threads_for(double nanoseconds) noexcept { return worth_waking(initial_threads(), nanoseconds); }

}  // namespace tyto::cpu
