// SPDX-License-Identifier: MIT
// Records the tensors that are alive where TYTO_TRACE=1 is set: what made each, and where.
#pragma once

#include <string_view>

#include "core/graph/builder.hpp"
#include "core/value/storage.hpp"

namespace tyto::run {

/// Whether TYTO_TRACE is 1.
bool notes_living();
/// Of contents that an operator has just made. Views of memory that is known already are passed over.
void note_living(const core::Array& array, std::string_view op, const core::Label& label);

}  // namespace tyto::run
