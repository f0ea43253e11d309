// SPDX-License-Identifier: MIT
// Threads that share one executable, each with a session of one slab, against allocating every tensor when it is
// needed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <thread>
#include <tyto/tyto.hpp>
#include <vector>

#include "engine/graph/trace.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/session.hpp"

namespace {

using namespace tyto;
using L = Tensor<Lazy>;

/// A small network at inference: twelve layers, each of six tensors.
std::shared_ptr<const run::Executable> network(std::int64_t batch, std::int64_t width) {
  const std::int64_t half = width / 2;
  const L x = L::placeholder({batch, width}, DType::f32, "x");
  L y = x;
  for (int layer = 0; layer < 12; ++layer) {
    const L weight =
        L::constant(L::normal({width, width}, {.stddev = 0.06, .key = Key{1, static_cast<std::uint64_t>(layer)}}));
    const L wide = tanh(matmul(y, weight));
    y = concat<Lazy>({wide(all, slice(0, half)) + y(all, slice(0, half)), sort(wide(all, slice(half, width)), 1)}, 1);
  }
  const std::vector<Value> outputs{y.sum(1)};
  run::Traced traced = run::trace(
      {.outputs = outputs, .updates = {}, .inputs = {}, .capture_constants = true, .bind_states = true, .since = 0});
  return std::make_shared<const run::Executable>(std::move(traced.graph), run::cpu_device(), CompileOptions{});
}

/// The same steps with memory taken at each storage's first step and given back after its last.
class AllocatingRunner {
 public:
  explicit AllocatingRunner(const run::Executable& plan) : plan_(plan), memory_(plan.storages().size()) {
    born_.resize(plan.steps().size());
    dying_.resize(plan.steps().size());
    for (std::uint32_t i = 0; i < plan.storages().size(); ++i) {
      const run::Storage& storage = plan.storages()[i];
      if (storage.kind == run::StorageKind::constant) memory_[i] = plan.constants()[storage.index].buffer->memory();
      if (storage.kind != run::StorageKind::arena || storage.first_instruction >= plan.steps().size()) continue;
      born_[storage.first_instruction].push_back(i);
      dying_[std::min<std::size_t>(storage.last_step, plan.steps().size() - 1)].push_back(i);
    }
  }
  void bind(run::StorageKind kind, std::uint32_t index, void* memory) {
    for (std::uint32_t i = 0; i < memory_.size(); ++i) {
      const run::Storage& storage = plan_.storages()[i];
      if (storage.kind == kind && storage.index == index) memory_[i] = memory;
    }
  }
  void run() {
    std::vector<core::Address> operands;
    for (std::size_t s = 0; s < plan_.steps().size(); ++s) {
      const run::ExecutableStep& step = plan_.steps()[s];
      for (const std::uint32_t i : born_[s]) {
        memory_[i] = std::aligned_alloc(64, (plan_.storages()[i].bytes + 63) / 64 * 64 + 64);
      }
      operands.clear();
      for (std::uint32_t o = 0; o < step.input_count + step.output_count; ++o) {
        const std::uint32_t at = step.first_operand + o;
        operands.push_back({memory_[plan_.operands()[at]], plan_.shifts()[at]});
      }
      const core::Address workspace{step.workspace == UINT32_MAX ? nullptr : memory_[step.workspace], 0};
      step.kernel->launch({operands.data(), step.input_count}, {operands.data() + step.input_count, step.output_count},
                          workspace);
      for (const std::uint32_t i : dying_[s]) std::free(memory_[i]);
    }
  }

 private:
  const run::Executable& plan_;
  std::vector<void*> memory_;
  std::vector<std::vector<std::uint32_t>> born_, dying_;
};

/// Runs of all threads in a second, and what one run takes of a processor; the best of several turns.
struct Speed {
  double runs_per_second = 0;
  double microseconds = std::numeric_limits<double>::max();

  void take_best(const Speed& other) {
    runs_per_second = std::max(runs_per_second, other.runs_per_second);
    microseconds = std::min(microseconds, other.microseconds);
  }
};

std::int64_t processor_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Speed speed_of(int threads, const std::function<std::function<void()>()>& prepare) {
  std::atomic<bool> go{false}, stop{false};
  std::atomic<int> ready{0};
  std::atomic<std::uint64_t> runs{0};
  std::atomic<std::int64_t> spent{0};  // libc++ before 18 adds no doubles
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      const std::function<void()> one = prepare();
      one();
      ++ready;
      while (!go) std::this_thread::yield();
      std::uint64_t mine = 0;
      const std::int64_t before = processor_nanoseconds();
      for (; !stop; ++mine) one();
      spent += processor_nanoseconds() - before;
      runs += mine;
    });
  }
  while (ready != threads) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  stop = true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (std::thread& thread : team) thread.join();
  const auto done = static_cast<double>(std::max<std::uint64_t>(runs, 1));
  return {done / seconds, static_cast<double>(spent) / 1e3 / done};
}

}  // namespace

// Other work on the machine only ever takes away: the most of many short turns, taken alternately, is what there is.
int main() {
  constexpr int turns = 15;
  threads(1);  // the threads are those of the callers
  std::printf(
      "The best of %d turns. Slab: one a session; malloc: a tensor at a time.\n"
      "                       runs/s                       processor us a run\n"
      "width  batch  threads     slab    malloc  ratio      slab    malloc  ratio\n",
      turns);
  struct Size {
    std::int64_t width, batch;
  };
  for (const auto [width, batch] : {Size{16, 1}, Size{32, 16}, Size{256, 16}, Size{256, 128}}) {
    const auto executable = network(batch, width);
    const std::vector<float> numbers(static_cast<std::size_t>(batch * width), 0.1F);
    const core::Array input = core::result_of(L::from(numbers, {batch, width}).value()).array;
    for (const int count : {1, 2, 4, 8}) {
      Speed slab;
      Speed allocating;
      for (int turn = 0; turn < turns; ++turn) {
        slab.take_best(speed_of(count, [&] {
          auto session = std::make_shared<run::Session>(executable);
          session->bind(0, input);
          return [session] { session->run(); };
        }));
        allocating.take_best(speed_of(count, [&] {
          auto runner = std::make_shared<AllocatingRunner>(*executable);
          const auto result = std::make_shared<std::vector<float>>(static_cast<std::size_t>(batch) + 16);
          runner->bind(run::StorageKind::input, 0, input.buffer->memory());
          runner->bind(run::StorageKind::output, 0, result->data());
          return [runner, result] { runner->run(); };
        }));
      }
      std::printf("%5lld  %5lld  %7d %8.0f  %8.0f  %5.2f  %8.2f  %8.2f  %5.2f\n", static_cast<long long>(width),
                  static_cast<long long>(batch), count, slab.runs_per_second, allocating.runs_per_second,
                  slab.runs_per_second / allocating.runs_per_second, slab.microseconds, allocating.microseconds,
                  allocating.microseconds / slab.microseconds);
      std::fflush(stdout);
    }
  }
  return 0;
}
