// SPDX-License-Identifier: MIT
// Operators of one or two instructions per element; the optimiser and the devices' planners of groups share the list.
#include "core/graph/cheap_operators.hpp"

#include "core/graph/op_ids.hpp"

namespace tyto::core {

bool is_cheap(OpId op) {
  switch (op) {
    case OpId::cast:
    case OpId::negate:
    case OpId::abs:
    case OpId::square:
    case OpId::relu:
    case OpId::logical_not:
    case OpId::add:
    case OpId::subtract:
    case OpId::multiply:
    case OpId::fma:
    case OpId::maximum:
    case OpId::minimum: return true;
    default: return definition(op).domain == Domain::comparison;
  }
}

}  // namespace tyto::core
