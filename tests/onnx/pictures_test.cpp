// SPDX-License-Identifier: MIT
// Pictures decoded by a model, against Pillow's pixels of the same files.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::onnx_tests {
namespace {

const std::string folder_of_pictures = "tests/io/data/images/";

std::vector<std::uint8_t> bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string decoder(const std::string& format) {
  return model({.nodes = {node("ImageDecoder", {"file"}, {"y"}, {text_attribute("pixel_format", format)})},
                .inputs = {value("file", {"bytes"}, DType::u8)},
                .outputs = {value("y", {"high", "wide", "colours"}, DType::u8)}},
               20);
}

template <class T>
T decoded(const std::string& format, const std::vector<std::uint8_t>& file) {
  OnnxModel<T> f = read<T>(decoder(format));
  return f({{"file", T::from(file, {static_cast<std::int64_t>(file.size())})}})["y"];
}

template <class T>
std::string refusal_of(const std::string& format, const std::vector<std::uint8_t>& file) {
  try {
    decoded<T>(format, file).template to_vector<std::uint8_t>();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOTH_MODES("ImageDecoder gives the pixels that Pillow does, in the order that is asked for") {
  using T = Tensor<Mode>;
  for (const auto& [name, expected] : read_npz<Tensor<Eager>>(folder_of_pictures + "expected.npz")) {
    CAPTURE(name);
    const std::size_t as = name.find(" as ");
    const std::string channels = as == std::string::npos ? "3" : name.substr(as + 4);
    if (channels != "1" && channels != "3") continue;
    const std::vector<std::uint8_t> file = bytes_of_file(folder_of_pictures + name.substr(0, as));
    const std::string fault = refusal_of<T>("RGB", file);
    if (fault.find("was built without") != std::string::npos) continue;
    CHECK(fault == "");
    const int allowed = name.find(".jpg") == std::string::npos ? 0 : 2;
    const auto compare = [&](const T& got, const Tensor<Eager>& want) {
      REQUIRE(got.shape() == want.shape());
      const auto a = got.template to_vector<std::uint8_t>(), b = want.to_vector<std::uint8_t>();
      int farthest = 0;
      for (std::size_t i = 0; i < a.size(); ++i) farthest = std::max(farthest, std::abs(int{a[i]} - int{b[i]}));
      CHECK(farthest <= allowed);
    };
    if (channels == "1") {
      compare(decoded<T>("Grayscale", file), expected);
    } else {
      compare(decoded<T>("RGB", file), expected);
      compare(decoded<T>("BGR", file), flip(expected, {2}));
    }
  }
}

TEST_CASE("a picture that is a part of the model is decoded when it is read, and stays planned") {
  const std::vector<std::uint8_t> file = bytes_of_file(folder_of_pictures + "grey.png");
  if (refusal_of<Tensor<Eager>>("RGB", file) != "") return;
  OnnxModel<Tensor<Lazy>> f = read<Tensor<Lazy>>(
      model({.nodes = {node("ImageDecoder", {"file"}, {"y"}, {text_attribute("pixel_format", "Grayscale")}),
                       node("Cast", {"y"}, {"z"}, {attribute("to", std::int64_t{1})}), node("Mul", {"z", "x"}, {"w"})},
             .inputs = {value("x", {"1"})},
             .outputs = {value("w", {"a", "b", "c"})},
             .initialisers = {raw_tensor<std::uint8_t>("file", {static_cast<std::int64_t>(file.size())}, file)}},
            20));
  CHECK_NOTHROW(f.graph({}));  // a graph cannot hold what needs elements while it is recorded
  const auto got = f({{"x", Tensor<Lazy>::full({1}, 2.0f)}})["w"].to_vector<float>();
  const auto want = decoded<Tensor<Eager>>("Grayscale", file).to_vector<std::uint8_t>();
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == 2.0f * static_cast<float>(want[i]));
}

TEST_CASE("what ImageDecoder cannot decode is refused with what it can") {
  using E = Tensor<Eager>;
  const std::vector<std::uint8_t> bitmap{'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  CHECK(refusal_of<E>("RGB", bitmap) == "m.onnx: node 'y' (ImageDecoder): is neither a PNG nor a JPEG file");
  CHECK(refusal_of<E>("RGB", {}) == "m.onnx: node 'y' (ImageDecoder): is neither a PNG nor a JPEG file");
  CHECK(refusal_of<E>("HSV", bitmap) ==
        "m.onnx: node 'y' (ImageDecoder): pixel_format 'HSV'; known are RGB, BGR, Grayscale");
}

}  // namespace tyto::onnx_tests
