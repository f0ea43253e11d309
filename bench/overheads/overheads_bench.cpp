// SPDX-License-Identifier: MIT
// Measures the cost of an operator besides its arithmetic: eager dispatch, recording, one step of a prepared graph, and
// the library's size; each beside a yardstick of the same machine and moment.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/process_usage.hpp"
#include "tyto/tyto.hpp"

namespace {

using tyto::bench::thread_seconds;

/// Nanoseconds of one of the `count` pieces of work that a call does: the median of many short runs.
template <class Work>
double nanoseconds(int count, const Work& work) {
  constexpr int runs = 31;
  constexpr double seconds_a_run = 0.01;
  work();
  const double start = thread_seconds();
  work();
  const double once = std::max(thread_seconds() - start, 1e-8);
  const int calls = std::max(1, static_cast<int>(seconds_a_run / once));
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    const double from = thread_seconds();
    for (int call = 0; call < calls; ++call) work();
    times.push_back((thread_seconds() - from) * 1e9 / calls / count);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[runs / 2];
}

struct Yardsticks {
  double allocation = 0;  // a malloc and its free
  double call = 0;        // a virtual call
};

struct Shapeless {
  virtual ~Shapeless() = default;
  virtual int next(int value) const = 0;
};
struct Plus final : Shapeless {
  int next(int value) const override { return value + 1; }
};
struct Minus final : Shapeless {
  int next(int value) const override { return value - 1; }
};

Yardsticks measure_yardsticks() {
  constexpr int count = 1000;
  Yardsticks yardsticks;
  yardsticks.allocation = nanoseconds(count, [] {
    for (int i = 0; i < count; ++i) {
      void* volatile memory = std::malloc(384);
      std::free(memory);
    }
  });
  const std::unique_ptr<Shapeless> objects[] = {std::make_unique<Plus>(), std::make_unique<Minus>()};
  volatile int sink = 0;
  yardsticks.call = nanoseconds(count, [&] {
    int value = sink;
    for (int i = 0; i < count; ++i) value = objects[value & 1]->next(value);
    sink = value;
  });
  return yardsticks;
}

void report(const char* what, double measured, double limit, const Yardsticks& yardsticks) {
  std::printf("%-52s %7.1f ns  limit %5.0f  %s  %5.1f x malloc+free  %6.1f x virtual call\n", what, measured, limit,
              measured <= limit ? "holds  " : "MISSED ", measured / yardsticks.allocation, measured / yardsticks.call);
}

void also(const char* what, double measured, const Yardsticks& yardsticks) {
  std::printf("%-52s %7.1f ns                       %5.1f x malloc+free  %6.1f x virtual call\n", what, measured,
              measured / yardsticks.allocation, measured / yardsticks.call);
}

void measure_dispatch(const Yardsticks& yardsticks) {
  using Tensor = tyto::Tensor<tyto::Eager>;
  constexpr int count = 1000;
  const Tensor one = Tensor::full({}, 1.5, tyto::DType::f32);
  const Tensor two = Tensor::full({}, 2.5, tyto::DType::f32);
  report("eager: a + b, f32 scalars",
         nanoseconds(count,
                     [&] {
                       for (int i = 0; i < count; ++i) const Tensor sum = one + two;
                     }),
         150, yardsticks);
  report("eager: sum = sum + a, f32 scalars",
         nanoseconds(count,
                     [&] {
                       Tensor sum = one;
                       for (int i = 0; i < count; ++i) sum = sum + two;
                     }),
         150, yardsticks);
  also("eager: a * 2.0",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor product = one * 2.0;
                   }),
       yardsticks);
  const Tensor row = Tensor::ones({16});
  const Tensor table = Tensor::ones({4, 16});
  also("eager: exp of f32[16]",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor result = exp(row);
                   }),
       yardsticks);
  also("eager: f32[4,16] + f32[16]",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor sum = table + row;
                   }),
       yardsticks);
  also("eager: reshape of f32[4,16]",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor flat = table.reshape({64});
                   }),
       yardsticks);
  also("eager: sum of f32[4,16] over an axis",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor total = table.sum(1);
                   }),
       yardsticks);
  const Tensor square = Tensor::ones({4, 4});
  also("eager: matmul of f32[4,4]",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor product = matmul(square, square);
                   }),
       yardsticks);
}

void measure_recording(const Yardsticks& yardsticks) {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  constexpr int count = 1000;
  const Tensor one = Tensor::placeholder({8, 16});
  const Tensor two = Tensor::placeholder({8, 16});
  const Tensor row = Tensor::placeholder({16});
  report("recording: x = x + a, released again",
         nanoseconds(count,
                     [&] {
                       Tensor x = one;
                       for (int i = 0; i < count; ++i) x = x + two;
                     }),
         80, yardsticks);
  also("recording: x = x * row, broadcast",
       nanoseconds(count,
                   [&] {
                     Tensor x = one;
                     for (int i = 0; i < count; ++i) x = x * row;
                   }),
       yardsticks);
  also("recording: x = x * 0.5",
       nanoseconds(count,
                   [&] {
                     Tensor x = one;
                     for (int i = 0; i < count; ++i) x = x * 0.5;
                   }),
       yardsticks);
  also("recording: x = transpose(x)",
       nanoseconds(count,
                   [&] {
                     Tensor x = one;
                     for (int i = 0; i < count; ++i) x = x.transpose();
                   }),
       yardsticks);
  also("recording: x.sum(1)",
       nanoseconds(count,
                   [&] {
                     for (int i = 0; i < count; ++i) const Tensor total = one.sum(1);
                   }),
       yardsticks);
}

// Cumulative sums of a few elements: the smallest step that no pass merges with its neighbours.
void measure_executor(const Yardsticks& yardsticks) {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  constexpr int count = 1000;
  auto chain = tyto::compile([&](Tensor x) {
    for (int i = 0; i < count; ++i) x = cumsum(x, 0);
    return x;
  });
  const Tensor input = Tensor::ones({4});
  const Tensor output = chain(input);
  report("executor: a step of a run, its small kernel included", nanoseconds(count, [&] { chain(input); }), 50,
         yardsticks);
}

// The limit is of the library with the CPU device alone: with another device it is larger, which is said, not judged.
void measure_size() {
  constexpr double limit = 10;
  std::string stripped = (std::filesystem::temp_directory_path() / "tyto-stripped-XXXXXX").string();
  if (const int file = mkstemp(stripped.data()); file >= 0) close(file);
  const std::string command = "strip -o " + stripped + " " TYTO_LIBRARY " 2>/dev/null";
  struct stat facts {};
  if (std::system(command.c_str()) != 0 || stat(stripped.c_str(), &facts) != 0) {
    std::printf("library size: not measured, there is no strip\n");
    return;
  }
  std::remove(stripped.c_str());
  const double megabytes = static_cast<double>(facts.st_size) / 1e6;
  if (TYTO_LIBRARY_HAS_OPENCL) {
    std::printf("%-52s %7.2f MB  the limit is of one built with -DTYTO_OPENCL=OFF\n", "library with OpenCL, stripped",
                megabytes);
    return;
  }
  std::printf("%-52s %7.2f MB  limit %5.0f  %s\n", "library with the CPU alone, stripped", megabytes, limit,
              megabytes <= limit ? "holds" : "MISSED");
}

}  // namespace

int main() {
  const Yardsticks yardsticks = measure_yardsticks();
  std::printf("malloc+free of 384 bytes %.1f ns, virtual call %.2f ns\n", yardsticks.allocation, yardsticks.call);
  measure_dispatch(yardsticks);
  measure_recording(yardsticks);
  measure_executor(yardsticks);
  measure_size();
}
