// SPDX-License-Identifier: MIT
// A small transformer that learns to add three-digit numbers, or to write text like that of a file.
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"
#include "examples/run_in_mode.hpp"
#include "examples/training_run.hpp"
#include "model.hpp"
#include "sums.hpp"
#include "text.hpp"

namespace nn = tyto::nn;

namespace {

struct Options {
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string text;
  std::string prompt;
  std::string checkpoint;
  std::string csv;
  std::string page;
  GptOptions network = {.length = 64};
  std::int64_t steps = 1000;
  std::int64_t steps_now = std::numeric_limits<std::int64_t>::max();
  std::int64_t batch = 256;
  std::int64_t every = 250;
  std::int64_t write = 400;
  std::uint64_t seed = 42;
  double rate = 0.004;
  double temperature = 0.8;
};

CommandLine command_line(Options& options) {
  CommandLine line("gpt",
                   "Trains a small transformer to add three-digit numbers, or to write text like that of a file.");
  line.choice("--mode", options.mode, {"eager", "lazy"}, "compute each line at once, or record and compile the step")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .text("--text", options.text, "FILE", "learn this text; without it, sums")
      .text("--prompt", options.prompt, "TEXT", "what the written text begins with, or a sum such as 123+456=")
      .number("--write", options.write, 0, "how many symbols of text to write")
      .number("--temperature", options.temperature, 0,
              "sampling temperature of written text; 0: always the likeliest symbol")
      .number("--steps", options.steps, 1, "steps in all; the learning-rate schedule spans them")
      .number("--steps-now", options.steps_now, 0, "stop after this many steps")
      .number("--batch", options.batch, 1, "sequences in a batch")
      .number("--length", options.network.length, 2, "length of text sequences")
      .number("--features", options.network.features, 1, "features of each position")
      .number("--heads", options.network.heads, 1, "attention heads")
      .number("--layers", options.network.layers, 1, "transformer blocks")
      .number("--rate", options.rate, 0, "largest learning rate")
      .number("--seed", options.seed, 0, "random seed of weights, data and sampled text")
      .number("--every", options.every, 1, "steps between evaluations")
      .text("--checkpoint", options.checkpoint, "FILE", "resume from FILE if it exists; save there at each evaluation")
      .text("--csv", options.csv, "FILE", "write the metrics")
      .text("--page", options.page, "FILE", "write a page with curves of the metrics");
  return line;
}

/// Continues sequences, one symbol of each at a time. One compiled function serves all positions and lengths.
template <class Tensor>
class Writer {
 public:
  Writer(const Gpt& model, std::int64_t batch, double temperature)
      : batch_(batch),
        next_(
            tyto::compile([this, &model, temperature, caches = model.make_caches(batch)](Tensor symbols, Tensor place) {
              ++traces_;
              const Tensor scores = model.next(symbols, place, caches);
              if (temperature == 0) return argmax(scores, 1);
              // The largest score with Gumbel noise is a sample of their softmax.
              return argmax(scores / temperature - log(-log(Tensor::uniform(scores.shape(), {.low = 1e-6}))), 1);
            })) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Continues the beginnings, (batch, any length) row by row: returns `count` symbols for each, row by row.
  std::vector<std::int64_t> write_on(const std::vector<std::int64_t>& beginnings, std::int64_t count) {
    const auto rows = static_cast<std::size_t>(batch_), given = beginnings.size() / rows;
    std::vector<std::int64_t> symbols(rows), written(rows * static_cast<std::size_t>(count));
    for (std::size_t place = 0; place + 1 < given + static_cast<std::size_t>(count); ++place) {
      for (std::size_t row = 0; row < rows && place < given; ++row) symbols[row] = beginnings[row * given + place];
      symbols =
          next_(Tensor(symbols), Tensor::full({}, static_cast<std::int64_t>(place))).template to_vector<std::int64_t>();
      for (std::size_t row = 0; row < rows && place + 1 >= given; ++row) {
        written[row * static_cast<std::size_t>(count) + place + 1 - given] = symbols[row];
      }
    }
    return written;
  }

  /// How many times the function was called: in lazy mode, how many times it was traced.
  std::int64_t traces() const { return traces_; }

 private:
  using Next = std::function<Tensor(const Tensor&, const Tensor&)>;
  std::int64_t batch_;
  std::int64_t traces_ = 0;
  Next next_;
};

std::string spelled(const std::vector<std::int64_t>& numbers, const std::string& symbols) {
  std::string out;
  for (const std::int64_t number : numbers) out += symbols[static_cast<std::size_t>(number)];
  return out;
}

/// A task: its training data, and how the model is evaluated.
template <class Tensor>
struct Task {
  std::string name;
  std::string symbols;
  std::int64_t length;
  nn::Batches<Tensor> batches;
  std::function<nn::Figures(const Gpt&)> validate;
  std::function<void(const Gpt&)> show;
};

nn::BatchOptions batch_options(const Options& options) {
  return {.size = options.batch, .shuffle = false, .seed = options.seed, .ahead = 2};
}

template <class Tensor>
Task<Tensor> sums_task(const Options& options) {
  const auto sums = std::make_shared<const UnseenSums>(unseen_sums());
  const auto writer = std::make_shared<std::unique_ptr<Writer<Tensor>>>();
  const auto validate = [sums, writer](const Gpt& model) {
    if (!*writer) *writer = std::make_unique<Writer<Tensor>>(model, UnseenSums::count, 0);
    const std::vector<std::int64_t> answers = (*writer)->write_on(sums->questions, answer_length);
    std::int64_t right = 0;
    for (auto at = answers.begin(), truth = sums->answers.begin(); at != answers.end();
         at += answer_length, truth += answer_length) {
      right += std::equal(at, at + answer_length, truth) ? 1 : 0;
    }
    return nn::Figures{{"right", static_cast<double>(right) / UnseenSums::count}};
  };
  const auto show = [writer, prompt = options.prompt.empty() ? "123+456=" : options.prompt](const Gpt& model) {
    if (prompt.size() != question_length)
      throw std::invalid_argument("--prompt: '" + prompt + "' is no sum such as 123+456=");
    Writer<Tensor> one(model, 1, 0);
    std::string answer = spelled(one.write_on(numbers_of(prompt, sum_symbols), answer_length), sum_symbols);
    std::reverse(answer.begin(), answer.end());
    std::printf("%s%s\n", prompt.c_str(), answer.c_str());
    if (std::is_same_v<typename Tensor::mode, tyto::Lazy> && *writer) {
      std::printf("answers written by a function compiled %lld time(s)\n", static_cast<long long>((*writer)->traces()));
    }
  };
  return {"sums of three digits",
          sum_symbols,
          question_length + answer_length - 1,
          nn::Batches<Tensor>(Sums(options.steps * options.batch), batch_options(options)),
          validate,
          show};
}

template <class Tensor>
Task<Tensor> text_task(const Options& options) {
  const std::int64_t length = options.network.length;
  const auto text = std::make_shared<const Text>(read_text_file(options.text, length));
  // The same held-out windows at each evaluation.
  constexpr std::int64_t windows = 256;
  const auto test = std::make_shared<nn::Batches<Tensor>>(Windows(text->held_back, length, windows),
                                                          nn::BatchOptions{.size = 64, .shuffle = false});
  const auto validate = [test](const Gpt& model) {
    test->seek({0, 0});
    double total = 0;
    for (const auto& [inputs, targets] : *test) total += cross_entropy(model(inputs), targets).template item<double>();
    return nn::Figures{{"held-out nats a symbol", total / static_cast<double>(test->batches_per_epoch())}};
  };
  const auto show = [text, options](const Gpt& model) {
    const std::string prompt =
        options.prompt.empty() ? std::string(1, text->symbols[text->training[0]]) : options.prompt;
    std::vector<std::int64_t> written = numbers_of(prompt, text->symbols);
    Writer<Tensor> writer(model, 1, options.temperature);
    const auto room = static_cast<std::size_t>(options.network.length);
    // The cache has room for so many places: then half of what it holds is read again from its beginning.
    const std::size_t end = written.size() + static_cast<std::size_t>(options.write);
    while (written.size() < end) {
      const std::size_t kept = std::min(written.size(), room / 2);
      const std::vector<std::int64_t> beginning(written.end() - static_cast<std::ptrdiff_t>(kept), written.end());
      const std::size_t count = std::min(end - written.size(), room + 1 - kept);
      const std::vector<std::int64_t> more = writer.write_on(beginning, static_cast<std::int64_t>(count));
      written.insert(written.end(), more.begin(), more.end());
    }
    std::printf("%s\n", spelled(written, text->symbols).c_str());
    if (std::is_same_v<typename Tensor::mode, tyto::Lazy>) {
      std::printf("written by a function compiled %lld time(s)\n", static_cast<long long>(writer.traces()));
    }
  };
  return {options.text,
          text->symbols,
          length,
          nn::Batches<Tensor>(Windows(text->training, length, options.steps * options.batch), batch_options(options)),
          validate,
          show};
}

template <class Tensor>
int run(const Options& options) {
  const tyto::DeviceScope device(options.device);
  tyto::seed(options.seed);
  Task<Tensor> task = options.text.empty() ? sums_task<Tensor>(options) : text_task<Tensor>(options);
  GptOptions network = options.network;
  network.symbols = static_cast<std::int64_t>(task.symbols.size());
  network.length = task.length;
  const Gpt model(network);

  nn::Descent descent = nn::adamw({.rate = nn::one_cycle(options.rate, options.steps), .beta2 = 0.98});
  auto objective = [&](Tensor inputs, Tensor targets) {
    return nn::cross_entropy(model(inputs, nn::training), targets, {.ignored = -1});
  };
  auto step = tyto::compile([&](Tensor inputs, Tensor targets) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(inputs, targets);
    descent.update(model.parameters(), nn::clip_by_global_norm(gradients, 1));
    return loss;
  });

  nn::TrainingHistory history({.every = options.every, .csv = options.csv, .page = options.page, .title = task.name});
  nn::Checkpoint checkpoint;
  checkpoint.add("model", model.named_states())
      .add("descent", descent.state(model.named_parameters()))
      .add("batches", task.batches)
      .add("history", history);
  resume(checkpoint, options.checkpoint, descent);
  std::printf("%s: %zu symbols, %lld parameters; %s on %s\n", task.name.c_str(), task.symbols.size(),
              static_cast<long long>(nn::parameter_count(model)), options.mode.c_str(), options.device.c_str());
  std::fflush(stdout);

  const nn::TrainingReport report = nn::train(step, task.batches,
                                              {.steps = options.steps_now,
                                               .validate = [&] { return task.validate(model); },
                                               .history = &history,
                                               .save = {&checkpoint, options.checkpoint, options.every}});
  if (const int code = report_end(report, options.checkpoint); code != 0) return code;
  task.show(model);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  return run_in_mode("gpt", command_line(options), count, words, options.mode,
                     [&]<class Tensor>() { return run<Tensor>(options); });
}
