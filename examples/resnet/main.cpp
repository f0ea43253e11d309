// SPDX-License-Identifier: MIT
// Residual networks on CIFAR-10: batch norm, pictures cropped and flipped by a background thread, a one-cycle learning
// rate.
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <string>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"
#include "examples/run_in_mode.hpp"
#include "examples/training_run.hpp"
#include "network.hpp"
#include "pictures.hpp"

namespace nn = tyto::nn;

namespace {

struct Options {
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string data;
  std::string checkpoint;
  std::string csv;
  std::string page;
  std::int64_t depth = 20;
  std::int64_t width = 0;
  std::int64_t samples = 5000;
  std::int64_t epochs = 12;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::int64_t batch = 128;
  std::int64_t save_every = 50;
  std::int64_t padding = 2;
  std::int64_t held_out = 0;
  std::uint64_t seed = 42;
  double rate = 0.8;
  double decay = 5e-4;
  double smoothing = 0.1;
};

CommandLine command_line(Options& options) {
  CommandLine line("resnet", "Trains a residual network on CIFAR-10, or on drawn pictures of ten classes.");
  line.choice("--mode", options.mode, {"eager", "lazy"}, "compute each line at once, or record and compile the step")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .text("--data", options.data, "DIR",
            "folder with CIFAR-10's binary files, plain or .gz; without it synthetic pictures")
      .number("--samples", options.samples, 1, "synthetic pictures to train on, without --data")
      .number("--depth", options.depth, 1, "layers: 8, 14, 20, 26, ... (narrow), or 18 (wide)")
      .number("--width", options.width, 0, "channels of the first stage; 0: 16, for depth 18 64")
      .number("--epochs", options.epochs, 1, "passes over the training set; the learning-rate schedule spans them")
      .number("--steps", options.steps, 0, "stop after this many steps")
      .number("--batch", options.batch, 1, "pictures in a batch")
      .number("--rate", options.rate, 0, "largest learning rate")
      .number("--decay", options.decay, 0, "weight decay")
      .number("--smoothing", options.smoothing, 0, "label smoothing")
      .number("--padding", options.padding, 0, "zeros around a picture before a random crop")
      .number("--held-out", options.held_out, 0,
              "validate on the last N training pictures, which are then not trained on")
      .number("--seed", options.seed, 0, "random seed of weights, order, crops, flips and synthetic pictures")
      .text("--checkpoint", options.checkpoint, "FILE", "resume from FILE if it exists; save there while training")
      .number("--save-every", options.save_every, 1, "steps between checkpoints")
      .text("--csv", options.csv, "FILE", "write the metrics of each epoch")
      .text("--page", options.page, "FILE", "write a page with curves of the metrics");
  return line;
}

template <class Tensor>
int run(const Options& options) {
  // Processes that were started together share each batch; the first one speaks and saves.
  const auto group = tyto::distributed::start();
  if (!group.is_first() && std::freopen("/dev/null", "w", stdout) == nullptr) throw tyto::IoError("/dev/null");
  const tyto::DeviceScope device(options.device);
  tyto::seed(options.seed);
  const nn::Sequential model =
      make_resnet(options.depth, options.width > 0 ? options.width : usual_width(options.depth), 10);
  PictureSets pictures =
      options.data.empty() ? draw_picture_sets(options.samples, options.seed) : read_cifar_folder(options.data);
  if (options.held_out > 0) hold_out(pictures, options.held_out);
  nn::Batches<Tensor> batches(varied(pictures.training, options.padding), {.size = options.batch,
                                                                           .drop_last = true,
                                                                           .seed = options.seed,
                                                                           .ahead = 2,
                                                                           .part = group.rank(),
                                                                           .parts = group.size()});
  nn::Batches<Tensor> test(normalised(pictures.test), {.size = 250, .shuffle = false, .ahead = 2});

  nn::Descent descent = nn::sgd({.rate = nn::one_cycle(options.rate, options.epochs * batches.batches_per_epoch()),
                                 .momentum = 0.9,
                                 .nesterov = true,
                                 .weight_decay = options.decay});
  auto objective = [&](Tensor images, Tensor labels) {
    return nn::cross_entropy(model(images, nn::training), labels, {.smoothing = options.smoothing});
  };
  auto step = tyto::compile([&](Tensor images, Tensor labels) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(images, labels);
    descent.update(model.parameters(), tyto::distributed::average(gradients, images.shape()[0]));
    return tyto::distributed::average(loss, images.shape()[0]);
  });
  auto right = tyto::compile(
      [&](Tensor images, Tensor labels) { return sum((argmax(model(images), 1) == labels).astype(tyto::DType::i64)); });
  const auto validate = [&] {
    std::int64_t count = 0;
    for (const auto& [images, labels] : test) count += right(images, labels).template item<std::int64_t>();
    return nn::Figures{{options.held_out > 0 ? "held-out accuracy" : "test accuracy",
                        static_cast<double>(count) / static_cast<double>(test.samples())}};
  };

  nn::TrainingHistory history({.csv = group.is_first() ? options.csv : "",
                               .page = group.is_first() ? options.page : "",
                               .title = "ResNet-" + std::to_string(options.depth)});
  nn::Checkpoint checkpoint;
  checkpoint.add("model", model.named_states())
      .add("descent", descent.state(model.named_parameters()))
      .add("batches", batches)
      .add("history", history);
  resume(checkpoint, options.checkpoint, descent);
  tyto::distributed::broadcast_states(model.parameters());
  tyto::distributed::separate_draws();
  std::printf("%s: %lld to train, %lld to test; ResNet-%lld, %lld parameters; %s on %s\n", pictures.origin.c_str(),
              static_cast<long long>(batches.samples()), static_cast<long long>(test.samples()),
              static_cast<long long>(options.depth), static_cast<long long>(nn::parameter_count(model)),
              options.mode.c_str(), options.device.c_str());
  if (group.size() > 1) std::printf("%d processes on %s\n", group.size(), group.transport().c_str());
  std::fflush(stdout);

  const nn::TrainingReport report = nn::train(step, batches,
                                              {.epochs = options.epochs,
                                               .steps = options.steps,
                                               .validate = validate,
                                               .history = &history,
                                               .save = {&checkpoint, options.checkpoint, options.save_every}});
  if (const int code = report_end(report, options.checkpoint); code != 0) return code;
  if (report.steps > 0) print_plan<Tensor>(step);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  return run_in_mode("resnet", command_line(options), count, words, options.mode,
                     [&]<class Tensor>() { return run<Tensor>(options); });
}
