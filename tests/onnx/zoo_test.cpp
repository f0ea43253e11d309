// SPDX-License-Identifier: MIT
// Real models with real weights against the values that ONNX Runtime gave for them.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>

#include "tests/onnx/data.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests {
namespace {

struct Model {
  const char* file;
  const char* values;
};

constexpr Model models[] = {
    {"basic_pitch", "basic_pitch"},
    {"ch_PP-OCRv4_rec_infer", "ppocrv4_rec_0"},
    {"ch_PP-OCRv4_rec_infer", "ppocrv4_rec_1"},
    {"ch_ppocr_mobile_v2.0_cls_infer", "ppocr_cls_down"},
    {"ch_ppocr_mobile_v2.0_cls_infer", "ppocr_cls_up"},
    {"crepe_tiny", "crepe_tiny"},
    {"efficientnet_lite0", "efficientnet_lite0_camera"},
    {"efficientnet_lite0", "efficientnet_lite0_cat"},
    {"efficientnet_lite0", "efficientnet_lite0_espresso"},
    {"efficientnet_lite0", "efficientnet_lite0_flower"},
    {"efficientnet_lite0", "efficientnet_lite0_rocket"},
    {"mtcnn_onet", "mtcnn_onet"},
    {"mtcnn_pnet", "mtcnn_pnet_0"},
    {"mtcnn_pnet", "mtcnn_pnet_1"},
    {"mtcnn_rnet", "mtcnn_rnet"},
    {"silero_vad", "silero_vad"},
    {"silero_vad_16k_op15", "silero_vad_16k_op15"},
    {"squeezenet", "squeezenet"},
};

/// The largest |got - want| over what is allowed: 1e-3 |want| + 1e-4 max|want|.
double worst_error(const std::vector<float>& got, const std::vector<float>& want) {
  double largest = 0, worst = 0;
  for (const float value : want) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double allowed = 1e-3 * std::abs(static_cast<double>(want[i])) + 1e-4 * largest;
    const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])) / allowed;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

/// The inputs of a model and ONNX Runtime's results for them.
template <class T>
struct Values {
  NamedList<T> given;
  NamedList<Tensor<Eager>> wanted;
};

std::size_t number_of(const std::string& name) { return static_cast<std::size_t>(name.back() - '0'); }

template <class T>
Values<T> read_values(const std::filesystem::path& zoo, const Model& row, const std::vector<ModelTensor>& inputs) {
  Values<T> values;
  for (const Named<T>& array : read_npz<T>((zoo / "ref" / (std::string(row.values) + ".npz")).string())) {
    if (array.name.starts_with("in_")) values.given.push_back({inputs[number_of(array.name)].name, array.value});
    else
      values.wanted.push_back({array.name, Tensor<Eager>::from_bytes(array.value.bytes().data(), array.value.size(),
                                                                     array.value.shape(), array.value.dtype())});
  }
  return values;
}

template <class M>
void check_output(const Tensor<M>& got, const Named<Tensor<Eager>>& want) {
  CAPTURE(want.name);
  REQUIRE(to_string(got.shape()) == to_string(want.value.shape()));
  CHECK(worst_error(got.template to_vector<float>(), want.value.template to_vector<float>()) <= 1);
}

std::string path_of(const std::filesystem::path& zoo, const Model& row) {
  return (zoo / (std::string(row.file) + ".onnx")).string();
}

template <class T>
void check_model(const std::filesystem::path& zoo, const Model& row) {
  OnnxModel<T> model = read_onnx<T>(path_of(zoo, row));
  const Values<T> values = read_values<T>(zoo, row, model.inputs());
  for (int round = 0; round < 2; ++round) {
    const NamedList<T> results = model(values.given);
    for (const auto& want : values.wanted) check_output(results[number_of(want.name)].value, want);
  }
}

/// The model as one graph, its inputs of integers known beforehand, written to a file and read back.
void check_saved_model(const std::filesystem::path& zoo, const Model& row, const std::string& file) {
  using T = Tensor<Lazy>;
  const std::vector<ModelTensor> all = read_onnx<T>(path_of(zoo, row)).inputs();
  const Values<T> values = read_values<T>(zoo, row, all);
  OnnxOptions options;
  NamedList<Shape> shapes;
  for (const Named<T>& input : values.given) {
    if (is_floating(input.value.dtype())) shapes.push_back({input.name, input.value.shape()});
    else options.bind.push_back({input.name, Tensor<Any>(input.value.value())});
  }
  OnnxModel<T> model = read_onnx<T>(path_of(zoo, row), options);
  save_graph(file, model.graph(shapes));
  Graph loaded = load_graph(file);
  REQUIRE(loaded.inputs().size() == model.inputs().size());
  for (std::size_t i = 0; i < loaded.inputs().size(); ++i) {
    loaded.set(loaded.inputs()[i], values.given[model.inputs()[i].name]);
  }
  loaded.run();
  for (const auto& want : values.wanted) check_output(loaded.output(number_of(want.name)), want);
}

}  // namespace

TEST_CASE("real models give what ONNX Runtime gives") {
  const auto zoo = data_folder("zoo");
  if (!zoo) {
    MESSAGE("no folder zoo in TYTO_DATA: nothing is tested");
    return;
  }
  for (const Model& row : models) {
    CAPTURE(std::string(row.values));
    CHECK_NOTHROW(check_model<Tensor<Eager>>(*zoo, row));
    CHECK_NOTHROW(check_model<Tensor<Lazy>>(*zoo, row));
  }
}

TEST_CASE("real models give what ONNX Runtime gives after they were saved and loaded") {
  const auto zoo = data_folder("zoo");
  if (!zoo) {
    MESSAGE("no folder zoo in TYTO_DATA: nothing is tested");
    return;
  }
  const testing::TemporaryFolder folder;
  for (const Model& row : models) {
    CAPTURE(std::string(row.values));
    CHECK_NOTHROW(check_saved_model(*zoo, row, folder / "model.tyto"));
  }
}

TEST_CASE("real models give what ONNX Runtime gives on the OpenCL device") {
  const auto zoo = data_folder("zoo");
  const std::vector<DeviceInfo> known = devices();
  const bool there = std::any_of(known.begin(), known.end(), [](const auto& each) { return each.name == "opencl:0"; });
  if (!zoo || !there) {
    MESSAGE("no folder zoo in TYTO_DATA or no OpenCL device: nothing is tested");
    return;
  }
  for (const Model& row : models) {
    CAPTURE(std::string(row.values));
    const DeviceScope device("opencl");
    CHECK_NOTHROW(check_model<Tensor<Lazy>>(*zoo, row));
  }
}

}  // namespace tyto::onnx_tests
