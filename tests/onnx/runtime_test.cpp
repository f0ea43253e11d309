// SPDX-License-Identifier: MIT
// Small models against expected values: ONNX Runtime (tests/onnx/make_models.py, make_classical_models.py) and, with
// elements of 8 bits and fewer, ONNX's node tests, its evaluator and ml_dtypes.
#include <algorithm>
#include <cmath>
#include <map>

#include <doctest/doctest.h>
#include <tyto/device.hpp>
#include <tyto/onnx.hpp>

#include "tests/onnx/data.hpp"

namespace tyto::onnx_tests {
namespace {

struct Stored {
  std::vector<std::byte> model;
  NamedList<HostArray> inputs;
  NamedList<HostArray> outputs;
  NamedList<HostArray> words;
};

/// Members are NAME|model, NAME|in|INPUT, NAME|out|OUTPUT and, for text, its lines as NAME|words|OUTPUT.
std::map<std::string, Stored> stored_models(const std::string& file) {
  std::map<std::string, Stored> models;
  for (const Named<HostArray>& member : detail::read_npz_file(file)) {
    const std::size_t bar = member.name.find('|'), second = member.name.find('|', bar + 1);
    Stored& model = models[member.name.substr(0, bar)];
    if (second == std::string::npos) {
      model.model = member.value.bytes;
      continue;
    }
    const char kind = member.name[bar + 1];
    NamedList<HostArray>& list = kind == 'i' ? model.inputs : (kind == 'w' ? model.words : model.outputs);
    list.push_back({member.name.substr(second + 1), member.value});
  }
  return models;
}

/// How far from what is wanted results may be; of halves 20 times as far, and near zero, where what was rounded before
/// is subtracted, 100 times.
struct Tolerance {
  double relative = 1e-4;
  double absolute = 1e-5;
};

template <class T>
std::string outcome(const std::string& name, const Stored& stored, const Tolerance& tolerance = {}) {
  try {
    OnnxModel<T> model = read_onnx<T>(stored.model, name);
    NamedList<T> given;
    for (const Named<HostArray>& input : stored.inputs) given.push_back({input.name, to_tensor<T>(input.value)});
    for (int round = 0; round < 2; ++round) {
      const NamedList<T> results = model(given);
      for (const Named<HostArray>& want : stored.outputs) {
        const T& got = results[want.name];
        const Tensor<Any> copy = Tensor<Any>::from_bytes(got.bytes().data(), got.size(), got.shape(), got.dtype());
        const Tensor<Any> right = to_tensor<Tensor<Any>>(want.value);
        const bool half = right.dtype() == DType::f16;
        const std::string wrong =
            difference(copy, right, (half ? 20 : 1) * tolerance.relative, (half ? 100 : 1) * tolerance.absolute);
        if (!wrong.empty()) return want.name + ": " + wrong;
      }
      for (const Named<HostArray>& want : stored.words) {
        std::string lines;
        for (const std::string& word : model.decode_text(results[want.name]))
          lines += (lines.empty() ? "" : "\n") + word;
        const std::vector<std::byte>& right = want.value.bytes;
        const std::string_view expected(reinterpret_cast<const char*>(right.data()), right.size());
        if (lines != expected) return want.name + ": " + lines;
      }
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void check_all(const std::map<std::string, Stored>& models, const Tolerance& tolerance = {}) {
  for (const auto& [name, stored] : models) {
    CAPTURE(name);
    CHECK(outcome<Tensor<Eager>>(name, stored, tolerance) == "");
    CHECK(outcome<Tensor<Lazy>>(name, stored, tolerance) == "");
  }
}

}  // namespace

TEST_CASE("small models give what ONNX Runtime gives") {
  const std::map<std::string, Stored> models = stored_models("tests/onnx/models.npz");
  CHECK(models.size() == 214);
  check_all(models);
}

TEST_CASE("trees, linear models, support vectors and features of ai.onnx.ml give what ONNX Runtime gives") {
  const std::map<std::string, Stored> models = stored_models("tests/onnx/classical_models.npz");
  CHECK(models.size() == 410);
  check_all(models);
}

TEST_CASE("elements of 8 bits and fewer are read, moved, rounded and quantised exactly") {
  const std::map<std::string, Stored> models = stored_models("tests/onnx/narrow_models.npz");
  CHECK(models.size() == 180);
  check_all(models, {.relative = 1e-7, .absolute = 0});
}

TEST_CASE("models give what they should on the OpenCL device") {
  const std::vector<DeviceInfo> known = devices();
  if (std::none_of(known.begin(), known.end(), [](const DeviceInfo& each) { return each.name == "opencl:0"; })) {
    MESSAGE("no OpenCL device: nothing is computed on it");
    return;
  }
  const auto check = [](const std::string& file, const std::vector<const char*>& names) {
    const std::map<std::string, Stored> models = stored_models(file);
    for (const char* name : names) {
      CAPTURE(name);
      const DeviceScope device("opencl");
      CHECK(outcome<Tensor<Lazy>>(name, models.at(name)) == "");
    }
  };
  check("tests/onnx/models.npz", {"lstm_coupled_forward", "maxpool_of_nothing", "lrn_of_2", "split_uneven"});
  check("tests/onnx/narrow_models.npz",
        {"float8e4m3fn_saturated", "float8e5m2_as_it_is", "float8e8m0_as_it_is_nearest", "float8e4m3fn_of_int32",
         "stored_float4e2m1_listed", "quantised_float8e5m2fnuz_blocks", "quantised_int4_zero_points"});
  check("tests/onnx/classical_models.npz",
        {"learned_forest_three", "learned_boosting_two", "learned_scaled_three", "trees_classifier_3",
         "trees_classifier_8", "trees_regressor_2", "trees_linked_1", "vectors_probable_NONE"});
}

}  // namespace tyto::onnx_tests
