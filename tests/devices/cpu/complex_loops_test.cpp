// SPDX-License-Identifier: MIT
// Loops over complex numbers: machine code and the interpreter give the same bits, and touch nothing beside.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing::complex_loops_test {

using core::OpId;
using core::View;

namespace {

constexpr std::size_t margin = 4;  // elements before and behind what an operand touches

/// Elements by their bytes, with room around them.
struct Memory {
  DType dtype;
  View view;
  std::vector<std::byte> bytes;

  Memory(DType type, View of, std::mt19937& random) : dtype(type), view(std::move(of)) {
    const core::ElementRange range = core::touched(view);
    bytes.resize((static_cast<std::size_t>(range.past) + 2 * margin) * size_of(dtype));
    std::normal_distribution<double> normal(0, 2);
    const std::size_t width = size_of(real_type(dtype));
    for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
      const double number = random() % 8 == 0 ? (random() % 2 == 0 ? 0.0 : -1.0) : normal(random);
      const auto put = [&](auto value) { std::memcpy(&bytes[at], &value, width); };
      if (dtype == DType::boolean) put(static_cast<std::uint8_t>(random() % 2));
      else width == 8 ? put(number) : put(static_cast<float>(number));
    }
  }
  core::Operand operand() const { return {dtype, view}; }
  core::Address address() { return {bytes.data() + margin * size_of(dtype), 0}; }
};

void run(OpId op, std::vector<Memory>& inputs, Memory& output, const KernelChoice& choice) {
  const core::Attributes none;
  std::vector<core::Operand> operands;
  std::vector<core::Address> from;
  for (Memory& input : inputs) {
    operands.push_back(input.operand());
    from.push_back(input.address());
  }
  const core::Operand result = output.operand();
  const core::Address to = output.address();
  prepare_elementwise({op, &none, operands, {&result, 1}}, choice)->launch(from, {&to, 1}, {});
}

/// NaN has no bits of its own.
bool same(const Memory& a, const Memory& b) {
  const auto equal = [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at + sizeof(T) <= a.bytes.size(); at += sizeof(T)) {
      T x, y;
      std::memcpy(&x, &a.bytes[at], sizeof x);
      std::memcpy(&y, &b.bytes[at], sizeof y);
      if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y)) return false;
    }
    return true;
  };
  if (a.dtype == DType::boolean) return a.bytes == b.bytes;
  return real_type(a.dtype) == DType::f64 ? equal(0.0) : equal(0.0f);
}

}  // namespace

TEST_CASE("machine code gives the bits of the interpreter for every operator on complex numbers, however they lie") {
  const KernelChoice by_interpreter{.instructions = std::min(InstructionSet::avx2, widest_instruction_set()),
                                    .loops = LoopBackend::interpreter};
  std::mt19937 random(11);
  for (std::size_t number = 0; number < core::elementwise_count; ++number) {
    const auto op = static_cast<OpId>(number);
    const core::OpDef& def = core::definition(op);
    if (!def.is(core::Traits::takes_complex)) continue;
    CAPTURE(def.name);
    for (const DType type : {DType::c64, DType::c128}) {
      const bool truth = def.domain == core::Domain::comparison;
      const DType made = truth ? DType::boolean : def.is(core::Traits::is_real_valued) ? real_type(type) : type;
      for (const View& view : {View::dense({1}), View::dense({3}), View::dense({8}), View::dense({37}),
                               View{{7, 9}, {20, 2}, 1}, View{{9, 7}, {1, 9}, 0}, View{{5, 16}, {16, 1}, 3}}) {
        std::vector<Memory> inputs;
        for (int i = 0; i < def.max_inputs; ++i) {
          const bool condition = def.domain == core::Domain::selection && i == 0;
          inputs.emplace_back(condition ? DType::boolean : type, i == 1 ? View::dense(view.shape) : view, random);
        }
        Memory expected(made, view, random);
        const Memory before = expected;
        run(op, inputs, expected, by_interpreter);
        for (const InstructionSet set : all_sets()) {
          if (!jit::is_available() || jit::find_target(set) == nullptr) continue;
          Memory found = before;
          run(op, inputs, found, {.instructions = set, .loops = LoopBackend::jit});
          CHECK(same(expected, found));
        }
        if (def.domain == core::Domain::selection || made != type) continue;
        // In place of an input that lies as the result does.
        std::vector<Memory> own = inputs;
        run(op, own, own[0], {});
        CHECK(own[0].bytes.size() == expected.bytes.size());
        Memory copied = inputs[0];
        run(op, inputs, copied, {.instructions = {}, .loops = LoopBackend::interpreter});
        CHECK(same(own[0], copied));
      }
    }
  }
}

}  // namespace tyto::cpu::testing::complex_loops_test
