// SPDX-License-Identifier: MIT
// An LSTM reads a list of words letter by letter, learns to predict the next one, and invents words.
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <string>
#include <tuple>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"
#include "examples/run_in_mode.hpp"
#include "examples/training_run.hpp"
#include "words.hpp"

namespace nn = tyto::nn;

namespace {

struct Options {
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string words = "/usr/share/dict/words";
  std::string checkpoint;
  std::string csv;
  std::string page;
  std::int64_t hidden = 192;
  std::int64_t epochs = 4;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::int64_t batch = 128;
  std::int64_t save_every = 100;
  std::int64_t invent = 24;
  std::uint64_t seed = 42;
  double rate = 0.008;
  double temperature = 0.7;
};

CommandLine command_line(Options& options) {
  CommandLine line("char_rnn", "Trains an LSTM on a list of words, letter by letter, and has it invent words.");
  line.choice("--mode", options.mode, {"eager", "lazy"}, "compute each line at once, or record and compile the step")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .text("--words", options.words, "FILE", "list of words, one a line")
      .number("--hidden", options.hidden, 1, "hidden features of the LSTM")
      .number("--epochs", options.epochs, 1, "passes over the words; the learning-rate schedule spans them")
      .number("--steps", options.steps, 0, "stop after this many steps")
      .number("--batch", options.batch, 1, "words in a batch")
      .number("--rate", options.rate, 0, "largest learning rate")
      .number("--invent", options.invent, 0, "how many words to invent")
      .number("--temperature", options.temperature, 1e-3, "sampling temperature of their letters")
      .number("--seed", options.seed, 0, "random seed of weights, order and letters")
      .text("--checkpoint", options.checkpoint, "FILE", "resume from FILE if it exists; save there while training")
      .number("--save-every", options.save_every, 1, "steps between checkpoints")
      .text("--csv", options.csv, "FILE", "write the metrics of each epoch")
      .text("--page", options.page, "FILE", "write a page with curves of the metrics");
  return line;
}

struct Speller : nn::Module {
  nn::Embedding letter;
  nn::LSTM lstm;
  nn::Linear guess;

  explicit Speller(std::int64_t hidden)
      : letter({.count = letters, .features = 32}),
        lstm({.in = 32, .hidden = hidden}),
        guess({.in = hidden, .out = letters}) {}

  /// Letters (words, length), and the state before them, to scores of the letters that follow.
  template <class M>
  std::pair<tyto::Tensor<M>, nn::RecurrentState<M>> read(const tyto::Tensor<M>& row,
                                                         const nn::RecurrentState<M>& before = {}) const {
    const nn::Recurrence<M> read = lstm.run(letter(row), before);
    return {guess(read.output), read.state};
  }
  nn::Members members() const override { return {{"letter", letter}, {"lstm", lstm}, {"guess", guess}}; }
};

/// Words sampled letter by letter, all at once; the LSTM's state goes from one call to the next.
template <class Tensor>
std::vector<std::string> invent(const Speller& model, const Options& options) {
  auto next = tyto::compile([&](Tensor row, Tensor hidden, Tensor cell) {
    const auto [scores, state] = model.read(row, {hidden, cell});
    // The largest score with Gumbel noise is a sample of their softmax.
    const Tensor noise = -log(-log(Tensor::uniform(scores.shape(), {.low = 1e-6})));
    return std::tuple(argmax(scores / options.temperature + noise, 2), state.hidden, state.cell);
  });
  std::vector<std::string> words(static_cast<std::size_t>(options.invent));
  std::vector<bool> ended(words.size());
  Tensor row = Tensor::zeros({options.invent, 1}, tyto::DType::i64);
  Tensor hidden = Tensor::zeros({1, options.invent, options.hidden}), cell = hidden;
  for (std::int64_t i = 0; i < longest_word && options.invent > 0; ++i) {
    std::tie(row, hidden, cell) = next(row, hidden, cell);
    const auto drawn = row.template to_vector<std::int64_t>();
    for (std::size_t word = 0; word < words.size(); ++word) {
      if (drawn[word] == 0) ended[word] = true;
      if (!ended[word]) words[word] += static_cast<char>('a' + drawn[word] - 1);
    }
  }
  return words;
}

template <class Tensor>
int run(const Options& options) {
  const WordList words = read_words(options.words);
  const tyto::DeviceScope device(options.device);
  tyto::seed(options.seed);
  const Speller model(options.hidden);
  nn::Batches<Tensor> batches(words.training.inputs, words.training.targets,
                              {.size = options.batch, .drop_last = true, .seed = options.seed});
  nn::Batches<Tensor> test(words.held_back.inputs, words.held_back.targets, {.size = 512, .shuffle = false});

  nn::Descent descent = nn::adam({.rate = nn::one_cycle(options.rate, options.epochs * batches.batches_per_epoch())});
  auto objective = [&](Tensor inputs, Tensor targets) {
    return nn::cross_entropy(model.read(inputs).first, targets, {.ignored = -1});
  };
  auto step = tyto::compile([&](Tensor inputs, Tensor targets) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(inputs, targets);
    descent.update(model.parameters(), nn::clip_by_global_norm(gradients, 1));
    return loss;
  });
  // The sum over letters and their count, since words are of different lengths.
  auto guesses = tyto::compile([&](Tensor inputs, Tensor targets) {
    const Tensor total =
        nn::cross_entropy(model.read(inputs).first, targets, {.ignored = -1, .reduction = nn::Reduction::sum});
    return std::pair(total, sum((targets >= 0).astype(tyto::DType::i64)));
  });
  const auto validate = [&] {
    double nats = 0, count = 0;
    for (const auto& [inputs, targets] : test) {
      const auto [total, number] = guesses(inputs, targets);
      nats += total.template item<double>();
      count += number.template item<double>();
    }
    return nn::Figures{{"held-out nats a letter", nats / count}};
  };

  nn::TrainingHistory history({.csv = options.csv, .page = options.page, .title = "Words"});
  nn::Checkpoint checkpoint;
  checkpoint.add("model", model.named_states())
      .add("descent", descent.state(model.named_parameters()))
      .add("batches", batches)
      .add("history", history);
  resume(checkpoint, options.checkpoint, descent);
  std::printf("%s: %lld words to learn, %lld held back; %lld parameters; %s on %s\n", options.words.c_str(),
              static_cast<long long>(batches.samples()), static_cast<long long>(test.samples()),
              static_cast<long long>(nn::parameter_count(model)), options.mode.c_str(), options.device.c_str());
  std::fflush(stdout);

  const nn::TrainingReport report = nn::train(step, batches,
                                              {.epochs = options.epochs,
                                               .steps = options.steps,
                                               .validate = validate,
                                               .history = &history,
                                               .save = {&checkpoint, options.checkpoint, options.save_every}});
  if (const int code = report_end(report, options.checkpoint); code != 0) return code;
  for (const std::string& word : invent<Tensor>(model, options)) std::printf("%s\n", word.c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  return run_in_mode("char_rnn", command_line(options), count, words, options.mode,
                     [&]<class Tensor>() { return run<Tensor>(options); });
}
