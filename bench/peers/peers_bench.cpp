// SPDX-License-Identifier: MIT
// The network of examples/mnist, one training step of 100 pictures in f32: Tyto eager and lazy beside PyTorch eager and
// compiled, each in a process of its own and in turn, so that the machine's moods meet all of them.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/mnist_network.hpp"
#include "bench/process_usage.hpp"

namespace {

namespace nn = tyto::nn;
using tyto::bench::peak_bytes;
using tyto::bench::processor_seconds;
using tyto::bench::wall_seconds;
using Host = tyto::Tensor<tyto::Eager>;

constexpr std::int64_t batch = 100, pictures = 2000;

/// Steps a second, processor time of all threads a step, growth of the process, bytes of the plan and of the states,
/// losses of the first and the last step.
struct Figures {
  double rate = 0, busy = 0, grown = 0, planned = 0, first_loss = 0, last_loss = 0;
};

template <class Tensor>
Figures train(const std::string& folder, double seconds) {
  const auto images = tyto::read_npy<Tensor>(folder + "/images.npy");
  const auto labels = tyto::read_npy<Tensor>(folder + "/labels.npy");
  Figures figures;
  const double before = peak_bytes();
  tyto::seed(42);
  const nn::Sequential model = tyto::bench::mnist_network();
  nn::Descent descent = nn::adagrad({.rate = 0.005});
  auto objective = [&](Tensor x, Tensor t) {
    return cross_entropy(model(x.astype(tyto::DType::f32) / 256.0, nn::training), t);
  };
  auto step = tyto::compile([&](Tensor x, Tensor t) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x, t);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  std::int64_t done = 0;
  const auto one = [&] {
    const std::int64_t first = done++ * batch % pictures;
    const auto rows = tyto::slice(first, first + batch);
    return static_cast<double>(step(std::as_const(images)(rows), std::as_const(labels)(rows)).template item<float>());
  };
  constexpr std::int64_t warm_up = 5;
  figures.first_loss = one();
  while (done < warm_up) one();
  const double start = wall_seconds(), busy = processor_seconds();
  while (wall_seconds() - start < seconds) figures.last_loss = one();
  figures.rate = static_cast<double>(done - warm_up) / (wall_seconds() - start);
  figures.busy = (processor_seconds() - busy) / static_cast<double>(done - warm_up);
  figures.grown = peak_bytes() - before;
  if constexpr (std::is_same_v<typename Tensor::mode, tyto::Lazy>) {
    figures.planned = static_cast<double>(step.plan().height) + static_cast<double>(step.report().state_bytes);
  }
  return figures;
}

int run_child(const std::string& folder, const std::string& mode, double seconds) {
  const Figures f = mode == "eager" ? train<tyto::Tensor<tyto::Eager>>(folder, seconds)
                                    : train<tyto::Tensor<tyto::Lazy>>(folder, seconds);
  std::printf("%.6g %.6g %.0f %.0f %.9g %.9g\n", f.rate, f.busy, f.grown, f.planned, f.first_loss, f.last_loss);
  return 0;
}

/// The line that a child prints.
bool figures_of(const std::string& command, Figures& figures) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  const int found = std::fscanf(pipe, "%lf %lf %lf %lf %lf %lf", &figures.rate, &figures.busy, &figures.grown,
                                &figures.planned, &figures.first_loss, &figures.last_loss);
  return pclose(pipe) == 0 && found == 6;
}

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

/// The first pictures of the real set where $TYTO_DATA has it, else noise: the arithmetic is the same.
std::string save_pictures(const std::string& folder) {
  const char* data = std::getenv("TYTO_DATA");
  for (const char* suffix : {".gz", ""}) {
    if (data == nullptr) break;
    const std::string base = std::string(data) + "/mnist/train-";
    const std::string images = base + "images-idx3-ubyte" + suffix, labels = base + "labels-idx1-ubyte" + suffix;
    if (!std::filesystem::exists(images)) continue;
    const Host all_images = tyto::read_idx<Host>(images), all_labels = tyto::read_idx<Host>(labels);
    tyto::write_npy(folder + "/images.npy", reshape(all_images(tyto::slice(0, pictures)), {pictures, 28, 28, 1}));
    tyto::write_npy(folder + "/labels.npy", all_labels(tyto::slice(0, pictures)).astype(tyto::DType::i64));
    return "MNIST";
  }
  tyto::seed(1);
  tyto::write_npy(folder + "/images.npy",
                  Host::integers({pictures, 28, 28, 1}, {.low = 0, .high = 256, .dtype = tyto::DType::u8}));
  tyto::write_npy(folder + "/labels.npy", Host::integers({pictures}, {.low = 0, .high = 10}));
  return "noise, for there is no MNIST in $TYTO_DATA";
}

struct Side {
  std::string name, command;
  std::vector<Figures> rounds = {};
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

int compare(const std::string& program) {
  constexpr int rounds = 5;
  constexpr double seconds = 4;
  std::string folder = (std::filesystem::temp_directory_path() / "tyto_peers_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw tyto::IoError(folder + ": cannot be made");
  std::printf("pictures: %s; %d threads\n", save_pictures(folder).c_str(), tyto::threads());

  std::vector<Side> sides;
  const std::string arguments = " " + in_quotes(folder) + " ";
  const std::string time = " " + std::to_string(seconds);
  for (const char* mode : {"lazy", "eager"}) {
    sides.push_back({std::string("tyto ") + mode, in_quotes(program) + " --child" + arguments + mode + time});
  }
  if (std::system("python3 -c 'import torch, numpy' >/dev/null 2>&1") != 0) {
    std::printf("PyTorch is not installed for python3: only Tyto's own modes are compared\n");
  } else {
    for (const char* mode : {"eager", "compiled"}) {
      Side side{std::string("torch ") + mode,
                "python3 " + in_quotes(TYTO_PEERS_SCRIPT) + arguments + mode + time + " 2>/dev/null"};
      Figures trial;
      if (figures_of(side.command, trial)) sides.push_back(std::move(side));
      else std::printf("%s does not run here and is left out\n", side.name.c_str());
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (Side& side : sides) {
      Figures figures;
      if (!figures_of(side.command, figures)) throw tyto::Error(side.name + " failed");
      side.rounds.push_back(figures);
    }
  }
  std::filesystem::remove_all(folder);

  std::printf("%-16s %9s %10s %12s %10s %12s %12s %11s %11s\n", "", "steps/s", "ratio", "cpu ms/step", "ratio",
              "grown MiB", "planned MiB", "first loss", "last loss");
  for (const Side& side : sides) {
    std::vector<double> rates, rate_ratios, busy, busy_ratios, grown;
    for (std::size_t i = 0; i < side.rounds.size(); ++i) {
      const Figures &own = side.rounds[i], &lazy = sides[0].rounds[i];
      rates.push_back(own.rate);
      rate_ratios.push_back(lazy.rate / own.rate);
      busy.push_back(own.busy * 1e3);
      busy_ratios.push_back(own.busy / lazy.busy);
      grown.push_back(own.grown / (1 << 20));
    }
    const Figures& any = side.rounds.back();
    std::printf("%-16s %9.2f %10.2f %12.1f %10.2f %12.1f %12.1f %11.5f %11.5f\n", side.name.c_str(), median(rates),
                median(rate_ratios), median(busy), median(busy_ratios), median(grown), any.planned / (1 << 20),
                any.first_loss, any.last_loss);
  }
  std::printf("ratios: how many times faster than this the lazy mode is, and how many times its processor time\n");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 5 && std::string(words[1]) == "--child") return run_child(words[2], words[3], std::atof(words[4]));
    return compare(words[0]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peers_bench: %s\n", error.what());
    return 1;
  }
}
