// SPDX-License-Identifier: MIT
// Extreme attributes that shape rules accept: results depend on the operands alone, and nothing around them is read.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <type_traits>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "ops/application.hpp"
#include "tests/fuzz/program.hpp"
#include "tests/ops/sample_operands.hpp"
#include "tyto/shaping.hpp"

namespace attribute_ends {

using namespace tyto;
using core::Application;
using core::OpDef;
using fuzz::Data;
using T = Tensor<Eager>;

namespace {

/// Operators that passes put into graphs and no file may hold, since their attributes are not checked.
const std::set<std::string_view> made_by_passes{"fused", "matmul_epilogue", "convolution_epilogue", "pack_weights"};

/// Puts a number into the integer among the attributes that has this place; false where there are fewer.
bool put(core::Attributes& attributes, std::size_t place, std::int64_t number) {
  bool found = false;
  const auto put_into = [&](std::int64_t& member) {
    if (place-- == 0) {
      member = number;
      found = true;
    }
  };
  std::visit(
      [&](auto& fields) {
        fields.fields([&](const char*, auto&& member) {
          using Member = std::decay_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, std::int64_t>) {
            put_into(member);
          } else if constexpr (std::is_same_v<Member, IntList> || std::is_same_v<Member, Shape>) {
            for (std::size_t i = 0; i < member.size(); ++i) put_into(member[i]);
          }
        });
      },
      attributes);
  return found;
}

/// The tensor as a part of a longer one, whose other elements are all one number, or 0 where that has no sign.
T surrounded(const T& x, std::int64_t number) {
  constexpr std::int64_t margin = 64;
  const bool has_sign = !is_unsigned(x.dtype()) && x.dtype() != DType::boolean;
  const T around = T::full({margin}, has_sign ? number : std::max<std::int64_t>(number, 0), x.dtype());
  const T whole = concat(std::vector<T>{around, reshape(x, {-1}), around}, 0);
  return reshape(whole.get({slice(margin, margin + x.size())}), x.shape());
}

/// All results, or none where the operator is refused.
std::vector<Data> results(const OpDef& def, const core::Attributes& attributes, const std::vector<T>& operands,
                          std::int64_t around) {
  std::vector<Value> given;
  for (const T& operand : operands) given.push_back(surrounded(operand, around));
  std::vector<Data> out;
  try {
    const Value first = core::emit(core::Mode::eager, def.id, attributes, given);
    for (std::uint32_t k = 0; k < first.node()->results().size(); ++k)
      out.push_back(Data::of(T(core::result(first, k))));
  } catch (const Error&) {
    out.clear();
  }
  return out;
}

std::optional<std::pair<DType, Application>> some_application(const OpDef& def) {
  for (const DType type : {DType::f32, DType::i32, DType::boolean, DType::c64, DType::f64, DType::i64, DType::u8}) {
    if (const auto found = core::application(def, type)) return std::pair(type, *found);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("extreme attributes that shape rules accept read nothing but the operands") {
  std::size_t accepted = 0, refused = 0;
  for (const OpDef& def : core::op_table()) {
    if (!core::has_sample(def) || def.is(core::Traits::random) || made_by_passes.contains(def.name)) continue;
    const auto found = some_application(def);
    if (!found || found->second.operands.empty()) continue;
    const auto& [type, application] = *found;
    CAPTURE(def.name);
    std::vector<T> operands;
    for (const core::TensorType& operand : application.operands) {
      operands.push_back(sample_operands::drawn(def, operand, type));
    }
    if (def.id == core::OpId::histogram) operands = {sort(operands[0]), sort(operands[1])};
    core::Attributes attributes = application.attributes;
    for (std::size_t place = 0; put(attributes, place, 0); ++place) {
      CAPTURE(place);
      // Operands have four elements along an axis, pictures two channels.
      for (std::int64_t number = -5; number <= 6; ++number) {
        CAPTURE(number);
        attributes = application.attributes;
        put(attributes, place, number);
        const std::vector<Data> one = results(def, attributes, operands, -100);
        const std::vector<Data> other = results(def, attributes, operands, 100);
        REQUIRE(one.size() == other.size());
        ++(one.empty() ? refused : accepted);
        for (std::size_t k = 0; k < one.size(); ++k) CHECK(one[k].bytes == other[k].bytes);
      }
      attributes = application.attributes;
    }
  }
  CHECK(accepted > 500);
  CHECK(refused > 500);
}

}  // namespace attribute_ends
