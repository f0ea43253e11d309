// Machine code against the interpreter, whose bits it must give: every operator, type, layout and length.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/jit/compile.hpp"
#include "engine/core/text.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing {

namespace {

using core::OpId;

const KernelChoice by_interpreter{
    .implementation = Implementation::automatic, .instructions = InstructionSet::avx2, .threads = 0, .loops = LoopBackend::interpreter};
const KernelChoice by_jit{.implementation = Implementation::automatic, .instructions = {}, .threads = 0, .loops = LoopBackend::jit};

/// Numbers of an operator's range, and what functions have special cases for.
void fill(Tensor& tensor, const core::OpDef& def, std::mt19937& random) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {0.0, -0.0, 1.0, -1.0, 0.5, infinity, -infinity, std::nan(""), 1e-30, -1e30, 3e38, 1e-42, 88.8, -104.5, 2.5, 70000.0};
  std::uniform_real_distribution<double> usual(def.low, def.high);
  for (std::int64_t i = 0; i < tensor.view.count(); ++i) {
    double number = random() % 4 == 0 ? specials[random() % std::size(specials)] : usual(random);
    if (tensor.dtype < DType::f16) {
      number = std::isfinite(number) ? std::trunc(std::fmod(number * 3, 100)) : 7;
      if (tensor.dtype == DType::u8) number = std::abs(number);
      if (tensor.dtype == DType::i32 && random() % 16 == 0) number = random() % 2 == 0 ? -2147483648.0 : 2147483647.0;
    }
    tensor.put(i, static_cast<long double>(number));
  }
}

/// How many elements differ; two NaNs do not.
int differences(const Tensor& a, const Tensor& b) {
  int count = 0;
  for (std::int64_t i = 0; i < a.view.count(); ++i) {
    const long double x = a.get(i), y = b.get(i);
    const bool same = std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
    if (!same && count++ < 3) MESSAGE("element ", i, ": ", static_cast<double>(x), " and ", static_cast<double>(y));
  }
  return count;
}

DType result_type(OpId op, const std::vector<DType>& types) {
  std::vector<core::TensorType> inputs;
  for (const DType type : types) inputs.push_back({type, Shape{4}});
  return core::definition(op).infer(core::NoAttributes{}, inputs)[0].dtype;
}

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
  if (!jit::is_available()) return;
  std::mt19937 random(7);
  for (int number = 0; number < elementwise_count; ++number) {
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
      // Floating operators take whole numbers as f32, which a step has as a cast before it.
      if (def.domain == core::Domain::floating && type < DType::f16) continue;
      CAPTURE(def.name);
      CAPTURE(name_of(type));
      for (const std::int64_t length : {1, 3, 8, 13, 100}) {
        std::vector<Tensor> inputs;
        for (const DType each : types) {
          inputs.push_back(Tensor::dense(each, {length}));
          fill(inputs.back(), def, random);
        }
        Tensor expected = Tensor::dense(made, {length}), found = Tensor::dense(made, {length});
        const auto run = [&](Tensor& out, const KernelChoice& choice) {
          switch (inputs.size()) {
            case 1: run_elementwise(op, {&inputs[0]}, out, choice); break;
            case 2: run_elementwise(op, {&inputs[0], &inputs[1]}, out, choice); break;
            default: run_elementwise(op, {&inputs[0], &inputs[1], &inputs[2]}, out, choice); break;
          }
        };
        run(expected, by_interpreter);
        run(found, by_jit);
        CHECK(differences(expected, found) == 0);
        // Nothing beyond the last element is written.
        CHECK(std::memcmp(expected.memory.data() + static_cast<std::size_t>(length) * size_of(made),
                          found.memory.data() + static_cast<std::size_t>(length) * size_of(made), 16) == 0);
      }
    }
  }
}

TEST_CASE("machine code converts between all element types as the interpreter does") {
  if (!jit::is_available()) return;
  std::mt19937 random(8);
  for (const DType from : all_types) {
    for (const DType to : all_types) {
      CAPTURE(name_of(from));
      CAPTURE(name_of(to));
      for (const std::int64_t length : {1, 5, 8, 50}) {
        Tensor input = Tensor::dense(from, {length});
        fill(input, core::definition(OpId::add), random);
        Tensor expected = Tensor::dense(to, {length}), found = Tensor::dense(to, {length});
        run_elementwise(OpId::cast, {&input}, expected, by_interpreter);
        run_elementwise(OpId::cast, {&input}, found, by_jit);
        CHECK(differences(expected, found) == 0);
      }
    }
  }
}

TEST_CASE("machine code reads and writes operands of any layout") {
  if (!jit::is_available()) return;
  std::mt19937 random(9);
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32, DType::i64}) {
    for (const auto& [rows, columns] : {std::pair{1, 9}, {3, 5}, {20, 17}, {9, 70}}) {
      const auto places = layouts(rows, columns);
      for (std::size_t a = 0; a < places.size(); ++a) {
        for (std::size_t b = 0; b < places.size(); ++b) {
          for (std::size_t c = 0; c < 3; ++c) {  // results repeat no element
            CAPTURE(name_of(type));
            CAPTURE(rows);
            CAPTURE(a);
            CAPTURE(b);
            CAPTURE(c);
            Tensor x(type, places[a]), y(type, places[b]);
            fill(x, core::definition(OpId::add), random);
            fill(y, core::definition(OpId::add), random);
            Tensor expected(type, places[c]), found(type, places[c]);
            run_elementwise(OpId::subtract, {&x, &y}, expected, by_interpreter);
            run_elementwise(OpId::subtract, {&x, &y}, found, by_jit);
            CHECK(differences(expected, found) == 0);
            // Elements between those of the result are left alone.
            if (type < DType::f16) CHECK(expected.memory == found.memory);
          }
        }
      }
    }
  }
}

}  // namespace tyto::cpu::testing
