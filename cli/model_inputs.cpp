// Reading NAME=VALUE of inputs and outputs, and making up inputs.
#include "cli/model_inputs.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include <tyto/io.hpp>
#include <tyto/shaping.hpp>

#include "cli/media_inputs.hpp"

namespace tyto::cli {

namespace {

// Names may hold colons and slashes, but no equals sign that a file would be found behind.
std::pair<std::string, std::string> name_and_value(const std::string& word, const char* option,
                                                   const char* what = "NAME=VALUE") {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(std::string(option) + " takes " + what + ", not '" + word + "'");
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::string names_of(const std::vector<ModelTensor>& tensors) {
  std::string names;
  for (const ModelTensor& each : tensors) names += (names.empty() ? "'" : ", '") + each.name + "'";
  return names.empty() ? "none" : names;
}

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    std::int64_t length = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), length);
    if (error != std::errc{} || stop != part.data() + part.size() || length < 0) {
      throw UsageError("--shape takes lengths such as 1,3,224,224, not '" + text + "'");
    }
    shape.push_back(length);
  }
  return shape;
}

Tensor<Lazy> made_up(const ModelTensor& input, const Shape& shape, const std::string& how, std::uint64_t number) {
  const DType dtype = *input.dtype;
  if (how == "random" && is_floating(dtype)) {
    return cast(Tensor<Lazy>::normal(shape, {.key = Key{number, 0}}), dtype);
  }
  if (how == "random" || how == "zeros") return Tensor<Lazy>::zeros(shape, dtype);
  if (how.ends_with(".npy")) return read_npy<Tensor<Lazy>>(how);
  double value = 0;
  const auto [stop, error] = std::from_chars(how.data(), how.data() + how.size(), value);
  if (error != std::errc{} || stop != how.data() + how.size()) {
    throw UsageError("--input " + input.name +
                     " takes a file (.npy, .png, .jpg, .wav), random, zeros or a number, not '" + how + "'");
  }
  if (is_floating(dtype)) return Tensor<Lazy>::full(shape, Scalar(value), dtype);
  // 2^63: below it a double fits into the integer.
  if (!(std::abs(value) < 0x1p63)) {
    throw UsageError("--input " + input.name + ": " + how + " is no number of type " + std::string(name_of(dtype)));
  }
  return Tensor<Lazy>::full(shape, Scalar(static_cast<std::int64_t>(value)), dtype);
}

/// In small letters or large ones.
bool ends_with_one_of(std::string name, std::initializer_list<std::string_view> endings) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

NamedList<Tensor<Any>> bound_values(const Arguments& arguments) {
  NamedList<Tensor<Any>> values;
  for (const std::string& word : arguments.texts("--bind")) {
    const auto [name, value] = name_and_value(word, "--bind");
    if (value.ends_with(".npy")) {
      values.push_back({name, read_npy<Tensor<Any>>(value)});
      continue;
    }
    double number = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || stop != value.data() + value.size()) {
      throw UsageError("--bind " + name + " takes a number or FILE.npy, not '" + value + "'");
    }
    values.push_back({name, Tensor<Any>(number)});
  }
  return values;
}

NamedList<Shape> shapes_given(const Arguments& arguments) {
  NamedList<Shape> shapes;
  for (const std::string& word : arguments.texts("--shape")) {
    const auto [name, value] = name_and_value(word, "--shape");
    shapes.push_back({name, parse_shape(value)});
  }
  return shapes;
}

std::vector<ModelTensor> given_inputs(const std::vector<ModelTensor>& inputs, const Arguments& arguments) {
  NamedList<bool> said;
  for (const char* option : {"--input", "--shape"}) {
    for (const std::string& word : arguments.texts(option)) said.push_back({name_and_value(word, option).first, false});
  }
  std::vector<ModelTensor> tensors;
  const auto take = [&](ModelTensor tensor) {
    bool found = false;
    for (Named<bool>& each : said) {
      if (each.name != tensor.name) continue;
      each.value = found = true;
    }
    if (found || !(tensor.optional || tensor.sequence)) tensors.push_back(std::move(tensor));
    return found;
  };
  for (const ModelTensor& input : inputs) {
    if (!input.sequence) {
      take(input);
      continue;
    }
    if (said.contains(input.name)) {
      throw UsageError("the input '" + input.name + "' is a sequence: its tensors are " + input.name + "[0], " +
                       input.name + "[1] and so on");
    }
    for (std::size_t i = 0;; ++i) {
      ModelTensor element = input;
      element.name += "[" + std::to_string(i) + "]";
      if (!take(element)) break;
    }
  }
  for (const Named<bool>& each : said) {
    if (!each.value) throw UsageError("the model has no input '" + each.name + "'; it has " + names_of(inputs));
  }
  return tensors;
}

NamedList<std::string> wanted_outputs(const std::vector<ModelTensor>& outputs, const Arguments& arguments) {
  NamedList<std::string> wanted;
  for (const std::string& word : arguments.texts("--output")) {
    const auto [name, file] = name_and_value(word, "--output", "NAME=FILE.npy");
    const bool known = std::any_of(outputs.begin(), outputs.end(), [&name = name](const ModelTensor& output) {
      return output.sequence ? name.starts_with(output.name + "[") : name == output.name;
    });
    if (!known) throw UsageError("the model has no output '" + name + "'; it has " + names_of(outputs));
    wanted.push_back({name, file});
  }
  return wanted;
}

NamedList<Shape> settled_shapes(const std::vector<ModelTensor>& inputs, const NamedList<Shape>& given) {
  NamedList<Shape> shapes;
  for (const ModelTensor& input : inputs) {
    Shape shape;
    if (input.shape) {
      for (const ModelLength& length : *input.shape) shape.push_back(length.length.value_or(1));
    }
    for (const Named<Shape>& wanted : given) {
      if (wanted.name == input.name) shape = wanted.value;
    }
    shapes.push_back({input.name, shape});
  }
  return shapes;
}

NamedList<Tensor<Lazy>> input_values(const std::vector<ModelTensor>& inputs, const Arguments& arguments) {
  NamedList<std::string> said;
  for (const std::string& word : arguments.texts("--input")) {
    const auto [name, value] = name_and_value(word, "--input");
    said.push_back({name, value});
  }
  const NamedList<Shape> given = shapes_given(arguments);
  const NamedList<Shape> shapes = settled_shapes(inputs, given);
  const ColourScale scale = colour_scale(arguments);
  NamedList<Tensor<Lazy>> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string* word = said.find(inputs[i].name);
    const std::string how = word == nullptr ? "random" : *word;
    const ModelTensor& input = inputs[i];
    const Shape& shape = shapes[i].value;
    const bool is_given = given.contains(input.name);
    if (ends_with_one_of(how, {".png", ".jpg", ".jpeg"})) {
      values.push_back({input.name, picture_input(how, input, shape, is_given, scale)});
    } else if (ends_with_one_of(how, {".wav"})) {
      values.push_back({input.name, recording_input(how, input, shape, is_given)});
    } else {
      values.push_back({input.name, made_up(input, shape, how, i + 1)});
    }
  }
  return values;
}

}  // namespace tyto::cli
