// tyto run: runs a model on files or made-up numbers, and says what it gives, how long it takes, and in what memory.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include <tyto/io.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "cli/commands.hpp"
#include "cli/model_inputs.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow run_options[] = {
    input_option,
    shape_option,
    bind_option,
    mean_option,
    deviation_option,
    {"--output", "NAME=FILE", "write an output to FILE in NumPy's format, .npy", true},
    {"--device", "NAME", "cpu (the default), opencl, opencl:1, ..."},
    {"--threads", "N", "threads of the CPU"},
    {"--time", "N", "run N times more and print the shortest and the middle time"},
    {"--profile", "", "print where the time goes"},
    {"--plan", "", "print the memory plan"},
    {"--html", "FILE", "write a page for a browser: graph, schedule, memory, profile"},
};

void print_summary(const std::string& name, const Tensor<Lazy>& value) {
  std::cout << name << " " << name_of(value.dtype()) << " " << to_string(value.shape());
  if (value.size() > 0) {
    const Tensor<Lazy> numbers = cast(value, DType::f64);
    std::cout << "  smallest " << numbers.min().item<double>() << ", largest " << numbers.max().item<double>()
              << ", mean " << numbers.mean().item<double>();
  }
  std::cout << "\n";
}

void print_times(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  std::cout << "time of " << milliseconds.size() << " runs: shortest " << milliseconds.front() << " ms, middle "
            << milliseconds[milliseconds.size() / 2] << " ms\n";
}

int run_model(const Arguments& arguments) {
  if (arguments.operands().size() != 1) {
    throw UsageError("run takes one model, not " + std::to_string(arguments.operands().size()));
  }
  if (const auto count = arguments.number("--threads", 1)) threads(static_cast<int>(*count));
  const DeviceScope device(arguments.text("--device").value_or("cpu"));
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto since = [&](auto start) { return std::chrono::duration<double, std::milli>(now() - start).count(); };
  const auto start = now();
  auto model = read_onnx<Tensor<Lazy>>(arguments.operands().front(), {.bind = bound_values(arguments)});
  const NamedList<Tensor<Lazy>> inputs = input_values(given_inputs(model.inputs(), arguments), arguments);
  const NamedList<std::string> files = wanted_outputs(model.outputs(), arguments);
  const NamedList<Tensor<Lazy>> outputs = model(inputs);
  const double first = since(start);
  for (const Named<Tensor<Lazy>>& output : outputs) print_summary(output.name, output.value);
  for (const Named<std::string>& file : files) write_npy(file.value, outputs[file.name]);
  if (const auto count = arguments.number("--time", 1)) {
    std::cout << "first result, reading and compiling included: " << first << " ms\n";
    std::vector<double> milliseconds;
    for (std::int64_t i = 0; i < *count; ++i) {
      const auto begin = now();
      const NamedList<Tensor<Lazy>> again = model(inputs);
      milliseconds.push_back(since(begin));
    }
    print_times(std::move(milliseconds));
  }
  if (arguments.has("--plan")) std::cout << model.plan();
  if (arguments.has("--profile") || arguments.has("--html")) {
    Graph graph = model.graph_for(inputs);
    graph.run();
    const GraphProfile profile = graph.profile();
    if (arguments.has("--profile")) std::cout << profile;
    if (const auto path = arguments.text("--html")) {
      std::ofstream page(*path);
      page << graph.html();
      if (!page.flush()) throw IoError(*path + ": cannot be written");
    }
  }
  return done;
}

}  // namespace

const Command run_command{"run", "MODEL.onnx", "runs a model: its outputs, times, memory plan", run_options, run_model};

}  // namespace tyto::cli
