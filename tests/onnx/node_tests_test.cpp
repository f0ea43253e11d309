// ONNX's own tests of its operators, in every way in which a model runs: eager, lazy with inputs as they come, lazy
// with all inputs but the first known beforehand.
#include <algorithm>
#include <iostream>
#include <map>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>

#include "tests/onnx/data.hpp"

namespace tyto::onnx_tests {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;
  fs::path model;
  NamedList<Tensor<Any>> inputs;
  NamedList<Tensor<Any>> outputs;
};

Case read_case(const fs::path& folder) {
  Case test{folder.filename().string(), folder / "model.onnx", {}, {}};
  const std::vector<std::byte> bytes = bytes_of(test.model);
  const onnx::ModelMessage model = onnx::read_model(test.name, bytes);
  const auto read = [&](const std::vector<onnx::ValueMessage>& values, const char* kind) {
    NamedList<Tensor<Any>> list;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const fs::path file = folder / "test_data_set_0" / (kind + std::to_string(i) + ".pb");
      if (fs::exists(file)) list.push_back({std::string(values[i].name), stored_tensor(file)});
    }
    return list;
  };
  test.inputs = read(model.graph->inputs, "input_");
  test.outputs = read(model.graph->outputs, "output_");
  return test;
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
      const ModelOutputs<T> results = model(given);
      for (const Named<Tensor<Any>>& want : test.outputs) {
        const T& got = results[want.name];
        const Tensor<Any> copy = Tensor<Any>::from_bytes(got.bytes().data(), got.size(), got.shape(), got.dtype());
        const std::string wrong = difference(copy, want.value, 1e-3, 1e-7);
        if (!wrong.empty()) return want.name + ": " + wrong;
      }
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Tests that cannot pass, each with its reason.
const std::map<std::string, const char*>& left_out() {
  static const std::map<std::string, const char*> tests = {
      {"test_adagrad", "training is not read"},
      {"test_adam_multiple", "training is not read"},
      {"test_momentum_multiple", "training is not read"},
      {"test_nesterov_momentum", "training is not read"},
  };
  return tests;
}

}  // namespace

TEST_CASE("the node tests of ONNX pass eagerly, lazily and with known inputs") {
  const std::optional<fs::path> folder = data_folder("onnx-node");
  if (!folder) {
    MESSAGE("no folder onnx-node in TYTO_DATA: nothing is tested");
    return;
  }
  std::vector<fs::path> all_tests;
  for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
    if (fs::exists(entry.path() / "model.onnx")) all_tests.push_back(entry.path());
  }
  std::sort(all_tests.begin(), all_tests.end());
  std::size_t passed = 0, out = 0;
  for (const fs::path& path : all_tests) {
    const std::string name = path.filename().string();
    CAPTURE(name);
    if (left_out().count(name) != 0) {
      ++out;
      continue;
    }
    const Case test = read_case(path);
    const std::string eager = outcome<Tensor<Eager>>(test, test.inputs.size());
    CHECK(eager == "");
    const std::string lazy = outcome<Tensor<Lazy>>(test, test.inputs.size());
    CHECK(lazy == "");
    const std::string known = outcome<Tensor<Lazy>>(test, std::min<std::size_t>(test.inputs.size(), 1));
    CHECK(known == "");
    passed += eager.empty() && lazy.empty() && known.empty() ? 1 : 0;
  }
  MESSAGE(passed, " of ", all_tests.size(), " node tests pass in each way, ", out, " are left out");
}

}  // namespace tyto::onnx_tests
