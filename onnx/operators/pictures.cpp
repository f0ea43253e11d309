// SPDX-License-Identifier: MIT
// Pictures decoded from the bytes of their files (ImageDecoder).
#include "io/image_file.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/host_array.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

/// The shape is written in the bytes: they must be known.
Outputs decoded_picture(const OperatorCall& call) {
  const std::string_view format = call.text("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    call.refuse("pixel_format '", format, "'; known are RGB, BGR, Grayscale");
  const bool grey = format == "Grayscale";
  const Array& stream = call[0];
  if (stream.dtype() != DType::u8 || stream.ndim() != 1)
    call.refuse("an encoded stream of ", stream.dtype(), stream.shape(), "; it is a vector of u8");
  call.require_known(0);
  // Neither format packs more pixels into a byte: a small file cannot ask for much memory.
  constexpr std::int64_t pixels_of_a_byte = 8 * 1032;
  ImageOptions options{.channels = grey ? 1 : 3};
  if (stream.size() < options.largest / pixels_of_a_byte) options.largest = stream.size() * pixels_of_a_byte;
  const auto pixels = to_tensor<Array>(io::read_image(call.where(), stream.bytes(), options));
  return {format == "BGR" ? flip(pixels, {2}) : pixels};
}

constexpr OperatorRow picture_table[] = {{"ImageDecoder", 20, decoded_picture}};

}  // namespace

std::span<const OperatorRow> picture_rows() { return picture_table; }

}  // namespace tyto::onnx
