// SPDX-License-Identifier: MIT
// Runs programs by the JIT and by the interpreter, for every instruction set, for tests of machine code.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "core/graph/operator.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing {

inline const KernelChoice by_interpreter{.implementation = Implementation::automatic,
                                         .instructions = InstructionSet::avx2,
                                         .threads = 0,
                                         .loops = LoopBackend::interpreter};
inline KernelChoice by_jit(InstructionSet set) {
  return {.implementation = Implementation::automatic, .instructions = set, .threads = 0, .loops = LoopBackend::jit};
}

/// The sets of this machine that there is machine code for.
inline std::vector<InstructionSet> jit_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : all_sets()) {
    if (jit::is_available() && jit::find_target(set) != nullptr) sets.push_back(set);
  }
  return sets;
}

/// Numbers of an operator's range, and what functions have special cases for.
inline void fill(StoredTensor& tensor, const core::OpDef& def, std::mt19937& random) {
  const double boundless = std::numeric_limits<double>::infinity();
  const double specials[] = {0.0,   -0.0,  1.0,  -1.0,  0.5,  boundless, -boundless, std::nan(""),
                             1e-30, -1e30, 3e38, 1e-42, 88.8, -104.5,    2.5,        70000.0};
  std::uniform_real_distribution<double> usual(def.low, def.high);
  for (std::int64_t i = 0; i < tensor.view.count(); ++i) {
    double number = random() % 4 == 0 ? specials[random() % std::size(specials)] : usual(random);
    if (!is_floating(tensor.dtype)) {
      number = std::isfinite(number) ? std::trunc(std::fmod(number * 3, 100)) : 7;
      if (is_unsigned(tensor.dtype)) number = std::abs(number);
      if (tensor.dtype == DType::i32 && random() % 16 == 0) number = random() % 2 == 0 ? -2147483648.0 : 2147483647.0;
    }
    tensor.put(i, static_cast<long double>(number));
  }
}

/// The number of elements that differ; two NaNs are equal.
inline int differences(const StoredTensor& a, const StoredTensor& b) {
  int count = 0;
  for (std::int64_t i = 0; i < a.view.count(); ++i) {
    const long double x = a.get(i), y = b.get(i);
    const bool same = std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
    if (!same && count++ < 3) MESSAGE("element ", i, ": ", static_cast<double>(x), " and ", static_cast<double>(y));
  }
  return count;
}

/// Throws where the operator is not defined on the types.
inline DType result_type(core::OpId op, const std::vector<DType>& types) {
  std::vector<core::TensorType> inputs;
  for (const DType type : types) inputs.push_back({type, Shape{4}});
  return core::definition(op).infer(core::NoAttributes{}, inputs)[0].dtype;
}

}  // namespace tyto::cpu::testing
