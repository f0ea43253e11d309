// SPDX-License-Identifier: MIT
// Builds models field by field, valid ones and ones that no exporter would write, and reports the reader's errors.
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/onnx.hpp>

#include "onnx/file/element_types.hpp"
#include "onnx/write/protobuf_writer.hpp"

namespace tyto::onnx_tests {

using Message = onnx::ProtobufWriter;

/// An attribute: its name, what `fill` writes, and its kind.
template <class Fill>
Message attribute_of_kind(std::string_view name, std::int64_t kind, const Fill& fill) {
  Message m;
  m.text(1, name);
  fill(m);
  m.integer(20, kind);
  return m;
}
inline Message attribute(std::string_view name, std::int64_t value) {
  return attribute_of_kind(name, 2, [&](Message& m) { m.integer(3, value); });
}
inline Message attribute(std::string_view name, float value) {
  return attribute_of_kind(name, 1, [&](Message& m) { m.single(2, value); });
}
inline Message attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  return attribute_of_kind(name, 7, [&](Message& m) {
    for (const std::int64_t value : values) m.integer(8, value);
  });
}
inline Message numbers(std::string_view name, const std::vector<float>& values) {
  return attribute_of_kind(name, 6, [&](Message& m) {
    for (const float value : values) m.single(7, value);
  });
}
inline Message texts(std::string_view name, const std::vector<std::string>& words) {
  return attribute_of_kind(name, 8, [&](Message& m) {
    for (const std::string& word : words) m.text(9, word);
  });
}
inline Message text_attribute(std::string_view name, std::string_view text) {
  return attribute_of_kind(name, 3, [&](Message& m) { m.text(4, text); });
}
inline Message tensor_attribute(std::string_view name, const Message& tensor) {
  return attribute_of_kind(name, 4, [&](Message& m) { m.message(5, tensor); });
}
inline Message graph_attribute(std::string_view name, const Message& graph) {
  return attribute_of_kind(name, 5, [&](Message& m) { m.message(6, graph); });
}
inline Message reference_attribute(std::string_view name, std::string_view of, std::int64_t kind) {
  return attribute_of_kind(name, kind, [&](Message& m) { m.text(21, of); });
}

/// `inner` as a type message of one field: 4 is a sequence, 9 an optional.
inline Message wrapped(int field, const Message& inner) {
  Message element, type;
  element.message(1, inner);
  type.message(field, element);
  return type;
}
/// Of two numbers.
inline Message vector_type() {
  Message dimension, shape, tensor, type;
  dimension.integer(1, 2);
  shape.message(1, dimension);
  tensor.integer(1, onnx::element_type_of(DType::f32));
  tensor.message(2, shape);
  type.message(1, tensor);
  return type;
}
inline Message typed(std::string_view name, const Message& type) {
  Message m;
  m.text(1, name);
  m.message(2, type);
  return m;
}
inline Message sequence(std::string_view name) { return typed(name, wrapped(4, vector_type())); }
inline Message optional(std::string_view name) { return typed(name, wrapped(9, vector_type())); }

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {},
                    std::string_view domain = "") {
  Message m;
  for (const std::string& input : inputs) m.text(1, input);
  for (const std::string& output : outputs) m.text(2, output);
  m.text(4, op);
  for (const Message& each : attributes) m.message(5, each);
  if (!domain.empty()) m.text(7, domain);
  return m;
}

/// Lengths: numbers, or names for what is open.
inline Message value(std::string_view name, const std::vector<std::string>& lengths, DType dtype = DType::f32) {
  Message shape, tensor, type, m;
  for (const std::string& length : lengths) {
    Message dimension;
    if (length.find_first_not_of("-0123456789") == std::string::npos) dimension.integer(1, std::stoll(length));
    else dimension.text(2, length);
    shape.message(1, dimension);
  }
  tensor.integer(1, onnx::element_type_of(dtype));
  tensor.message(2, shape);
  type.message(1, tensor);
  m.text(1, name);
  m.message(2, type);
  return m;
}

template <class E>
Message raw_tensor(std::string_view name, const std::vector<std::int64_t>& lengths, const std::vector<E>& elements) {
  Message m;
  for (const std::int64_t length : lengths) m.integer(1, length);
  m.integer(2, onnx::element_type_of(dtype_of<E>));
  m.text(8, name);
  std::string bytes(elements.size() * sizeof(E), '\0');
  if (!elements.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  m.text(9, bytes);
  return m;
}

/// A tensor in another file.
inline Message external_tensor(std::string_view name, const std::vector<std::int64_t>& lengths,
                               std::string_view location,
                               const std::vector<std::pair<std::string, std::string>>& rest = {}) {
  Message m;
  for (const std::int64_t length : lengths) m.integer(1, length);
  m.integer(2, 1);
  m.text(8, name);
  const auto add = [&](std::string_view key, std::string_view text) {
    Message entry;
    entry.text(1, key);
    entry.text(2, text);
    m.message(13, entry);
  };
  add("location", location);
  for (const auto& [key, text] : rest) add(key, text);
  m.integer(14, 1);
  return m;
}

struct GraphParts {
  std::vector<Message> nodes = {};
  std::vector<Message> inputs = {};
  std::vector<Message> outputs = {};
  std::vector<Message> initialisers = {};
};

inline Message graph(const GraphParts& parts) {
  Message m;
  for (const Message& each : parts.nodes) m.message(1, each);
  m.text(2, "g");
  for (const Message& each : parts.initialisers) m.message(5, each);
  for (const Message& each : parts.inputs) m.message(11, each);
  for (const Message& each : parts.outputs) m.message(12, each);
  return m;
}

inline Message operator_set(std::string_view domain, std::int64_t version) {
  Message m;
  m.text(1, domain);
  m.integer(2, version);
  return m;
}

inline std::string model(const Message& graph, std::int64_t version = 17, const std::vector<Message>& functions = {}) {
  Message m;
  m.integer(1, 8);
  m.text(2, "a test");
  m.message(8, operator_set("", version));
  m.message(8, operator_set("local", 1));
  m.message(7, graph);
  for (const Message& each : functions) m.message(25, each);
  return m.bytes();
}
inline std::string model(const GraphParts& parts, std::int64_t version = 17) { return model(graph(parts), version); }

/// y = x + w.
inline GraphParts adding(const Message& weights) {
  return {.nodes = {node("Add", {"x", "w"}, {"y"})},
          .inputs = {value("x", {"n"})},
          .outputs = {value("y", {"n"})},
          .initialisers = {weights}};
}

template <class T>
OnnxModel<T> read(const std::string& bytes, const OnnxOptions& options = {}) {
  return read_onnx<T>(std::as_bytes(std::span(bytes)), "m.onnx", options);
}

/// The message of the error of this type that reading throws; nothing where the model is read.
template <class Expected = Error>
std::string refusal(const std::string& bytes, const OnnxOptions& options = {}) {
  try {
    read<Tensor<Eager>>(bytes, options);
  } catch (const Expected& error) {
    return error.what();
  }
  return "";
}

inline void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

inline std::string refused_file(const std::string& path) {
  try {
    read_onnx<Tensor<Eager>>(path);
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

}  // namespace tyto::onnx_tests
