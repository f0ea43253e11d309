// oneDNN primitives prepared once and executed without allocating.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>

#if defined(TYTO_HAVE_ONEDNN)

#include <dnnl.hpp>

namespace tyto::cpu::onednn {

/// The processor as oneDNN sees it; lives as long as the process.
const dnnl::engine& engine();

/// Forces OpenMP's thread count while oneDNN creates or executes a primitive: it sizes scratchpads by that count.
class ThreadCount {
 public:
  explicit ThreadCount(int count) noexcept;
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

/// Attributes that every primitive here has: the caller provides the scratchpad.
dnnl::primitive_attr attributes_with_scratchpad();

/// What binds an argument of a primitive to an address at execution.
struct Binding {
  int argument;
  dnnl::memory::desc layout;
};

/// A primitive with its argument descriptors. `run` takes one address for each binding, in the same order.
class Primitive {
 public:
  Primitive(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
            std::initializer_list<Binding> bindings, int threads);
  ~Primitive();
  Primitive(Primitive&&) noexcept;
  Primitive& operator=(Primitive&&) noexcept;

  std::size_t scratchpad_bytes() const noexcept;
  void run(std::initializer_list<void*> addresses, void* scratchpad) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A reorder from one layout to another.
Primitive reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to, int threads);

}  // namespace tyto::cpu::onednn

#endif
