// SPDX-License-Identifier: MIT
// Dead code: nodes whose results nobody reads, from the outputs backwards.
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

void remove_dead_code(PassContext& context) {
  GraphEditor& editor = context.editor;
  const std::size_t before = editor.size();
  const std::span<const GraphEditor::Index> order = editor.order();
  for (std::size_t i = order.size(); i-- > 0;) editor.remove(order[i]);
  if (editor.size() != before) context.fired("unread", before - editor.size());
}

}  // namespace tyto::optimiser
