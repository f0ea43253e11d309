// Loops without what is known of their integers beforehand.
#pragma once

#include "core/bound_loop.hpp"

namespace tyto::core {

/// The loop without the instructions whose result is one number whatever the operands hold, or always another value:
/// masks that cover one another, limits that never apply, conditions that the intervals or the order of their operands
/// decide, sums in which values cancel, choices that another one by the same condition has made. Quotients and
/// remainders of powers of two become shifts and masks. The operands stay, though the program may no longer read all of
/// them; those that it does not have strides of 0.
void drop_known_values(BoundLoop& bound);

}  // namespace tyto::core
