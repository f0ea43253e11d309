// SPDX-License-Identifier: MIT
// Checks of eager operators that are switched on: one byte a thread, zero where there are none.
#pragma once

#include <cstdint>

#include "core/graph/symbol.hpp"
#include "engine/run/number_check.hpp"

namespace tyto::run {

/// Bits; `unknown` until the environment was asked.
struct EagerWatch {
  static constexpr std::uint8_t nan = 1, infinity = 2, places = 4, unknown = 128;
};

[[gnu::tls_model("initial-exec")]] extern thread_local constinit std::uint8_t eager_watch;

/// The same, the environment asked.
std::uint8_t known_eager_watch();
/// Whether results are checked on this thread.
inline bool checks_eager_numbers() { return eager_watch != 0 && (known_eager_watch() & EagerWatch::nan) != 0; }

/// Checks results of eager operators on this thread for this as well; the caller restores
/// `eager_watch`.
void watch_eager_numbers(const NumberCheck& check);

/// Runs the checks of this thread on a node that was just computed.
void watch_result(const core::Node& node);

}  // namespace tyto::run
