// SPDX-License-Identifier: MIT
// Pauses the checks of results for NaN, for a search that wants to see all results.
#pragma once

namespace tyto::core {

/// While alive on a thread, results are not checked for NaN and infinities, whatever options and TYTO_NAN ask for.
struct NumberCheckPause {
  static inline thread_local constinit int alive = 0;
  NumberCheckPause() { ++alive; }
  ~NumberCheckPause() { --alive; }
  NumberCheckPause(const NumberCheckPause&) = delete;
  NumberCheckPause& operator=(const NumberCheckPause&) = delete;
};

}  // namespace tyto::core
