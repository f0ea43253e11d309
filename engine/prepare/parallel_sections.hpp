// SPDX-License-Identifier: MIT
// Finds steps of an order that may run at the same time: runs of steps that fall into independent branches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/value/view.hpp"
#include "engine/run/executable.hpp"

namespace tyto::run {

/// The elements of a storage that a step reads or writes.
struct StorageUse {
  std::uint32_t storage = 0;
  core::View view;
  std::size_t element_bytes = 0;
  bool written = false;
};

/// Properties of a step that decide which steps may run concurrently with it.
struct SectionStep {
  std::vector<StorageUse> uses;
  double alone = 0;          ///< nanoseconds on one thread
  double together = 0;       ///< nanoseconds where it has all threads
  bool needs_order = false;  ///< no step may run concurrently with it
};

/// Whether the uses may have an element in common that one of them writes.
bool conflict(const StorageUse& a, const StorageUse& b);

/// The sections, in the order of the steps, in which at most so many lanes take clearly less time than the steps one
/// after the other, though beginning and ending a section takes so long.
std::vector<ParallelSection> parallel_sections(std::span<const SectionStep> steps, std::size_t most_lanes,
                                               double nanoseconds_to_meet);

}  // namespace tyto::run
