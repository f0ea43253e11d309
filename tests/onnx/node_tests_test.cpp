// SPDX-License-Identifier: MIT
// ONNX's own tests of its operators, in every way in which a model runs: eager, lazy with inputs as they come, lazy
// with all inputs but the first known beforehand, as a graph that was saved and loaded, and on the OpenCL device.
#include <algorithm>
#include <iostream>
#include <map>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>

#include "onnx/file/element_types.hpp"
#include "tests/onnx/data.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests {
namespace {

namespace fs = std::filesystem;

/// Tensors of a sequence are listed one by one.
struct Case {
  fs::path model;
  NamedList<Tensor<Any>> inputs = {};
  NamedList<Tensor<Any>> outputs = {};
  std::size_t first = 0;  // tensors of the first input
};

Case read_case(const fs::path& folder) {
  Case test{.model = folder / "model.onnx"};
  const std::vector<std::byte> bytes = bytes_of(test.model);
  const onnx::ModelMessage model = onnx::read_model(folder.string(), bytes);
  const auto read = [&](const std::vector<onnx::ValueMessage>& values, const char* kind) {
    NamedList<Tensor<Any>> list;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const fs::path file = folder / "test_data_set_0" / (kind + std::to_string(i) + ".pb");
      if (!fs::exists(file)) continue;
      const std::vector<Tensor<Any>> tensors = stored_tensors(file, values[i]);
      for (std::size_t k = 0; k < tensors.size(); ++k) {
        const std::string number = values[i].is_sequence ? "[" + std::to_string(k) + "]" : "";
        list.push_back({std::string(values[i].name) + number, tensors[k]});
      }
      if (i == 0 && &values == &model.graph->inputs) test.first = tensors.size();
    }
    return list;
  };
  test.inputs = read(model.graph->inputs, "input_");
  test.outputs = read(model.graph->outputs, "output_");
  return test;
}

/// As ONNX's own runner has it; of halves at least the width that they have, times a few operations.
double tolerance(DType dtype) { return dtype == DType::bf16 ? 2e-2 : dtype == DType::f16 ? 2e-3 : 1e-3; }

/// Describes the fault of an output; empty when it is right.
template <class M>
std::string fault(const Tensor<M>& got, const Named<Tensor<Any>>& want) {
  const Tensor<Any> copy = Tensor<Any>::from_bytes(got.bytes().data(), got.size(), got.shape(), got.dtype());
  const std::string wrong = difference(copy, want.value, tolerance(want.value.dtype()), 1e-7);
  return wrong.empty() ? "" : want.name + ": " + wrong;
}

/// The first difference from what the file says, or what was thrown; empty when all is right.
template <class T>
std::string outcome(const Case& test, std::size_t fed) {
  try {
    OnnxOptions options;
    NamedList<T> given;
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      const Tensor<Any>& value = test.inputs[i].value;
      if (i >= fed) options.bind.push_back({test.inputs[i].name, value});
      else
        given.push_back(
            {test.inputs[i].name, T::from_bytes(value.bytes().data(), value.size(), value.shape(), value.dtype())});
    }
    OnnxModel<T> model = read_onnx<T>(test.model.string(), options);
    for (int round = 0; round < 2; ++round) {
      const NamedList<T> results = model(given);
      if (results.size() != test.outputs.size()) return std::to_string(results.size()) + " outputs";
      for (const Named<Tensor<Any>>& want : test.outputs) {
        const std::string wrong = fault(results[want.name], want);
        if (!wrong.empty()) return wrong;
      }
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// The same of the model as one graph with its first `open` input tensors, written to a file and read back; nothing
/// where the model is no graph, since a shape depends on elements or an operator is a function of this program.
std::optional<std::string> outcome_of_saved(const Case& test, std::size_t open, const std::string& path) {
  std::optional<Graph> loaded;
  try {
    OnnxOptions options;
    NamedList<Shape> shapes;
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      const auto& [name, value] = test.inputs[i];
      if (i < open) shapes.push_back({name, value.shape()});
      else options.bind.push_back({name, value});
    }
    OnnxModel<Tensor<Lazy>> model = read_onnx<Tensor<Lazy>>(test.model.string(), options);
    save_graph(path, model.graph(shapes));
  } catch (const GraphError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
  try {
    Graph graph = load_graph(path);
    for (std::size_t i = 0; i < open; ++i) {
      const Tensor<Any>& value = test.inputs[i].value;
      graph.set(graph.inputs()[i],
                Tensor<Lazy>::from_bytes(value.bytes().data(), value.size(), value.shape(), value.dtype()));
    }
    graph.run();
    if (graph.output_count() != test.outputs.size()) return "other outputs than before it was saved";
    for (std::size_t i = 0; i < test.outputs.size(); ++i) {
      const std::string wrong = fault(graph.output(i), test.outputs[i]);
      if (!wrong.empty()) return wrong;
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Operators that are left out, each with its reason.
const std::map<std::string_view, const char*>& left_out_operators() {
  static const std::map<std::string_view, const char*> reasons = {
      {"Adagrad", "training is Tyto's own affair"},
      {"Adam", "training is Tyto's own affair"},
      {"Momentum", "training is Tyto's own affair"},
      {"StringConcat", "no text"},
      {"StringNormalizer", "no text"},
      {"StringSplit", "no text"},
      {"RegexFullMatch", "no text"},
      {"FlexAttention", "a preview that takes graphs as functions of scores"},
      {"Bernoulli", "random numbers of another generator"},
      {"RandomUniformLike", "random numbers of another generator"},
  };
  return reasons;
}

/// Tests that are left out, each with its reason.
const std::map<std::string_view, const char*>& left_out_tests() {
  static const std::map<std::string_view, const char*> reasons = {
      {"test_dft_inverse", "the file holds its own rounding of zeros, 2e-7"},
      {"test_dft_inverse_opset19", "the file holds its own rounding of zeros, 2e-7"},
      {"test_training_dropout", "random numbers of another generator"},
      {"test_training_dropout_default", "random numbers of another generator"},
      {"test_training_dropout_default_mask", "random numbers of another generator"},
      {"test_training_dropout_mask", "random numbers of another generator"},
  };
  return reasons;
}

/// Why a test cannot pass; empty when it can.
std::string reason_to_leave_out(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const auto named = left_out_tests().find(name);
  if (named != left_out_tests().end()) return named->second;
  const std::vector<std::byte> bytes = bytes_of(folder / "model.onnx");
  const onnx::ModelMessage model = onnx::read_model(folder.string(), bytes);
  for (const auto* values : {&model.graph->inputs, &model.graph->outputs}) {
    for (const onnx::ValueMessage& value : *values) {
      if (!value.holds_tensors) return "no maps";
      if (value.element_type == onnx::text_type) return "text goes by the words of each model: text_test.cpp";
      if (!onnx::dtype_from(value.element_type))
        return "no elements of type " + onnx::element_type_name(value.element_type);
    }
  }
  for (const onnx::NodeMessage& node : model.graph->nodes) {
    const auto found = left_out_operators().find(node.operator_name);
    if (found != left_out_operators().end()) return found->second;
  }
  return "";
}

/// The folders of all tests, in the order of their names; none where they are not there.
std::vector<fs::path> all_tests() {
  std::vector<fs::path> tests;
  const std::optional<fs::path> folder = data_folder("onnx-node");
  if (!folder) {
    MESSAGE("no folder onnx-node in TYTO_DATA: nothing is tested");
    return tests;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
    if (fs::exists(entry.path() / "model.onnx")) tests.push_back(entry.path());
  }
  std::sort(tests.begin(), tests.end());
  return tests;
}

}  // namespace

TEST_CASE("the node tests of ONNX pass eagerly, lazily and with known inputs") {
  const std::vector<fs::path> tests = all_tests();
  std::size_t passed = 0;
  std::map<std::string, int> out;
  for (const fs::path& path : tests) {
    const std::string name = path.filename().string();
    CAPTURE(name);
    if (const std::string reason = reason_to_leave_out(path); !reason.empty()) {
      ++out[reason];
      continue;
    }
    const Case test = read_case(path);
    const std::string eager = outcome<Tensor<Eager>>(test, test.inputs.size());
    CHECK(eager == "");
    const std::string lazy = outcome<Tensor<Lazy>>(test, test.inputs.size());
    CHECK(lazy == "");
    const std::string known = outcome<Tensor<Lazy>>(test, test.first);
    CHECK(known == "");
    passed += eager.empty() && lazy.empty() && known.empty() ? 1 : 0;
  }
  MESSAGE(passed, " of ", tests.size(), " node tests pass in each way");
  for (const auto& [reason, count] : out) MESSAGE(count, " left out: ", reason);
}

TEST_CASE("the node tests of ONNX pass as graphs that were saved and loaded") {
  const testing::TemporaryFolder folder;
  int passed = 0, no_graphs = 0, passed_open = 0;
  for (const fs::path& path : all_tests()) {
    if (!reason_to_leave_out(path).empty()) continue;
    const std::string name = path.filename().string();
    CAPTURE(name);
    const Case test = read_case(path);
    if (test.inputs.size() > test.first) {
      const std::optional<std::string> all_open = outcome_of_saved(test, test.inputs.size(), folder / "model.tyto");
      if (all_open) CHECK(*all_open == "");
      passed_open += all_open ? 1 : 0;
    }
    const std::optional<std::string> wrong = outcome_of_saved(test, test.first, folder / "model.tyto");
    if (wrong) {
      CHECK(*wrong == "");
      ++passed;
    } else {
      ++no_graphs;
    }
  }
  MESSAGE(passed, " node tests were saved and loaded; ", no_graphs, " are no graphs: a shape depends on elements");
  MESSAGE(passed_open, " with more than one input were with all of them open");
}

TEST_CASE("the node tests of ONNX pass on the OpenCL device") {
  const std::vector<DeviceInfo> known = devices();
  if (std::none_of(known.begin(), known.end(), [](const DeviceInfo& each) { return each.name == "opencl:0"; })) {
    MESSAGE("no OpenCL device: nothing is computed on it");
    return;
  }
  int passed = 0;
  for (const fs::path& path : all_tests()) {
    if (!reason_to_leave_out(path).empty()) continue;
    const std::string name = path.filename().string();
    CAPTURE(name);
    const Case test = read_case(path);
    const DeviceScope device("opencl");
    const std::string wrong = outcome<Tensor<Lazy>>(test, test.first);
    CHECK(wrong == "");
    passed += wrong.empty() ? 1 : 0;
  }
  MESSAGE(passed, " node tests pass on the OpenCL device, which leaves what it lacks to the CPU");
}

}  // namespace tyto::onnx_tests
