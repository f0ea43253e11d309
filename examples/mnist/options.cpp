// The command line.
#include "options.hpp"

#include <charconv>
#include <cstring>
#include <iostream>
#include <limits>
#include <stdexcept>

namespace {

constexpr const char* help = R"(usage: mnist [OPTIONS]

Trains Owl's MNIST network (convolution 5x5x32, pooling, dropout, dense 1024, dense 10) with Adagrad.

  --mode eager|lazy    compute each line at once, or record and compile the step (lazy)
  --device NAME        cpu, opencl, opencl:1 ... (cpu)
  --data DIR           folder with the four MNIST files, plain or .gz; without it digits are drawn
  --samples N          how many digits to draw for training (20000)
  --epochs N           times through the training set (2)
  --steps N            stop after so many steps of this run
  --batch N            pictures in a step (100)
  --rate R             learning rate (0.005)
  --seed N             of weights, dropout, order and drawing (42)
  --checkpoint FILE    go on from FILE if it is there; save there every --save-every steps and at the end
  --save-every N       (100)
  --losses FILE        write the loss of every step, a line each
)";

template <class T>
T number(const char* name, const std::string& text, T least) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      value > std::numeric_limits<T>::max()) {
    throw std::invalid_argument(std::string(name) + ": '" + text + "' is no number from " + std::to_string(least) +
                                " on");
  }
  return value;
}

}  // namespace

std::optional<Options> parse_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const char* name = words[i];
    if (std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0) {
      std::cout << help;
      return {};
    }
    if (i + 1 == count) throw std::invalid_argument(std::string(name) + ": no such option, or its value is missing");
    const std::string value = words[++i];
    const auto is = [&](const char* option) { return std::strcmp(name, option) == 0; };
    if (is("--mode")) {
      if (value != "eager" && value != "lazy")
        throw std::invalid_argument("--mode: '" + value + "' is neither eager nor lazy");
      options.mode = value;
    } else if (is("--device")) {
      options.device = value;
    } else if (is("--data")) {
      options.data = value;
    } else if (is("--checkpoint")) {
      options.checkpoint = value;
    } else if (is("--losses")) {
      options.losses = value;
    } else if (is("--epochs")) {
      options.epochs = number<std::int64_t>(name, value, 0);
    } else if (is("--steps")) {
      options.steps = number<std::int64_t>(name, value, 0);
    } else if (is("--batch")) {
      options.batch = number<std::int64_t>(name, value, 1);
    } else if (is("--save-every")) {
      options.save_every = number<std::int64_t>(name, value, 1);
    } else if (is("--samples")) {
      options.samples = number<std::int64_t>(name, value, 1);
    } else if (is("--seed")) {
      options.seed = number<std::uint64_t>(name, value, 0);
    } else if (is("--rate")) {
      options.rate = number<double>(name, value, 0);
    } else {
      throw std::invalid_argument(std::string(name) + ": no such option; see --help");
    }
  }
  return options;
}
