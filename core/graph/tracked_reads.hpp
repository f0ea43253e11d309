// SPDX-License-Identifier: MIT
// Reads of states by which gradients are being taken: what tells a loss that is computed of its parameters from others.
#pragma once

#include "core/graph/tape.hpp"

namespace tyto::core {

/// Notes for all open tapes of this thread that a state that one of them tracks was read, or might have been: data may
/// decide which functions a loop or branch runs.
void note_tracked_read();
/// Whether that was noted since the tape was opened.
bool has_tracked_reads(TapeId tape);

}  // namespace tyto::core
