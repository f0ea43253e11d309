// SPDX-License-Identifier: MIT
// Machine code for AArch64, simulated, against the interpreter of the processor at hand.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "tests/devices/cpu/jit_rig.hpp"
#include "tests/simulator/aarch64.hpp"

namespace tyto::cpu::testing::aarch64_code {

namespace {

using core::OpId;
using jit::Access;

/// The layout of a row of operands in memory.
struct Layout {
  Access access;
  std::int64_t stride;
};
constexpr Layout contiguous{Access::contiguous, 1}, every_third{Access::strided, 3}, repeated{Access::broadcast, 0};

/// Rows of an operator's operands, and what simulated code and the interpreter make of them.
struct Rows {
  static constexpr std::int64_t rows = 2;

  StoredTensor operand(DType type, Layout layout) const {
    return StoredTensor(type, {{rows, columns}, {layout.stride * columns + 1, layout.stride}, 0});
  }
  jit::OperandSpec spec_of(const StoredTensor& tensor, Layout layout) const { return {tensor.dtype, layout.access}; }

  /// Instructions that the simulator took; nothing where the JIT has no code, or code that calls functions of the host.
  std::optional<std::int64_t> run(const core::LoopProgram& program, const std::vector<StoredTensor>& inputs,
                                  const std::vector<Layout>& layouts, StoredTensor& out, Layout out_layout) const {
    std::vector<jit::InputSpec> read;
    std::vector<jit::OperandSpec> from;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      read.push_back({inputs[i].dtype, layouts[i].access == Access::broadcast});
      from.push_back(spec_of(inputs[i], layouts[i]));
    }
    const jit::KernelSpec spec{
        jit::record(program, read, std::vector{out.dtype}, tile_loops(InstructionSet::baseline), false),
        from,
        {spec_of(out, out_layout)},
        columns == 1 ? jit::Variant::single : jit::Variant::rows};
    if (!spec.code.complete || !spec.code.calls.empty()) return std::nullopt;
    jit::Frame frame;
    frame.rows = rows;
    frame.columns = columns;
    constexpr std::byte always{1};
    frame.goes_on = &always;
    for (std::size_t i = 0; i <= inputs.size(); ++i) {
      const StoredTensor& tensor = i < inputs.size() ? inputs[i] : out;
      const auto width = static_cast<std::ptrdiff_t>(size_of(tensor.dtype));
      frame.pointers[i] = {const_cast<std::byte*>(tensor.memory.data()), tensor.view.strides[0] * width,
                           tensor.view.strides[1] * width, nullptr};
    }
    return simulate_aarch64(spec, frame);
  }

  std::int64_t columns;
};

void interpret(const core::LoopProgram& program, const std::vector<StoredTensor>& inputs, StoredTensor& out) {
  std::vector<core::Operand> from;
  std::vector<core::Address> read;
  for (const StoredTensor& input : inputs) {
    from.push_back(input.operand());
    read.push_back({const_cast<std::byte*>(input.memory.data()), 0});
  }
  const core::Address written{out.memory.data(), 0};
  prepare_elements(bound_loop(program, from, {out.operand()}), by_interpreter)->launch(read, {&written, 1}, {});
}

bool skipped() {
  if (has_aarch64_simulator()) return false;
  MESSAGE("code for AArch64 is not simulated: this build has no VIXL (libvixl-dev) for x86-64");
  return true;
}

}  // namespace

TEST_CASE("simulated code for AArch64 gives the bits of the interpreter for every operator and type") {
  if (skipped()) return;
  std::mt19937 random(7);
  int simulated = 0;
  for (std::size_t number = 0; number < core::elementwise_count; ++number) {
    const auto op = static_cast<OpId>(number);
    const core::OpDef& def = core::definition(op);
    for (const DType type : all_types) {
      std::vector<DType> types(static_cast<std::size_t>(def.max_inputs), type);
      if (def.domain == core::Domain::selection) types[0] = DType::boolean;
      if (def.domain == core::Domain::floating && !is_floating(type)) continue;
      DType made{};
      try {
        made = result_type(op, types);
      } catch (const Error&) {
        continue;  // the operator is not defined on the type
      }
      CAPTURE(def.name);
      CAPTURE(name_of(type));
      core::LoopBuilder builder(types);
      std::vector<core::LoopValue> values;
      for (std::size_t i = 0; i < types.size(); ++i) values.push_back(static_cast<core::LoopValue>(i));
      const DType working = is_floating(type) ? compute_type(type) : type;
      for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i] == type) values[i] = builder.as(working, values[i]);
      }
      core::LoopValue result = builder.apply({op, made == type ? working : made}, values);
      result = builder.as(made, result);
      const core::LoopProgram program = builder.finish({&result, 1});
      for (const std::int64_t columns : {1, 3, 4, 25}) {
        CAPTURE(columns);
        const Rows shape{columns};
        const Layout choices[] = {contiguous, every_third, repeated};
        std::vector<Layout> layouts;
        std::vector<StoredTensor> inputs;
        for (const DType each : types) {
          layouts.push_back(columns == 1 ? contiguous : choices[random() % 3]);
          inputs.push_back(shape.operand(each, layouts.back()));
          fill(inputs.back(), def, random);
        }
        const Layout written = columns == 1 ? contiguous : choices[random() % 2];
        StoredTensor expected = shape.operand(made, written), found = expected;
        if (!shape.run(program, inputs, layouts, found, written)) continue;
        interpret(program, inputs, expected);
        CHECK(differences(expected, found) == 0);
        if (!is_floating(made)) CHECK(expected.memory == found.memory);
        ++simulated;
      }
    }
  }
  CHECK(simulated > 2000);
}

TEST_CASE("simulated code for AArch64 reduces rows, whatever vectors and blocks leave over") {
  if (skipped()) return;
  struct Row {
    OpId op;
    double (*fold)(double a, double b);
    double start;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Row table[] = {{OpId::sum, [](double a, double b) { return a + b; }, 0},
                       {OpId::prod, [](double a, double b) { return a * b; }, 1},
                       {OpId::min, [](double a, double b) { return std::min(a, b); }, infinity},
                       {OpId::max, [](double a, double b) { return std::max(a, b); }, -infinity}};
  for (const Row& each : table) {
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i32, DType::i64}) {
      for (const std::int64_t columns : {2, 3, 31, 33, 64, 101, 1024, 1025, 2047, 3000}) {
        for (const bool with_nan : {false, true}) {
          if (with_nan && !is_floating(type)) continue;
          CAPTURE(core::definition(each.op).name);
          CAPTURE(name_of(type));
          CAPTURE(columns);
          const Rows shape{columns};
          const DType partial = *jit::partial_type(each.op, type);
          StoredTensor input = shape.operand(type, contiguous);
          StoredTensor found(partial, {{Rows::rows, columns}, {1, 0}, 0});
          // Sums of these are exact in any order, and so are products, all but twenty of whose factors are 1.
          std::array<double, Rows::rows> expected{each.start, each.start};
          for (std::int64_t i = 0; i < Rows::rows * columns; ++i) {
            const auto at = i % columns;
            const double factor = at * 20 / columns != (at - 1) * 20 / columns ? -2 : 1;
            const double number = each.op == OpId::prod ? factor : static_cast<double>((at * 7 + i) % 23 - 11);
            input.put(i, number);
            auto& total = expected[static_cast<std::size_t>(i / columns)];
            total = each.fold(total, number);
          }
          if (with_nan) input.put(columns / 2, std::nan(""));
          core::LoopBuilder builder({&type, 1});
          const core::LoopValue result = builder.apply(each.op, partial, {0});
          constexpr Layout one{Access::reduced, 0};
          REQUIRE(shape.run(builder.finish({&result, 1}), {input}, {contiguous}, found, one));
          CHECK((with_nan ? std::isnan(found.get_at(0)) : found.get_at(0) == expected[0]));
          CHECK(found.get_at(1) == expected[1]);
        }
      }
    }
  }
}

TEST_CASE("simulated code for AArch64 reads more operands than there are registers for their places") {
  if (skipped()) return;
  constexpr std::size_t count = 30;
  core::LoopBuilder builder(std::vector<DType>(count, DType::f32));
  core::LoopValue sum = 0;
  for (std::size_t k = 1; k < count; ++k) {
    sum = builder.apply(OpId::add, DType::f32, {sum, static_cast<core::LoopValue>(k)});
  }
  const core::LoopProgram program = builder.finish({&sum, 1});
  for (const std::int64_t columns : {1, 7, 25}) {
    const Rows shape{columns};
    std::vector<Layout> layouts;
    std::vector<StoredTensor> inputs;
    for (std::size_t k = 0; k < count; ++k) {
      layouts.push_back(k % 2 == 0 || columns == 1 ? contiguous : every_third);
      inputs.push_back(shape.operand(DType::f32, layouts.back()));
      for (std::int64_t i = 0; i < inputs[k].view.count(); ++i)
        inputs[k].put(i, static_cast<long double>(i) * static_cast<long double>(k + 1));
    }
    StoredTensor found = shape.operand(DType::f32, contiguous);
    REQUIRE(shape.run(program, inputs, layouts, found, contiguous));
    for (std::int64_t i = 0; i < found.view.count(); ++i) CHECK(found.get(i) == i * 465);  // 1 + ... + 30
  }
}

TEST_CASE("simulated code for AArch64 keeps hundreds of values on the stack") {
  if (skipped()) return;
  // The product of each pair of operands is added twice, the second time when all have been added once.
  constexpr std::size_t count = 40;
  core::LoopBuilder builder(std::vector<DType>(count, DType::f32));
  std::vector<core::LoopValue> products;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      products.push_back(builder.apply(OpId::multiply, DType::f32,
                                       {static_cast<core::LoopValue>(a), static_cast<core::LoopValue>(b)}));
    }
  }
  core::LoopValue sum = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (const core::LoopValue product : products) sum = builder.apply(OpId::add, DType::f32, {sum, product});
  }
  const core::LoopProgram program = builder.finish({&sum, 1});
  const Rows shape{6};
  std::vector<StoredTensor> inputs;
  for (std::size_t k = 0; k < count; ++k) {
    inputs.push_back(shape.operand(DType::f32, contiguous));
    for (std::int64_t i = 0; i < inputs[k].view.count(); ++i) inputs[k].put(i, static_cast<long double>(i + 1));
  }
  StoredTensor found = shape.operand(DType::f32, contiguous);
  REQUIRE(shape.run(program, inputs, std::vector<Layout>(count, contiguous), found, contiguous));
  for (std::int64_t i = 0; i < found.view.count(); ++i) CHECK(found.get(i) == (i + 1) + 1560 * (i + 1) * (i + 1));
}

TEST_CASE("simulated chains for AArch64 take no more than 1.2 times the instructions of a loop written by hand") {
  if (skipped()) return;
  constexpr DType f32 = DType::f32;
  using core::LoopValue;
  struct Chain {
    const char* name;
    double by_hand;  // an element, of bench/fused/chain_loops.sets.cpp as g++ 12 compiles it for NEON
    int inputs;
    LoopValue (*build)(core::LoopBuilder& to);
  };
  const Chain chains[] = {
      {"a b + c", 2.25, 3,
       [](core::LoopBuilder& to) {
         return to.apply(OpId::add, f32, {to.apply(OpId::multiply, f32, {0, 1}), 2});
       }},
      {"tanh(a x + b) c + exp(-x x)", 24.5, 4,
       [](core::LoopBuilder& to) {
         const LoopValue inner = to.apply(OpId::add, f32, {to.apply(OpId::multiply, f32, {0, 3}), 1});
         const LoopValue scaled = to.apply(OpId::multiply, f32, {to.apply(OpId::tanh, f32, {inner}), 2});
         const LoopValue square = to.apply(OpId::multiply, f32, {to.apply(OpId::negate, f32, {3}), 3});
         return to.apply(OpId::add, f32, {scaled, to.apply(OpId::exp, f32, {square})});
       }},
      {"w - rate g / (sqrt(s + g g) + epsilon)", 4 - 0.25, 3,  // whose loop stores s, too
       [](core::LoopBuilder& to) {
         const LoopValue squares = to.apply(OpId::add, f32, {1, to.apply(OpId::multiply, f32, {2, 2})});
         const LoopValue root = to.apply(OpId::sqrt, f32, {squares});
         const LoopValue below = to.apply(OpId::add, f32, {root, to.constant(Scalar(1e-8), f32)});
         const LoopValue above = to.apply(OpId::multiply, f32, {to.constant(Scalar(0.01), f32), 2});
         return to.apply(OpId::subtract, f32, {0, to.apply(OpId::divide, f32, {above, below})});
       }},
  };
  for (const Chain& chain : chains) {
    CAPTURE(chain.name);
    const auto inputs = static_cast<std::size_t>(chain.inputs);
    core::LoopBuilder builder(std::vector<DType>(inputs, f32));
    const LoopValue result = chain.build(builder);
    const core::LoopProgram program = builder.finish({&result, 1});
    const auto instructions = [&](std::int64_t columns) {
      const Rows shape{columns};
      std::vector<StoredTensor> operands(inputs, shape.operand(f32, contiguous));
      for (StoredTensor& each : operands) {
        for (std::int64_t i = 0; i < each.view.count(); ++i) each.put(i, 0.5L);
      }
      StoredTensor out = shape.operand(f32, contiguous);
      return shape.run(program, operands, std::vector<Layout>(inputs, contiguous), out, contiguous).value();
    };
    constexpr std::int64_t elements = 160;
    const double more = static_cast<double>(instructions(2 * elements) - instructions(elements));
    CHECK(more > 0);
    CHECK(more / (Rows::rows * elements) <= 1.2 * chain.by_hand);
  }
}

}  // namespace tyto::cpu::testing::aarch64_code
