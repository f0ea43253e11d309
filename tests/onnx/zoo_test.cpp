// Real models with real weights against the values that ONNX Runtime gave for them.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>

#include "tests/onnx/data.hpp"

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

template <class T>
void check_model(const std::filesystem::path& zoo, const Model& row) {
  OnnxModel<T> model = read_onnx<T>((zoo / (std::string(row.file) + ".onnx")).string());
  NamedList<T> given;
  NamedList<Tensor<Eager>> wanted;
  for (const Named<T>& array : read_npz<T>((zoo / "ref" / (std::string(row.values) + ".npz")).string())) {
    const std::size_t number = static_cast<std::size_t>(array.name.back() - '0');
    if (array.name.starts_with("in_")) given.push_back({model.inputs()[number].name, array.value});
    else
      wanted.push_back({array.name, Tensor<Eager>::from_bytes(array.value.bytes().data(), array.value.size(),
                                                              array.value.shape(), array.value.dtype())});
  }
  for (int round = 0; round < 2; ++round) {
    const NamedList<T> results = model(given);
    for (const Named<Tensor<Eager>>& want : wanted) {
      const T& got = results[static_cast<std::size_t>(want.name.back() - '0')].value;
      CAPTURE(want.name);
      REQUIRE(to_string(got.shape()) == to_string(want.value.shape()));
      CHECK(worst_error(got.template to_vector<float>(), want.value.to_vector<float>()) <= 1);
    }
  }
}

}  // namespace

TEST_CASE("real models give what ONNX Runtime gives") {
  const auto zoo = data_folder("zoo");
  if (!zoo) {
    MESSAGE("no folder zoo in TYTO_DATA: nothing is tested");
    return;
  }
  for (const Model& row : models) {
    CAPTURE(row.values);
    CHECK_NOTHROW(check_model<Tensor<Eager>>(*zoo, row));
    CHECK_NOTHROW(check_model<Tensor<Lazy>>(*zoo, row));
  }
}

}  // namespace tyto::onnx_tests
