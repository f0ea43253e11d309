// SPDX-License-Identifier: MIT
// oneDNN primitives prepared once and executed without allocating.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#if defined(TYTO_HAVE_ONEDNN)

#include <dnnl.hpp>

#include "devices/cpu/arithmetic/limits.hpp"
#include "devices/cpu/device/workspace.hpp"

namespace tyto::cpu::onednn {

/// The processor as oneDNN sees it; lives as long as the process.
const dnnl::engine& engine();

/// Whether its code is that for AVX-512.
bool has_avx512();

/// Forces OpenMP's thread count while oneDNN creates or executes a primitive: it sizes scratchpads by that count, and
/// each of so many threads computes its share, no more when there are fewer of them.
class ThreadCount {
 public:
  explicit ThreadCount(int count) noexcept;
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
  bool was_dynamic_;
};

/// Attributes that every primitive here has: the caller provides the scratchpad.
dnnl::primitive_attr attributes_with_scratchpad();

/// Limits results, if to anything; NaN is lost.
void append_limits(dnnl::post_ops& epilogue, const Limits<double>& limits);

/// Describes an operation in the terms of oneDNN 2 and 3; the first has a description of the operation alone besides.
template <class Operation, class... Arguments>
typename Operation::primitive_desc describe(const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), arguments..., attributes};
#else
  return {typename Operation::desc(arguments...), attributes, engine()};
#endif
}

/// Describes the gradient of an operation whose forward pass is described.
template <class Operation, class Forward, class... Arguments>
typename Operation::primitive_desc describe_gradient(const Forward& forward, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), arguments..., forward, attributes_with_scratchpad()};
#else
  return {typename Operation::desc(arguments...), attributes_with_scratchpad(), engine(), forward};
#endif
}

/// Binds an argument of a primitive to an address at execution.
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

/// Brings weights into the layout that oneDNN asks for. How many bytes that takes depends on `layout_threads`, not on
/// `threads`; what lies behind the weights is the same whenever the same weights are packed.
class Packing {
 public:
  Packing(const dnnl::memory::desc& from, const dnnl::memory::desc& to, int threads, int layout_threads,
          WorkspaceLayout& packed);
  void run(const void* weights, void* packed) const;
  /// See Prepared::packed_layout.
  const std::string& layout() const noexcept { return layout_; }

 private:
  Primitive reorder_;
  std::string layout_;
  std::size_t weights_bytes_, scratchpad_;
};

/// True where oneDNN only has its plain reference code, hundreds of times slower, for one of the descriptions.
template <class Description>
bool is_reference(const std::vector<Description>& descriptions) {
  for (const Description& description : descriptions) {
    if (std::string(description.impl_info_str()).find("ref") != std::string::npos) return true;
  }
  return false;
}

/// Whether sums of products of bytes are exact: instructions for four at once do not saturate; the code for other
/// processors adds two in 16 bits.
template <class Description>
bool is_exact_in_bytes(const Description& description) {
  const std::string code = description.impl_info_str();
  return code.find("vnni") != code.npos || code.find("amx") != code.npos;
}

/// Describes an operation by `describe(weights, threads)`, with weights in the layout that oneDNN asks for under
/// `layout_threads`. Both the layout and is_reference() of the answer are the same for any `threads`; where oneDNN
/// cannot read the layout well under `threads`, these become `layout_threads`.
template <class Describe>
auto describe_packed(const Describe& describe, const dnnl::memory::desc& any, int layout_threads, int& threads) {
  auto asking = describe(any, layout_threads);
  if (threads == layout_threads) return asking;
  if (!is_reference(asking)) {
    try {
      auto fitting = describe(asking.front().weights_desc(), threads);
      if (!is_reference(fitting)) return fitting;
    } catch (const dnnl::error&) {
      // No implementation for this layout: as the reference code, not worth having.
    }
  }
  threads = layout_threads;
  return asking;
}

}  // namespace tyto::cpu::onednn

#endif
