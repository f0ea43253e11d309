// SPDX-License-Identifier: MIT
// Reads blocks from CSV files in the format of the MiniMalloc benchmarks, and writes plans next to them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <tyto/memory.hpp>

namespace tyto::cli {

/// The blocks of a file with the names that the file gives them; labels and spans of the blocks are
/// views of what is kept here.
struct BlockFile {
  std::vector<std::string> names;
  std::vector<std::vector<Span>> spans;
  std::vector<Block> blocks;
};

/// Columns by name in any order: id, lower, upper (exclusive) or end (inclusive), size, and if present alignment,
/// offset (fixed) and spans (0-4;9-12, upper exclusive). Throws IoError with the line, and the column where there is
/// one, of whatever is wrong.
BlockFile read_blocks(std::istream& in, const std::string& path);

/// `id,lower,upper,size,offset`, with a column `arena` when the plan has several and a column `spans` when a lifetime
/// has holes.
void write_solution(std::ostream& out, const BlockFile& file, const MemoryPlan& plan);

}  // namespace tyto::cli
