// SPDX-License-Identifier: MIT
// onnx.proto, field by field. Numbers of fields are those of the schema; fields that are not listed are skipped.
#include "onnx/file/model_file.hpp"

#include "onnx/file/protobuf.hpp"

namespace tyto::onnx {

namespace {

using Reader = ProtobufReader;
using Entry = std::pair<std::string_view, std::string_view>;

GraphMessage graph_from(Reader in);

Entry entry_from(Reader in) {
  Entry entry;
  while (in.next()) {
    if (in.field() == 1) entry.first = in.text();
    if (in.field() == 2) entry.second = in.text();
  }
  return entry;
}

TensorMessage tensor_from(Reader in) {
  TensorMessage tensor;
  while (in.next()) {
    switch (in.field()) {
      case 1: in.append_to(tensor.lengths); break;
      case 2: tensor.element_type = in.integer(); break;
      case 4: in.append_to(tensor.floats); break;
      case 5:
      case 7:
      case 11: in.append_to(tensor.integers); break;
      case 6: tensor.texts.push_back(in.text()); break;
      case 8: tensor.name = in.text(); break;
      case 9:
        tensor.has_raw = true;
        tensor.raw = in.bytes();
        break;
      case 10: in.append_to(tensor.doubles); break;
      case 13: tensor.external_data.push_back(entry_from(in.message())); break;
      case 14: tensor.external = in.integer() == 1; break;
      default: break;
    }
  }
  return tensor;
}

AttributeMessage attribute_from(Reader in) {
  AttributeMessage attribute;
  AttributeKind seen = AttributeKind::undefined;
  while (in.next()) {
    switch (in.field()) {
      case 1: attribute.name = in.text(); break;
      case 2:
        attribute.number = in.single();
        seen = AttributeKind::number;
        break;
      case 3:
        attribute.integer = in.integer();
        seen = AttributeKind::integer;
        break;
      case 4:
        attribute.text = in.text();
        seen = AttributeKind::text;
        break;
      case 5:
        attribute.tensor = std::make_shared<const TensorMessage>(tensor_from(in.message()));
        seen = AttributeKind::tensor;
        break;
      case 6:
        attribute.graph = std::make_shared<const GraphMessage>(graph_from(in.message()));
        seen = AttributeKind::graph;
        break;
      case 7:
        in.append_to(attribute.numbers);
        seen = AttributeKind::numbers;
        break;
      case 8:
        in.append_to(attribute.integers);
        seen = AttributeKind::integers;
        break;
      case 9:
        attribute.texts.push_back(in.text());
        seen = AttributeKind::texts;
        break;
      case 20: attribute.declared_kind = in.integer(); break;
      case 21: attribute.reference = in.text(); break;
      default: break;
    }
  }
  // The first versions of the format did not write the kind; and an empty list or a zero is written as nothing at all.
  if (attribute.declared_kind == 0) attribute.declared_kind = static_cast<std::int64_t>(seen);
  if (attribute.declared_kind >= 0 && attribute.declared_kind <= static_cast<int>(AttributeKind::texts)) {
    attribute.kind = static_cast<AttributeKind>(attribute.declared_kind);
  }
  return attribute;
}

NodeMessage node_from(Reader in) {
  NodeMessage node;
  while (in.next()) {
    switch (in.field()) {
      case 1: node.inputs.push_back(in.text()); break;
      case 2: node.outputs.push_back(in.text()); break;
      case 3: node.name = in.text(); break;
      case 4: node.operator_name = in.text(); break;
      case 5: node.attributes.push_back(attribute_from(in.message())); break;
      case 7: node.domain = in.text(); break;
      case 8: node.overload = in.text(); break;
      default: break;
    }
  }
  return node;
}

std::vector<DimensionMessage> dimensions_from(Reader in) {
  std::vector<DimensionMessage> dimensions;
  while (in.next()) {
    if (in.field() != 1) continue;
    DimensionMessage dimension;
    for (Reader fields = in.message(); fields.next();) {
      if (fields.field() == 1) dimension.length = fields.integer();
      if (fields.field() == 2) dimension.symbol = fields.text();
    }
    dimensions.push_back(dimension);
  }
  return dimensions;
}

// Within an optional may be a sequence, within a sequence tensors alone; of anything else it holds no tensors.
void read_type(Reader in, ValueMessage& value) {
  while (in.next()) {
    const bool is_sequence = in.field() == 4, is_optional = in.field() == 9;
    if (in.field() == 1) {
      value.holds_tensors = true;
      for (Reader tensor = in.message(); tensor.next();) {
        if (tensor.field() == 1) value.element_type = tensor.integer();
        if (tensor.field() == 2) value.dimensions = dimensions_from(tensor.message());
      }
    } else if ((is_sequence || is_optional) && !value.is_sequence && !(is_optional && value.is_optional)) {
      (is_sequence ? value.is_sequence : value.is_optional) = true;
      for (Reader inner = in.message(); inner.next();) {
        if (inner.field() == 1) read_type(inner.message(), value);
      }
    }
  }
}

ValueMessage value_from(Reader in) {
  ValueMessage value;
  while (in.next()) {
    if (in.field() == 1) value.name = in.text();
    if (in.field() == 2) read_type(in.message(), value);
  }
  return value;
}

GraphMessage graph_from(Reader in) {
  GraphMessage graph;
  while (in.next()) {
    switch (in.field()) {
      case 1: graph.nodes.push_back(node_from(in.message())); break;
      case 2: graph.name = in.text(); break;
      case 5: graph.initialisers.push_back(tensor_from(in.message())); break;
      case 11: graph.inputs.push_back(value_from(in.message())); break;
      case 12: graph.outputs.push_back(value_from(in.message())); break;
      case 15: {
        std::string_view name;
        for (Reader sparse = in.message(); sparse.next();) {
          if (sparse.field() == 1) name = tensor_from(sparse.message()).name;
        }
        graph.sparse_initialisers.push_back(name);
        break;
      }
      default: break;
    }
  }
  return graph;
}

OperatorSet operator_set_from(Reader in) {
  OperatorSet set;
  while (in.next()) {
    if (in.field() == 1) set.domain = in.text();
    if (in.field() == 2) set.version = in.integer();
  }
  return set;
}

FunctionMessage function_from(Reader in) {
  FunctionMessage function;
  while (in.next()) {
    switch (in.field()) {
      case 1: function.name = in.text(); break;
      case 4: function.inputs.push_back(in.text()); break;
      case 5: function.outputs.push_back(in.text()); break;
      case 7: function.nodes.push_back(node_from(in.message())); break;
      case 9: function.operator_sets.push_back(operator_set_from(in.message())); break;
      case 10: function.domain = in.text(); break;
      case 11: function.defaults.push_back(attribute_from(in.message())); break;
      case 13: function.overload = in.text(); break;
      default: break;
    }
  }
  return function;
}

}  // namespace

ModelMessage read_model(const std::string& file, std::span<const std::byte> bytes) {
  ModelMessage model;
  for (Reader in(file, bytes); in.next();) {
    switch (in.field()) {
      case 1: model.ir_version = in.integer(); break;
      case 2: model.producer = in.text(); break;
      case 3: model.producer_version = in.text(); break;
      case 7:
        if (model.graph) refuse(file, "holds two graphs");
        model.graph = graph_from(in.message());
        break;
      case 8: model.operator_sets.push_back(operator_set_from(in.message())); break;
      case 14: model.metadata.push_back(entry_from(in.message())); break;
      case 25: model.functions.push_back(function_from(in.message())); break;
      default: break;
    }
  }
  if (!model.graph) refuse(file, "is no ONNX model: it holds no graph");
  return model;
}

TensorMessage read_tensor(const std::string& file, std::span<const std::byte> bytes) {
  return tensor_from(Reader(file, bytes));
}

}  // namespace tyto::onnx
