// SPDX-License-Identifier: MIT
// Switches the comparison of runs with runs of the same graph in which no two tensors share memory.
#pragma once

#include "engine/run/executable.hpp"

namespace tyto::run {

/// TYTO_VERIFY is set: every run of a session is made a second time, in the same order, planned by `bump` over poisoned
/// memory, and must give the same bits in all outputs and states, and allocate nothing. The first difference throws a
/// GraphError. At its end the process says how many runs were compared.
bool asks_for_verification();

/// False for graphs whose steps may not be run twice (users' functions), and for the reference sessions themselves.
bool can_be_verified(const Executable& executable);

}  // namespace tyto::run
