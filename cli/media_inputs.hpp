// SPDX-License-Identifier: MIT
// Converts picture and sound files to the tensors that models take.
#pragma once

#include <string>
#include <vector>

#include <tyto/onnx.hpp>
#include <tyto/tensor.hpp>

#include "cli/arguments.hpp"

namespace tyto::cli {

/// Normalisation of the colours of pictures, a number for all of them or one each.
struct ColourScale {
  std::vector<double> mean = {0};
  std::vector<double> deviation = {1};
};

/// Parses the options --mean and --deviation.
ColourScale colour_scale(const Arguments& arguments);

/// A PNG or JPEG file as an input takes it: channels first or last, where it states 1, 3 or 4 of them; resized to the
/// height and width that the input has, in `shape` where `is_given`, and as large as it is where these are open.
/// Floating-point inputs get colours from 0 to 1, scaled; inputs of integers get them from 0 to 255.
Tensor<Lazy> picture_input(const std::string& path, const ModelTensor& input, const Shape& shape, bool is_given,
                           const ColourScale& scale);

/// A WAV file as an input takes it: all channels as one. Of a window of fixed length the file fills as much as it has;
/// where the last length is open, it has all frames.
Tensor<Lazy> recording_input(const std::string& path, const ModelTensor& input, const Shape& shape, bool is_given);

}  // namespace tyto::cli
