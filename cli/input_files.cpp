// SPDX-License-Identifier: MIT
// Readers of input files: .npy, .npz, .pb, pictures and recordings, one function each.
#include "cli/input_files.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string_view>

#include <tyto/io.hpp>
#include <tyto/shaping.hpp>

#include "cli/model_inputs.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {

namespace {

/// Whether the name ends with one of the endings, in lower or upper case.
bool ends_with_one_of(std::string name, std::initializer_list<std::string_view> endings) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

Tensor<Lazy> made_up(const ModelTensor& input, const Shape& shape, const std::string& how, std::uint64_t number) {
  const DType dtype = *input.dtype;
  if (how == "random" && is_floating(dtype)) {
    return cast(Tensor<Lazy>::normal(shape, {.key = Key{number, 0}}), dtype);
  }
  if (how == "random" || how == "zeros") return Tensor<Lazy>::zeros(shape, dtype);
  const std::optional<double> value = finite_number(how);
  if (!value) {
    throw_error<UsageError>("--input ", input.name,
                            " takes a file (.npy, .npz, .pb, .png, .jpg, .wav), random, zeros or a number, not '", how,
                            "'", suggestion(how, {"random", "zeros"}));
  }
  if (is_floating(dtype)) return Tensor<Lazy>::full(shape, Scalar(*value), dtype);
  // 2^63: below it a double fits into the integer.
  if (!(std::abs(*value) < 0x1p63)) {
    throw_error<UsageError>("--input ", input.name, ": ", how, " is no number of type ", name_of(dtype));
  }
  return Tensor<Lazy>::full(shape, Scalar(static_cast<std::int64_t>(*value)), dtype);
}

Tensor<Lazy> only_tensor(const std::string& path, std::vector<Tensor<Lazy>> tensors) {
  if (tensors.size() == 1) return tensors.front();
  throw_error<IoError>(path, ": holds ", tensors.size(), " tensors where one is needed");
}

Tensor<Lazy> member_of(const std::string& path, const std::string& name) {
  const NamedList<Tensor<Lazy>> members = read_npz<Tensor<Lazy>>(path);
  if (const Tensor<Lazy>* member = members.find(name)) return *member;
  if (members.size() == 1) return members[0].value;
  std::vector<std::string> names;
  std::string list;
  for (const Named<Tensor<Lazy>>& each : members) {
    names.push_back(each.name);
    list += (list.empty() ? "'" : ", '") + each.name + "'";
  }
  throw_error<IoError>(path, ": has no array '", name, "' among ", list.empty() ? "none" : list,
                       suggestion(name, names));
}

/// The name of a tensor that is one of these, or of an element of a sequence among them.
bool is_among(const std::string& name, const std::vector<ModelTensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const ModelTensor& each) {
    return each.sequence ? name.starts_with(each.name + "[") : name == each.name;
  });
}

NamedList<Tensor<Lazy>> values_in_folder(const std::string& path, const std::vector<ModelTensor>& tensors,
                                         const char* kind) {
  NamedList<Tensor<Lazy>> values;
  std::size_t files = 0;
  const auto file_of = [&](std::size_t i) {
    return std::filesystem::path(path) / (std::string(kind) + "_" + std::to_string(i) + ".pb");
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!std::filesystem::exists(file_of(i))) continue;  // an optional that is left out
    ++files;
    const std::vector<Tensor<Lazy>> read = read_onnx_tensors<Tensor<Lazy>>(file_of(i).string(), tensors[i]);
    for (std::size_t k = 0; k < read.size(); ++k) {
      values.push_back({tensors[i].name + (tensors[i].sequence ? "[" + std::to_string(k) + "]" : ""), read[k]});
    }
  }
  if (files == 0) throw_error<IoError>(path, ": holds no ", file_of(0).filename().string());
  if (std::filesystem::exists(file_of(tensors.size()))) {
    throw_error<IoError>(path, ": holds ", file_of(tensors.size()).filename().string(), ", but the model has ",
                         tensors.size(), " ", kind, "s");
  }
  return values;
}

}  // namespace

bool is_picture(const std::string& value) { return ends_with_one_of(value, {".png", ".jpg", ".jpeg"}); }

bool is_array_file(const std::string& path) { return ends_with_one_of(path, {".npy", ".npz", ".pb"}); }

Tensor<Lazy> array_in(const std::string& path, const ModelTensor& tensor) {
  require_file(path);
  if (ends_with_one_of(path, {".npz"})) return member_of(path, tensor.name);
  if (ends_with_one_of(path, {".pb"})) {
    // A file of its own holds one element of a sequence.
    ModelTensor one = tensor;
    one.sequence = false;
    return only_tensor(path, read_onnx_tensors<Tensor<Lazy>>(path, one));
  }
  return read_npy<Tensor<Lazy>>(path);
}

Tensor<Lazy> input_value(const ModelTensor& input, const std::string& how, const Shape& shape, bool is_given,
                         const ColourScale& scale, std::uint64_t number) {
  if (is_array_file(how)) return array_in(how, input);
  if (is_picture(how)) {
    require_file(how);
    return picture_input(how, input, shape, is_given, scale);
  }
  if (ends_with_one_of(how, {".wav"})) {
    require_file(how);
    return recording_input(how, input, shape, is_given);
  }
  return made_up(input, shape, how, number);
}

NamedList<Tensor<Lazy>> values_in(const std::string& path, const std::vector<ModelTensor>& tensors, const char* kind) {
  require_file(path);
  if (std::filesystem::is_directory(path)) return values_in_folder(path, tensors, kind);
  if (!ends_with_one_of(path, {".npz"})) {
    throw_error<UsageError>("'", path, "' is neither a folder of ONNX's test data nor an archive .npz");
  }
  NamedList<Tensor<Lazy>> values = read_npz<Tensor<Lazy>>(path);
  for (const Named<Tensor<Lazy>>& each : values) {
    if (!is_among(each.name, tensors)) refuse_name(kind, each.name, tensors);
  }
  return values;
}

}  // namespace tyto::cli
