// SPDX-License-Identifier: MIT
// Machine code that reduces rows gives the bits of the loops over lines in memory, whatever computes their elements.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "devices/cpu/loop/reduction.hpp"
#include "tests/devices/cpu/jit_rig.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;

/// The partial results of rows, as the loops over lines in memory have them; 8 bytes each.
std::vector<std::uint64_t> folded(OpId op, const StoredTensor& x, std::int64_t rows, std::int64_t length) {
  const Reduction reduction = reduction_of(op);
  const FoldLoops loops = fold_loops(reduction.fold, x.dtype);
  const FoldRules rules = fold_rules(reduction.fold, reduction.finish, x.dtype, x.dtype);
  std::vector<std::uint64_t> partial(static_cast<std::size_t>(rows), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto* const at = reinterpret_cast<std::byte*>(&partial[static_cast<std::size_t>(row)]);
    rules.start(at, nullptr, 1);
    loops.line(x.memory.data() + static_cast<std::size_t>(row * length) * size_of(x.dtype), length, 1, at, nullptr, 0);
  }
  return partial;
}

/// A long chain of functions of f32, of f64, or of both, which ends in one value of each type there is. `zeros`: in
/// zeros of either sign, of which the order decides what is the smallest.
std::vector<core::LoopValue> long_chain(core::LoopBuilder& program, bool narrow, bool wide, bool zeros) {
  const DType first = narrow ? DType::f32 : DType::f64;
  core::LoopValue value = 0;
  const auto grow = [&](DType type) {
    for (const OpId op : {OpId::softplus, OpId::sin, OpId::gelu, OpId::tanh}) value = program.apply(op, type, {value});
  };
  const auto end = [&](DType type) {
    if (!zeros) return value;
    const auto small = program.apply(OpId::multiply, type, {value, program.constant(Scalar(0.375), type)});
    return program.apply(OpId::round, type, {small});
  };
  value = program.apply(OpId::multiply, first, {0, 1});
  grow(first);
  std::vector<core::LoopValue> ends{end(first)};
  if (narrow && wide) {
    value = program.apply(OpId::cast, DType::f64, {value});
    grow(DType::f64);
    ends.push_back(end(DType::f64));
  }
  return ends;
}

}  // namespace

TEST_CASE("machine code reduces rows as the loops over lines in memory do") {
  std::mt19937 random(11);
  for (const OpId op : {OpId::sum, OpId::prod, OpId::min, OpId::max}) {
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64}) {
      const auto partial = jit::partial_type(op, type);
      REQUIRE(partial);
      const Reduction reduction = reduction_of(op);
      CHECK(fold_rules(reduction.fold, reduction.finish, type, type).first_size == size_of(*partial));
      for (const std::int64_t length : {2, 15, 16, 17, 31, 33, 100, 1023, 1024, 1025, 1056, 1100, 2000, 3000, 5000}) {
        for (const bool with_nan : {false, true}) {
          constexpr std::int64_t rows = 3;
          StoredTensor x = StoredTensor::dense(type, {rows, length});
          for (std::int64_t i = 0; i < rows * length; ++i) {
            const double number = std::uniform_real_distribution<double>(-2, 2)(random);
            // Of zeros of either sign, the smallest of a row and the largest of another, the order decides.
            const double sided = i < length ? number : i < 2 * length ? std::abs(number) : -std::abs(number);
            const double or_zero = random() % (length > 1024 ? 400 : 9) == 0 ? std::copysign(0.0, number) : sided;
            x.put(i, !is_floating(type) ? std::trunc(number * 50) : or_zero);
          }
          if (with_nan && is_floating(type)) x.put(length + length / 2, std::nan(""));
          const std::vector<std::uint64_t> expected = folded(op, x, rows, length);
          core::LoopBuilder program({&type, 1});
          const auto reduced = program.apply(op, *partial, {0});
          for (const InstructionSet set : jit_sets()) {
            CAPTURE(core::definition(op).name);
            CAPTURE(type);
            CAPTURE(length);
            CAPTURE(name_of(set));
            const core::Operand from = x.operand();
            const core::Operand to{*partial, core::broadcast_to(core::View::dense({rows, 1}), {rows, length})};
            const auto ranges =
                prepare_ranges(bound_loop(program.finish({&reduced, 1}), {from}, {to}), length, {}, by_jit(set));
            if (ranges == nullptr) {
              CHECK((set == InstructionSet::avx2 && !is_floating(type)));  // AVX2 has no 64-bit extremes and products
              continue;
            }
            std::vector<std::byte> found(rows * size_of(*partial));
            struct Use {
              std::byte *from, *to;
              std::int64_t length;
            } use{x.memory.data(), found.data(), length};
            ranges->with_runner(
                [](void* context, RangeRunner& runner) {
                  const Use& own = *static_cast<Use*>(context);
                  const OperandBase input{own.from}, output{own.to};
                  runner.bind({&input, 1}, {&output, 1});
                  runner.run_rows({0, rows}, own.length);
                },
                &use);
            for (std::int64_t row = 0; row < rows; ++row) {
              const std::size_t width = size_of(*partial);
              std::uint64_t value = 0;
              std::memcpy(&value, found.data() + static_cast<std::size_t>(row) * width, width);
              const std::uint64_t mask = width == 8 ? ~std::uint64_t{0} : 0xffffffffu;
              const bool nan = with_nan && is_floating(type) && row == 1;
              if (!nan) CHECK(value == (expected[static_cast<std::size_t>(row)] & mask));
              else if (width == 8) CHECK(std::isnan(std::bit_cast<double>(value)));
              else CHECK(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(value))));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("long bodies whose values are reduced fold them as the loops over lines do") {
  std::mt19937 random(12);
  constexpr std::int64_t rows = 3;
  for (const auto& [narrow, wide] : {std::pair{true, false}, {false, true}, {true, true}}) {
    const DType first = narrow ? DType::f32 : DType::f64;
    for (const OpId op : {OpId::sum, OpId::prod, OpId::min, OpId::max}) {
      for (const std::int64_t length :
           {2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 100, 257, 1024, 1025, 1050, 2100}) {
        StoredTensor x = StoredTensor::dense(first, {rows, length}), y(first, {{rows, length}, {2 * length + 1, 2}, 1});
        // Infinities and NaN in the first row alone: where a row has one, nothing is seen of the order.
        fill(x, core::definition(OpId::add), random);
        fill(y, core::definition(OpId::add), random);
        std::uniform_real_distribution<double> moderate(-1, 1);
        for (std::int64_t i = length; i < rows * length; ++i) x.put(i, moderate(random)), y.put(i, moderate(random));
        const std::array types{first, first};
        core::LoopBuilder written(types), reduced(types);
        const bool zeros = op == OpId::min || op == OpId::max;
        const auto ends = long_chain(written, narrow, wide, zeros);
        auto values = long_chain(reduced, narrow, wide, zeros);
        std::vector<StoredTensor> plain;
        std::vector<core::Operand> to, partials;
        std::vector<core::Address> written_to;
        for (std::size_t i = 0; i < ends.size(); ++i) {
          plain.push_back(StoredTensor::dense(written.type(ends[i]), {rows, length}));
          partials.push_back({*jit::partial_type(op, plain[i].dtype),
                              core::broadcast_to(core::View::dense({rows, 1}), {rows, length})});
          values[i] = reduced.apply(op, partials[i].dtype, {values[i]});
        }
        for (StoredTensor& each : plain) {
          to.push_back(each.operand());
          written_to.push_back({each.memory.data(), 0});
        }
        const std::vector from{x.operand(), y.operand()};
        const core::Address read[] = {{x.memory.data(), 0}, {y.memory.data(), 0}};
        prepare_elements(bound_loop(written.finish(ends), from, to), by_interpreter)->launch(read, written_to, {});
        for (const InstructionSet set : jit_sets()) {
          CAPTURE(core::definition(op).name);
          CAPTURE(first);
          CAPTURE(length);
          CAPTURE(name_of(set));
          const auto ranges =
              prepare_ranges(bound_loop(reduced.finish(values), from, partials), length, {}, by_jit(set));
          if (ranges == nullptr) {
            CHECK((set != InstructionSet::avx512 && ends.size() == 2));  // whose accumulators take too many registers
            continue;
          }
          std::array<StoredTensor, 2> found;
          for (std::size_t i = 0; i < partials.size(); ++i) found[i] = StoredTensor::dense(partials[i].dtype, {rows});
          struct Use {
            std::array<OperandBase, 2> from, to;
            std::size_t results;
            std::int64_t length;
          } use{{OperandBase{x.memory.data()}, OperandBase{y.memory.data()}},
                {OperandBase{found[0].memory.data()}, OperandBase{found[1].memory.data()}},
                partials.size(),
                length};
          ranges->with_runner(
              [](void* context, RangeRunner& runner) {
                const Use& own = *static_cast<Use*>(context);
                runner.bind(own.from, std::span(own.to).first(own.results));
                runner.run_rows({0, rows}, own.length);
              },
              &use);
          for (std::size_t i = 0; i < partials.size(); ++i) {
            const std::vector<std::uint64_t> expected = folded(op, plain[i], rows, length);
            const std::size_t width = size_of(partials[i].dtype);
            for (std::int64_t row = 0; row < rows; ++row) {
              const std::byte* const at = found[i].memory.data() + static_cast<std::size_t>(row) * width;
              bool has_nan = false;
              for (std::int64_t k = 0; k < length; ++k) has_nan = has_nan || std::isnan(plain[i].get(row * length + k));
              // Of a NaN only that it is one.
              if (!has_nan) CHECK(std::memcmp(at, &expected[static_cast<std::size_t>(row)], width) == 0);
              else CHECK(std::isnan(found[i].get(row)));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("every set sums squares and products of two operands in one pass") {
  std::mt19937 random(13);
  constexpr std::int64_t rows = 3, length = 1050;
  for (const DType type : {DType::f32, DType::f64}) {
    const std::array types{type, type};
    core::LoopBuilder program(types);
    std::array<StoredTensor, 2> from{StoredTensor::dense(type, {rows, length}),
                                     StoredTensor::dense(type, {rows, length})};
    std::uniform_real_distribution<double> moderate(-1, 1);
    for (std::int64_t i = 0; i < rows * length; ++i) from[0].put(i, moderate(random)), from[1].put(i, moderate(random));
    std::vector<core::LoopValue> sums;
    std::vector<std::vector<std::uint64_t>> expected;
    for (const auto& [a, b] : {std::pair{0, 0}, {0, 1}, {1, 1}}) {
      const auto product = program.apply(OpId::multiply, type, {core::LoopValue(a), core::LoopValue(b)});
      sums.push_back(program.apply(OpId::sum, *jit::partial_type(OpId::sum, type), {product}));
      StoredTensor products = StoredTensor::dense(type, {rows, length});
      for (std::int64_t i = 0; i < rows * length; ++i) {
        products.put(i, from[static_cast<std::size_t>(a)].get(i) * from[static_cast<std::size_t>(b)].get(i));
      }
      expected.push_back(folded(OpId::sum, products, rows, length));
    }
    const core::Operand partial{DType::f64, core::broadcast_to(core::View::dense({rows, 1}), {rows, length})};
    for (const InstructionSet set : jit_sets()) {
      CAPTURE(type);
      CAPTURE(name_of(set));
      const core::BoundLoop loop =
          bound_loop(program.finish(sums), {from[0].operand(), from[1].operand()}, {partial, partial, partial});
      const auto ranges = prepare_ranges(loop, length, {}, by_jit(set));
      REQUIRE(ranges != nullptr);
      std::array<std::array<std::uint64_t, rows>, 3> found;
      struct Use {
        std::array<OperandBase, 2> from;
        std::array<OperandBase, 3> to;
      } use;
      for (std::size_t i = 0; i < 2; ++i) use.from[i] = OperandBase(from[i].memory.data());
      for (std::size_t i = 0; i < 3; ++i) use.to[i] = OperandBase(reinterpret_cast<std::byte*>(found[i].data()));
      ranges->with_runner(
          [](void* context, RangeRunner& runner) {
            const Use& own = *static_cast<Use*>(context);
            runner.bind(own.from, own.to);
            runner.run_rows({0, rows}, length);
          },
          &use);
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::ranges::equal(found[i], expected[i]));
    }
  }
}

}  // namespace tyto::cpu::testing
