// SPDX-License-Identifier: MIT
// Gradient tapes open on this thread; eager nodes keep their inputs while a tape may differentiate them.
#pragma once

#include <atomic>
#include <cstdint>

namespace tyto::core {

/// Number of a gradient being taken; 0 for none. Tapes of one thread end in the reverse order of their beginning.
using TapeId = std::uint32_t;

TapeId open_tape();
void close_tape(TapeId tape);

/// True while operations on the values that the tape tracks are recorded.
bool is_recording(TapeId tape);

/// True while any gradient is being taken on this thread.
bool any_tape_open();

/// Stands for the set of parameters that are frozen, which models leave out where they list theirs.
extern std::atomic<std::uint64_t> frozen_parameters;
/// Set when a model lists its parameters on this thread: what follows is for this set.
extern constinit thread_local bool parameters_were_listed;

/// Pauses the tape while alive: it has no use for the operations that its own gradients are made of.
class TapePause {
 public:
  explicit TapePause(TapeId tape);
  ~TapePause();
  TapePause(const TapePause&) = delete;
  TapePause& operator=(const TapePause&) = delete;

 private:
  TapeId tape_;
};

}  // namespace tyto::core
