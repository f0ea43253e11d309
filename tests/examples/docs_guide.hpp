// SPDX-License-Identifier: MIT
// What the blocks of docs/guide.md take for granted: the names of the layers.
#pragma once

#include <tyto/nn.hpp>
#include <tyto/vmap.hpp>

namespace context {
namespace nn = tyto::nn;
}  // namespace context
