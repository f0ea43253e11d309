// SPDX-License-Identifier: MIT
// Every operator of the table under vmap against one example after the other, whichever of its operands are shared.
#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "ops/application.hpp"
#include "tests/fuzz/program.hpp"
#include "tests/ops/sample_operands.hpp"
#include "tyto/vmap.hpp"

namespace vmap_table {

using namespace tyto;
using core::Application;
using core::OpDef;
using fuzz::Data;

namespace {

constexpr std::int64_t examples = 3;

std::vector<double> numbers(const Data& data) { return data.tensor<Eager>().astype(DType::f64).to_vector<double>(); }

/// Equal but for rounding, as sums may be taken in another order.
bool alike(const Data& a, const Data& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  if (a.bytes == b.bytes) return true;
  if (!is_floating(a.dtype)) return false;
  const std::vector<double> first = numbers(a), second = numbers(b);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double x = first[i], y = second[i];
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-9 * std::max(1.0, std::abs(y));
    if (!same) return false;
  }
  return true;
}

template <class M>
struct Operator {
  using T = Tensor<M>;
  const OpDef& def;
  const core::Attributes& attributes;
  std::uint32_t which;  // of its results

  T operator()(const T& x) const { return on({x}); }
  T operator()(const T& x, const T& y) const { return on({x, y}); }
  T operator()(const T& x, const T& y, const T& z) const { return on({x, y, z}); }
  T on(const std::vector<T>& operands) const {
    const std::vector<Value> values(operands.begin(), operands.end());
    return T(core::result(core::emit(def.id, attributes, values), which));
  }
};

/// Operand i of all examples where bit i of `batched` is set, else the first one's for all.
template <class M>
void check(const Operator<M>& f, const std::vector<Tensor<Eager>>& drawn, unsigned batched) {
  using T = Tensor<M>;
  std::vector<T> all;
  std::vector<std::optional<std::int64_t>> axes;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const T whole = Data::of(drawn[i]).template tensor<M>();
    const bool each = (batched >> i & 1) != 0;
    all.push_back(each ? whole : T(whole.get({0})));
    axes.push_back(each ? std::optional<std::int64_t>(0) : std::nullopt);
  }
  std::vector<T> one_by_one;
  for (std::int64_t e = 0; e < examples; ++e) {
    std::vector<T> own;
    for (std::size_t i = 0; i < all.size(); ++i) own.push_back(axes[i] ? T(all[i].get({e})) : all[i]);
    one_by_one.push_back(f.on(own));
  }
  auto at_once = vmap(f, axes);
  const T got = all.size() == 1   ? at_once(all[0])
                : all.size() == 2 ? at_once(all[0], all[1])
                                  : at_once(all[0], all[1], all[2]);
  CHECK(alike(Data::of(got), Data::of(stack(one_by_one, 0))));
}

}  // namespace

TEST_CASE_TEMPLATE("every operator does under vmap what it does for one example after the other", M, Eager, Lazy) {
  std::size_t compared = 0;
  for (const OpDef& def : core::op_table()) {
    if (!core::has_sample(def) || def.is(core::Traits::random) || def.id == core::OpId::pack_weights) continue;
    for (const DType type : {DType::f64, DType::i32, DType::boolean, DType::c128}) {
      const std::optional<Application> application = core::application(def, type);
      if (!application || application->operands.empty() || application->operands.size() > 3) continue;
      // What processes have as a whole is refused: tests/distributed/operators_test.cpp.
      if (std::holds_alternative<core::CollectiveAttributes>(application->attributes)) continue;
      CAPTURE(def.name);
      CAPTURE(type);
      std::vector<Tensor<Eager>> drawn;
      for (core::TensorType operand : application->operands) {
        operand.shape.insert(0, examples);
        drawn.push_back(sample_operands::drawn(def, operand, type));
        if (def.id == core::OpId::histogram) drawn.back() = sort(drawn.back());
      }
      for (unsigned batched = 1; batched < 1u << drawn.size(); ++batched) {
        CAPTURE(batched);
        for (std::uint32_t k = 0; k < application->results.size(); ++k) {
          check<M>({def, application->attributes, k}, drawn, batched);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 500);
}

}  // namespace vmap_table
