// SPDX-License-Identifier: MIT
// The thread count by which a layout is chosen that outlives the kernel that asked for it.
#pragma once

namespace tyto::cpu {

/// As threads_for(), of the count that held when this was first asked, whatever set_threads() says later: a library
/// lays packed weights out by its thread count, and whoever packs and whoever reads may be prepared under different
/// ones. Where it cannot read such a layout with fewer threads, it uses as many as laid it out: a program that says at
/// its beginning how many threads it wants is never given more.
int layout_threads_for(double nanoseconds) noexcept;

}  // namespace tyto::cpu
