// SPDX-License-Identifier: MIT
// A limit on the threads of what one thread computes, where many compute at the same time.
#pragma once

namespace tyto::cpu {

/// Limits threads() of the calling thread, and the threads of its parallel regions, whatever number their
/// kernels were prepared for. Returns the limit before.
int exchange_thread_limit(int most) noexcept;

}  // namespace tyto::cpu
