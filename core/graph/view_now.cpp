// SPDX-License-Identifier: MIT
// Makes eager views at once, without attributes or a shape rule, where no tape needs to know how a view was made.
#include "core/graph/view_now.hpp"

#include <utility>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"

namespace tyto::core {

const Array* contents_now(const Value& value) {
  const Node& node = *value.node();
  if (node.mode() != Mode::eager || node.op() == OpId::state || node.tracked() || !node.evaluated()) return nullptr;
  return &result_of(value).array;
}

Value viewed_now(const Array& array, View view, DType dtype) {
  return constant(Mode::eager, {array.buffer, dtype, std::move(view)});
}

}  // namespace tyto::core
