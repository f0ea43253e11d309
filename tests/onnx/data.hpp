// SPDX-License-Identifier: MIT
// Finds test files: ONNX's own test tensors, and folders of models that may be missing.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <tyto/io.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "core/system/mapped_file.hpp"
#include "onnx/file/model_file.hpp"
#include "onnx/file/protobuf.hpp"
#include "onnx/file/weights.hpp"

namespace tyto::onnx_tests {

/// A folder below $TYTO_DATA, or nothing where it is not there.
inline std::optional<std::filesystem::path> data_folder(const std::string& name) {
  const char* root = std::getenv("TYTO_DATA");
  if (root == nullptr) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::path(root) / name;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

inline std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The tensors of a value as ONNX's tests store it: one, those of a sequence, or none of an optional that is empty.
inline std::vector<Tensor<Any>> stored_tensors(const std::filesystem::path& path, const onnx::ValueMessage& type) {
  const ModelTensor like{
      .name = {}, .sequence = type.is_sequence, .optional = type.is_optional, .dtype = {}, .shape = {}};
  return read_onnx_tensors<Tensor<Any>>(path.string(), like);
}

/// Describes the difference of two tensors; empty when every element is within the tolerance and type and shape
/// agree. Integers must be equal.
inline std::string difference(const Tensor<Any>& got, const Tensor<Any>& want, double relative, double absolute) {
  if (got.dtype() != want.dtype())
    return std::string("type ") + name_of(got.dtype()) + ", not " + name_of(want.dtype());
  if (!(got.shape() == want.shape())) return "shape " + to_string(got.shape()) + ", not " + to_string(want.shape());
  const bool exact = !is_floating(want.dtype());
  const std::vector<double> a = cast(got, DType::f64).to_vector<double>(),
                            b = cast(want, DType::f64).to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]);
    if (same || (!exact && std::abs(a[i] - b[i]) <= absolute + relative * std::abs(b[i]))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", not " + std::to_string(b[i]);
  }
  return "";
}

}  // namespace tyto::onnx_tests
