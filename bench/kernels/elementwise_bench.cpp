// SPDX-License-Identifier: MIT
// Nanoseconds an element of element-wise kernels beside hand-written loops in the same run, on one thread:
// elementwise_bench [baseline|avx2|avx512].
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "bench/kernels/hand_loops.hpp"
#include "bench/measurement.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "devices/cpu/loop/range_program.hpp"

namespace {

using namespace tyto;
using bench::Floats;
using core::OpId;
using core::View;
using cpu::InstructionSet;

const bench::HandLoops& hand_loops(InstructionSet set) {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return bench::avx512::hand_loops;
  if (set == InstructionSet::avx2) return bench::avx2::hand_loops;
#endif
  static_cast<void>(set);
  return bench::baseline::hand_loops;
}

/// Nanoseconds a call of both.
std::pair<double, double> compare(const std::function<void()>& ours, const std::function<void()>& hand) {
  const std::vector<double> seconds = bench::compare(1, {hand, ours}, 0.1);
  return {seconds[1] * 1e9, seconds[0] * 1e9};
}

void report(const char* name, std::int64_t count, std::pair<double, double> nanoseconds) {
  const auto [ours, hand] = nanoseconds;
  const double n = static_cast<double>(count);
  std::printf("%-34s %10lld %10.4f %10.4f %7.2f %12.1f\n", name, static_cast<long long>(count), ours / n, hand / n,
              ours / hand, ours);
}

/// A program over f32 operands, launched on the given memory.
std::function<void()> launcher(const core::LoopProgram& program, const std::vector<View>& inputs,
                               const std::vector<const Floats*>& memory, const View& result, const Floats& target,
                               InstructionSet set) {
  std::vector<core::Operand> operands;
  std::vector<core::Address> addresses;
  for (const View& view : inputs) operands.push_back({DType::f32, view});
  for (const Floats* floats : memory) addresses.push_back({floats->data(), 0});
  const core::Operand output{DType::f32, result};
  const core::Address out{target.data(), 0};
  auto kernel =
      cpu::prepare_elements(cpu::bound_loop(program, operands, {output}), {cpu::Implementation::automatic, set, 1});
  return [=] { kernel->launch(addresses, {&out, 1}, {}); };
}

core::LoopProgram single(OpId op, int operands) {
  return {
      static_cast<std::uint16_t>(operands), {}, {{op, DType::f32, {0, 1, 2}}}, {static_cast<std::uint16_t>(operands)}};
}

/// tanh(a x + b) c + exp(-x x)
core::LoopProgram tanh_chain() {
  const auto f32 = DType::f32;
  core::LoopBuilder program(std::vector(4, f32));
  const core::LoopValue a = 0, b = 1, c = 2, x = 3;
  const auto bent = program.apply(OpId::tanh, f32, {program.apply(OpId::fma, f32, {a, x, b})});
  const auto squared = program.apply(OpId::square, f32, {x});
  const auto bell = program.apply(OpId::exp, f32, {program.apply(OpId::negate, f32, {squared})});
  const auto result = program.apply(OpId::fma, f32, {bent, c, bell});
  return program.finish({&result, 1});
}

void run(InstructionSet set) {
  const bench::HandLoops& hand = hand_loops(set);
  std::printf("%s\n%-34s %10s %10s %10s %7s %12s\n", cpu::name_of(set), "kernel", "elements", "ns/element", "by hand",
              "ratio", "ns/launch");
  for (const std::int64_t count : {1, 100, 10'000, 1'000'000, 20'000'000}) {
    const Floats a(count), b(count), c(count), x(count, -0.5f), y(count);
    const View dense = View::dense({count});
    const auto n = static_cast<std::size_t>(count);
    report("a + b", count, compare(launcher(single(OpId::add, 2), {dense, dense}, {&a, &b}, dense, y, set), [&] {
             hand.add(a.data(), b.data(), y.data(), n);
           }));
    report("a * b + c (one operator)", count,
           compare(launcher(single(OpId::fma, 3), {dense, dense, dense}, {&a, &b, &c}, dense, y, set),
                   [&] { hand.multiply_add(a.data(), b.data(), c.data(), y.data(), n); }));
    const core::LoopProgram two{3, {}, {{OpId::multiply, DType::f32, {0, 1}}, {OpId::add, DType::f32, {3, 2}}}, {4}};
    report("a * b + c (two)", count, compare(launcher(two, {dense, dense, dense}, {&a, &b, &c}, dense, y, set), [&] {
             hand.multiply_add(a.data(), b.data(), c.data(), y.data(), n);
           }));
    report("x * scalar", count,
           compare(launcher(single(OpId::multiply, 2), {dense, core::broadcast_to(View::dense({}), {count})}, {&x, &b},
                            dense, y, set),
                   [&] { hand.scale(x.data(), *b.data(), y.data(), n); }));
    report("exp(x)", count, compare(launcher(single(OpId::exp, 1), {dense}, {&x}, dense, y, set), [&] {
             hand.exp(x.data(), y.data(), n);
           }));
    report("tanh(a x + b) c + exp(-x x)", count,
           compare(launcher(tanh_chain(), {dense, dense, dense, dense}, {&a, &b, &c, &x}, dense, y, set),
                   [&] { hand.tanh_chain(a.data(), b.data(), c.data(), x.data(), y.data(), n); }));
    for (const std::int64_t columns : {10, 100, 1000}) {
      if (count < 10'000) break;
      const std::int64_t rows = count / columns;
      const View matrix = View::dense({rows, columns});
      char name[40];
      std::snprintf(name, sizeof name, "a + row of %lld", static_cast<long long>(columns));
      report(
          name, count,
          compare(launcher(single(OpId::add, 2), {matrix, core::broadcast_to(View::dense({columns}), {rows, columns})},
                           {&a, &b}, matrix, y, set),
                  [&] {
                    hand.add_row(a.data(), b.data(), y.data(), static_cast<std::size_t>(rows),
                                 static_cast<std::size_t>(columns));
                  }));
    }
    if (count >= 10'000) {
      const std::int64_t side = count == 10'000 ? 100 : count == 1'000'000 ? 1000 : 4000;
      const View square = View::dense({side, side}), transposed = core::permute(square, {1, 0});
      const core::LoopProgram copy{1, {}, {}, {0}};
      report("copy of a transposed matrix", side * side,
             compare(launcher(copy, {transposed}, {&a}, square, y, set),
                     [&] { hand.scale(a.data(), 1, y.data(), static_cast<std::size_t>(side * side)); }));
      report("a + transposed b", side * side,
             compare(launcher(single(OpId::add, 2), {square, transposed}, {&a, &b}, square, y, set),
                     [&] { hand.add(a.data(), b.data(), y.data(), static_cast<std::size_t>(side * side)); }));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    const bool wanted = count > 1 ? std::string_view(arguments[1]) == cpu::name_of(set) : set == cpu::instruction_set();
    if (wanted && set <= cpu::widest_instruction_set()) run(set);
  }
}
