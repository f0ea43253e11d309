// SPDX-License-Identifier: MIT
// Messages of onnx.proto as plain structs, with the fields that are used here. Text and weights point into the file's
// bytes, which must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tyto::onnx {

struct GraphMessage;

/// A tensor as stored: raw bytes, numbers in the list of their type, or a place in another file.
struct TensorMessage {
  std::string_view name;
  std::int64_t element_type = 0;  // TensorProto.DataType
  std::vector<std::int64_t> lengths;
  bool has_raw = false;
  std::span<const std::byte> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;  // int32_data, int64_data and uint64_data
  std::vector<std::string_view> texts;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;  // key, value
};

/// Numbers as in AttributeProto.AttributeType.
enum class AttributeKind : std::uint8_t {
  undefined = 0,
  number = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  numbers = 6,
  integers = 7,
  texts = 8,
};

struct AttributeMessage {
  std::string_view name;
  AttributeKind kind = AttributeKind::undefined;
  std::int64_t declared_kind = 0;  // as the file says it, also where it is of a kind that is not known here
  std::string_view reference;      // in a function: the name of the attribute of its call that stands here
  float number = 0;
  std::int64_t integer = 0;
  std::string_view text;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
  std::shared_ptr<const TensorMessage> tensor;
  std::shared_ptr<const GraphMessage> graph;
};

struct NodeMessage {
  std::string_view operator_name;
  std::string_view domain;
  std::string_view overload;
  std::string_view name;
  std::vector<std::string_view> inputs;   // an empty name stands for one left out
  std::vector<std::string_view> outputs;  // likewise
  std::vector<AttributeMessage> attributes;
};

/// A length along one axis: a number, a name, or nothing known.
struct DimensionMessage {
  std::optional<std::int64_t> length;
  std::string_view symbol;
};

struct ValueMessage {
  std::string_view name;
  bool holds_tensors = false;  // a tensor, a sequence of tensors, or one of these that may be missing
  bool is_sequence = false;
  bool is_optional = false;
  std::int64_t element_type = 0;  // TensorProto.DataType
  std::optional<std::vector<DimensionMessage>> dimensions;
};

struct GraphMessage {
  std::string_view name;
  std::vector<NodeMessage> nodes;
  std::vector<TensorMessage> initialisers;
  std::vector<std::string_view> sparse_initialisers;  // just that they are there
  std::vector<ValueMessage> inputs;
  std::vector<ValueMessage> outputs;
};

struct OperatorSet {
  std::string_view domain;
  std::int64_t version = 0;
};

/// An operator defined in the file by others.
struct FunctionMessage {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeMessage> defaults;
  std::vector<NodeMessage> nodes;
  std::vector<OperatorSet> operator_sets;
};

struct ModelMessage {
  std::int64_t ir_version = 0;
  std::string_view producer;
  std::string_view producer_version;
  std::vector<OperatorSet> operator_sets;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  std::vector<FunctionMessage> functions;
  std::optional<GraphMessage> graph;
};

/// Throws IoError, whose message begins with `file`, for what is no ONNX model. Memory taken is at most 512 times the
/// number of bytes: no length in the file is believed before its bytes were seen.
ModelMessage read_model(const std::string& file, std::span<const std::byte> bytes);
/// One tensor alone, as ONNX's test data sets hold them.
TensorMessage read_tensor(const std::string& file, std::span<const std::byte> bytes);

}  // namespace tyto::onnx
