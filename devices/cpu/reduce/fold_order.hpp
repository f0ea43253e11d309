// SPDX-License-Identifier: MIT
// The order in which the elements of a row are folded, which both back ends keep whatever their vectors' length.
//
// Nothing but constants: sources that are compiled for one instruction set include it.
#pragma once

namespace tyto::cpu {

/// So many partial results stand side by side: element i of a block goes to number i modulo their count. In the end
/// each joins the one half of them all further on.
constexpr int fold_lanes(int element_bytes) { return element_bytes == 8 ? 16 : 32; }

/// So many elements are folded before they join a wider sum: floats lose little in 32 additions, and integers of up to
/// 16 bits cannot overflow in 32 bits.
inline constexpr int fold_block = 1024;

}  // namespace tyto::cpu
