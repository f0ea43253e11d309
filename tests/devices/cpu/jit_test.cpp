// SPDX-License-Identifier: MIT
// Machine code against the interpreter, whose bits it must give: every operator, type, layout and length.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "tests/devices/cpu/jit_rig.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;

/// The views that operands of a rank-2 shape may have.
std::vector<core::View> layouts(std::int64_t rows, std::int64_t columns) {
  return {core::View::dense({rows, columns}),
          {{rows, columns}, {2 * columns, 2}, 1},
          {{rows, columns}, {1, rows}, 0},
          {{rows, columns}, {0, 1}, 0},
          {{rows, columns}, {1, 0}, 0},
          {{rows, columns}, {0, 0}, 0},
          {{rows, columns}, {columns, -1}, columns - 1}};
}

}  // namespace

TEST_CASE("machine code gives the bits of the interpreter for every operator and type") {
  std::mt19937 random(7);
  for (std::size_t number = 0; number < core::elementwise_count; ++number) {
    const auto op = static_cast<OpId>(number);
    const core::OpDef& def = core::definition(op);
    for (const DType type : all_types) {
      std::vector<DType> types(static_cast<std::size_t>(def.max_inputs), type);
      if (def.domain == core::Domain::selection) types[0] = DType::boolean;
      DType made{};
      try {
        made = result_type(op, types);
      } catch (const Error&) {
        continue;  // the operator is not defined on the type
      }
      // Floating operators take integers as f32, which a step has as a cast before it.
      if (def.domain == core::Domain::floating && !is_floating(type)) continue;
      CAPTURE(def.name);
      CAPTURE(name_of(type));
      for (const std::int64_t length : {1, 3, 8, 13, 100}) {
        std::vector<StoredTensor> inputs;
        for (const DType each : types) {
          inputs.push_back(StoredTensor::dense(each, {length}));
          fill(inputs.back(), def, random);
        }
        StoredTensor expected = StoredTensor::dense(made, {length});
        const auto run = [&](StoredTensor& out, const KernelChoice& choice) {
          switch (inputs.size()) {
            case 1: run_elementwise(op, {&inputs[0]}, out, choice); break;
            case 2: run_elementwise(op, {&inputs[0], &inputs[1]}, out, choice); break;
            default: run_elementwise(op, {&inputs[0], &inputs[1], &inputs[2]}, out, choice); break;
          }
        };
        run(expected, by_interpreter);
        for (const InstructionSet set : jit_sets()) {
          StoredTensor found = StoredTensor::dense(made, {length});
          run(found, by_jit(set));
          CHECK(differences(expected, found) == 0);
          // Nothing beyond the last element is written.
          CHECK(std::memcmp(expected.memory.data() + static_cast<std::size_t>(length) * size_of(made),
                            found.memory.data() + static_cast<std::size_t>(length) * size_of(made), 16) == 0);
        }
      }
    }
  }
}

TEST_CASE("machine code gives the interpreter's exponentials up to the ends of their ranges and beyond") {
  constexpr long double infinity = std::numeric_limits<double>::infinity();
  constexpr long double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType type : {DType::f32, DType::f64}) {
    // Results overflow, lose bits below the normal numbers, and vanish, within a few units around these.
    const std::vector<long double> ends =
        type == DType::f32
            ? std::vector<long double>{-151., -126., -104., -87.5, -40., 0., 88.5, 89.5, 128., 1e30, -1e30}
            : std::vector<long double>{-1076., -1022., -746., -708.5, -40., 0., 709.5, 710.5, 1024., 1e300, -1e300};
    std::vector<long double> numbers{infinity, -infinity, nan, -0.0L};
    for (const long double end : ends) {
      for (int i = -300; i <= 300; ++i) numbers.push_back(end + i / 128.0L);
    }
    const StoredTensor x = StoredTensor::of(type, numbers);
    for (const OpId op : {OpId::exp, OpId::exp2, OpId::expm1, OpId::sinh, OpId::cosh, OpId::tanh, OpId::sigmoid,
                          OpId::silu, OpId::softplus}) {
      CAPTURE(core::definition(op).name);
      CAPTURE(name_of(type));
      StoredTensor expected = StoredTensor::dense(type, x.view.shape);
      run_elementwise(op, {&x}, expected, by_interpreter);
      for (const InstructionSet set : jit_sets()) {
        StoredTensor found = StoredTensor::dense(type, x.view.shape);
        run_elementwise(op, {&x}, found, by_jit(set));
        CHECK(differences(expected, found) == 0);
      }
    }
  }
}

TEST_CASE("machine code wraps the quotient that overflows, and gives 0 for what is divided by zero") {
  constexpr long double least = std::numeric_limits<std::int32_t>::min();
  const StoredTensor x = StoredTensor::of(DType::i32, {least, least, least, 7, -7, 0, -least - 1, least + 1, 9});
  const StoredTensor y = StoredTensor::of(DType::i32, {-1, 0, 1, 0, 0, 0, -1, -1, -4});
  for (const InstructionSet set : jit_sets()) {
    const auto computed = [&](OpId op) {
      StoredTensor found = StoredTensor::dense(DType::i32, x.view.shape);
      run_elementwise(op, {&x, &y}, found, by_jit(set));
      return found.numbers();
    };
    CHECK(computed(OpId::floor_divide) ==
          std::vector<long double>{least, 0, least, 0, 0, 0, least + 1, -least - 1, -3});
    CHECK(computed(OpId::remainder) == std::vector<long double>{0, 0, 0, 0, 0, 0, 0, 0, -3});
    CHECK(computed(OpId::fmod) == std::vector<long double>{0, 0, 0, 0, 0, 0, 0, 0, 1});
  }
}

TEST_CASE("machine code converts between all element types as the interpreter does") {
  std::mt19937 random(8);
  for (const DType from : all_types) {
    for (const DType to : all_types) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      for (const std::int64_t length : {1, 5, 8, 50}) {
        StoredTensor input = StoredTensor::dense(from, {length});
        fill(input, core::definition(OpId::add), random);
        StoredTensor expected = StoredTensor::dense(to, {length});
        run_elementwise(OpId::cast, {&input}, expected, by_interpreter);
        for (const InstructionSet set : jit_sets()) {
          StoredTensor found = StoredTensor::dense(to, {length});
          run_elementwise(OpId::cast, {&input}, found, by_jit(set));
          CHECK(differences(expected, found) == 0);
        }
      }
    }
  }
}

TEST_CASE("machine code reads and writes operands of any layout") {
  std::mt19937 random(9);
  for (const DType type :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32, DType::i64}) {
    for (const auto& extents : {std::pair{1, 9}, {3, 5}, {20, 17}, {9, 70}}) {
      const int rows = extents.first, columns = extents.second;  // clang 14 captures no structured binding
      const auto places = layouts(rows, columns);
      for (std::size_t a = 0; a < places.size(); ++a) {
        for (std::size_t b = 0; b < places.size(); ++b) {
          for (std::size_t c = 0; c < 3; ++c) {  // results repeat no element
            CAPTURE(name_of(type));
            CAPTURE(rows);
            CAPTURE(a);
            CAPTURE(b);
            CAPTURE(c);
            StoredTensor x(type, places[a]), y(type, places[b]);
            fill(x, core::definition(OpId::add), random);
            fill(y, core::definition(OpId::add), random);
            StoredTensor expected(type, places[c]);
            run_elementwise(OpId::subtract, {&x, &y}, expected, by_interpreter);
            for (const InstructionSet set : jit_sets()) {
              StoredTensor found(type, places[c]);
              run_elementwise(OpId::subtract, {&x, &y}, found, by_jit(set));
              CHECK(differences(expected, found) == 0);
              // Elements between those of the result are left alone.
              if (!is_floating(type)) CHECK(expected.memory == found.memory);
            }
          }
        }
      }
    }
  }
}

namespace {

/// A program of so many steps on floating-point types, in which values are read by steps far on.
struct RandomProgram {
  core::LoopProgram program;
  std::vector<StoredTensor> inputs;
  std::vector<DType> results;

  RandomProgram(std::mt19937& random, int steps, const std::vector<core::View>& places) {
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
    const bool mixed = random() % 3 == 0;
    std::vector<DType> types;
    for (int i = 0; i < 2 + static_cast<int>(below(9)); ++i) {
      const DType stored[] = {DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32};
      const DType type = mixed ? stored[below(std::size(stored))] : DType::f32;
      inputs.emplace_back(type, places[below(places.size())]);
      fill(inputs.back(), core::definition(OpId::add), random);
      types.push_back(type);
    }
    core::LoopBuilder builder(types);
    std::vector<core::LoopValue> values;
    for (std::size_t i = 0; i < types.size(); ++i)
      values.push_back(builder.as(compute_type(types[i]), static_cast<core::LoopValue>(i)));
    const auto any = [&](DType type) {
      for (int tries = 0; tries < 50; ++tries) {
        const core::LoopValue value = values[values.size() - 1 - below(std::min<std::size_t>(values.size(), 12))];
        if (builder.type(value) == type) return value;
      }
      return builder.constant(Scalar(0.75), type);
    };
    const OpId ops[] = {OpId::add,    OpId::subtract, OpId::multiply, OpId::divide,  OpId::exp,
                        OpId::tanh,   OpId::sigmoid,  OpId::maximum,  OpId::minimum, OpId::fma,
                        OpId::square, OpId::log1p,    OpId::erf,      OpId::sin,     OpId::abs,
                        OpId::clip,   OpId::negate,   OpId::relu,     OpId::lgamma};
    for (int i = 0; i < steps; ++i) {
      const DType type = mixed && random() % 3 == 0 ? DType::f64 : DType::f32;
      if (mixed && random() % 5 == 0) {
        const DType from = builder.type(values[below(values.size())]);
        values.push_back(builder.apply(OpId::cast, type, {any(from)}));
        continue;
      }
      if (random() % 8 == 0) {
        const auto condition = builder.apply(OpId::less, DType::boolean, {any(type), any(type)});
        values.push_back(builder.apply(OpId::where, type, {condition, any(type), any(type)}));
        continue;
      }
      const OpId op = ops[below(std::size(ops))];
      switch (core::definition(op).max_inputs) {
        case 1: values.push_back(builder.apply(op, type, {any(type)})); break;
        case 2: values.push_back(builder.apply(op, type, {any(type), any(type)})); break;
        default: values.push_back(builder.apply(op, type, {any(type), any(type), any(type)})); break;
      }
    }
    std::vector<core::LoopValue> outputs;
    for (int i = 0; i < 1 + static_cast<int>(below(4)); ++i) {
      outputs.push_back(values[values.size() - 1 - below(std::min<std::size_t>(values.size(), 6))]);
      const DType type = builder.type(outputs.back());
      results.push_back(type == DType::f32 && random() % 6 == 0 ? DType::f16 : type);
    }
    program = builder.finish(outputs);
  }

  std::vector<StoredTensor> run(const KernelChoice& choice, const core::View& view) const {
    std::vector<StoredTensor> outputs;
    std::vector<core::Operand> from, to;
    std::vector<core::Address> read, written;
    for (const DType type : results) outputs.emplace_back(type, view);
    for (const StoredTensor& input : inputs) {
      from.push_back(input.operand());
      read.push_back({const_cast<std::byte*>(input.memory.data()), 0});
    }
    for (StoredTensor& output : outputs) {
      to.push_back(output.operand());
      written.push_back({output.memory.data(), 0});
    }
    prepare_elements(bound_loop(program, from, to), choice)->launch(read, written, {});
    return outputs;
  }
};

}  // namespace

TEST_CASE("machine code of programs at random gives the bits of the interpreter") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::int64_t rows = 1 + random() % 7, columns = 1 + random() % 90;
    const RandomProgram made(random, 1 + static_cast<int>(random() % 40), layouts(rows, columns));
    const core::View view = layouts(rows, columns)[random() % 3];
    const std::vector<StoredTensor> expected = made.run(by_interpreter, view);
    for (const InstructionSet set : jit_sets()) {
      const std::vector<StoredTensor> found = made.run(by_jit(set), view);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(differences(expected[i], found[i]) == 0);
    }
  }
}

TEST_CASE("long programs give the bits of the interpreter, whatever is left of a row") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(1000 + seed);
    const std::int64_t rows = 1 + random() % 3, columns = 1 + random() % 100;
    const core::View dense = core::View::dense({rows, columns});
    const RandomProgram made(random, 20 + static_cast<int>(random() % 40),
                             {dense,
                              dense,
                              dense,
                              {{rows, columns}, {0, 1}, 0},
                              {{rows, columns}, {1, 0}, 0},
                              {{rows, columns}, {2 * columns, 2}, 0},
                              {{rows, columns}, {2 * columns + 3, 2}, 1}});
    const std::vector<StoredTensor> expected = made.run(by_interpreter, dense);
    for (const InstructionSet set : jit_sets()) {
      const std::vector<StoredTensor> found = made.run(by_jit(set), dense);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(differences(expected[i], found[i]) == 0);
    }
  }
}

TEST_CASE("results that outgrow the caches are right beside operands of any stride, wherever rows begin") {
  constexpr std::int64_t rows = 4093, columns = 1003;  // more than 16 MB, in rows that begin within vectors
  StoredTensor x = StoredTensor::dense(DType::f32, {rows, columns}), y(DType::f32, {{rows, columns}, {1, rows}, 0});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    x.put_at(i, i % 1021);
    y.put_at(i, i % 509);
  }
  for (const InstructionSet set : jit_sets()) {
    StoredTensor found = StoredTensor::dense(DType::f32, {rows, columns});
    run_elementwise(OpId::add, {&x, &y}, found, by_jit(set));
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      wrong += found.get_at(i) != i % 1021 + (i / columns + i % columns * rows) % 509;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("operands whose memory runs across rows give the same numbers in every type, whatever blocks leave over") {
  const auto number = [](std::int64_t i, std::int64_t k) { return (7 * i + 31 * k) % 23; };
  for (const DType type : {DType::u8, DType::bf16, DType::i32, DType::f64}) {
    for (const auto& extents : {std::pair{8, 8}, {9, 600}, {131, 67}, {70, 517}, {1000, 13}}) {
      const std::int64_t rows = extents.first, columns = extents.second;
      CAPTURE(name_of(type));
      CAPTURE(rows);
      // Three planes of transposed matrices, of which more are read than are copied at a time: dense ones, one that is
      // the end of more memory, one whose columns come in reverse order, one of narrower elements.
      const std::int64_t plane = rows * columns;
      const core::View across{{3, rows, columns}, {plane, 1, rows}, 0};
      const core::View reversed{{3, rows, columns}, {plane, 1, -rows}, (columns - 1) * rows};
      const core::View behind{{3, rows, columns}, {columns * (rows + 3) + 5, 1, rows + 3}, 7};
      const core::View places[] = {across, core::View::dense({3, rows, columns}), reversed, behind, across, across};
      constexpr int count = 6;
      std::vector<StoredTensor> inputs;
      for (int k = 0; k < count; ++k) {
        inputs.emplace_back(k == 4 ? DType::u8 : type, places[k]);
        for (std::int64_t i = 0; i < across.count(); ++i) inputs.back().put(i, number(i, k));
      }
      const DType working = compute_type(type);
      std::vector<DType> types;
      for (const StoredTensor& input : inputs) types.push_back(input.dtype);
      core::LoopBuilder program(types);
      core::LoopValue sum = program.as(working, 0);
      for (int k = 1; k < count; ++k) {
        const core::LoopValue value = program.as(working, static_cast<core::LoopValue>(k));
        sum = program.apply(k % 2 == 0 ? OpId::add : OpId::maximum, working, {sum, value});
      }
      const core::LoopProgram sums = program.finish({&sum, 1});
      std::vector<core::Operand> from;
      std::vector<core::Address> read;
      for (StoredTensor& input : inputs) {
        from.push_back(input.operand());
        read.push_back({input.memory.data(), 0});
      }
      for (const int team : {1, 3}) {
        for (const InstructionSet set : jit_sets()) {
          StoredTensor found = StoredTensor::dense(type, {3, rows, columns});
          const core::Operand to = found.operand();
          const core::Address written{found.memory.data(), 0};
          KernelChoice choice = by_jit(set);
          choice.threads = team;
          prepare_elements(bound_loop(sums, from, {to}), choice)->launch(read, {&written, 1}, {});
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < across.count(); ++i) {
            std::int64_t expected = number(i, 0);
            for (int k = 1; k < count; ++k) {
              expected = k % 2 == 0 ? expected + number(i, k) : std::max(expected, number(i, k));
            }
            wrong += found.get(i) != expected;
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

}  // namespace tyto::cpu::testing
