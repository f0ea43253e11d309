// SPDX-License-Identifier: MIT
// The arithmetic peak that the times of products are compared with.
#pragma once

namespace tyto::bench {

/// Multiply-add operations a second, both counted, that `threads` threads reach in registers alone.
double fma_peak(int threads);

}  // namespace tyto::bench
