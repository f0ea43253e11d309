// SPDX-License-Identifier: MIT
// What graphs keep for all their runs, packed weights and computed constants: the same bytes lie in memory once.
#pragma once

#include "core/value/storage.hpp"

namespace tyto::run {

/// `made`, or the same bytes where somebody in the process holds them already. `made` is a dense array on the host that
/// nobody else holds. Nobody may write the result, which goes with the last who holds it.
core::Array shared_array(core::Array made);

}  // namespace tyto::run
