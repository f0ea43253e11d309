// SPDX-License-Identifier: MIT
// This process: its signals, its terminal and the processors that it may run on.
#pragma once

#include <cstdio>

namespace tyto::core {

/// Installs a handler for a signal that has the system's default; false where another handler is installed, or none can
/// be.
bool handle_signal(int signal, void (*handler)(int));
/// Gives the signal back to the system, unless a handler other than this was installed meanwhile.
void release_signal(int signal, void (*handler)(int));

/// Whether what is printed to a stream goes to a terminal.
bool prints_to_terminal(std::FILE* stream);

/// How many processors the calling thread may run on; 0 where the system does not tell. Windows counts those of the
/// thread's group, 64 at most.
int processors_of_thread();

}  // namespace tyto::core
