// SPDX-License-Identifier: MIT
// Prepares the kernels of attention and its gradient.
#pragma once

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::attention {

KernelRef prepare_attention(const core::Step& step);
KernelRef prepare_attention_gradient(const core::Step& step);

}  // namespace tyto::cpu::attention
