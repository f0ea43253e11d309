// SPDX-License-Identifier: MIT
// Operators that cost less to compute again than their results cost to store and load.
#pragma once

#include <cstdint>

namespace tyto::core {

enum class OpId : std::uint16_t;

bool is_cheap(OpId op);

}  // namespace tyto::core
