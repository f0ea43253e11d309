// Chains as types: a tree of operators is what is matched and what is compiled, for sources that define TYTO_ISA.
//
// A chain gives the bits of its operators one by one, so no product may be contracted with a sum: the sources are
// compiled without contraction. Functions ask for multiply-adds themselves and have the same bits either way.
#pragma once

#include "devices/cpu/elementwise/chain_loops.hpp"
#include "devices/cpu/elementwise/operator_loops.hpp"
#include "devices/cpu/reduce/lanes.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

/// The operators in the order of the list, which is that of their OpIds.
enum class Element : uint16_t {
#define TYTO_UNARY(name, ...) name,
#define TYTO_BINARY(name, ...) name,
#define TYTO_TERNARY(name, ...) name,
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
};

/// Operators that are written for vectors as for elements: memory takes longer over them than they do.
template <class Operator>
constexpr bool takes_vectors = false;
#define TYTO_TAKES_VECTORS(name) \
  template <>                    \
  constexpr bool takes_vectors<name##_operator> = true;
TYTO_TAKES_VECTORS(negate)
TYTO_TAKES_VECTORS(square)
TYTO_TAKES_VECTORS(add)
TYTO_TAKES_VECTORS(subtract)
TYTO_TAKES_VECTORS(multiply)
TYTO_TAKES_VECTORS(divide)
#undef TYTO_TAKES_VECTORS

/// The leaves' memory as a loop reads it: numbers are read once.
struct Leaves {
  const float* runs[ChainLoop::first_number];
  float numbers[ChainLoop::most_leaves - ChainLoop::first_number];
};

/// Elements of an operand.
template <int leaf>
struct Run {
  static constexpr unsigned reads = 1u << leaf;
  static constexpr int further_results = 0;
  static constexpr bool of_vectors = true;
  static constexpr std::int8_t write(ChainLoop&) { return ~leaf; }
  template <class T>
  TYTO_VECTOR_INLINE T at(const Leaves& leaves, std::int64_t i, T*) {
    if constexpr (std::is_same_v<T, float>) return leaves.runs[leaf][i];
    else return Lanes<float>::load(leaves.runs[leaf] + i);
  }
};

/// An operand that is one number.
template <int number>
struct One {
  static constexpr unsigned reads = 1u << (ChainLoop::first_number + number);
  static constexpr int further_results = 0;
  static constexpr bool of_vectors = true;
  static constexpr std::int8_t write(ChainLoop&) { return ~(ChainLoop::first_number + number); }
  template <class T>
  TYTO_VECTOR_INLINE T at(const Leaves& leaves, std::int64_t, T*) {
    if constexpr (std::is_same_v<T, float>) return leaves.numbers[number];
    else return Lanes<float>::all(leaves.numbers[number]);
  }
};

template <Element element, class Operator, class... Parts>
struct Apply {
  static constexpr unsigned reads = (Parts::reads | ...);
  static constexpr int further_results = (Parts::further_results + ...);
  static constexpr bool of_vectors = takes_vectors<Operator> && (Parts::of_vectors && ...);
  static constexpr std::int8_t write(ChainLoop& chain) {
    const std::int8_t parts[] = {Parts::write(chain)...};
    ChainLoop::Step& step = chain.steps[chain.count];
    step.op = static_cast<uint16_t>(element);
    for (std::size_t i = 0; i < sizeof...(Parts); ++i) step.operands[i] = parts[i];
    return static_cast<std::int8_t>(chain.count++);
  }
  template <class T>
  TYTO_VECTOR_INLINE T at(const Leaves& leaves, std::int64_t i, T* results) {
    return Operator::template apply<T>(Parts::template at<T>(leaves, i, results)...);
  }
};

/// A value on the way that is a result too.
template <int result, class Part>
struct Also {
  static constexpr unsigned reads = Part::reads;
  static constexpr int further_results = 1 + Part::further_results;
  static constexpr bool of_vectors = Part::of_vectors;
  static constexpr std::int8_t write(ChainLoop& chain) {
    ++chain.result_count;
    return chain.results[result] = Part::write(chain);
  }
  template <class T>
  TYTO_VECTOR_INLINE T at(const Leaves& leaves, std::int64_t i, T* results) {
    return results[result] = Part::template at<T>(leaves, i, results);
  }
};

// The addresses have just been written one by one. Volatile keeps the compiler from reading several as one vector,
// which would wait until all of those writes have reached the cache.
template <class Tree>
TYTO_VECTOR_INLINE Leaves leaves_of(const void* const volatile* given) {
  Leaves leaves{};
  for (int i = 0; i < ChainLoop::most_leaves; ++i) {
    if ((Tree::reads >> i & 1u) == 0) continue;
    const float* from = static_cast<const float*>(given[i]);
    if (i < ChainLoop::first_number) leaves.runs[i] = from;
    else leaves.numbers[i - ChainLoop::first_number] = *from;
  }
  return leaves;
}

template <int last>
[[gnu::always_inline]] inline void write_results(float* const* to, size_t i, const float* values) {
  to[last][i] = values[last];
  if constexpr (last > 0) write_results<last - 1>(to, i, values);
}

// Results may lie over runs: all of an element is read before any of it is written.
template <class Tree>
void run_chain(void* const* results, const void* const* given, size_t n) {
  float* y[1 + Tree::further_results];
  for (int k = 0; k <= Tree::further_results; ++k) y[k] = static_cast<float*>(results[k]);
  const Leaves leaves = leaves_of<Tree>(given);
  TYTO_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    float values[1 + Tree::further_results];
    values[0] = Tree::template at<float>(leaves, static_cast<std::int64_t>(i), values);
    write_results<Tree::further_results>(y, i, values);
  }
}

// Lines that are not written whole stay with the caches: those of two kinds of writing would be read after all.
template <class Tree>
void run_chain_uncached(void* const* results, const void* const* given, size_t n) {
  using L = Lanes<float>;
  constexpr size_t line = 64 / sizeof(float);
  static_assert(line % L::count == 0);
  float* y = static_cast<float*>(results[0]);
  const Leaves leaves = leaves_of<Tree>(given);
  size_t i = 0;
  const auto vector = [&](size_t k) {
    return Tree::template at<typename L::Vector>(leaves, static_cast<std::int64_t>(k), nullptr);
  };
  const auto run_to = [&](size_t end) {
    for (; i + L::count <= end; i += L::count) L::store(y + i, vector(i));
    for (; i < end; ++i) {
      y[i] = Tree::template at<float>(leaves, static_cast<std::int64_t>(i), nullptr);
      asm volatile("");  // few elements: not worth the room that a loop takes in vectors
    }
  };
  const size_t past = reinterpret_cast<std::uintptr_t>(y) % 64;
  const size_t before = past == 0 ? 0 : past % sizeof(float) == 0 ? (64 - past) / sizeof(float) : n;
  run_to(before < n ? before : n);
  for (; i + line <= n; i += line) {
    for (size_t k = i; k < i + line; k += L::count) L::store_uncached(y + k, vector(k));
  }
  run_to(n);
}

/// A chain's results as an array to fold.
template <class Tree>
struct Results {
  Leaves leaves;
  std::int64_t begin;
  [[gnu::always_inline]] inline Lanes<float>::Vector vector(std::int64_t i) const {
    return Tree::template at<Lanes<float>::Vector>(leaves, begin + i, nullptr);
  }
  [[gnu::always_inline]] inline float element(std::int64_t i) const {
    return Tree::template at<float>(leaves, begin + i, nullptr);
  }
};

template <class Tree>
void sum_chain(const void* const* given, size_t n, void* sum) {
  const Leaves leaves = leaves_of<Tree>(given);
  const auto count = static_cast<std::int64_t>(n);
  constexpr std::int64_t whole = summed_at_once<float>;
  double& result = *static_cast<double*>(sum);
  for (std::int64_t i = 0; i < count; i += whole) {
    const std::int64_t length = count - i < whole ? count - i : whole;
    result += static_cast<double>(fold_elements<Add>(Results<Tree>{leaves, i}, length, 0.0f));
  }
}

template <class Tree>
constexpr ChainLoop chain_of(Tree) {
  ChainLoop chain;
  chain.result_count = 1;
  chain.results[0] = Tree::write(chain);
  return chain;
}
template <class Tree>
constexpr ChainLoop uncached(Tree tree) {
  ChainLoop chain = chain_of(tree);
  if constexpr (Lanes<float>::passes_caches && Tree::of_vectors && Tree::further_results == 0) {
    chain.run_uncached = run_chain_uncached<Tree>;
  }
  return chain;
}
template <class Tree>
constexpr ChainLoop loop(Tree tree) {
  ChainLoop chain = uncached(tree);
  chain.run = run_chain<Tree>;
  return chain;
}
template <class Tree>
constexpr ChainLoop sum(Tree tree) {
  static_assert(Tree::further_results == 0);
  ChainLoop chain = chain_of(tree);
  chain.sum = sum_chain<Tree>;
  return chain;
}

/// Trees are written as expressions.
namespace tree {
#define TYTO_UNARY(name, ...)                                  \
  template <class X>                                           \
  constexpr Apply<Element::name, name##_operator, X> name(X) { \
    return {};                                                 \
  }
#define TYTO_BINARY(name, ...)                                       \
  template <class A, class B>                                        \
  constexpr Apply<Element::name, name##_operator, A, B> name(A, B) { \
    return {};                                                       \
  }
#define TYTO_TERNARY(...)
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
template <int result, class Part>
constexpr Also<result, Part> also(Part) {
  return {};
}
constexpr Run<0> a;
constexpr Run<1> b;
constexpr Run<2> c;
constexpr Run<3> d;
constexpr Run<4> e;
constexpr One<0> p;
constexpr One<1> q;
constexpr One<2> r;
constexpr One<3> s;
constexpr One<4> t;
constexpr One<5> u;
constexpr One<6> v;
}  // namespace tree

}  // namespace

}  // namespace tyto::cpu::TYTO_ISA
