// SPDX-License-Identifier: MIT
// This process: its signals, its terminal and the processors that it may run on.
#pragma once

namespace tyto::core {

/// Has a signal handled whose handling is the system's; false where somebody else handles it, or nobody can.
bool handle_signal(int signal, void (*handler)(int));
/// Gives the signal back to the system, unless a handler other than this was installed meanwhile.
void release_signal(int signal, void (*handler)(int));

/// Whether what is printed goes to a terminal.
bool prints_to_terminal();

/// How many processors the calling thread may run on; 0 where the system does not tell. Windows counts those of the
/// thread's group, 64 at most.
int processors_of_thread();

}  // namespace tyto::core
