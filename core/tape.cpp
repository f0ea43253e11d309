// The tapes of a thread: seldom more than three, so a list that is searched.
#include "core/tape.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace tyto::core {

namespace {

std::atomic<TapeId> last_tape{0};
thread_local std::vector<TapeId> open_tapes;
thread_local std::vector<TapeId> paused_tapes;

}  // namespace

TapeId open_tape() {
  const TapeId tape = ++last_tape;
  open_tapes.push_back(tape);
  return tape;
}

void close_tape(TapeId tape) { std::erase(open_tapes, tape); }

bool is_recording(TapeId tape) {
  return std::find(open_tapes.begin(), open_tapes.end(), tape) != open_tapes.end() &&
         std::find(paused_tapes.begin(), paused_tapes.end(), tape) == paused_tapes.end();
}

bool any_tape_open() { return !open_tapes.empty(); }

TapePause::TapePause(TapeId tape) : tape_(tape) { paused_tapes.push_back(tape); }

TapePause::~TapePause() { paused_tapes.pop_back(); }

}  // namespace tyto::core
