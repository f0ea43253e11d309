// SPDX-License-Identifier: MIT
// What the examples of <tyto/memory.hpp> take for granted: the blocks of one program at several batch sizes.
#pragma once

#include <tyto/memory.hpp>
#include <vector>

namespace context {
std::vector<tyto::Block> blocks_of_batch(int size);
}
