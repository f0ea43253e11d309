// SPDX-License-Identifier: MIT
// Other builders in the place of those that compute at once, as tests have that draw rounding errors.
#pragma once

#include "core/graph/builder.hpp"

namespace tyto::core {

/// From now on this thread builds what is of this mode, eager or neutral, with `substitute`, or, if that is null, with
/// the mode's own builder. Returns what stood there before. Defined in modes.cpp.
Builder* exchange_substitute(Mode mode, Builder* substitute);
bool has_eager_substitute();

}  // namespace tyto::core
