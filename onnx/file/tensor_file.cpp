// SPDX-License-Identifier: MIT
// Tensors in files of their own, as ONNX's test data sets hold them.
#include "core/system/mapped_file.hpp"
#include "onnx/file/element_types.hpp"
#include "onnx/file/model_file.hpp"
#include "onnx/file/protobuf.hpp"
#include "onnx/file/weights.hpp"
#include "tyto/onnx.hpp"

namespace tyto TYTO_API {
namespace detail {

namespace {

HostArray array_of(const std::string& file, std::span<const std::byte> message) {
  const onnx::TensorMessage stored = onnx::read_tensor(file, message);
  if (stored.element_type == onnx::text_type) {
    throw IoError(file + ": holds text, which each model has numbers of its own for; see OnnxModel::encode_text");
  }
  const Tensor<Any> tensor = onnx::Weights(file, nullptr, "", false).tensor(stored);
  const std::span<const std::byte> bytes = tensor.bytes();
  return {tensor.dtype(), tensor.shape(), {bytes.begin(), bytes.end()}};
}

// Tensors are field 3 of SequenceProto and of OptionalProto, whose field 5 is a sequence.
void add_tensors(std::vector<HostArray>& tensors, const std::string& file, onnx::ProtobufReader in, int depth) {
  while (in.next()) {
    if (in.field() == 3) tensors.push_back(array_of(file, in.bytes()));
    if (in.field() == 5 && depth == 0) add_tensors(tensors, file, in.message(), 1);
  }
}

}  // namespace

std::vector<HostArray> read_onnx_tensor_file(const std::string& path, bool nested) {
  const core::MappedFile file(path);
  if (!nested) return {array_of(path, file.bytes())};
  std::vector<HostArray> tensors;
  add_tensors(tensors, path, onnx::ProtobufReader(path, file.bytes()), 0);
  return tensors;
}

}  // namespace detail
}  // namespace TYTO_API
