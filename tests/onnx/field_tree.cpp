// SPDX-License-Identifier: MIT
// onnx.proto as a table of fields, by which trees are read and written.
#include "tests/onnx/field_tree.hpp"

#include <algorithm>

#include <bit>

#include "onnx/file/protobuf.hpp"
#include "onnx/write/protobuf_writer.hpp"

namespace tyto::onnx_tests {

namespace field_tree {
namespace {

struct FieldRule {
  MessageKind in;
  std::uint32_t number;
  FieldForm form;
  MessageKind kind = MessageKind::model;  // of a message
};

using enum MessageKind;
using enum FieldForm;

constexpr FieldRule rules[] = {
    {model, 1, integer},
    {model, 2, text},
    {model, 3, text},
    {model, 7, message, graph},
    {model, 8, message, operator_set},
    {model, 14, message, entry},
    {model, 25, message, function},
    {graph, 1, message, node},
    {graph, 2, text},
    {graph, 5, message, tensor},
    {graph, 11, message, value},
    {graph, 12, message, value},
    {graph, 15, message, sparse},
    {node, 1, text},
    {node, 2, text},
    {node, 3, text},
    {node, 4, text},
    {node, 5, message, attribute},
    {node, 7, text},
    {node, 8, text},
    {attribute, 1, text},
    {attribute, 2, single},
    {attribute, 3, integer},
    {attribute, 4, text},
    {attribute, 5, message, tensor},
    {attribute, 6, message, graph},
    {attribute, 7, single},
    {attribute, 8, integer},
    {attribute, 9, text},
    {attribute, 20, integer},
    {attribute, 21, text},
    {tensor, 1, integer},
    {tensor, 2, integer},
    {tensor, 4, single},
    {tensor, 5, integer},
    {tensor, 6, text},
    {tensor, 7, integer},
    {tensor, 8, text},
    {tensor, 9, text},
    {tensor, 10, real},
    {tensor, 11, integer},
    {tensor, 13, message, entry},
    {tensor, 14, integer},
    {sparse, 1, message, tensor},
    {sparse, 2, message, tensor},
    {sparse, 3, integer},
    {value, 1, text},
    {value, 2, message, type},
    {type, 1, message, tensor_type},
    {type, 4, message, wrapper},
    {type, 9, message, wrapper},
    {wrapper, 1, message, type},
    {tensor_type, 1, integer},
    {tensor_type, 2, message, shape},
    {shape, 1, message, dimension},
    {dimension, 1, integer},
    {dimension, 2, text},
    {function, 1, text},
    {function, 4, text},
    {function, 5, text},
    {function, 7, message, node},
    {function, 9, message, operator_set},
    {function, 10, text},
    {function, 11, message, attribute},
    {function, 13, text},
    {operator_set, 1, text},
    {operator_set, 2, integer},
    {entry, 1, text},
    {entry, 2, text},
};

const FieldRule* rule_of(MessageKind in, std::uint32_t number) {
  const auto* found = std::find_if(std::begin(rules), std::end(rules),
                                   [&](const FieldRule& rule) { return rule.in == in && rule.number == number; });
  return found == std::end(rules) ? nullptr : found;
}

FieldTree tree_of(onnx::ProtobufReader in, std::uint32_t number, MessageKind kind) {
  FieldTree tree{.number = number, .kind = kind};
  while (in.next()) {
    const FieldRule* rule = rule_of(kind, in.field());
    if (rule == nullptr) continue;
    FieldTree leaf{.number = in.field(), .form = rule->form, .kind = rule->kind};
    switch (rule->form) {
      case integer: {
        std::vector<std::int64_t> list;
        in.append_to(list);
        for (const std::int64_t each : list) tree.fields.push_back(integer_field(in.field(), each));
        break;
      }
      case single: {
        std::vector<float> list;
        in.append_to(list);
        for (const float each : list) {
          leaf.real = static_cast<double>(each);
          tree.fields.push_back(leaf);
        }
        break;
      }
      case real: {
        std::vector<double> list;
        in.append_to(list);
        for (const double each : list) {
          leaf.real = each;
          tree.fields.push_back(leaf);
        }
        break;
      }
      case text:
        leaf.text = in.text();
        tree.fields.push_back(std::move(leaf));
        break;
      case message: tree.fields.push_back(tree_of(in.message(), in.field(), rule->kind)); break;
    }
  }
  return tree;
}

onnx::ProtobufWriter written(const FieldTree& tree) {
  onnx::ProtobufWriter out;
  for (const FieldTree& each : tree.fields) {
    switch (each.form) {
      case integer: out.integer(each.number, each.integer); break;
      case single: out.single(each.number, static_cast<float>(each.real)); break;
      case real: {  // as a packed list of one
        std::string bytes(sizeof(double), '\0');
        std::memcpy(bytes.data(), &each.real, bytes.size());
        out.text(each.number, bytes);
        break;
      }
      case text: out.text(each.number, each.text); break;
      case message: out.message(each.number, written(each)); break;
    }
  }
  return out;
}

}  // namespace
}  // namespace field_tree

const FieldTree* FieldTree::find(std::uint32_t wanted) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldTree& each) { return each.number == wanted; });
  return found == fields.end() ? nullptr : &*found;
}
FieldTree* FieldTree::find(std::uint32_t wanted) {
  return const_cast<FieldTree*>(static_cast<const FieldTree*>(this)->find(wanted));
}

FieldTree decoded(const std::string& file, std::span<const std::byte> bytes, MessageKind kind) {
  return field_tree::tree_of(onnx::ProtobufReader(file, bytes), 0, kind);
}

std::string encoded(const FieldTree& tree) { return field_tree::written(tree).bytes(); }

}  // namespace tyto::onnx_tests
