// SPDX-License-Identifier: MIT
// Records the tensors that are alive where TYTO_TRACE=1 is set: what made each, and where.
#pragma once

#include <string_view>

#include "core/graph/builder.hpp"
#include "core/value/storage.hpp"

namespace tyto::run {

/// Whether TYTO_TRACE is 1.
bool notes_living();
/// Records contents that an operator has just made. Views of recorded memory are skipped.
void note_living(const core::Array& array, std::string_view op, const core::Label& label);

}  // namespace tyto::run
