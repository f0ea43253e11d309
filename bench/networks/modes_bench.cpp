// SPDX-License-Identifier: MIT
// Eager against lazy mode, time and memory, for the networks by which Owl's report compares them (its figure 7):
// InceptionV3, ResNet-50 and Mask R-CNN on one picture, and training steps of a network for MNIST.
//
//   modes_bench [SECONDS]
//
// Each network and mode runs in a process of its own, whose growth tells its memory. A line a network: milliseconds of
// the median run and megabytes for both modes, what of them is states and planned, and the largest difference of
// results.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/mnist_network.hpp"
#include "examples/inception/networks.hpp"
#include "examples/mask_rcnn/network.hpp"

namespace {

namespace nn = tyto::nn;
using Host = tyto::Tensor<tyto::Eager>;

constexpr std::int64_t compared_steps = 3, mnist_batch = 100;
const std::vector<std::string> networks{"inception_v3", "resnet50", "mask_rcnn", "mnist training"};

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

/// Milliseconds of the median run, growth of the process, planned memory and states in bytes (lazy mode), and what the
/// first runs gave.
struct Figures {
  double milliseconds = 0, grown = 0, planned = 0, states = 0;
};

template <class Tensor>
struct Measured {
  Figures figures;
  std::vector<Tensor> results;
};

template <class Tensor>
Measured<Tensor> measure(double seconds, const std::function<Tensor()>& run) {
  Measured<Tensor> measured;
  std::vector<double> times;
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double start = now();
  for (double before = start; measured.results.size() < compared_steps + 2 || before - start < seconds;) {
    const Tensor result = run();
    result.template data<float>();
    const double after = now();
    times.push_back(after - before);
    before = after;
    measured.results.push_back(result);
  }
  times.erase(times.begin());  // the first run prepares
  std::sort(times.begin(), times.end());
  measured.figures.milliseconds = times[times.size() / 2] * 1e3;
  measured.results.resize(compared_steps);
  return measured;
}

template <class Compiled>
void add_plan(Figures& figures, const Compiled& function, bool lazy) {
  if (!lazy) return;
  figures.planned = static_cast<double>(function.plan().height);
  figures.states = static_cast<double>(function.report().state_bytes);
}

template <class Tensor>
Measured<Tensor> run(const std::string& network, double seconds) {
  constexpr bool lazy = std::is_same_v<typename Tensor::mode, tyto::Lazy>;
  tyto::seed(42);
  if (network == "mnist training") {
    const nn::Sequential model = tyto::bench::mnist_network();
    nn::Descent descent = nn::adagrad({.rate = 0.005});
    const Tensor images = Tensor::uniform({mnist_batch, 28, 28, 1});
    const Tensor labels = Tensor::integers({mnist_batch}, {.low = 0, .high = 10});
    auto objective = [&](Tensor x, Tensor t) { return cross_entropy(model(x, nn::training), t); };
    auto step = tyto::compile([&](Tensor x, Tensor t) {
      auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x, t);
      descent.update(model.parameters(), gradients);
      return loss;
    });
    auto measured = measure<Tensor>(seconds, [&] { return step(images, labels); });
    add_plan(measured.figures, step, lazy);
    return measured;
  }
  if (network == "mask_rcnn") {
    const MaskRcnnOptions options = full_size();
    const MaskRcnn model(options);
    const Tensor picture = Tensor::uniform({1, options.side, options.side, 3}, {.low = -1});
    auto detect =
        tyto::compile([&](Tensor x) { return Tensor(model.detect(tyto::Tensor<tyto::Any>(x.value())).masks); });
    auto measured = measure<Tensor>(seconds, [&] { return detect(picture); });
    add_plan(measured.figures, detect, lazy);
    return measured;
  }
  const nn::Sequential model = network == "resnet50" ? make_resnet50() : make_inception_v3();
  const std::int64_t side = network == "resnet50" ? 224 : 299;
  const Tensor picture = Tensor::uniform({1, side, side, 3});
  auto forward = tyto::compile([&](Tensor x) { return model(x); });
  auto measured = measure<Tensor>(seconds, [&] { return forward(picture); });
  add_plan(measured.figures, forward, lazy);
  return measured;
}

template <class Tensor>
int run_child(const std::string& network, const std::string& results, double seconds) {
  const double before = peak_bytes();
  Measured<Tensor> measured = run<Tensor>(network, seconds);
  measured.figures.grown = peak_bytes() - before;
  tyto::write_npy(results, stack(measured.results));
  const Figures& f = measured.figures;
  std::printf("%.6g %.0f %.0f %.0f\n", f.milliseconds, f.grown, f.planned, f.states);
  return 0;
}

Figures figures_of(const std::string& command) {
  Figures figures;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw tyto::Error(command + " cannot be started");
  const int found =
      std::fscanf(pipe, "%lf %lf %lf %lf", &figures.milliseconds, &figures.grown, &figures.planned, &figures.states);
  if (pclose(pipe) != 0 || found != 4) throw tyto::Error(command + " failed");
  return figures;
}

int compare(const std::string& program, double seconds) {
  std::string folder = (std::filesystem::temp_directory_path() / "tyto_modes_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw tyto::IoError(folder + ": cannot be made");
  std::printf(
      "%d threads\n\n| network | eager ms | lazy ms | eager / lazy | eager MB | lazy MB | eager / lazy | "
      "planned MB | states MB | difference |\n|---|---|---|---|---|---|---|---|---|---|\n",
      tyto::threads());
  for (const std::string& network : networks) {
    const auto child = [&](const std::string& mode) {
      return figures_of("'" + program + "' --child '" + network + "' " + mode + " '" + folder + "/" + mode + ".npy' " +
                        std::to_string(seconds));
    };
    const Figures eager = child("eager"), lazy = child("lazy");
    const Host one = tyto::read_npy<Host>(folder + "/eager.npy"), other = tyto::read_npy<Host>(folder + "/lazy.npy");
    const float difference = (max(abs(one - other)) / max(abs(one))).item<float>();
    std::printf("| %s | %.2f | %.2f | %.2f | %.1f | %.1f | %.2f | %.1f | %.1f | %.1e |\n", network.c_str(),
                eager.milliseconds, lazy.milliseconds, eager.milliseconds / lazy.milliseconds, eager.grown / 1e6,
                lazy.grown / 1e6, eager.grown / lazy.grown, lazy.planned / 1e6, lazy.states / 1e6,
                static_cast<double>(difference));
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 6 && std::string(words[1]) == "--child") {
      const bool eager = std::string(words[3]) == "eager";
      return eager ? run_child<Host>(words[2], words[4], std::atof(words[5]))
                   : run_child<tyto::Tensor<tyto::Lazy>>(words[2], words[4], std::atof(words[5]));
    }
    return compare(words[0], count > 1 ? std::atof(words[1]) : 4);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "modes_bench: %s\n", error.what());
    return 1;
  }
}
