// SPDX-License-Identifier: MIT
// tyto run: runs a model on files or random numbers, and prints its outputs, their errors, the time taken and the
// memory planned.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include <tyto/io.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "cli/commands.hpp"
#include "cli/comparison.hpp"
#include "cli/model_inputs.hpp"
#include "cli/run_report.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow run_options[] = {
    input_option,
    inputs_option,
    shape_option,
    bind_option,
    mean_option,
    deviation_option,
    {"--output", "NAME[=FILE.npy]", "write an output, or a value inside of the model, to FILE; without one, show it",
     true},
    {"--outputs", "FILE.npz", "write all outputs"},
    expect_option,
    rtol_option,
    atol_option,
    {"--device", "NAME", "cpu (the default), opencl, opencl:1, ..."},
    {"--threads", "N", "threads of the CPU"},
    max_memory_option,
    max_iterations_option,
    {"--time", "N", "run N times more and print the shortest time, the median, percentiles and the longest"},
    {"--warm-up", "N", "runs before those that are timed (1)"},
    {"--profile", "", "print where the time goes"},
    {"--trace", "FILE.json", "write where the time goes, for chrome://tracing and Perfetto"},
    {"--plan", "", "print the memory plan"},
    {"--html", "FILE", "write a page for a browser: graph, schedule, memory, profile"},
    {"--json", "", "print one JSON object in place of lines"},
};

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Outputs and values inside of the model that are asked for, and their files; empty where they are only shown.
NamedList<std::string> wanted_outputs(const Arguments& arguments) {
  NamedList<std::string> wanted;
  for (const std::string& word : arguments.texts("--output")) {
    const std::size_t equals = word.rfind('=');
    const Named<std::string> pair = equals == std::string::npos ? Named<std::string>{word, ""}
                                                                : name_and_value(word, "--output", "NAME[=FILE.npy]");
    if (wanted.contains(pair.name)) throw_error<UsageError>("--output names '", pair.name, "' twice");
    wanted.push_back(pair);
  }
  return wanted;
}

OnnxModel<Tensor<Lazy>> model_with(const NamedList<std::string>& wanted, const Arguments& arguments) {
  const std::string& path = arguments.only_operand("run takes one model");
  std::vector<std::string> names;
  for (const Named<std::string>& each : wanted) names.push_back(each.name);
  try {
    return read_model(path, arguments, names);
  } catch (const IndexError&) {
    // Read again to say which names there are.
    const OnnxModel<Tensor<Lazy>> model = read_model(path, arguments);
    std::vector<std::string> known = names_of(model.outputs());
    for (const ModelNode& node : model.info().nodes)
      known.insert(known.end(), node.outputs.begin(), node.outputs.end());
    for (const std::string& name : names) {
      if (std::ranges::count(known, name) > 0) continue;
      throw_error<UsageError>("the model has no output '", name,
                              "' and no value of that name inside of it; tyto show --nodes lists them",
                              suggestion(name, known));
    }
    throw;
  }
}

/// Whether an output holds text; an element of a sequence, NAME[0], has the sequence's type.
bool is_text(const std::vector<ModelTensor>& outputs, const std::string& name) {
  return std::ranges::any_of(outputs, [&](const ModelTensor& each) {
    return each.stored_as == "string" && (each.name == name || (each.sequence && name.starts_with(each.name + "[")));
  });
}

/// The numbers that stand for words mean nothing outside of the model: options that take numbers refuse them.
void refuse_text(const std::vector<ModelTensor>& outputs, const NamedList<std::string>& wanted,
                 const NamedList<Tensor<Lazy>>& expected, const Arguments& arguments) {
  const auto check = [&](const std::string& name, const char* refusal) {
    if (is_text(outputs, name))
      throw_error<UsageError>("the output '", name, "' is text, ", refusal, " --json prints its words");
  };
  for (const Named<std::string>& each : wanted) {
    if (!each.value.empty()) check(each.name, "which .npy files of numbers do not hold:");
  }
  if (arguments.has("--outputs")) {
    for (const ModelTensor& each : outputs)
      check(each.name, "which .npz files of numbers do not hold: --output NAME=FILE.npy writes the other outputs,");
  }
  for (const Named<Tensor<Lazy>>& each : expected) check(each.name, "which --expect does not compare:");
}

template <class... Classes>
bool is_any_of(const Error& error) {
  return ((dynamic_cast<const Classes*>(&error) != nullptr) || ...);
}

NamedList<Tensor<Lazy>> outputs_of(OnnxModel<Tensor<Lazy>>& model, const NamedList<Tensor<Lazy>>& inputs,
                                   const Arguments& arguments) {
  try {
    return model(inputs);
  } catch (const Error& error) {
    if (!is_any_of<ShapeError, ValueError, IndexError, IoError>(error)) throw;
    const std::string hint = hint_at_open_lengths(model.inputs(), arguments);
    if (!hint.empty()) throw_error<UsageError>(error.what(), hint);
    throw;
  }
}

RunTimes timed(OnnxModel<Tensor<Lazy>>& model, const NamedList<Tensor<Lazy>>& inputs, std::int64_t count,
               const Arguments& arguments) {
  RunTimes times{.warm_up = arguments.number("--warm-up", 0).value_or(1)};
  for (std::int64_t i = 0; i < times.warm_up; ++i) model(inputs);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    const NamedList<Tensor<Lazy>> again = model(inputs);
    times.runs.push_back(milliseconds_since(begin));
  }
  std::sort(times.runs.begin(), times.runs.end());
  return times;
}

template <class Text>
void write_page(const std::string& path, const Text& text) {
  std::ofstream page(path);
  page << text;
  if (!page.flush()) throw_error<IoError>(path, ": cannot be written");
}

void profile(OnnxModel<Tensor<Lazy>>& model, const NamedList<Tensor<Lazy>>& inputs, const Arguments& arguments) {
  Graph graph = model.graph_for(inputs);
  graph.run();
  const GraphProfile found = graph.profile();
  if (arguments.has("--profile")) std::cout << found;
  if (const auto path = arguments.text("--trace")) write_page(*path, found.chrome_trace());
  if (const auto path = arguments.text("--html")) write_page(*path, graph.html());
}

void write_outputs(const NamedList<Tensor<Lazy>>& outputs, const NamedList<std::string>& wanted,
                   const Arguments& arguments) {
  for (const Named<std::string>& each : wanted) {
    const Tensor<Lazy>* value = outputs.find(each.name);
    if (value == nullptr) throw_error<UsageError>("the model gave no output '", each.name, "' in this run");
    if (!each.value.empty()) write_npy(each.value, *value);
  }
  if (const auto path = arguments.text("--outputs")) write_npz(*path, outputs);
}

int run_model(const Arguments& arguments) {
  const NamedList<std::string> wanted = wanted_outputs(arguments);
  if (arguments.has("--json") && arguments.has("--profile")) {
    throw UsageError("option --profile prints a table, which --json does not hold; --trace FILE writes the same");
  }
  if (arguments.has("--warm-up") && !arguments.has("--time")) throw UsageError("option --warm-up goes with --time");
  const Tolerance tolerance = tolerance_of(arguments);
  if (const auto count = arguments.number("--threads", 1, most_threads)) threads(static_cast<int>(*count));
  const auto repetitions = arguments.number("--time", 1);
  RunReport report{.model = arguments.only_operand("run takes one model"),
                   .device = arguments.text("--device").value_or("cpu")};
  const DeviceScope device(report.device);
  const auto start = Clock::now();
  auto model = model_with(wanted, arguments);
  const NamedList<Tensor<Lazy>> expected = expected_values(model.outputs(), arguments);
  refuse_text(model.outputs(), wanted, expected, arguments);
  const NamedList<Tensor<Lazy>> inputs = input_values(model, arguments);
  const NamedList<Tensor<Lazy>> outputs = outputs_of(model, inputs, arguments);
  const double first = milliseconds_since(start);
  for (const Named<Tensor<Lazy>>& output : outputs) {
    report.outputs.push_back(is_text(model.outputs(), output.name)
                                 ? summary_of_text(output.name, output.value.shape(), model.decode_text(output.value))
                                 : summary_of(output.name, output.value));
  }
  write_outputs(outputs, wanted, arguments);
  bool right = true;
  for (const Named<Tensor<Lazy>>& each : expected) {
    const Tensor<Lazy>* value = outputs.find(each.name);
    report.comparisons.push_back(value != nullptr ? compared(each.name, *value, each.value, tolerance)
                                                  : Comparison{.name = each.name, .other_kind = "was not given"});
    right = right && report.comparisons.back().agrees();
  }
  if (repetitions) {
    report.times = timed(model, inputs, *repetitions, arguments);
    report.times->first = first;
  }
  if (arguments.has("--plan")) report.plan = &model.plan();
  arguments.has("--json") ? print_json(std::cout, report) : print_lines(std::cout, report);
  if (arguments.has("--profile") || arguments.has("--trace") || arguments.has("--html")) {
    profile(model, inputs, arguments);
  }
  for (const Comparison& comparison : report.comparisons) {
    if (!comparison.agrees()) std::cerr << "tyto: " << in_words(comparison) << "\n";
  }
  return right ? done : refused;
}

}  // namespace

const Command run_command{"run", "MODEL.onnx", "runs a model: its outputs, times, memory plan", run_options, run_model};

}  // namespace tyto::cli
