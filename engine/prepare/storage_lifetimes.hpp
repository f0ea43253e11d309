// SPDX-License-Identifier: MIT
// Lifetimes of a program's storages, with holes where regions need their contents for a part of the time only: the
// steps between may use the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/run/executable.hpp"

namespace tyto::run {

struct StorageLifetime {
  std::vector<Span> spans;     // in instants of the program, ascending, none touches the next
  bool begins_within = false;  // its first step is a region, which needs it for a part of its time only
  bool ends_within = false;    // the same of its last step
};

/// Appends spans that begin `begin` instants later.
void append_later(std::vector<Span>& spans, const std::vector<Span>& more, std::int64_t begin);
/// Sorts spans and unites those that overlap or touch.
void unite(std::vector<Span>& spans);

/// The lifetime of each storage. Its contents are live from a step that writes them to the last step that reads them,
/// on every path through regions: a branch's operand that dies in it is dead in the arms that do not read it, its
/// result is dead before an arm computes it, the place of a loop's carry is dead between its last reader and its next
/// value. Inputs are live from the first instant on; outputs, and inputs updated in place, to the last one.
std::vector<StorageLifetime> storage_lifetimes(const Executable& plan);

}  // namespace tyto::run
