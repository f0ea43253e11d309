// SPDX-License-Identifier: MIT
// Finds the axes of channels and length of an input, and converts pictures and recordings to fit.
#include "cli/media_inputs.hpp"

#include <algorithm>
#include <optional>

#include <tyto/audio.hpp>
#include <tyto/images.hpp>
#include <tyto/resampling.hpp>
#include <tyto/tyto.hpp>

namespace tyto::cli {

namespace {

std::vector<double> numbers_of(const Arguments& arguments, const std::string& option, double otherwise) {
  const auto text = arguments.text(option);
  if (!text) return {otherwise};
  std::vector<double> numbers;
  std::istringstream in(*text);
  for (std::string part; std::getline(in, part, ',');) {
    const std::optional<double> number = finite_number(part);
    if (!number)
      throw_error<UsageError>("option ", option, " takes numbers such as 0.485,0.456,0.406, not '", *text, "'");
    numbers.push_back(*number);
  }
  return numbers;
}

bool are_channels(std::int64_t count) { return count == 1 || count == 3 || count == 4; }

/// A number for each channel, broadcast along the last axis.
Tensor<Lazy> by_channel(const std::vector<double>& numbers, std::int64_t channels, const char* option) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (count != 1 && count != channels) {
    throw_error<UsageError>("option ", option, " gives ", count, " numbers for ", channels, " channels");
  }
  return cast(Tensor<Lazy>::from(numbers, {count}), DType::f32);
}

/// The length of an axis as given or as the file fixes it; 0 where both leave it open.
std::int64_t fixed_length(const ModelTensor& input, const Shape& shape, bool is_given, std::size_t axis) {
  if (is_given) return shape[axis];
  return input.shape ? (*input.shape)[axis].length.value_or(0) : 0;
}

}  // namespace

ColourScale colour_scale(const Arguments& arguments) {
  ColourScale scale{numbers_of(arguments, "--mean", 0), numbers_of(arguments, "--deviation", 1)};
  if (std::ranges::count(scale.deviation, 0.0) > 0)
    throw UsageError("option --deviation: colours are divided by it, so 0 is none");
  return scale;
}

Tensor<Lazy> picture_input(const std::string& path, const ModelTensor& input, const Shape& shape, bool is_given,
                           const ColourScale& scale) {
  const std::size_t axes = shape.size();
  const auto length = [&](std::size_t axis) { return fixed_length(input, shape, is_given, axis); };
  const bool first = axes >= 3 && are_channels(length(axes - 3));
  const bool last = !first && axes >= 3 && are_channels(length(axes - 1));
  const bool grey = axes == 2;
  if (axes > 4 || (!first && !last && !grey) || (axes == 4 && length(0) > 1)) {
    throw_error<ValueError>(
        "a picture is no input such as '", input,
        "'; it becomes (1,channels,height,width), (1,height,width,channels), both without the 1, or "
        "(height,width), of 1, 3 or 4 channels; --shape fixes what the model leaves open");
  }
  const std::int64_t channels = grey ? 1 : length(first ? axes - 3 : axes - 1);
  const std::size_t rows_axis = first || grey ? axes - 2 : axes - 3;
  Tensor<Lazy> x = expand_dims(read_image<Tensor<Lazy>>(path, {.channels = static_cast<int>(channels)}), {0});
  const std::int64_t rows = length(rows_axis), columns = length(rows_axis + 1);
  x = cast(x, DType::f32);
  if (rows != 0 || columns != 0) {
    x = resize(x, {static_cast<int>(rows != 0 ? rows : x.shape()[1]),
                   static_cast<int>(columns != 0 ? columns : x.shape()[2])});
  }
  if (is_floating(*input.dtype)) {
    x = (x / 255.0 - by_channel(scale.mean, channels, "--mean")) / by_channel(scale.deviation, channels, "--deviation");
  } else {
    x = round(x);
  }
  if (first) x = transpose(x, {0, 3, 1, 2});
  if (axes == 3) x = squeeze(x, {0});
  if (grey) x = squeeze(x, {0, 3});
  return cast(x, *input.dtype);
}

Tensor<Lazy> recording_input(const std::string& path, const ModelTensor& input, const Shape& shape, bool is_given) {
  const Recording<Tensor<Lazy>> recording = read_wav<Tensor<Lazy>>(path);
  Tensor<Lazy> frames = mean(recording.samples, {1});
  if (!is_floating(*input.dtype)) {
    throw_error<ValueError>(path, ": a recording is read as numbers from -1 to 1, which the input '", input.name,
                            "' of ", name_of(*input.dtype), " does not take; give it as .npy");
  }
  if (shape.empty()) throw_error<ValueError>("a recording is no input of one number such as '", input.name, "'");
  if (std::ranges::count_if(shape, [](std::int64_t length) { return length != 1; }) > 1) {
    throw_error<ValueError>("a recording is no input such as '", input,
                            "'; it becomes a line of frames, along one axis whose length is open or not 1");
  }
  Shape wanted = shape;
  const bool is_window = is_given || element_count(wanted) > 1;
  for (std::size_t axis = wanted.size(); !is_window && axis-- > 0;) {
    if (fixed_length(input, shape, is_given, axis) != 0) continue;
    wanted[axis] = frames.size();
    break;
  }
  const std::int64_t count = element_count(wanted), there = std::min(count, frames.size());
  frames = pad(frames(slice(0, there)), {0}, {count - there});
  return cast(frames.reshape(wanted), *input.dtype);
}

}  // namespace tyto::cli
