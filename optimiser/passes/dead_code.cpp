// Dead code: nodes whose results nobody reads, from the outputs backwards.
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

void remove_dead_code(PassContext& context) {
  Draft& draft = context.draft;
  const std::size_t before = draft.size();
  const std::span<const Draft::Index> order = draft.order();
  for (std::size_t i = order.size(); i-- > 0;) draft.remove(order[i]);
  if (draft.size() != before) context.fired("unread", before - draft.size());
}

}  // namespace tyto::optimiser
