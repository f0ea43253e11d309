// SPDX-License-Identifier: MIT
// Pictures and recordings as inputs of `tyto run`, as they arrive in a model that gives back what it takes.
#include <tyto/audio.hpp>
#include <tyto/images.hpp>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "onnx/write/protobuf_writer.hpp"
#include "tests/cli/program.hpp"
#include "tests/onnx/model_text.hpp"

namespace cli_media_test {

using namespace tyto;
using namespace tyto::cli_tests;
using namespace tyto::onnx_tests;

namespace {

using T = tyto::Tensor<Eager>;

/// The elements given to a model with such an input, and the program's message.
struct Given {
  Ran ran;
  T value;
};

Given given(const std::vector<std::string>& lengths, const std::string& options, DType dtype = DType::f32) {
  const Workplace place;
  const std::string path = place.write("m.onnx", model({.nodes = {node("Identity", {"x"}, {"y"})},
                                                        .inputs = {value("x", lengths, dtype)},
                                                        .outputs = {value("y", lengths, dtype)}}));
  const std::string result = place.path("y.npy");
  const Ran ran = run("run " + path + " --output y=" + result + " " + options);
  return {ran, ran.status == 0 ? read_npy(result) : T()};
}

const std::string picture = "tests/io/data/images/colours.png";
const std::string recording = "tests/io/data/wavs/stereo_16.wav";

bool reads_pictures(const Given& result) { return !contains(result.ran.output, "was built without"); }

}  // namespace

TEST_CASE("a picture becomes the input that the model has: channels first or last, scaled, resized") {
  const Given first = given({"n", "3", "h", "w"}, "--input x=" + picture);
  if (!reads_pictures(first)) return;
  const T pixels = cast(read_image<T>(picture), DType::f32);
  const std::int64_t rows = pixels.shape()[0], columns = pixels.shape()[1];
  REQUIRE(first.value.shape() == Shape{1, 3, rows, columns});
  CHECK(first.value.to_vector<float>() == transpose(pixels / 255.0, {2, 0, 1}).to_vector<float>());

  const Given last = given({"1", "h", "w", "3"}, "--input x=" + picture, DType::u8);
  CHECK(last.value.shape() == Shape{1, rows, columns, 3});
  CHECK(cast(last.value, DType::f32).to_vector<float>() == pixels.to_vector<float>());

  const Given scaled = given({"h", "w", "3"}, "--input x=" + picture + " --mean 0,0.5,1 --deviation 0.25");
  const T wanted = (pixels / 255.0 - T{0.0, 0.5, 1.0}) / 0.25;
  CHECK(max(abs(scaled.value - wanted)).item<float>() < 1e-5F);

  CHECK(given({"1", "3", "4", "6"}, "--input x=" + picture).value.shape() == Shape{1, 3, 4, 6});
  CHECK(given({"n", "c", "h", "w"}, "--input x=" + picture + " --shape x=1,1,5,7").value.shape() == Shape{1, 1, 5, 7});
  CHECK(given({"h", "w"}, "--input x=" + picture).value.shape() == Shape{rows, columns});
}

TEST_CASE("a recording fills a window of fixed length, or lends its length to an open one") {
  const auto [samples, rate] = read_wav<T>(recording);
  const std::vector<float> frames = mean(samples, {1}).to_vector<float>();
  const Given open = given({"batch", "frames"}, "--input x=" + recording);
  CHECK(open.value.shape() == Shape{1, 25});
  CHECK(open.value.to_vector<float>() == frames);
  const Given window = given({"batch", "10", "1"}, "--input x=" + recording);
  CHECK(window.value.shape() == Shape{1, 10, 1});
  CHECK(window.value.to_vector<float>() == std::vector<float>(frames.begin(), frames.begin() + 10));
  const Given longer = given({"frames"}, "--input x=" + recording + " --shape x=27");
  CHECK(longer.value.to_vector<float>()[24] == frames[24]);
  CHECK(longer.value.to_vector<float>()[26] == 0);
}

TEST_CASE("inputs that pictures and recordings do not fit are refused with status 2") {
  const auto refused = [](const Given& result, const char* message) {
    CHECK(result.ran.status == 2);
    CHECK_MESSAGE(contains(result.ran.output, message), result.ran.output);
  };
  refused(given({"n", "c", "h", "w"}, "--input x=" + picture), "a picture is no input such as 'x f32 (n,c,h,w)'; it");
  refused(given({"2", "3", "h", "w"}, "--input x=" + picture), "a picture is no input such as 'x f32 (2,3,h,w)'; it");
  refused(given({}, "--input x=" + recording), "a recording is no input of one number such as 'x'");
  refused(given({"n"}, "--input x=none.wav"), "none.wav: cannot be opened for reading: there is no such file");
  refused(given({"n"}, "--input x=none.png"), "none.png: cannot be opened for reading: there is no such file");
  refused(given({"n", "3", "8", "8"}, "--input x=" + recording),
          "a recording is no input such as 'x f32 (n,3,8,8)'; it becomes a line of frames, along one axis");
  refused(given({"n"}, "--input x=" + recording, DType::i16), "which the input 'x' of i16 does not take");
  const Given wrong = given({"1", "3", "h", "w"}, "--mean 1,2 --input x=" + picture);
  if (reads_pictures(wrong)) refused(wrong, "option --mean gives 2 numbers for 3 channels");
  refused(given({"n"}, "--mean 1 --input x=" + recording),
          "option --mean is about pictures, but no input is given one");
  refused(given({"1", "3", "h", "w"}, "--mean 1,b --input x=" + picture),
          "option --mean takes numbers such as 0.485,0.456,0.406, not '1,b'");
}

}  // namespace cli_media_test
