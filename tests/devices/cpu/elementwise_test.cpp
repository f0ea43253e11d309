// SPDX-License-Identifier: MIT
// The element-wise kernels against long double libm and 128-bit integers, on every type, layout and instruction set.
#include <doctest/doctest.h>

#include <string>

#include "core/graph/op_ids.hpp"
#include "tests/devices/cpu/elementwise_reference.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace elementwise_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::Domain;
using core::OpId;
using cpu::InstructionSet;

struct Operator {
  OpId op;
  std::string name;
  Domain domain;
  int operands;
  double low, high;
};

const Operator operators[] = {
#define TYTO_UNARY(name, domain, expression, gradient, traits, low, high, doc) \
  {OpId::name, #name, Domain::domain, 1, low, high},
#define TYTO_BINARY(name, domain, expression, gradient_a, gradient_b, traits, low, high, doc) \
  {OpId::name, #name, Domain::domain, 2, low, high},
#define TYTO_TERNARY(name, domain, expression, gradient_a, gradient_b, gradient_c, traits, low, high, doc) \
  {OpId::name, #name, Domain::domain, 3, low, high},
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
};

bool admits(Domain domain, DType type) {
  switch (domain) {
    case Domain::floating: return is_floating(type);
    case Domain::arithmetic: return type != DType::boolean;
    case Domain::logical: return type == DType::boolean;
    case Domain::bitwise: return !is_floating(type);
    case Domain::integer: return is_integer(type);
    default: return true;
  }
}

DType result_type(Domain domain, DType type) {
  return domain == Domain::comparison || domain == Domain::logical ? DType::boolean : type;
}

/// Properties of the format: bits of the fraction, the smallest denormal number, the largest finite one.
struct Format {
  int fraction;
  long double smallest, largest;
};
Format format_of(DType type) {
  switch (type) {
    case DType::f16: return {10, 0x1p-24L, 65504.0L};
    case DType::bf16: return {7, 0x1p-133L, 0x1.fep127L};
    case DType::f32: return {23, 0x1p-149L, 0x1.fffffep127L};
    default: return {52, 0x1p-1074L, 0x1.fffffffffffffp1023L};
  }
}

/// Within so many units in the last place of `want`, with infinities and NaN as they must be.
bool agrees(DType type, long double got, long double want, double ulps) {
  if (std::isnan(want)) return std::isnan(got);
  const Format format = format_of(type);
  const long double half_a_step = std::ldexp(format.largest, -format.fraction - 2);
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(want) && std::abs(want) > format.largest * (1 - 1e-5L) - half_a_step;
  if (std::isinf(want)) return false;
  int exponent = 0;
  std::frexp(want, &exponent);
  const long double unit = std::fmax(std::ldexp(1.0L, exponent - 1 - format.fraction), format.smallest);
  return std::abs(got - want) <= static_cast<long double>(ulps) * unit;
}

std::vector<long double> specials(DType type) {
  if (type == DType::boolean) return {0, 1};
  if (!is_floating(type)) {
    const int bits = static_cast<int>(size_of(type)) * 8;
    if (type == DType::u8) return {0, 1, 2, 3, 7, 8, 9, 127, 128, 200, 254, 255};
    const long double top = std::ldexp(1.0L, bits - 1);
    if (is_unsigned(type)) {
      const long double width = bits;
      return {0, 1, 2, 3, 5, 8, width - 1, width, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1};
    }
    return {
        0,       1,    -1,     2, -2, 3, 5, -7, 8, static_cast<long double>(bits - 1), static_cast<long double>(bits),
        top - 1, -top, 1 - top};
  }
  const Format format = format_of(type);
  const long double infinite = INFINITY, nan = NAN;
  return {0.0L,
          -0.0L,
          1,
          -1,
          0.5L,
          -0.5L,
          1.5L,
          2.5L,
          -2.5L,
          2,
          3,
          -3,
          10,
          -10,
          1e-3L,
          100,
          -100,
          infinite,
          -infinite,
          nan,
          format.smallest,
          -format.smallest,
          3 * format.smallest,
          format.largest,
          -format.largest,
          std::ldexp(format.smallest, format.fraction)};
}

/// All combinations of special values, then draws from the operator's interval.
std::vector<std::vector<long double>> draw_operands(const Operator& op, DType type) {
  const std::vector<long double> list = specials(type);
  std::vector<std::vector<long double>> columns(3);
  Draw draw(static_cast<std::uint64_t>(op.op) * 16 + static_cast<std::uint64_t>(type));
  const auto number = [&] {
    if (type == DType::boolean) return static_cast<long double>(draw.below(2));
    if (!is_floating(type)) {
      StoredTensor one = StoredTensor::dense(type, {1});
      if (draw.coin()) one.put(0, static_cast<long double>(draw.below(19)) - (is_unsigned(type) ? 0 : 9));
      else if (is_unsigned(type)) one.put(0, static_cast<long double>(draw.bits() >> (64 - 8 * size_of(type))));
      else one.put(0, static_cast<long double>(static_cast<std::int64_t>(draw.bits()) >> (64 - 8 * size_of(type))));
      return one.get(0);
    }
    const long double unit = static_cast<long double>(draw.bits() >> 11) * 0x1p-53L;
    return op.low + (op.high - op.low) * unit;
  };
  const auto add = [&](long double a, long double b, long double c) {
    columns[0].push_back(a);
    columns[1].push_back(b);
    columns[2].push_back(c);
  };
  if (op.operands == 1) {
    for (const long double a : list) add(a, 0, 0);
  } else {
    for (const long double a : list) {
      for (const long double b : list) add(a, b, op.operands == 2 ? 0 : list[columns[0].size() % list.size()]);
    }
  }
  for (int i = 0; i < 700; ++i) add(number(), number(), number());
  if (op.domain == Domain::selection) {
    for (long double& condition : columns[0]) condition = condition > 0;
  }
  return columns;
}

/// Magnitudes against which an error is judged where the result is a difference of larger numbers.
long double scale_of(OpId op, DType type, long double a, long double b, long double want) {
  const Format format = format_of(type);
  switch (op) {
    case OpId::fma: return std::fmax(std::abs(want), std::abs(a * b));
    case OpId::lgamma:
    case OpId::digamma:
    case OpId::logaddexp:
    case OpId::gelu: return std::fmax(std::abs(want), std::fmin(1.0L, std::abs(a)));
    // x times a sigmoid that may be denormal.
    case OpId::silu: return std::fmax(std::abs(want), std::abs(a) * std::ldexp(format.smallest, format.fraction));
    default: return want;
  }
}

/// Runs the operator on dense operands.
StoredTensor apply(const Operator& op, const std::vector<StoredTensor>& operands, const cpu::KernelChoice& choice) {
  StoredTensor result = StoredTensor::dense(result_type(op.domain, operands.back().dtype), operands.back().view.shape);
  if (op.operands == 1) run_elementwise(op.op, {&operands[0]}, result, choice);
  if (op.operands == 2) run_elementwise(op.op, {&operands[0], &operands[1]}, result, choice);
  if (op.operands == 3) run_elementwise(op.op, {&operands[0], &operands[1], &operands[2]}, result, choice);
  return result;
}

/// The expected result on element i, and whether `got` matches it.
struct Judge {
  const Operator& op;
  DType type;
  long double a, b, c;

  long double want() const {
    if (is_floating(type)) return reference(op.op, a, b, c);
    const bool gives_bool = result_type(op.domain, type) == DType::boolean;
    return integer_reference(op.op, a, b, c, gives_bool ? DType::boolean : type);
  }
  bool accepts(long double got, long double wanted) const {
    if (!is_floating(type) || op.domain == Domain::comparison) return got == wanted;
    // 16-bit results are those of f32 rounded once more.
    const bool narrow = type == DType::f16 || type == DType::bf16;
    const double ulps = narrow ? 0.5 + allowed_ulps(op.op) * 0x1p-10 : allowed_ulps(op.op);
    if (agrees(type, got, wanted, ulps)) return true;
    const long double scale = scale_of(op.op, type, a, b, wanted);
    return scale != wanted && std::isfinite(got) && agrees(type, got - wanted + scale, scale, ulps);
  }
};

void check_operator(const Operator& op, DType type) {
  const auto columns = draw_operands(op, type);
  std::vector<StoredTensor> operands;
  for (int i = 0; i < op.operands; ++i) {
    const bool condition = op.domain == Domain::selection && i == 0;
    operands.push_back(StoredTensor::of(condition ? DType::boolean : type, columns[static_cast<std::size_t>(i)]));
  }
  std::vector<Judge> judges;
  std::vector<long double> wanted;
  for (std::int64_t i = 0; i < operands[0].view.count(); ++i) {
    judges.push_back({op, type, operands[0].get(i), op.operands > 1 ? operands[1].get(i) : 0,
                      op.operands > 2 ? operands[2].get(i) : 0});
    wanted.push_back(judges.back().want());
  }
  for (const InstructionSet set : all_sets()) {
    const StoredTensor result = apply(op, operands, {.instructions = set, .threads = 1});
    int wrong = 0;
    for (std::size_t i = 0; i < judges.size(); ++i) {
      const long double got = result.get(static_cast<std::int64_t>(i));
      if (judges[i].accepts(got, wanted[i]) || ++wrong > 3) continue;
      FAIL_CHECK(op.name, " on ", std::string(name_of(type)), " (", std::string(cpu::name_of(set)), "): of ",
                 static_cast<double>(judges[i].a), ", ", static_cast<double>(judges[i].b), ", ",
                 static_cast<double>(judges[i].c), " gave ", static_cast<double>(got), ", expected ",
                 static_cast<double>(wanted[i]));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("every element-wise operator agrees with libm and exact integers on every type it admits") {
  for (const Operator& op : operators) {
    for (const DType type : all_types) {
      if (admits(op.domain, type)) check_operator(op, type);
    }
  }
}

}  // namespace

}  // namespace elementwise_test
