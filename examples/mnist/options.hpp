// SPDX-License-Identifier: MIT
// Options of the command line.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "examples/command_line.hpp"

struct Options {
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string data;  // folder of the real data set; empty: drawn digits
  std::string checkpoint;
  std::string losses;
  std::int64_t epochs = 2;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();  // at most so many in this run
  std::int64_t batch = 100;
  std::int64_t save_every = 100;
  std::int64_t samples = 20000;  // of drawn digits
  std::uint64_t seed = 42;
  double rate = 0.005;
};

inline CommandLine command_line(Options& options) {
  CommandLine line(
      "mnist", "Trains Owl's MNIST network (convolution 5x5x32, pooling, dropout, dense 1024, dense 10) with Adagrad.");
  line.choice("--mode", options.mode, {"eager", "lazy"}, "compute each line at once, or record and compile the step")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .text("--data", options.data, "DIR",
            "folder with the four MNIST files, plain or .gz; without it synthetic digits")
      .number("--samples", options.samples, 1, "synthetic digits to train on, without --data")
      .number("--epochs", options.epochs, 0, "passes over the training set")
      .number("--steps", options.steps, 0, "stop after this many steps")
      .number("--batch", options.batch, 1, "pictures in a batch")
      .number("--rate", options.rate, 0, "learning rate")
      .number("--seed", options.seed, 0, "random seed of weights, dropout, order and synthetic digits")
      .text("--checkpoint", options.checkpoint, "FILE", "resume from FILE if it exists; save there while training")
      .number("--save-every", options.save_every, 1, "steps between checkpoints")
      .text("--losses", options.losses, "FILE", "write the loss of every step, a line each");
  return line;
}
