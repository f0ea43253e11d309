// SPDX-License-Identifier: MIT
// Attributes of operators as bytes, written once over each struct's fields.
#pragma once

#include "core/graph/operator.hpp"
#include "engine/graph/byte_stream.hpp"

namespace tyto::run {

/// Throws GraphError naming `owner` for attributes that hold functions or states, which cannot leave the process.
void write_attributes(ByteWriter& out, const core::Attributes& attributes, std::string_view owner);

/// Reads the attributes of a node of this operator.
core::Attributes read_attributes(ByteReader& in, const core::OpDef& owner);

// A region's graph, as part of the attributes of its node; defined where whole graphs are written.
void write_region(ByteWriter& out, const core::Region& region);
core::Region read_region(ByteReader& in);

}  // namespace tyto::run
