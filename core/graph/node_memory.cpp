// SPDX-License-Identifier: MIT
// The allocator of nodes: memory is recycled within a thread, since eager mode makes and drops a node per operator.
#include "core/graph/symbol.hpp"
#include "core/system/recycled_blocks.hpp"

namespace tyto::core {

void* Node::operator new(std::size_t bytes) { return RecycledBlocks<Node>::take(bytes); }

void Node::operator delete(void* memory) noexcept { RecycledBlocks<Node>::give(memory); }

}  // namespace tyto::core
