// SPDX-License-Identifier: MIT
// Definitions for the examples of <tyto/memory.hpp>: the blocks of one program at several batch sizes.
#pragma once

#include <tyto/memory.hpp>
#include <vector>

namespace context {
std::vector<tyto::Block> blocks_of_batch(int size);
}
