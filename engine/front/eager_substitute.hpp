// SPDX-License-Identifier: MIT
// Substitutes the builder of eager mode, for tests that draw rounding errors.
#pragma once

#include "core/graph/builder.hpp"

namespace tyto::core {

/// Makes `substitute` build nodes of this mode, eager or neutral, on this thread, or, if that is null, restores
/// the mode's own builder. Returns the previous substitute. Defined in modes.cpp.
Builder* exchange_substitute(Mode mode, Builder* substitute);
bool has_eager_substitute();

}  // namespace tyto::core
