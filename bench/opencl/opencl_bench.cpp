// SPDX-License-Identifier: MIT
// The OpenCL device beside the CPU device: training steps, inference and products, with matrix products of
// both styles.
//
//   opencl_bench [SECONDS [WORKLOAD ...]]
//
// A line a workload and style: milliseconds of the median run on both devices, which take turns of half a second, as
// the CPU device's threads spin a while after each run; seconds to the first result and the programs compiled for it,
// or read from disk; planned bytes on both; the relative differences of what the first run and the third gave; and what
// fell back to the CPU. TYTO_OPENCL_DEVICE chooses the device, TYTO_BENCH_STYLE one of the styles ("cpu" or "gpu").
// With TYTO_BENCH_PROFILE the times of steps on both devices follow, each operator's added up; where it is "steps",
// those of the OpenCL device one by one before, with the bytes that they move and their multiply-adds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/mnist_network.hpp"
#include "devices/opencl/device/device.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "engine/run/devices.hpp"
#include "examples/inception/networks.hpp"
#include "examples/resnet/network.hpp"

namespace {

namespace nn = tyto::nn;
using T = tyto::Tensor<tyto::Lazy>;

constexpr std::size_t compared_runs = 3;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class OnDevice {
 public:
  explicit OnDevice(tyto::core::Device* device) : outer_(tyto::run::exchange_current_device(device)) {}
  ~OnDevice() { tyto::run::exchange_current_device(outer_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  tyto::core::Device* outer_;
};

/// A workload made ready on a device.
struct Prepared {
  std::function<T()> run;
  std::function<tyto::MemoryPlan()> plan;
  std::function<std::vector<std::string>()> fallbacks;
  std::function<tyto::GraphProfile()> profile;
};

template <class Function, class... Inputs>
Prepared prepared(Function function, const Inputs&... inputs) {
  auto shared = std::make_shared<Function>(std::move(function));
  return {[shared, inputs...] { return (*shared)(inputs...); }, [shared] { return shared->plan(); },
          [shared] { return shared->report().fallbacks; }, [shared, inputs...] { return shared->profile(inputs...); }};
}

Prepared training(std::shared_ptr<const nn::Sequential> model, std::shared_ptr<nn::Descent> descent, T images,
                  std::int64_t count) {
  const T labels = T::integers({count}, {.low = 0, .high = 10});
  return prepared(tyto::compile([model, descent](T x, T t) {
                    const auto objective = [&](T pictures, T classes) {
                      return cross_entropy((*model)(pictures, nn::training), classes);
                    };
                    auto [loss, gradients] = tyto::value_and_grad(objective, model->parameters())(x, t);
                    descent->update(model->parameters(), gradients);
                    return loss;
                  }),
                  images, labels);
}

Prepared mnist() {
  auto model = std::make_shared<const nn::Sequential>(tyto::bench::mnist_network());
  auto descent = std::make_shared<nn::Descent>(nn::adagrad({.rate = 0.005}));
  return training(model, descent, T::uniform({100, 28, 28, 1}), 100);
}

Prepared resnet20() {
  auto model = std::make_shared<const nn::Sequential>(make_resnet(20, usual_width(20), 10));
  auto descent = std::make_shared<nn::Descent>(nn::sgd({.rate = 0.05, .momentum = 0.9, .nesterov = true}));
  return training(model, descent, T::uniform({64, 32, 32, 3}), 64);
}

Prepared resnet50() {
  auto model = std::make_shared<const nn::Sequential>(make_resnet50());
  return prepared(tyto::compile([model](T x) { return (*model)(x); }), T::uniform({1, 224, 224, 3}));
}

Prepared product() {
  constexpr std::int64_t length = 1024;
  return prepared(tyto::compile([](T a, T b) { return matmul(a, b); }), T::uniform({length, length}),
                  T::uniform({length, length}));
}

struct Workload {
  std::string_view name;
  Prepared (*make)();
};

constexpr Workload workloads[] = {
    {"mnist", mnist}, {"resnet20", resnet20}, {"resnet50", resnet50}, {"product1024", product}};

/// A workload on a device, with what its runs took and gave.
struct Lane {
  tyto::core::Device* device;
  Prepared prepared;
  double first = 0;
  std::vector<double> times;
  std::vector<std::vector<float>> results;

  Lane(tyto::core::Device* on, const Workload& workload) : device(on) {
    const OnDevice scope(device);
    tyto::seed(42);
    prepared = workload.make();
    first = run();
    while (results.size() < compared_runs)
      run();  // here, as dropout draws from the sequence that the other lane shares
  }

  /// Seconds of a run.
  double run() {
    const OnDevice scope(device);
    const double start = now();
    const T result = prepared.run();
    const auto values = result.data<float>();
    const double took = now() - start;
    if (results.size() < compared_runs) results.emplace_back(values.begin(), values.end());
    return took;
  }

  /// Runs for half a second; the first run, which finds cold caches and the other's threads, does not count.
  void take_turn() {
    const double start = now();
    run();
    do times.push_back(run());
    while (now() - start < 0.5);
  }

  double median() const {
    std::vector<double> sorted = times;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

double difference(const Lane& a, const Lane& b, std::size_t run) {
  double largest = 0, apart = 0;
  for (std::size_t k = 0; k < a.results[run].size(); ++k) {
    const double expected = a.results[run][k];
    largest = std::max(largest, std::abs(expected));
    apart = std::max(apart, std::abs(expected - static_cast<double>(b.results[run][k])));
  }
  return apart / largest;
}

void print_profiles(const Lane& cpu, const Lane& opencl) {
  std::map<std::string, std::pair<double, double>> milliseconds;
  const auto add = [&](const Lane& lane, double std::pair<double, double>::*which) {
    const OnDevice scope(lane.device);
    lane.prepared.profile();
    const tyto::GraphProfile profile = lane.prepared.profile();
    for (const tyto::StepProfile& step : profile.steps) milliseconds[step.name].*which += step.milliseconds;
    milliseconds["the whole"].*which = profile.milliseconds;
    return profile;
  };
  add(cpu, &std::pair<double, double>::first);
  const tyto::GraphProfile steps = add(opencl, &std::pair<double, double>::second);
  if (std::string_view(std::getenv("TYTO_BENCH_PROFILE")) == "steps") {
    for (const tyto::StepProfile& step : steps.steps) {
      std::printf("%9.4f ms %12lld bytes %12lld multiply-adds  %s\n", step.milliseconds,
                  static_cast<long long>(step.bytes), static_cast<long long>(step.multiply_adds), step.name.c_str());
    }
  }
  for (const auto& [name, both] : milliseconds) {
    std::printf("%9.3f %9.3f ms  %s\n", both.first, both.second, name.c_str());
  }
}

void measure(const Workload& workload, tyto::opencl::OpenClDevice& device, double seconds) {
  Lane cpu(nullptr, workload);
  const auto before = device.cache_counts();
  Lane opencl(&device, workload);
  const auto after = device.cache_counts();
  const double start = now();
  while (now() - start < seconds) {
    cpu.take_turn();
    opencl.take_turn();
  }
  const bool as_cpu = device.context().style == tyto::opencl::Style::cpu;
  std::printf(
      "| %s | %s | %.2f | %.2f | %.2f | %.2f | %llu | %llu | %lld | %lld | %.1e, %.1e | %zu |\n", workload.name.data(),
      as_cpu ? "cpu" : "gpu", cpu.median() * 1e3, opencl.median() * 1e3, opencl.median() / cpu.median(), opencl.first,
      static_cast<unsigned long long>(after.compiled - before.compiled),
      static_cast<unsigned long long>(after.from_disk - before.from_disk),
      static_cast<long long>(cpu.prepared.plan().height), static_cast<long long>(opencl.prepared.plan().height),
      difference(cpu, opencl, 0), difference(cpu, opencl, compared_runs - 1), opencl.prepared.fallbacks().size());
  for (const std::string& fallback : opencl.prepared.fallbacks()) std::printf("on the CPU: %s\n", fallback.c_str());
  if (std::getenv("TYTO_BENCH_PROFILE") != nullptr) print_profiles(cpu, opencl);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  using tyto::opencl::Style;
  const double seconds = count > 1 ? std::atof(words[1]) : 5;
  const auto found = tyto::opencl::devices();
  if (found.empty()) {
    std::puts("no OpenCL device");
    return 1;
  }
  const auto& context = static_cast<tyto::opencl::OpenClDevice*>(found[0])->context();
  std::printf(
      "%s, %d threads of the CPU device\n\n| workload | style | CPU ms | OpenCL ms | ratio | first s | compiled | from "
      "disk | planned bytes CPU | planned bytes OpenCL | differences | fallbacks |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      context.description.c_str(), tyto::threads());
  const char* chosen = std::getenv("TYTO_BENCH_STYLE");
  for (const Style style : {Style::cpu, Style::gpu}) {
    if (chosen != nullptr && std::string_view(chosen) != (style == Style::cpu ? "cpu" : "gpu")) continue;
    // Never destroyed: caches of the process hold executables for it.
    auto* const device = new tyto::opencl::OpenClDevice("opencl:0", context.id, style,
                                                        tyto::opencl::default_cache_directory(context.id));
    for (const Workload& workload : workloads) {
      const auto named = [&](const char* word) { return workload.name == word; };
      if (count <= 2 || std::any_of(words + 2, words + count, named)) measure(workload, *device, seconds);
    }
  }
  return 0;
}
