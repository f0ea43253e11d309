// SPDX-License-Identifier: MIT
// Blocks of heap memory of one size, recycled within a thread, for small objects that are made and dropped all the
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace tyto::core {

// Sanitizers detect a use after free only in memory that is returned to the allocator. g++ announces them by a macro,
// clang by a feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TYTO_IS_CHECKED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TYTO_IS_CHECKED 1
#endif

/// `User` has lists of its own, one a thread; it takes blocks of one size only.
template <class User>
class RecycledBlocks {
 public:
  static void* take(std::size_t bytes) {
    Free* const memory = kept_.first;
    if (memory == nullptr) return ::operator new(bytes);
    kept_.first = memory->next;
    --kept_.count;
    return memory;
  }

  static void give(void* memory) noexcept {
    if (kept_.count >= most_kept || kept_.closed) {
      ::operator delete(memory);
      return;
    }
    if (!kept_.registered) register_closing();
    kept_.first = ::new (memory) Free{kept_.first};
    ++kept_.count;
  }

 private:
#if defined(TYTO_IS_CHECKED)
  static constexpr std::uint32_t most_kept = 0;
#else
  static constexpr std::uint32_t most_kept = 4096;
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

  // Gives everything back at the end of the thread.
  struct Closing {
    ~Closing() {
      kept_.closed = true;
      while (kept_.first != nullptr) ::operator delete(std::exchange(kept_.first, kept_.first->next));
    }
    void begin() { kept_.registered = true; }
  };

  static void register_closing() {
    thread_local Closing closing;
    closing.begin();
  }

  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit Kept kept_;
};

#undef TYTO_IS_CHECKED

/// An allocator of single objects by recycled blocks.
template <class T>
struct RecyclingAllocator {
  using value_type = T;

  RecyclingAllocator() = default;
  template <class Other>
  RecyclingAllocator(const RecyclingAllocator<Other>&) {}

  T* allocate(std::size_t) { return static_cast<T*>(RecycledBlocks<T>::take(sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { RecycledBlocks<T>::give(memory); }
  friend bool operator==(const RecyclingAllocator&, const RecyclingAllocator&) { return true; }
};

}  // namespace tyto::core
