// SPDX-License-Identifier: MIT
// Threads where the calling one can form no team of its own: in a process that was forked OpenMP goes on counting on
// the parent's threads, which the child does not have, and in a parallel region oneDNN takes itself to be alone.
// A fork while another thread prepares kernels is not provided for: the child may find a lock that nobody opens.
#pragma once

namespace tyto::cpu {

/// Installs the handlers of forks; called before the first threads are used.
void watch_for_forks() noexcept;

/// Whether the calling thread used threads in the parent of this process. It must not use OpenMP itself: it would wait
/// for ever.
bool has_lost_threads() noexcept;

/// Calls run(context) on a thread that the calling one has for this, whose threads are new, and waits for it.
void run_with_new_threads(void (*run)(void* context), void* context);

/// body() on another thread, which is in no parallel region and may use OpenMP.
template <class Body>
void with_new_threads(const Body& body) {
  run_with_new_threads([](void* context) { (*static_cast<const Body*>(context))(); }, const_cast<Body*>(&body));
}

/// body(), which may use OpenMP.
template <class Body>
void with_threads(const Body& body) {
  watch_for_forks();
  if (has_lost_threads()) with_new_threads(body);
  else body();
}

}  // namespace tyto::cpu
