// The allocator of nodes: memory is recycled within a thread, since eager mode makes and drops a node per operator.
#include <new>

#include "core/graph/symbol.hpp"

namespace tyto::core {

namespace {

// Sanitizers detect a use after free only in memory that is returned to the allocator. g++ announces them by a macro,
// clang by a feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TYTO_IS_CHECKED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TYTO_IS_CHECKED 1
#endif
#if defined(TYTO_IS_CHECKED)
constexpr std::uint32_t most_kept = 0;
#else
constexpr std::uint32_t most_kept = 4096;
#endif

struct Free {
  Free* next;
};

// Trivial, so that it can still be asked after the thread's other variables are gone.
struct Kept {
  Free* first = nullptr;
  std::uint32_t count = 0;
  bool registered = false;
  bool closed = false;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Kept kept;

// Gives everything back at the end of the thread.
struct Closing {
  ~Closing() {
    kept.closed = true;
    while (kept.first != nullptr) ::operator delete(std::exchange(kept.first, kept.first->next));
  }
  void begin() { kept.registered = true; }
};

void register_closing() {
  thread_local Closing closing;
  closing.begin();
}

}  // namespace

void* Node::operator new(std::size_t bytes) {
  Free* memory = kept.first;
  if (memory == nullptr) return ::operator new(bytes);
  kept.first = memory->next;
  --kept.count;
  return memory;
}

void Node::operator delete(void* memory) noexcept {
  if (kept.count >= most_kept || kept.closed) {
    ::operator delete(memory);
    return;
  }
  if (!kept.registered) register_closing();
  kept.first = ::new (memory) Free{kept.first};
  ++kept.count;
}

}  // namespace tyto::core
