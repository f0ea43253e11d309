// SPDX-License-Identifier: MIT
// Converts elements on the host to another type, and throws where it does not hold them.
#pragma once

#include <cstdint>
#include <string_view>

#include "tyto/dtype.hpp"

namespace tyto::run {

/// Writes `count` elements of type `from` at `source` as `to` at `target`, floating-point numbers rounded. Throws
/// TypeError naming `function` and the first element that `to` does not hold: a fraction or a number out of range where
/// integers are wanted, anything but 0 and 1 where truths are.
void convert_elements(std::string_view function, const void* source, DType from, std::int64_t count, void* target,
                      DType to);

}  // namespace tyto::run
