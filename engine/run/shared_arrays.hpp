// SPDX-License-Identifier: MIT
// Packed weights and computed constants, which graphs keep from run to run: arrays of equal bytes share one buffer.
#pragma once

#include "core/value/storage.hpp"

namespace tyto::run {

/// `made`, or the same bytes where somebody in the process holds them already. `made` is a dense array on the host that
/// nobody else holds. Nobody may write the result, which goes with the last who holds it.
core::Array shared_array(core::Array made);

}  // namespace tyto::run
