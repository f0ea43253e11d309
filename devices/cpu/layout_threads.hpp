// The thread count that decides on a layout which outlives the kernel that asked for it.
#pragma once

namespace tyto::cpu {

/// As threads_for(), of the count that the process began with (TYTO_THREADS, else what OpenMP offered), whatever
/// set_threads() said since: a library lays packed weights out by its thread count, and whoever packs and whoever
/// reads may be prepared under different ones.
int layout_threads_for(double nanoseconds) noexcept;

}  // namespace tyto::cpu
