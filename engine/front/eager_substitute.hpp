// Another builder in the place of eager mode's own, as tests have that draw rounding errors.
#pragma once

#include "core/builder.hpp"

namespace tyto::core {

/// From now on this thread's eager mode builds with `substitute`, or, if that is null, with the builder of its own.
/// Returns what it had instead of that before. Defined in modes.cpp.
Builder* exchange_eager_substitute(Builder* substitute);
bool has_eager_substitute();

}  // namespace tyto::core
