// SPDX-License-Identifier: MIT
// Chooses names, shapes and values of the inputs that a model is run with.
#include "cli/model_inputs.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include <tyto/io.hpp>

#include "cli/input_files.hpp"
#include "cli/media_inputs.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {

namespace {

constexpr const char* values_what = "NAME=VALUE";

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    std::int64_t length = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), length);
    if (error != std::errc{} || stop != part.data() + part.size() || length < 0) {
      throw_error<UsageError>("--shape takes lengths such as 1,3,224,224, not '", text, "'");
    }
    shape.push_back(length);
  }
  return shape;
}

NamedList<Tensor<Any>> bound_values(const Arguments& arguments) {
  NamedList<Tensor<Any>> values;
  for (const auto& [name, value] : arguments.named("--bind")) {
    if (value.ends_with(".npy")) {
      values.push_back({name, read_npy<Tensor<Any>>(value)});
      continue;
    }
    const std::optional<double> number = finite_number(value);
    if (!number) throw_error<UsageError>("--bind ", name, " takes a number or FILE.npy, not '", value, "'");
    values.push_back({name, Tensor<Any>(*number)});
  }
  return values;
}

/// Refuses values for what is no input; those of a sequence's elements are named NAME[0], NAME[1] ...
void require_inputs(const NamedList<Tensor<Any>>& bound, const std::vector<ModelTensor>& inputs) {
  for (const Named<Tensor<Any>>& each : bound) {
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const ModelTensor& input) {
      return each.name == input.name || (input.sequence && each.name.starts_with(input.name + "["));
    });
    if (!known) refuse_name("input", each.name, inputs);
  }
}

/// Whether --mean and --deviation have a picture to be about.
void require_pictures(const NamedList<std::string>& said, const Arguments& arguments) {
  if (std::any_of(said.begin(), said.end(), [](const auto& each) { return is_picture(each.value); })) return;
  for (const char* option : {"--mean", "--deviation"}) {
    if (arguments.has(option)) {
      throw_error<UsageError>("option ", option, " is about pictures, but no input is given one");
    }
  }
}

}  // namespace

OnnxModel<Tensor<Lazy>> read_model(const std::string& path, const Arguments& arguments,
                                   const std::vector<std::string>& outputs) {
  require_file(path);
  OnnxOptions options{.bind = bound_values(arguments),
                      .outputs = outputs,
                      .max_bytes = static_cast<std::size_t>(arguments.bytes(max_memory_option.name).value_or(0)),
                      .max_iterations = arguments.number(max_iterations_option.name, 1).value_or(0)};
  try {
    return read_onnx<Tensor<Lazy>>(path, options);
  } catch (const IndexError&) {
    // Read again to say which inputs there are.
    const NamedList<Tensor<Any>> bound = std::exchange(options.bind, {});
    options.outputs.clear();
    if (!bound.empty()) require_inputs(bound, read_onnx<Tensor<Lazy>>(path, options).inputs());
    throw;
  }
}

std::vector<std::string> names_of(const std::vector<ModelTensor>& tensors) {
  std::vector<std::string> names;
  for (const ModelTensor& each : tensors) names.push_back(each.name);
  return names;
}

void refuse_name(const char* kind, const std::string& name, const std::vector<ModelTensor>& tensors) {
  std::string names;
  for (const ModelTensor& each : tensors) names += (names.empty() ? "'" : ", '") + each.name + "'";
  throw_error<UsageError>("the model has no ", kind, " '", name, "'; it has ", names.empty() ? "none" : names,
                          suggestion(name, names_of(tensors)));
}

NamedList<Shape> shapes_given(const Arguments& arguments) {
  NamedList<Shape> shapes;
  for (const auto& [name, value] : arguments.named("--shape", values_what))
    shapes.push_back({name, parse_shape(value)});
  return shapes;
}

std::vector<ModelTensor> given_inputs(const std::vector<ModelTensor>& inputs, const Arguments& arguments,
                                      const NamedList<Tensor<Lazy>>& together) {
  std::vector<std::string> said;
  for (const char* option : {"--input", "--shape"}) {
    for (const Named<std::string>& each : arguments.named(option, values_what)) said.push_back(each.name);
  }
  for (const Named<Tensor<Lazy>>& each : together) said.push_back(each.name);
  std::vector<bool> used(said.size(), false);
  std::vector<ModelTensor> tensors;
  const auto take = [&](ModelTensor tensor) {
    bool found = false;
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (said[i] == tensor.name) used[i] = found = true;
    }
    if (found || !(tensor.optional || tensor.sequence)) tensors.push_back(std::move(tensor));
    return found;
  };
  for (const ModelTensor& input : inputs) {
    if (!input.sequence) {
      take(input);
      continue;
    }
    if (std::find(said.begin(), said.end(), input.name) != said.end()) {
      throw_error<UsageError>("the input '", input.name, "' is a sequence: its tensors are ", input.name, "[0], ",
                              input.name, "[1] and so on");
    }
    for (std::size_t i = 0;; ++i) {
      ModelTensor element = input;
      element.name += "[" + std::to_string(i) + "]";
      if (!take(element)) break;
    }
  }
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (!used[i]) refuse_name("input", said[i], inputs);
  }
  return tensors;
}

NamedList<Shape> settled_shapes(const std::vector<ModelTensor>& inputs, const NamedList<Shape>& given) {
  NamedList<Shape> shapes;
  for (const ModelTensor& input : inputs) {
    Shape shape;
    if (input.shape) {
      for (const ModelLength& length : *input.shape) shape.push_back(length.length.value_or(1));
    }
    if (const Shape* wanted = given.find(input.name)) shape = *wanted;
    shapes.push_back({input.name, shape});
  }
  return shapes;
}

NamedList<Tensor<Lazy>> input_values(const OnnxModel<Tensor<Lazy>>& model, const Arguments& arguments) {
  const NamedList<std::string> said = arguments.named("--input", values_what);
  NamedList<Tensor<Lazy>> together;
  if (const auto path = arguments.text("--inputs")) together = values_in(*path, model.inputs(), "input");
  const std::vector<ModelTensor> inputs = given_inputs(model.inputs(), arguments, together);
  const NamedList<Shape> given = shapes_given(arguments), shapes = settled_shapes(inputs, given);
  const ColourScale scale = colour_scale(arguments);
  require_pictures(said, arguments);
  NamedList<Tensor<Lazy>> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ModelTensor& input = inputs[i];
    const std::string* word = said.find(input.name);
    const Tensor<Lazy>* value = together.find(input.name);
    if (word != nullptr && value != nullptr) {
      throw_error<UsageError>("the input '", input.name, "' is given by --input and by --inputs");
    }
    if (value != nullptr) {
      values.push_back({input.name, *value});
    } else {
      values.push_back({input.name, input_value(input, word == nullptr ? "random" : *word, shapes[i].value,
                                                given.contains(input.name), scale, i + 1)});
    }
  }
  return values;
}

std::string hint_at_open_lengths(const std::vector<ModelTensor>& inputs, const Arguments& arguments) {
  const NamedList<Shape> shapes = shapes_given(arguments);
  const NamedList<std::string> said = arguments.named("--input", values_what);
  std::string hint;
  if (arguments.has("--inputs")) return hint;
  for (const ModelTensor& input : given_inputs(inputs, arguments)) {
    const std::string* word = said.find(input.name);
    const bool made_up = word == nullptr || *word == "random" || *word == "zeros" || finite_number(*word);
    if (!input.shape || shapes.contains(input.name) || !made_up) continue;
    std::ostringstream option;
    option << "--shape " << input.name << "=";
    bool open = false;
    for (const ModelLength& length : *input.shape) {
      option << (&length == &input.shape->front() ? "" : ",");
      if (length.length) option << *length.length;
      else option << (length.symbol.empty() ? "N" : length.symbol);
      open = open || !length.length;
    }
    if (!open) continue;
    hint += (hint.empty() ? "" : ", ") + option.str();
  }
  return hint.empty() ? hint : "; lengths that the file leaves open count as 1, unless said: " + hint;
}

}  // namespace tyto::cli
