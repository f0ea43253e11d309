// SPDX-License-Identifier: MIT
// The open tapes of a thread: seldom more than three, so a list that is searched.
#include "core/graph/tape.hpp"

#include <algorithm>
#include <vector>

#include "core/graph/tracked_reads.hpp"

namespace tyto::core {

namespace {

std::atomic<TapeId> last_tape{0};

struct OpenTape {
  TapeId id;
  int pauses = 0;
  bool has_tracked_reads = false;
};
thread_local std::vector<OpenTape> open_tapes;

// Null where it is closed.
OpenTape* find_open(TapeId tape) {
  const auto found = std::ranges::find(open_tapes, tape, &OpenTape::id);
  return found == open_tapes.end() ? nullptr : &*found;
}

}  // namespace

TapeId open_tape() {
  const TapeId tape = ++last_tape;
  open_tapes.push_back({tape});
  return tape;
}

void close_tape(TapeId tape) {
  std::erase_if(open_tapes, [tape](const OpenTape& open) { return open.id == tape; });
}

bool is_recording(TapeId tape) {
  const OpenTape* const open = find_open(tape);
  return open != nullptr && open->pauses == 0;
}

std::atomic<std::uint64_t> frozen_parameters{0};
constinit thread_local bool parameters_were_listed = false;

bool any_tape_open() { return !open_tapes.empty(); }

void note_tracked_read() {
  for (OpenTape& open : open_tapes) open.has_tracked_reads = true;
}

bool has_tracked_reads(TapeId tape) {
  const OpenTape* const open = find_open(tape);
  return open != nullptr && open->has_tracked_reads;
}

TapePause::TapePause(TapeId tape) : tape_(tape) {
  if (OpenTape* const open = find_open(tape)) ++open->pauses;
}

TapePause::~TapePause() {
  if (OpenTape* const open = find_open(tape_)) --open->pauses;
}

}  // namespace tyto::core
