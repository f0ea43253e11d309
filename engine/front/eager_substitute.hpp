// SPDX-License-Identifier: MIT
// Substitutes the builder of eager mode, for tests that draw rounding errors.
#pragma once

#include "core/graph/builder.hpp"

namespace tyto::core {

/// From now on nodes of this mode, eager or neutral, are built on this thread by `substitute`, or, if that is null, by
/// the mode's own builder. Returns the substitute before. Defined in modes.cpp.
Builder* exchange_substitute(Mode mode, Builder* substitute);
bool has_eager_substitute();

}  // namespace tyto::core
