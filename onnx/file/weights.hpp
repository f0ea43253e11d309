// SPDX-License-Identifier: MIT
// Tensors of a model's file, and of files beside it, as tensors: mapped where they lie well, else copied once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/system/mapped_file.hpp"
#include "onnx/file/model_file.hpp"
#include "onnx/file/operand.hpp"
#include "onnx/file/vocabulary.hpp"
#include "tyto/tensor.hpp"

namespace tyto::onnx {

/// Whether any of these f32 is subnormal; they need not be aligned.
bool has_subnormals(std::span<const std::byte> numbers);

class Weights {
 public:
  /// `file` is the model's name in messages; `bytes` are kept as long as a tensor points into them. Without a folder,
  /// weights in other files are refused. With `lazy`, what is recorded is soon packed elsewhere, and large copies are
  /// made only for that.
  Weights(std::string file, std::shared_ptr<const core::MappedFile> mapping, std::string folder, bool lazy)
      : file_(std::move(file)), mapping_(std::move(mapping)), folder_(std::move(folder)), lazy_(lazy) {}

  const std::string& file() const { return file_; }
  Vocabulary& vocabulary() { return vocabulary_; }

  /// Why the tensor cannot be had, for a list of all that is unsupported; empty when it can.
  static std::string unsupported(const TensorMessage& message);
  /// Bytes of its elements as they are held here. Throws IoError for a shape that none has.
  std::size_t byte_count(const TensorMessage& message) const;
  /// Throws IoError where type, shape and bytes do not agree.
  Tensor<Any> tensor(const TensorMessage& message);
  /// The same, with what its type does not say.
  Operand operand(const TensorMessage& message);
  /// The same, but of a large tensor that would be a copy of what the file has only where it is stored.
  Operand stored_operand(const TensorMessage& message);
  /// The operand with its tensor. Copies of the same tensor that are alive at a time are one; those that each call
  /// reads anew are kept.
  Operand loaded(const Operand& operand, bool kept = false);
  /// The elements of a tensor in another file; none where they cannot be read, which is told when they are needed.
  std::span<const std::byte> external_bytes(const TensorMessage& message);
  /// Releases the pages of all files: later reads load them from there again.
  void discard_pages() const;
  /// The same of a part of a file; what lies elsewhere stays.
  void discard_pages(std::span<const std::byte> part) const;

 private:
  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const core::MappedFile> owner;
  };
  Bytes external(const TensorMessage& message, std::uint64_t needed);
  std::shared_ptr<const core::MappedFile> opened(const std::string& where, std::string_view location) const;

  std::string file_;
  Vocabulary vocabulary_;
  std::shared_ptr<const core::MappedFile> mapping_;
  std::string folder_;
  std::map<std::string, std::shared_ptr<const core::MappedFile>, std::less<>>
      others_;  // by the name that the model says
  bool lazy_;
  std::map<const TensorMessage*, std::weak_ptr<const Tensor<Any>>> copies_;
  std::vector<std::shared_ptr<const Tensor<Any>>> kept_;
};

}  // namespace tyto::onnx
