// SPDX-License-Identifier: MIT
// Copies nodes with the types of their results: no shape rule runs again.
#include "core/graph/graph_copy.hpp"

#include <utility>

namespace tyto::core {

void GraphCopy::add_inputs() {
  for (const GraphInput& input : from_.inputs()) places_[input.port] = to_.add_input(from_.type(input.port), input);
}

void GraphCopy::add(const GraphNode& node, const std::shared_ptr<const std::string>& label) {
  operands_.clear();
  for (const Port input : from_.inputs_of(node)) operands_.push_back(places_[input]);
  place(node, add_on(operands_, node, node.attributes, label));
}

Port GraphCopy::add_on(std::span<const Port> operands, const GraphNode& node,
                       std::shared_ptr<const Attributes> attributes, const std::shared_ptr<const std::string>& label) {
  types_.clear();
  for (std::uint32_t r = 0; r < node.result_count; ++r) types_.push_back(from_.type(node.first_result + r));
  return to_.add(node.op, std::move(attributes), operands, types_, label);
}

Graph GraphCopy::finish() {
  for (const Port output : from_.outputs()) to_.add_output(places_[output]);
  for (const GraphUpdate& update : from_.updates()) to_.add_update(update.input, places_[update.port]);
  to_.set_draws(from_.draws());
  return to_.finish();
}

}  // namespace tyto::core
