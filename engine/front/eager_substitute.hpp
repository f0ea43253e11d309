// SPDX-License-Identifier: MIT
// Substitutes the builder of eager mode, for tests that draw rounding errors.
#pragma once

#include "core/graph/builder.hpp"

namespace tyto::core {

/// From now on this thread builds what is of this mode, eager or neutral, with `substitute`, or, if that is null, with
/// the mode's own builder. Returns what stood there before. Defined in modes.cpp.
Builder* exchange_substitute(Mode mode, Builder* substitute);
bool has_eager_substitute();

}  // namespace tyto::core
