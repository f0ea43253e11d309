// SPDX-License-Identifier: MIT
// Reads onnx.proto field by field. Numbers of fields are those of the schema; fields that are not listed are skipped.
#include "onnx/file/model_file.hpp"

#include <type_traits>

#include "onnx/file/protobuf.hpp"

namespace tyto::onnx {

namespace {

using Reader = ProtobufReader;
using Entry = std::pair<std::string_view, std::string_view>;

void read_message(Reader in, Entry& entry);
void read_message(Reader in, TensorMessage& tensor);
void read_message(Reader in, AttributeMessage& attribute);
void read_message(Reader in, NodeMessage& node);
void read_message(Reader in, DimensionMessage& dimension);
void read_message(Reader in, ValueMessage& value);
void read_message(Reader in, GraphMessage& graph);
void read_message(Reader in, OperatorSet& set);
void read_message(Reader in, FunctionMessage& function);

// A field is read as what it goes to: text, a number, a message, another element of a list.
void read_field(const Reader& in, std::string_view& to) { to = in.text(); }
void read_field(const Reader& in, std::int64_t& to) { to = in.integer(); }
void read_field(const Reader& in, float& to) { to = in.single(); }
template <class Message>
void read_field(const Reader& in, Message& to) {
  read_message(in.message(), to);
}
template <class T>
void read_field(const Reader& in, std::vector<T>& to) {
  if constexpr (std::is_arithmetic_v<T>) in.append_to(to);
  else read_field(in, to.emplace_back());
}
template <class T>
void read_field(const Reader& in, std::optional<T>& to) {
  read_field(in, to.emplace());
}
template <class T>
void read_field(const Reader& in, std::shared_ptr<const T>& to) {
  auto made = std::make_shared<T>();
  read_field(in, *made);
  to = std::move(made);
}

/// Where the field of a number goes.
template <class T>
auto field(std::uint32_t number, T& to) {
  return [number, &to](const Reader& in) {
    if (in.field() == number) read_field(in, to);
  };
}

/// Shows every field to all of them.
template <class... Fields>
void read_fields(Reader in, const Fields&... fields) {
  while (in.next()) (fields(in), ...);
}

void read_message(Reader in, Entry& entry) { read_fields(in, field(1, entry.first), field(2, entry.second)); }

void read_message(Reader in, TensorMessage& tensor) {
  const auto raw_or_external = [&](const Reader& each) {
    if (each.field() == 9) {
      tensor.has_raw = true;
      tensor.raw = each.bytes();
    } else if (each.field() == 14) {
      tensor.external = each.integer() == 1;
    }
  };
  read_fields(in, field(1, tensor.lengths), field(2, tensor.element_type), field(4, tensor.floats),
              field(5, tensor.integers), field(6, tensor.texts), field(7, tensor.integers), field(8, tensor.name),
              field(10, tensor.doubles), field(11, tensor.integers), field(13, tensor.external_data), raw_or_external);
}

void read_message(Reader in, AttributeMessage& attribute) {
  std::int64_t seen = 0;
  const auto kind = [&](const Reader& each) {
    if (each.field() >= 2 && each.field() <= 9) seen = each.field() - 1;  // the kinds in the order of their fields
  };
  read_fields(in, field(1, attribute.name), field(2, attribute.number), field(3, attribute.integer),
              field(4, attribute.text), field(5, attribute.tensor), field(6, attribute.graph),
              field(7, attribute.numbers), field(8, attribute.integers), field(9, attribute.texts), kind,
              field(20, attribute.declared_kind), field(21, attribute.reference));
  // The first versions of the format did not write the kind; and an empty list or a zero is written as nothing at all.
  if (attribute.declared_kind == 0) attribute.declared_kind = seen;
  if (attribute.declared_kind >= 0 && attribute.declared_kind <= static_cast<int>(AttributeKind::texts)) {
    attribute.kind = static_cast<AttributeKind>(attribute.declared_kind);
  }
}

void read_message(Reader in, NodeMessage& node) {
  read_fields(in, field(1, node.inputs), field(2, node.outputs), field(3, node.name), field(4, node.operator_name),
              field(5, node.attributes), field(7, node.domain), field(8, node.overload));
}

void read_message(Reader in, DimensionMessage& dimension) {
  read_fields(in, field(1, dimension.length), field(2, dimension.symbol));
}

// Within an optional may be a sequence, within a sequence tensors alone; of anything else it holds no tensors.
void read_type(Reader in, ValueMessage& value) {
  while (in.next()) {
    const bool is_sequence = in.field() == 4, is_optional = in.field() == 9;
    if (in.field() == 1) {
      value.holds_tensors = true;
      const auto shape = [&](const Reader& each) {
        if (each.field() == 2) read_fields(each.message(), field(1, value.dimensions.emplace()));
      };
      read_fields(in.message(), field(1, value.element_type), shape);
    } else if ((is_sequence || is_optional) && !value.is_sequence && !(is_optional && value.is_optional)) {
      (is_sequence ? value.is_sequence : value.is_optional) = true;
      for (Reader inner = in.message(); inner.next();) {
        if (inner.field() == 1) read_type(inner.message(), value);
      }
    }
  }
}

void read_message(Reader in, ValueMessage& value) {
  const auto type = [&](const Reader& each) {
    if (each.field() == 2) read_type(each.message(), value);
  };
  read_fields(in, field(1, value.name), type);
}

void read_message(Reader in, GraphMessage& graph) {
  const auto sparse = [&](const Reader& each) {
    if (each.field() != 15) return;
    TensorMessage values;
    read_fields(each.message(), field(1, values));
    graph.sparse_initialisers.push_back(values.name);
  };
  read_fields(in, field(1, graph.nodes), field(2, graph.name), field(5, graph.initialisers), field(11, graph.inputs),
              field(12, graph.outputs), sparse);
}

void read_message(Reader in, OperatorSet& set) { read_fields(in, field(1, set.domain), field(2, set.version)); }

void read_message(Reader in, FunctionMessage& function) {
  read_fields(in, field(1, function.name), field(4, function.inputs), field(5, function.outputs),
              field(7, function.nodes), field(9, function.operator_sets), field(10, function.domain),
              field(11, function.defaults), field(13, function.overload));
}

}  // namespace

ModelMessage read_model(const std::string& file, std::span<const std::byte> bytes) {
  ModelMessage model;
  const auto graph = [&](const Reader& each) {
    if (each.field() != 7) return;
    if (model.graph) refuse(file, "holds two graphs");
    read_field(each, model.graph);
  };
  read_fields(Reader(file, bytes), field(1, model.ir_version), field(2, model.producer),
              field(3, model.producer_version), graph, field(8, model.operator_sets), field(14, model.metadata),
              field(25, model.functions));
  if (!model.graph) refuse(file, "is no ONNX model: it holds no graph");
  return model;
}

TensorMessage read_tensor(const std::string& file, std::span<const std::byte> bytes) {
  TensorMessage tensor;
  read_message(Reader(file, bytes), tensor);
  return tensor;
}

}  // namespace tyto::onnx
