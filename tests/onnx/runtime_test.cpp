// Small models against what ONNX Runtime gave for them: tests/onnx/make_models.py makes the models and runs them there.
#include <algorithm>
#include <cmath>
#include <map>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>

#include "tests/onnx/data.hpp"

namespace tyto::onnx_tests {
namespace {

struct Stored {
  std::vector<std::byte> model;
  NamedList<HostArray> inputs;
  NamedList<HostArray> outputs;
};

/// Members are NAME|model, NAME|in|INPUT and NAME|out|OUTPUT.
std::map<std::string, Stored> stored_models() {
  std::map<std::string, Stored> models;
  for (const Named<HostArray>& member : detail::read_npz_file("tests/onnx/models.npz")) {
    const std::size_t bar = member.name.find('|'), second = member.name.find('|', bar + 1);
    Stored& model = models[member.name.substr(0, bar)];
    if (second == std::string::npos) model.model = member.value.bytes;
    else
      (member.name[bar + 1] == 'i' ? model.inputs : model.outputs)
          .push_back({member.name.substr(second + 1), member.value});
  }
  return models;
}

template <class T>
std::string outcome(const std::string& name, const Stored& stored) {
  try {
    OnnxModel<T> model = read_onnx<T>(stored.model, name);
    NamedList<T> given;
    for (const Named<HostArray>& input : stored.inputs) given.push_back({input.name, to_tensor<T>(input.value)});
    for (int round = 0; round < 2; ++round) {
      const NamedList<T> results = model(given);
      for (const Named<HostArray>& want : stored.outputs) {
        const T& got = results[want.name];
        const Tensor<Any> copy = Tensor<Any>::from_bytes(got.bytes().data(), got.size(), got.shape(), got.dtype());
        const std::string wrong = difference(copy, to_tensor<Tensor<Any>>(want.value), 1e-4, 1e-5);
        if (!wrong.empty()) return want.name + ": " + wrong;
      }
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("small models give what ONNX Runtime gives") {
  const std::map<std::string, Stored> models = stored_models();
  CHECK(models.size() == 179);
  for (const auto& [name, stored] : models) {
    CAPTURE(name);
    CHECK(outcome<Tensor<Eager>>(name, stored) == "");
    CHECK(outcome<Tensor<Lazy>>(name, stored) == "");
  }
}

}  // namespace tyto::onnx_tests
