// What is said of integers before they are computed, held against what the operators compute in eager mode.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <tyto/tyto.hpp>

#include "core/known_integer.hpp"
#include "core/op_ids.hpp"
#include "ops/define.hpp"
#include "tests/devices/cpu/numbers_of.hpp"

namespace {

using namespace tyto;
using core::KnownInteger;
using core::OpId;
using testing::Numbers;
using testing::numbers_of;
using Known = std::optional<KnownInteger>;

/// The most that can be said of so many numbers.
KnownInteger described(const Numbers& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  KnownInteger known{low, high, ~std::uint64_t{0}, ~std::uint64_t{0}};
  for (const std::int64_t number : numbers) {
    known.ones &= static_cast<std::uint64_t>(number);
    known.zeros &= ~static_cast<std::uint64_t>(number);
  }
  return known;
}

bool agrees(const KnownInteger& known, std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number >= known.low && number <= known.high && (bits & known.zeros) == 0 && (~bits & known.ones) == 0;
}

/// A few numbers near one another, or with bits in common, or alone; often those at the ends and around zero.
Numbers drawn(std::mt19937& random, const KnownInteger& any) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto one = [&] {
    switch (between(0, 3)) {
      case 0: return std::vector{any.low, any.low + 1, any.high, any.high - 1}[static_cast<std::size_t>(between(0, 3))];
      case 1: return std::max(any.low, between(-1, std::min<std::int64_t>(any.high, 9)));
      default: return between(any.low, any.high);
    }
  };
  const std::int64_t kind = between(0, 3), mask = between(0, 127);
  Numbers numbers = {one()};
  for (std::int64_t more = kind == 0 ? 0 : between(1, 5); more > 0; --more) {
    const std::int64_t first = numbers.front(), apart = one();
    const std::int64_t near = std::max(any.low, std::min(first, any.high - 4)) + between(0, 4);
    const std::int64_t number = kind == 2 ? (apart & ~mask) | (first & mask) : kind == 1 ? near : apart;
    numbers.push_back(std::clamp(number, any.low, any.high));
  }
  return numbers;
}

Tensor<Eager> tensor_of(const Numbers& numbers, DType type) {
  Tensor<Eager> out = Tensor<Eager>::zeros({static_cast<std::int64_t>(numbers.size())}, DType::i64);
  for (std::size_t i = 0; i < numbers.size(); ++i) out(static_cast<std::int64_t>(i)) = numbers[i];
  return out.astype(type);
}

/// Checks one operator on all tuples of the operands' numbers; whether anything was said of its results.
bool check_operator(const core::OpDef& def, DType type, std::mt19937& random) {
  const KnownInteger any = *core::any_of(type);
  std::vector<Numbers> sets;
  std::vector<DType> types;
  std::vector<Known> known;
  for (int i = 0; i < def.min_inputs; ++i) {
    types.push_back(def.id == OpId::where && i == 0 ? DType::boolean : type);
    sets.push_back(drawn(random, types.back() == type ? any : *core::any_of(DType::boolean)));
    known.push_back(described(sets.back()));
  }
  std::vector<Numbers> columns(sets.size());
  std::size_t count = 1;
  for (const Numbers& set : sets) count *= set.size();
  for (std::size_t tuple = 0; tuple < count; ++tuple) {
    for (std::size_t i = 0, rest = tuple; i < sets.size(); rest /= sets[i].size(), ++i) {
      columns[i].push_back(sets[i][rest % sets[i].size()]);
    }
  }
  std::vector<Value> operands;
  for (std::size_t i = 0; i < sets.size(); ++i) operands.push_back(core::operand(tensor_of(columns[i], types[i])));
  const Tensor<Eager> result(core::emit_elementwise(def.id, operands));
  const Known said = core::known_result(def.id, result.dtype(), types, known);
  if (!said) return false;
  const Numbers results = numbers_of(result);
  for (std::size_t tuple = 0; tuple < count; ++tuple) {
    const auto number = results[tuple];
    CAPTURE(def.name);
    CAPTURE(std::string(name_of(type)));
    for (const Numbers& column : columns) CAPTURE(column[tuple]);
    CAPTURE(said->low);
    CAPTURE(said->high);
    CAPTURE(number);
    REQUIRE(agrees(*said, number));
  }
  return *said != *core::any_of(result.dtype());
}

}  // namespace

TEST_CASE("what is said of an operator's integers holds for all that it computes") {
  std::mt19937 random(7);
  std::set<OpId> said;
  for (const core::OpDef& def : core::op_table()) {
    if (!core::is_listed_elementwise(def.id) || def.domain == core::Domain::floating) continue;
    for (const DType type :
         {DType::i8, DType::u8, DType::boolean, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64}) {
      const bool takes =
          type != DType::boolean || (def.domain != core::Domain::arithmetic && def.domain != core::Domain::integer);
      for (int i = 0; takes && i < 60; ++i) {
        if (check_operator(def, type, random)) said.insert(def.id);
      }
    }
  }
  using enum OpId;
  for (const OpId op :
       {negate,      abs,         sign,       square,      relu,       floor,         bitwise_not,  popcount,
        logical_not, add,         subtract,   multiply,    maximum,    minimum,       bitwise_and,  bitwise_or,
        bitwise_xor, logical_and, logical_or, logical_xor, left_shift, right_shift,   floor_divide, remainder,
        equal,       not_equal,   less,       less_equal,  greater,    greater_equal, where,        clip}) {
    CAPTURE(core::definition(op).name);
    CHECK(said.count(op) == 1);
  }
}

TEST_CASE("what is said of conversions holds") {
  std::mt19937 random(8);
  const DType types[] = {DType::boolean, DType::i8,  DType::u8,  DType::i16,
                         DType::u16,     DType::i32, DType::u32, DType::i64};
  for (const DType from : types) {
    for (const DType to : types) {
      for (int i = 0; i < 30; ++i) {
        const Numbers numbers = drawn(random, *core::any_of(from));
        const Known known = described(numbers);
        const Known said = core::known_result(OpId::cast, to, {&from, 1}, {&known, 1});
        const Numbers result = numbers_of(tensor_of(numbers, from).astype(to));
        for (std::size_t n = 0; n < numbers.size(); ++n) {
          CHECK(agrees(*said, result[n]));
        }
      }
    }
  }
}

TEST_CASE("what is said of integers under a condition holds for all that meet it") {
  std::mt19937 random(9);
  using enum OpId;
  const auto holds_of = [](OpId op, std::int64_t a, std::int64_t b) {
    switch (op) {
      case equal: return a == b;
      case not_equal: return a != b;
      case less: return a < b;
      case less_equal: return a <= b;
      case greater: return a > b;
      default: return a >= b;
    }
  };
  int narrowed = 0, impossible = 0;
  for (const DType type : {DType::i8, DType::u8, DType::i32, DType::i64}) {
    const KnownInteger any = *core::any_of(type);
    for (int i = 0; i < 2000; ++i) {
      const Numbers left = drawn(random, any), right = drawn(random, any);
      const OpId op = std::vector{equal, not_equal, less, less_equal, greater, greater_equal}[random() % 6];
      const bool holds = random() % 2 == 0;
      const Known said = core::known_where(op, holds, described(left), described(right));
      if (!said) ++impossible;
      else if (!(*said == described(left))) ++narrowed;
      for (const std::int64_t a : left) {
        const bool is_met = std::ranges::any_of(right, [&](std::int64_t b) { return holds_of(op, a, b) == holds; });
        CAPTURE(core::definition(op).name);
        CAPTURE(holds);
        CAPTURE(a);
        if (is_met) REQUIRE(said);
        if (is_met) CHECK(agrees(*said, a));
      }
    }
  }
  CHECK(narrowed > 1000);
  CHECK(impossible > 100);
}
