// SPDX-License-Identifier: MIT
// Eager mode, compiled functions and explicit graphs, time and memory, for the networks by which Owl's report compares
// them (its figure 7): InceptionV3, ResNet-50 and Mask R-CNN on one picture, and training steps of a network for MNIST.
//
//   modes_bench [SECONDS [NETWORK...]]
//
// Each network and mode runs in a process of its own, which tells its memory. A line each: milliseconds of building and
// of the median run, the largest resident set, what of it is states and planned, and the largest difference of results
// from eager mode's. Building a `Graph` is recording and prepare(); of a compiled function it is what the first call
// takes longer than a later one, which packs weights besides. Drawing the weights is no part of it. With one thread
// (TYTO_THREADS=1) times are of the processor.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "bench/mnist_network.hpp"
#include "bench/process_usage.hpp"
#include "examples/inception/networks.hpp"
#include "examples/mask_rcnn/network.hpp"

namespace {

namespace nn = tyto::nn;
using Host = tyto::Tensor<tyto::Eager>;
using Lazy = tyto::Tensor<tyto::Lazy>;

constexpr std::int64_t compared_steps = 3, mnist_batch = 100;
const std::vector<std::string> networks{"inception_v3", "resnet50", "mask_rcnn", "mnist training"};

/// Milliseconds of building and of the median run, bytes of the process, planned memory and states (lazy mode).
struct Figures {
  double building = 0, milliseconds = 0, peak = 0, planned = 0, states = 0;
};

/// A network with its data: build() makes a graph ready, where there is one to be made before the first run.
template <class Tensor>
struct Program {
  std::function<void()> build = {};
  std::function<Tensor()> run;
  std::function<void(Figures&)> add_plan = [](Figures&) {};
};

template <class F>
void add_plan_of(F& planned, Figures& figures) {
  figures.planned = static_cast<double>(planned.plan().height);
  figures.states = static_cast<double>(planned.report().state_bytes);
}

/// Runs `spec` on placeholders, which get these values before each run, so that nothing is reused.
Program<Lazy> graph_of(const std::function<tyto::GraphSpec(const std::vector<Lazy>&)>& spec,
                       const std::vector<Lazy>& values) {
  auto graph = std::make_shared<std::unique_ptr<tyto::Graph>>();
  return {.build =
              [=] {
                std::vector<Lazy> inputs;
                for (const Lazy& value : values) inputs.push_back(Lazy::placeholder(value.shape(), value.dtype()));
                tyto::GraphSpec given = spec(inputs);
                given.inputs = inputs;
                *graph = std::make_unique<tyto::Graph>(given);
                (*graph)->prepare();
              },
          .run =
              [=] {
                const std::vector<Lazy> inputs = (*graph)->inputs();
                for (std::size_t i = 0; i < values.size(); ++i) (*graph)->set(inputs[i], values[i]);
                (*graph)->run();
                return (*graph)->output(0);
              },
          .add_plan = [=](Figures& figures) { add_plan_of(**graph, figures); }};
}

template <class Tensor, class F, class... Values>
Program<Tensor> compiled(F function, const Values&... values) {
  auto fast = std::make_shared<tyto::Compiled<F>>(tyto::compile(function));
  Program<Tensor> program{.run = [=] { return (*fast)(values...); }};
  if constexpr (std::is_same_v<Tensor, Lazy>) program.add_plan = [=](Figures& to) { add_plan_of(*fast, to); };
  return program;
}

template <class Tensor>
Program<Tensor> training(bool as_graph) {
  const auto model = std::make_shared<nn::Sequential>(tyto::bench::mnist_network());
  const auto descent = std::make_shared<nn::Descent>(nn::adagrad({.rate = 0.005}));
  const Tensor images = Tensor::uniform({mnist_batch, 28, 28, 1});
  const Tensor labels = Tensor::integers({mnist_batch}, {.low = 0, .high = 10});
  const auto objective = [=](Tensor x, Tensor t) { return cross_entropy((*model)(x, nn::training), t); };
  if constexpr (std::is_same_v<Tensor, Lazy>) {
    (*model)(Lazy::placeholder(images.shape()), nn::inference);  // draws the weights, which is no part of building
    if (as_graph) {
      const auto spec = [=](const std::vector<Lazy>& inputs) -> tyto::GraphSpec {
        auto [loss, gradients] = tyto::value_and_grad(objective, model->parameters())(inputs[0], inputs[1]);
        return {.outputs = {loss}, .updates = descent->updates(model->parameters(), gradients)};
      };
      return graph_of(spec, {images, labels});
    }
  }
  const auto step = [=](Tensor x, Tensor t) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model->parameters())(x, t);
    descent->update(model->parameters(), gradients);
    return loss;
  };
  return compiled<Tensor>(step, images, labels);
}

template <class Tensor>
Program<Tensor> inference(const std::function<Tensor(const Tensor&)>& forward, const Tensor& picture, bool as_graph) {
  if constexpr (std::is_same_v<Tensor, Lazy>) {
    forward(Lazy::placeholder(picture.shape()));  // draws the weights, which is no part of building
    if (as_graph) {
      const auto spec = [=](const std::vector<Lazy>& inputs) -> tyto::GraphSpec {
        return {.outputs = {forward(inputs[0])}};
      };
      return graph_of(spec, {picture});
    }
  }
  return compiled<Tensor>([=](Tensor x) { return forward(x); }, picture);
}

template <class Tensor>
Program<Tensor> program_of(const std::string& network, bool as_graph) {
  tyto::seed(42);
  if (network == "mnist training") return training<Tensor>(as_graph);
  if (network == "mask_rcnn") {
    const MaskRcnnOptions options = full_size();
    const auto model = std::make_shared<MaskRcnn>(options);
    const auto detect = [=](const Tensor& x) { return Tensor(model->detect(tyto::Tensor<tyto::Any>(x)).masks); };
    return inference<Tensor>(detect, Tensor::uniform({1, options.side, options.side, 3}, {.low = -1}), as_graph);
  }
  const auto model = std::make_shared<nn::Sequential>(network == "resnet50" ? make_resnet50() : make_inception_v3());
  return inference<Tensor>([=](const Tensor& x) { return (*model)(x); }, Tensor::uniform({1, 299, 299, 3}), as_graph);
}

/// Milliseconds: of the processor if there is one thread, which other work on the machine leaves alone, else of the
/// wall.
double now() {
  timespec time{};
  clock_gettime(tyto::threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

template <class Tensor>
int run_child(const std::string& network, bool as_graph, const std::string& file, double seconds) {
  const Program<Tensor> program = program_of<Tensor>(network, as_graph);
  Figures figures;
  const double start = now();
  if (program.build) program.build();
  figures.building = now() - start;
  std::vector<Tensor> results;
  std::vector<double> times;
  for (double before = now(); times.size() < compared_steps + 2 || before - start < seconds * 1e3;) {
    const Tensor result = program.run();
    result.template data<float>();
    const double after = now();
    times.push_back(after - before);
    before = after;
    if (results.size() < compared_steps) results.push_back(result);
  }
  const double first = times.front();  // it prepares
  times.erase(times.begin());
  std::sort(times.begin(), times.end());
  figures.milliseconds = times[times.size() / 2];
  if (!std::is_same_v<Tensor, Host> && !program.build) figures.building = std::max(first - figures.milliseconds, 0.0);
  figures.peak = tyto::bench::peak_bytes();
  program.add_plan(figures);
  tyto::write_npy(file, stack(results));
  std::printf("%.6g %.6g %.0f %.0f %.0f\n", figures.building, figures.milliseconds, figures.peak, figures.planned,
              figures.states);
  return 0;
}

Figures figures_of(const std::string& command) {
  Figures figures;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw tyto::Error(command + " cannot be started");
  const int found = std::fscanf(pipe, "%lf %lf %lf %lf %lf", &figures.building, &figures.milliseconds, &figures.peak,
                                &figures.planned, &figures.states);
  if (pclose(pipe) != 0 || found != 5) throw tyto::Error(command + " failed");
  return figures;
}

/// A folder of its own for results, gone when it is left, also by an error.
class ResultFolder {
 public:
  ResultFolder() {
    if (mkdtemp(path_.data()) == nullptr) throw tyto::IoError(path_ + ": cannot be made");
  }
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;
  ~ResultFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& mode) const { return path_ + "/" + mode + ".npy"; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "tyto_modes_XXXXXX").string();
};

int compare(const std::string& program, double seconds, const std::vector<std::string>& chosen) {
  const ResultFolder folder;
  std::printf(
      "%d thread%s\n\n| network | mode | building ms | run ms | eager / it | RSS MB | eager / it | planned MB | "
      "states MB | difference |\n|---|---|---|---|---|---|---|---|---|---|\n",
      tyto::threads(), tyto::threads() == 1 ? "" : "s");
  for (const std::string& network : chosen) {
    Figures eager;
    for (const std::string mode : {"eager", "compile", "graph"}) {
      const std::string file = folder.file(mode);
      const Figures f = figures_of("'" + program + "' --child '" + network + "' " + mode + " '" + file + "' " +
                                   std::to_string(seconds));
      if (mode == "eager") eager = f;
      const Host one = tyto::read_npy<Host>(folder.file("eager")), other = tyto::read_npy<Host>(file);
      const float difference = (max(abs(one - other)) / max(abs(one))).item<float>();
      std::printf("| %s | %s | %.1f | %.2f | %.2f | %.1f | %.2f | %.1f | %.1f | %.1e |\n", network.c_str(),
                  mode.c_str(), f.building, f.milliseconds, eager.milliseconds / f.milliseconds, f.peak / 1e6,
                  eager.peak / f.peak, f.planned / 1e6, f.states / 1e6, static_cast<double>(difference));
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 6 && std::string(words[1]) == "--child") {
      const std::string mode = words[3];
      return mode == "eager" ? run_child<Host>(words[2], false, words[4], std::atof(words[5]))
                             : run_child<Lazy>(words[2], mode == "graph", words[4], std::atof(words[5]));
    }
    const std::vector<std::string> chosen(words + std::min(count, 2), words + count);
    for (const std::string& each : chosen) {
      if (std::find(networks.begin(), networks.end(), each) == networks.end()) {
        throw tyto::ValueError("no network is called '" + each + "'");
      }
    }
    return compare(words[0], count > 1 ? std::atof(words[1]) : 4, chosen.empty() ? networks : chosen);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "modes_bench: %s\n", error.what());
    return 1;
  }
}
