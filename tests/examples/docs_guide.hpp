// SPDX-License-Identifier: MIT
// Definitions for the blocks of docs/guide.md: the names of the layers.
#pragma once

#include <tyto/nn.hpp>
#include <tyto/vmap.hpp>

namespace context {
namespace nn = tyto::nn;
}  // namespace context
