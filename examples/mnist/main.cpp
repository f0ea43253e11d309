// SPDX-License-Identifier: MIT
// Owl's lazy_mnist in Tyto: one program, the mode chosen on the command line.
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "digits.hpp"
#include "examples/run_in_mode.hpp"
#include "examples/training_run.hpp"
#include "options.hpp"

namespace nn = tyto::nn;

namespace {

// Adagrad's first steps are as long as its rate, whatever the gradient. Filters that begin small beside them, and
// pixels that are large, are shaped by the data from the first step on: worth 0.3 % of accuracy after two epochs.
constexpr double filter_limit = 0.03, ink = 10;

nn::Sequential make_network() {
  return {nn::Conv2d(
              {.in = 1, .out = 32, .window = 5, .padding = tyto::same, .initial = nn::uniform_weights(filter_limit)}),
          tyto::relu,
          nn::MaxPool(2),
          nn::Dropout(0.1),
          nn::Flatten(),
          nn::Linear({.in = 14 * 14 * 32, .out = 1024}),
          tyto::relu,
          nn::Linear({.in = 1024, .out = 10})};
}

// Of a resumed run the losses of the steps before its checkpoint are kept.
std::ofstream open_losses(const std::string& path, std::int64_t steps_done) {
  std::vector<std::string> kept;
  std::ifstream before(path);
  for (std::string line; static_cast<std::int64_t>(kept.size()) < steps_done && std::getline(before, line);) {
    kept.push_back(line);
  }
  std::ofstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be written");
  file.precision(9);
  for (const std::string& line : kept) file << line << '\n';
  return file;
}

template <class Tensor>
Tensor pixels(const Tensor& images) {
  return images.astype(tyto::DType::f32) * (ink / 256);
}

/// The part of the pictures that the network classifies correctly.
template <class Tensor>
double accuracy(const nn::Sequential& model, const Digits& digits) {
  auto right = tyto::compile(
      [&](Tensor images, Tensor labels) { return mean(equal(argmax(model(pixels(images)), 1), labels)); });
  nn::Batches<Tensor> batches(digits.images, digits.labels, {.size = 500, .shuffle = false});
  return nn::mean_over_batches(right, batches);
}

template <class Tensor>
int run(const Options& options) {
  // Processes that were started together share each batch; the first one speaks and saves.
  const auto group = tyto::distributed::start();
  if (!group.is_first() && std::freopen("/dev/null", "w", stdout) == nullptr) throw tyto::IoError("/dev/null");
  const DigitSets digits = load_digits(options);
  const tyto::DeviceScope device(options.device);
  tyto::seed(options.seed);

  const nn::Sequential model = make_network();
  nn::Descent descent = nn::adagrad({.rate = options.rate});
  nn::Batches<Tensor> batches(
      digits.training.images, digits.training.labels,
      {.size = options.batch, .seed = options.seed, .part = group.rank(), .parts = group.size()});

  auto objective = [&](Tensor images, Tensor labels) {
    return cross_entropy(model(pixels(images), nn::training), labels.astype(tyto::DType::i64));
  };
  auto step = tyto::compile([&](Tensor images, Tensor labels) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(images, labels);
    descent.update(model.parameters(), tyto::distributed::average(gradients, images.shape()[0]));
    return tyto::distributed::average(loss, images.shape()[0]);
  });

  nn::Checkpoint checkpoint;
  checkpoint.add("model", model.named_states());
  checkpoint.add("descent", descent.state(model.named_parameters()));
  checkpoint.add("batches", batches);
  resume(checkpoint, options.checkpoint, descent);
  tyto::distributed::broadcast_states(model.parameters());
  tyto::distributed::separate_draws();
  std::optional<std::ofstream> losses;
  if (group.is_first() && !options.losses.empty()) losses = open_losses(options.losses, descent.count());
  std::printf("%s: %lld to train, %lld to test; %s on %s\n", digits.origin.c_str(),
              static_cast<long long>(batches.samples()), static_cast<long long>(digits.test.labels.size()),
              options.mode.c_str(), options.device.c_str());
  if (group.size() > 1) std::printf("%d processes on %s\n", group.size(), group.transport().c_str());
  std::fflush(stdout);

  const auto after_step = [&](const nn::StepReport& report) {
    if (losses) *losses << report.loss << std::endl;
    return true;
  };
  const nn::TrainingReport report = nn::train(step, batches,
                                              {.epochs = options.epochs,
                                               .steps = options.steps,
                                               .after_step = after_step,
                                               .save = {&checkpoint, options.checkpoint, options.save_every}});
  if (const int code = report_end(report, options.checkpoint); code != 0) return code;

  if (report.steps > 0) print_plan<Tensor>(step);
  if (!group.is_first()) return 0;
  std::printf("test accuracy %.2f %%\n", 100 * accuracy<Tensor>(model, digits.test));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak of the process %.0f MiB\n", static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  return run_in_mode("mnist", command_line(options), count, words, options.mode,
                     [&]<class Tensor>() { return run<Tensor>(options); });
}
