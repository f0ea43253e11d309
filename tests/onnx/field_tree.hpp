// SPDX-License-Identifier: MIT
// A model file as a tree of its fields, which can be changed anywhere and written as a well-formed file again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tyto::onnx_tests {

/// Messages of onnx.proto.
enum class MessageKind : std::uint8_t {
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse,
  value,
  type,
  tensor_type,
  wrapper,  // of a type, in a sequence or optional
  shape,
  dimension,
  function,
  operator_set,
  entry,
};

enum class FieldForm : std::uint8_t { integer, single, real, text, message };

/// Lists of numbers have a field for each.
struct FieldTree {
  std::uint32_t number = 0;
  FieldForm form = FieldForm::message;
  MessageKind kind = MessageKind::model;  // of a message
  std::int64_t integer = 0;
  double real = 0;
  std::string text = {};
  std::vector<FieldTree> fields = {};

  /// The first field of that number, or null.
  const FieldTree* find(std::uint32_t wanted) const;
  FieldTree* find(std::uint32_t wanted);
};

/// Throws IoError for what is no protobuf; fields that onnx.proto has not, or that nothing here reads, are left out.
FieldTree decoded(const std::string& file, std::span<const std::byte> bytes, MessageKind kind = MessageKind::model);
std::string encoded(const FieldTree& tree);

inline FieldTree text_field(std::uint32_t number, std::string text) {
  return {.number = number, .form = FieldForm::text, .text = std::move(text)};
}
inline FieldTree integer_field(std::uint32_t number, std::int64_t integer) {
  return {.number = number, .form = FieldForm::integer, .integer = integer};
}

}  // namespace tyto::onnx_tests
