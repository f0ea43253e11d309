// SPDX-License-Identifier: MIT
// The number that fills a tensor, seen through views of it; see the header.
#include "optimiser/passes/scalar_constant.hpp"

#include "core/graph/op_ids.hpp"
#include "core/value/array_element.hpp"
#include "core/value/stored_scalar.hpp"

namespace tyto::optimiser {

namespace {

bool is_one_element(const core::View& view) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0 || (view.shape[i] != 1 && view.strides[i] != 0)) return false;
  }
  return true;
}

std::optional<Scalar> number_in(const core::Attributes& constant) {
  const auto* const given = std::get_if<core::ConstantAttributes>(&constant);  // what a state holds is no number
  if (given == nullptr || !is_one_element(given->array.view)) return {};
  return core::element_of(given->array, 0);
}

}  // namespace

bool may_be_scalar(OpId op) {
  return op == OpId::constant || op == OpId::fill || op == OpId::broadcast_to || op == OpId::reshape;
}

std::optional<Scalar> scalar_of(GraphEditor& editor, Port port) {
  // Views of one number are that number; chains of views are short once they have been collapsed.
  for (int depth = 0; depth < 4; ++depth) {
    const GraphEditor::Index producer = editor.producer(port);
    const OpId op = editor.node(producer).op;
    if (op == OpId::constant) return number_in(editor.attributes(producer));
    if (op == OpId::fill) {
      const auto& fill = editor.attributes_as<core::RangeAttributes>(producer);
      return core::as_stored(fill.start, fill.dtype);
    }
    if (!may_be_scalar(op)) return {};
    port = editor.input(producer, 0);
  }
  return {};
}

}  // namespace tyto::optimiser
