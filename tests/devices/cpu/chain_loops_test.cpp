// Chains of operators in one loop against the operators one by one, bit by bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "devices/cpu/elementwise/loop_calls.hpp"
#include "devices/cpu/reduce/fold.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::OpId;
using core::View;
using cpu::ChainLoop;
using cpu::InstructionSet;
using cpu::TileProgram;

constexpr auto f32 = DType::f32;

std::string name_of(const ChainLoop& chain) {
  const std::function<std::string(int)> text = [&](int part) -> std::string {
    if (part < 0) return std::string(1, "abcdepqrstuv"[~part]);
    const ChainLoop::Step& step = chain.steps[part];
    const core::OpDef& definition = core::definition(static_cast<OpId>(step.op));
    std::string out = std::string(definition.name) + "(" + text(step.operands[0]);
    return definition.max_inputs == 2 ? out + ", " + text(step.operands[1]) + ")" : out + ")";
  };
  return text(chain.count - 1);
}

std::span<const ChainLoop> chains(InstructionSet set) {
  const cpu::ChainLoops& loops = *cpu::tile_loops(set).chains;
  return {loops.chains, loops.chain_count};
}
std::span<const ChainLoop> sums(InstructionSet set) {
  const cpu::ChainLoops& loops = *cpu::tile_loops(set).chains;
  return {loops.sums, loops.sum_count};
}

/// Whether the set has loops that write past the caches.
bool has_uncached(InstructionSet set) { return set != InstructionSet::baseline; }

std::vector<int> leaves_of(const ChainLoop& chain) {
  std::vector<int> leaves;
  for (int step = 0; step < chain.count; ++step) {
    const auto inputs = core::definition(static_cast<OpId>(chain.steps[step].op)).max_inputs;
    for (int k = 0; k < inputs; ++k) {
      const int part = chain.steps[step].operands[k];
      if (part < 0 && std::ranges::find(leaves, ~part) == leaves.end()) leaves.push_back(~part);
    }
  }
  return leaves;
}

bool is_number(int leaf) { return leaf >= ChainLoop::first_number; }

/// The chain as a program whose inputs are its leaves in the order of leaves_of.
TileProgram program_of(const ChainLoop& chain) {
  TileProgram program;
  std::map<int, TileProgram::Register> parts;
  int operand = 0;
  for (const int leaf : leaves_of(chain)) parts[~leaf] = program.input(operand++, f32);
  for (int step = 0; step < chain.count; ++step) {
    const auto op = static_cast<OpId>(chain.steps[step].op);
    const auto& of = chain.steps[step].operands;
    parts[step] = core::definition(op).max_inputs == 2 ? program.apply(op, f32, {parts.at(of[0]), parts.at(of[1])})
                                                       : program.apply(op, f32, {parts.at(of[0])});
  }
  for (int k = 0; k < chain.result_count; ++k) program.output(parts.at(chain.results[k]), k);
  return program;
}

/// Numbers of all sizes and signs, zeros, infinities and what is no number.
Tensor drawn(View view, std::uint64_t seed) {
  Tensor tensor(f32, std::move(view));
  Draw draw(seed);
  const core::ElementRange range = core::touched(tensor.view);
  for (std::int64_t at = range.first; at < range.past; ++at) {
    const float value = draw.value<float>();
    const std::int64_t kind = draw.below(60);
    float kept = 3 * value;
    if (kind == 0) kept = std::ldexp(value, static_cast<int>(draw.below(250)) - 125);
    if (kind == 1) kept = draw.coin() ? 0.0f : -0.0f;
    if (kind == 2) kept = draw.coin() ? INFINITY : draw.coin() ? -INFINITY : NAN;
    tensor.put_at(at, kept);
  }
  return tensor;
}

bool same(float a, float b) { return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0; }

std::vector<float> elements_of(const Tensor& tensor) {
  std::vector<float> elements;
  for (std::int64_t i = 0; i < tensor.view.count(); ++i) elements.push_back(static_cast<float>(tensor.get(i)));
  return elements;
}

void launch(const TileProgram& program, const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs,
            InstructionSet set, int threads) {
  std::vector<core::Operand> operands, results;
  std::vector<core::Address> from, to;
  for (const Tensor* input : inputs) {
    operands.push_back(input->operand());
    from.push_back({const_cast<std::byte*>(input->memory.data()), 0});
  }
  for (Tensor* output : outputs) {
    results.push_back(output->operand());
    to.push_back({output->memory.data(), 0});
  }
  cpu::prepare_tile_program(program, operands, results, {.instructions = set, .threads = threads})
      ->launch(from, to, {});
}

/// The elements of the chain's results, each step computed as a program of its own.
std::vector<std::vector<float>> one_by_one(const ChainLoop& chain, const std::vector<Tensor>& leaves,
                                           const Shape& shape, InstructionSet set) {
  std::map<int, Tensor> parts;
  std::size_t next = 0;
  for (const int leaf : leaves_of(chain)) {
    // A number is spread out, so that no loop may take it for one.
    Tensor spread = Tensor::dense(f32, shape);
    for (std::int64_t i = 0; i < spread.view.count(); ++i) spread.put(i, leaves[next].get(i));
    parts[~leaf] = std::move(spread);
    ++next;
  }
  for (int step = 0; step < chain.count; ++step) {
    const auto op = static_cast<OpId>(chain.steps[step].op);
    Tensor result = Tensor::dense(f32, shape);
    std::vector<const Tensor*> inputs{&parts.at(chain.steps[step].operands[0])};
    TileProgram single;
    const auto first = single.input(0, f32);
    if (core::definition(op).max_inputs == 2) {
      inputs.push_back(&parts.at(chain.steps[step].operands[1]));
      single.output(single.apply(op, f32, {first, single.input(1, f32)}), 0);
    } else {
      single.output(single.apply(op, f32, {first}), 0);
    }
    launch(single, inputs, {&result}, set, 1);
    parts[step] = std::move(result);
  }
  std::vector<std::vector<float>> results;
  for (int k = 0; k < chain.result_count; ++k) results.push_back(elements_of(parts.at(chain.results[k])));
  return results;
}

std::size_t differences(const Tensor& tensor, const std::vector<float>& expected) {
  const std::vector<float> found = elements_of(tensor);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) wrong += !same(found[i], expected[i]);
  return wrong;
}

/// Leaves for a chain: runs are dense, numbers one element for all or, `by_row`, for each row.
std::vector<Tensor> draw_leaves(const ChainLoop& chain, const Shape& shape, bool by_row) {
  std::vector<Tensor> leaves;
  for (const int leaf : leaves_of(chain)) {
    const View number = View::dense(by_row ? Shape{shape[0], 1} : Shape{});
    leaves.push_back(drawn(is_number(leaf) ? core::broadcast_to(number, shape) : View::dense(shape),
                           10 + static_cast<unsigned>(leaf)));
  }
  return leaves;
}

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> list;
  for (const Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

TEST_CASE("every chain gives the bits of its operators one by one, for numbers of a row or of all, on two threads") {
  for (const InstructionSet set : all_sets()) {
    CAPTURE(cpu::name_of(set));
    REQUIRE(chains(set).size() > 50);
    for (const ChainLoop& chain : chains(set)) {
      CAPTURE(name_of(chain));
      for (const Shape& shape : {Shape{3, 700}, Shape{37, 30}, Shape{1, 1003}, Shape{5, 1}}) {
        for (const bool by_row : {false, true}) {
          const std::vector<Tensor> leaves = draw_leaves(chain, shape, by_row);
          const std::vector<std::vector<float>> expected = one_by_one(chain, leaves, shape, set);
          std::vector<Tensor> results(expected.size(), Tensor::dense(f32, shape));
          std::vector<Tensor*> outputs;
          for (Tensor& result : results) outputs.push_back(&result);
          launch(program_of(chain), pointers(leaves), outputs, set, shape[0] > 30 ? 2 : 1);
          for (std::size_t k = 0; k < results.size(); ++k) CHECK(differences(results[k], expected[k]) == 0);
        }
      }
    }
  }
}

TEST_CASE("a chain may write each of its results over any run that it reads") {
  const Shape shape{9, 119};
  for (const InstructionSet set : all_sets()) {
    for (const ChainLoop& chain : chains(set)) {
      CAPTURE(name_of(chain));
      const std::vector<Tensor> leaves = draw_leaves(chain, shape, true);
      const std::vector<std::vector<float>> expected = one_by_one(chain, leaves, shape, set);
      std::vector<std::size_t> runs;
      for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        if (!is_number(leaves_of(chain)[leaf])) runs.push_back(leaf);
      }
      // Results lie over that many of the runs, from each of them on; those that are left lie apart.
      const std::size_t most = std::min(runs.size(), expected.size());
      for (std::size_t covered = 1; covered <= most; ++covered) {
        for (std::size_t first = 0; first < runs.size(); ++first) {
          for (const bool backwards : {false, true}) {
            std::vector<Tensor> own = leaves, apart(expected.size(), Tensor::dense(f32, shape));
            std::vector<Tensor*> outputs;
            for (Tensor& each : apart) outputs.push_back(&each);
            for (std::size_t k = 0; k < covered; ++k) {
              outputs[backwards ? expected.size() - 1 - k : k] = &own[runs[(first + k) % runs.size()]];
            }
            launch(program_of(chain), pointers(own), outputs, set, 1);
            for (std::size_t k = 0; k < expected.size(); ++k) CHECK(differences(*outputs[k], expected[k]) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a chain past the caches gives the same bits wherever its result begins and ends, and writes nothing else") {
  constexpr std::int64_t most = 203, room = 24;
  for (const InstructionSet set : all_sets()) {
    CAPTURE(cpu::name_of(set));
    std::size_t seen = 0;
    const auto check = [&](const ChainLoop& chain) {
      if (chain.run_uncached == nullptr) return;
      CAPTURE(name_of(chain));
      ++seen;
      REQUIRE(chain.result_count == 1);
      const std::vector<Tensor> leaves = draw_leaves(chain, {most}, false);
      const std::vector<float> expected = one_by_one(chain, leaves, {most}, set)[0];
      const void* from[ChainLoop::most_leaves] = {};
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        from[leaves_of(chain)[i]] = leaves[i].memory.data();
      }
      std::int64_t wrong = 0;
      for (const std::int64_t count : {0, 1, 15, 16, 17, 64, 100, 203}) {
        for (std::int64_t begin = 0; begin < room; ++begin) {
          alignas(64) float memory[room + most + room];
          std::ranges::fill(memory, 7.5f);
          void* const to[] = {memory + begin};
          chain.run_uncached(to, from, static_cast<std::size_t>(count));
          for (std::int64_t i = 0; i < std::ssize(memory); ++i) {
            const bool inside = i >= begin && i < begin + count;
            wrong += !same(memory[i], inside ? expected[static_cast<std::size_t>(i - begin)] : 7.5f);
          }
        }
      }
      CHECK(wrong == 0);
    };
    for (const ChainLoop& chain : chains(set)) check(chain);
    const cpu::ChainLoops& loops = *cpu::tile_loops(set).chains;
    for (const ChainLoop& chain : std::span(loops.singles, loops.single_count)) check(chain);
    CHECK(seen >= (has_uncached(set) ? 40u : 0u));
  }
}

TEST_CASE("results that outgrow the caches are right, apart from their operands and over one of them") {
  constexpr std::int64_t rows = 4001, columns = 1003;
  TileProgram chain, single, scaled;
  chain.output(
      chain.apply(OpId::add, f32,
                  {chain.apply(OpId::multiply, f32, {chain.input(0, f32), chain.input(1, f32)}), chain.input(2, f32)}),
      0);
  single.output(single.apply(OpId::multiply, f32, {single.input(0, f32), single.input(1, f32)}), 0);
  scaled.output(scaled.apply(OpId::multiply, f32, {scaled.input(0, f32), scaled.input(2, f32)}), 0);
  Tensor a = drawn(View::dense({rows, columns}), 1), b = drawn(View::dense({rows, columns}), 2);
  Tensor by_row = drawn(core::broadcast_to(View::dense({rows, 1}), {rows, columns}), 3);
  const auto element = [&](const Tensor& tensor, std::int64_t i) { return static_cast<float>(tensor.get(i)); };
  const core::Operand operands[] = {a.operand(), b.operand(), by_row.operand()};
  const core::Operand result{f32, View::dense({rows, columns})};
  for (const TileProgram* program : {&chain, &single, &scaled}) {
    CHECK(cpu::prepare_ranges(*program, operands, {&result, 1}, true)->passes_caches() ==
          has_uncached(cpu::instruction_set()));
    std::vector<float> expected;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const float product = element(a, i) * element(program == &scaled ? by_row : b, i);
      expected.push_back(program == &chain ? product + element(by_row, i) : product);
    }
    for (const int threads : {1, 2, 3}) {
      Tensor apart = Tensor::dense(f32, {rows, columns}), over = a;
      launch(*program, {&a, &b, &by_row}, {&apart}, cpu::instruction_set(), threads);
      CHECK(differences(apart, expected) == 0);
      launch(*program, {&over, &b, &by_row}, {&over}, cpu::instruction_set(), threads);
      CHECK(differences(over, expected) == 0);
    }
  }
}

TEST_CASE("every chain is found in the program that it stands for, whichever way round products and sums are written") {
  for (const InstructionSet set : all_sets()) {
    for (const ChainLoop& chain : chains(set)) {
      CAPTURE(name_of(chain));
      const TileProgram program = program_of(chain);
      std::vector<bool> numbers(program.registers.size(), false);
      for (std::size_t i = 0; i < leaves_of(chain).size(); ++i) numbers[i] = is_number(leaves_of(chain)[i]);
      std::vector<std::size_t> turns;
      for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const core::OpDef& definition = core::definition(program.instructions[i].op);
        if (definition.max_inputs == 2 && definition.is(core::Traits::is_commutative)) turns.push_back(i);
      }
      for (std::size_t turned = 0; turned < std::size_t{1} << turns.size(); ++turned) {
        TileProgram written = program;
        for (std::size_t k = 0; k < turns.size(); ++k) {
          auto& operands = written.instructions[turns[k]].operands;
          if ((turned >> k & 1u) == 0) continue;
          std::swap(operands[0], operands[1]);
          operands[2] = operands[1];
        }
        const std::vector<cpu::LoopCall> calls = cpu::loop_calls(written, numbers, cpu::tile_loops(set));
        CHECK(calls.size() == 1);
        CHECK((calls[0].chain == chain.run));
      }
    }
  }
}

TEST_CASE("values on the way are results of a chain only as outputs that nothing else reads") {
  // w - rate (m v + g) with the new velocity: as an output, unseen, and read once more
  const cpu::TileLoops& loops = cpu::tile_loops(InstructionSet::baseline);
  const auto calls_of = [&](bool as_output, bool read_again) {
    TileProgram program;
    const auto w = program.input(0, f32), v = program.input(1, f32), g = program.input(2, f32);
    const auto m = program.input(3, f32), rate = program.input(4, f32);
    const auto velocity = program.apply(OpId::add, f32, {program.apply(OpId::multiply, f32, {v, m}), g});
    program.output(program.apply(OpId::subtract, f32, {w, program.apply(OpId::multiply, f32, {velocity, rate})}), 0);
    if (as_output) program.output(velocity, 1);
    if (read_again) program.output(program.apply(OpId::exp, f32, {velocity}), 2);
    std::vector<bool> numbers(program.registers.size(), false);
    numbers[m] = numbers[rate] = true;
    return cpu::loop_calls(program, numbers, loops);
  };
  REQUIRE(calls_of(true, false).size() == 1);
  CHECK(calls_of(true, false)[0].results().size() == 2);
  for (const cpu::LoopCall& call : calls_of(false, false)) CHECK(call.results().size() == 1);
  CHECK(calls_of(false, false).size() == 2);
  CHECK(calls_of(true, true).size() == 3);
}

TEST_CASE("a chain's result that no output takes is written nowhere") {
  // Only the new velocity is wanted; two threads would write each other's share.
  constexpr std::int64_t count = 1000;
  TileProgram program;
  std::vector<TileProgram::Register> given;
  for (int operand = 0; operand < 5; ++operand) given.push_back(program.input(operand, f32));
  const auto velocity =
      program.apply(OpId::add, f32, {program.apply(OpId::multiply, f32, {given[1], given[3]}), given[2]});
  program.apply(OpId::subtract, f32, {given[0], program.apply(OpId::multiply, f32, {velocity, given[4]})});
  program.output(velocity, 0);
  std::vector<Tensor> inputs;
  for (unsigned operand = 0; operand < 5; ++operand) {
    const View view = operand < 3 ? View::dense({count}) : core::broadcast_to(View::dense({}), {count});
    inputs.push_back(drawn(view, 90 + operand));
  }
  for (const InstructionSet set : all_sets()) {
    Tensor result = Tensor::dense(f32, {count});
    launch(program, pointers(inputs), {&result}, set, 2);
    std::vector<float> expected;
    for (std::int64_t i = 0; i < count; ++i) {
      const float product = static_cast<float>(inputs[1].get(i)) * static_cast<float>(inputs[3].get(i));
      expected.push_back(product + static_cast<float>(inputs[2].get(i)));
    }
    CHECK(differences(result, expected) == 0);
  }
}

TEST_CASE("a result that others read, or that is an output, ends a chain") {
  // (a + b) * c, and a + b once more
  const cpu::TileLoops& loops = cpu::tile_loops(InstructionSet::baseline);
  for (const bool as_output : {false, true}) {
    TileProgram program;
    const auto a = program.input(0, f32), b = program.input(1, f32), c = program.input(2, f32);
    const auto sum = program.apply(OpId::add, f32, {a, b});
    const auto product = program.apply(OpId::multiply, f32, {sum, c});
    program.output(product, 0);
    program.output(as_output ? sum : program.apply(OpId::divide, f32, {sum, a}), 1);
    const std::vector<cpu::LoopCall> calls =
        cpu::loop_calls(program, std::vector<bool>(program.registers.size(), false), loops);
    CHECK(calls.size() == (as_output ? 2 : 3));
    CHECK(calls[0].makes(sum));
  }
}

TEST_CASE("the quotient by a number is rounded as a division is, whatever the sizes") {
  Draw draw(7);
  const auto any = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(draw.bits() >> 20)); };
  for (const InstructionSet set : all_sets()) {
    CAPTURE(cpu::name_of(set));
    std::int64_t wrong = 0;
    for (int round = 0; round < 1500; ++round) {
      constexpr std::int64_t count = 1003;
      const bool moderate = round % 3 != 0;
      Tensor a = Tensor::dense(f32, {count}), result = a, divisor(f32, core::broadcast_to(View::dense({}), {count}));
      const float size = std::ldexp(1.0f + std::abs(draw.value<float>()), static_cast<int>(draw.below(60)) - 30);
      const float by = !moderate ? any() : draw.coin() ? size : -size;
      divisor.put_at(0, by);
      for (std::int64_t i = 0; i < count; ++i) {
        a.put(i, moderate && draw.below(200) != 0
                     ? std::ldexp(draw.value<float>(), static_cast<int>(draw.below(60)) - 30)
                     : any());
        if (draw.below(300) == 0) a.put(i, draw.coin() ? 0.0 : -0.0);
      }
      TileProgram program;
      program.output(program.apply(OpId::divide, f32, {program.input(0, f32), program.input(1, f32)}), 0);
      launch(program, {&a, &divisor}, {&result}, set, 1);
      for (std::int64_t i = 0; i < count; ++i) {
        wrong += !same(static_cast<float>(result.get(i)), static_cast<float>(a.get(i)) / by);
      }
    }
    CHECK(wrong == 0);
  }
}

cpu::FoldLoops sum_loops(InstructionSet set) {
#if defined(TYTO_HAVE_X86_ISA)
  if (set == InstructionSet::avx512) return cpu::avx512::sum_loops(cpu::Fold::sum, f32);
  if (set == InstructionSet::avx2) return cpu::avx2::sum_loops(cpu::Fold::sum, f32);
#endif
  static_cast<void>(set);
  return cpu::baseline::sum_loops(cpu::Fold::sum, f32);
}

TEST_CASE("a chain summed as it is computed gives the bits of its elements summed in memory") {
  for (const InstructionSet set : all_sets()) {
    CAPTURE(cpu::name_of(set));
    REQUIRE(sums(set).size() > 5);
    for (const ChainLoop& chain : sums(set)) {
      CAPTURE(name_of(chain));
      for (const Shape& shape : {Shape{3, 700}, Shape{4, 16}, Shape{2, 5003}, Shape{1, 9000}}) {
        const std::vector<Tensor> leaves = draw_leaves(chain, shape, true);
        const std::vector<float> elements = one_by_one(chain, leaves, shape, set)[0];
        const core::Operand whole{f32, View::dense(shape)};
        std::vector<core::Operand> operands;
        std::vector<cpu::Placed> memory;
        for (const Tensor& leaf : leaves) {
          operands.push_back(leaf.operand());
          memory.push_back({const_cast<std::byte*>(leaf.memory.data())});
        }
        const auto program = cpu::prepare_sums(program_of(chain), operands, whole, shape[1], {.instructions = set});
        REQUIRE(program != nullptr);
        std::vector<double> found(static_cast<std::size_t>(shape[0]), 0.5);
        auto fold = [&](cpu::RangeRunner& runner) {
          runner.place(memory, {});
          runner.sum_lines({0, 1}, shape[1], found.data());
          runner.sum_lines({1, shape[0]}, shape[1], found.data() + 1);
        };
        using Call = decltype(fold);
        program->with_runner([](void* context, cpu::RangeRunner& runner) { (*static_cast<Call*>(context))(runner); },
                             &fold);
        for (std::int64_t row = 0; row < shape[0]; ++row) {
          double expected = 0.5;
          sum_loops(set).line(elements.data() + row * shape[1], shape[1], 1, &expected, nullptr, 0);
          const double sum = found[static_cast<std::size_t>(row)];
          CHECK((sum == expected || (sum != sum && expected != expected)));
        }
      }
    }
  }
}

}  // namespace
