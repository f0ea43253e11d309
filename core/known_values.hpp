// Loops without what is known of their integers beforehand.
#pragma once

#include "core/bound_loop.hpp"

namespace tyto::core {

/// The loop without the instructions whose result is one number whatever the operands hold, or always that of an
/// operand: masks that cover one another, limits that never apply, conditions that the interval of their operands
/// decides. Quotients and remainders of powers of two become shifts and masks. The operands stay, though the program
/// may no longer read all of them.
void drop_known_values(BoundLoop& bound);

}  // namespace tyto::core
