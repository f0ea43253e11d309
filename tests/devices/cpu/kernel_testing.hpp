// SPDX-License-Identifier: MIT
// Shared by the tests of heavy kernels: fenced buffers, random values, tolerances, and the list of code paths to try.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tyto/dtype.hpp>

#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu::testing {

/// A small deterministic generator (xorshift64*): the suite draws the same cases on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {}

  std::uint64_t bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>((bits() >> 11) % static_cast<std::uint64_t>(limit));
  }
  bool coin() { return (bits() >> 40 & 1u) != 0; }
  std::int64_t of(std::initializer_list<std::int64_t> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  /// A value that suits T: in [-1, 1) for floating-point types, any for integers.
  template <class T>
  T value() {
    if constexpr (std::is_same_v<T, bool>) {
      return below(4) == 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits() >> 13);
    } else {
      return T(static_cast<float>(below(1 << 20)) / float(1 << 19) - 1.0f);
    }
  }

 private:
  std::uint64_t state_;
};

/// 64-byte aligned elements between two fences that a kernel must leave alone, as is checked in the end; fresh memory
/// holds NaN or -1 patterns.
template <class T>
class Fenced {
 public:
  static constexpr std::size_t fence = 1024;
  static constexpr unsigned char pattern = 0xa5;
  static constexpr std::align_val_t alignment{64};

  explicit Fenced(std::integral auto count)
      : count_(static_cast<std::size_t>(count)), bytes_(fence + count_ * sizeof(T) + fence) {
    const std::size_t whole = (bytes_ + 63) / 64 * 64;
    memory_.reset(static_cast<unsigned char*>(::operator new(whole, alignment)));
    std::memset(memory_.get(), pattern, whole);
    std::memset(memory_.get() + fence, std::is_same_v<T, bool> ? 0 : 0xff, count_ * sizeof(T));
  }
  Fenced(Fenced&&) = default;
  Fenced& operator=(Fenced&&) = delete;
  ~Fenced() {
    if (memory_ != nullptr) CHECK_MESSAGE(fences_intact(), "a kernel wrote beyond a buffer");
  }

  Fenced copy() const {
    Fenced other(size());
    std::memcpy(other.data(), data(), count_ * sizeof(T));
    return other;
  }

  T* data() { return reinterpret_cast<T*>(memory_.get() + fence); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.get() + fence); }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }
  std::int64_t size() const { return static_cast<std::int64_t>(count_); }

  void draw(Draw& from) {
    for (std::int64_t i = 0; i < size(); ++i) data()[i] = from.value<T>();
  }

 private:
  bool fences_intact() const {
    for (std::size_t i = 0; i < fence; ++i) {
      if (memory_.get()[i] != pattern || memory_.get()[bytes_ - 1 - i] != pattern) return false;
    }
    return true;
  }

  struct Free {
    void operator()(unsigned char* memory) const { ::operator delete(memory, alignment); }
  };
  std::size_t count_, bytes_;
  std::unique_ptr<unsigned char, Free> memory_;
};

/// A workspace whose parts are not looked at.
using Bytes = Fenced<unsigned char>;

/// Memory for what a kernel has laid out, with a fence behind each part.
class FencedParts {
 public:
  explicit FencedParts(const WorkspaceLayout& layout) : fences_(layout.fences()), memory_(layout.bytes()) {
    for (const WorkspaceFence& fence : fences_) {
      std::memset(memory_.data() + fence.begin, memory_.pattern, fence.end - fence.begin);
    }
  }
  FencedParts(FencedParts&&) = default;
  FencedParts& operator=(FencedParts&&) = delete;
  ~FencedParts() { CHECK_MESSAGE(fences_intact(), "a kernel wrote beyond a part of its workspace or packed operand"); }

  unsigned char* data() { return memory_.data(); }

 private:
  bool fences_intact() const {
    for (const WorkspaceFence& fence : fences_) {
      const auto* const bytes = memory_.data();
      if (!std::all_of(bytes + fence.begin, bytes + fence.end,
                       [](unsigned char byte) { return byte == Bytes::pattern; })) {
        return false;
      }
    }
    return true;
  }

  std::vector<WorkspaceFence> fences_;  // empty in what was moved from
  Bytes memory_;
};

/// A kernel with memory of its own.
template <class Kernel>
struct FencedKernel {
  explicit FencedKernel(Kernel prepared)
      : kernel(std::move(prepared)), workspace(kernel.workspace()), packed(kernel.packed()) {}

  Kernel kernel;
  FencedParts workspace, packed;
};

/// Runs the kernel that `prepare` returns for a product or convolution, with guard bytes after every operand.
template <class Kernel, class Problem>
FencedKernel<Kernel> fenced(Kernel (*prepare)(const Problem&, const KernelChoice&), const Problem& problem,
                            const KernelChoice& choice) {
  struct Fences {
    Fences() { WorkspaceLayout::fence_bytes = Bytes::fence; }
    ~Fences() { WorkspaceLayout::fence_bytes = 0; }
  } fences_behind_parts;
  return FencedKernel<Kernel>(prepare(problem, choice));
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Relative error of one rounding in the arithmetic that T is computed in.
template <class T>
double arithmetic_epsilon() {
  return std::is_same_v<T, double> ? 0x1p-52 : 0x1p-23;
}

/// Relative error of storing a result as T.
template <class T>
double storage_epsilon() {
  if (std::is_same_v<T, Half>) return 0x1p-10;
  if (std::is_same_v<T, BFloat16>) return 0x1p-7;
  return arithmetic_epsilon<T>();
}

/// True when `got` is a sum of `terms` products computed in some order, whose exact value is `want` and whose terms'
/// magnitudes sum to `magnitude`: the classical bound, which no order of summation exceeds. Of half precision, `stored`
/// is the sum of the sizes of what was rounded to T on the way to the result.
template <class T>
bool is_sum(T got, double want, double magnitude, std::int64_t terms, double stored = 0) {
  const double error = arithmetic_epsilon<T>() * static_cast<double>(terms + 4) * magnitude +
                       storage_epsilon<T>() * (std::abs(want) + magnitude * 0x1p-8) +
                       (sizeof(T) == 2 ? storage_epsilon<T>() * stored : 0) + (std::is_same_v<T, Half> ? 0x1p-24 : 0);
  return std::abs(as_double(got) - want) <= error;
}

struct Path {
  std::string name;
  KernelChoice choice;
};

/// Every code path this machine can run: our own code for each instruction set, oneDNN, and the automatic choice.
inline std::vector<Path> all_paths(int threads) {
  std::vector<Path> paths;
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    paths.push_back({std::string("own ") + cpu::name_of(set), {Implementation::own, set, threads}});
  }
  paths.push_back({"automatic", {Implementation::automatic, {}, threads}});
  if (has_onednn()) paths.push_back({"onednn", {Implementation::onednn, {}, threads}});
  return paths;
}

/// Those that take every problem: oneDNN multiplies in bf16 alone.
inline std::vector<Path> own_paths(int threads) {
  std::vector<Path> paths = all_paths(threads);
  if (has_onednn()) paths.pop_back();
  return paths;
}

}  // namespace tyto::cpu::testing
