// SPDX-License-Identifier: MIT
// Embedding layers: look rows up by index, one at a place or several in a bag.
#include "tyto/nn/embedding.hpp"

#include <limits>
#include <optional>

#include "nn/layer_parts.hpp"
#include "nn/running_call.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

using Tensors = std::vector<Tensor<Any>>;

void check_table(const char* layer, const EmbeddingOptions& o) {
  if (o.count < 1 || o.features < 1) {
    core::throw_error<ValueError>(layer, ": count = ", o.count, " and features = ", o.features, " must be at least 1");
  }
  if (o.padding && (*o.padding < 0 || *o.padding >= o.count)) {
    core::throw_error<IndexError>(layer, ": the padding index ", *o.padding, " is not below the count ", o.count);
  }
  if (o.max_norm && !(*o.max_norm > 0)) {
    core::throw_error<ValueError>(layer, ": max_norm = ", *o.max_norm, " must be positive");
  }
  if (!(o.p > 0)) core::throw_error<ValueError>(layer, ": p = ", o.p, " must be positive");
}

Tensor<Any> table(const char* layer, const EmbeddingOptions& o) {
  check_table(layer, o);
  const Fans fans{static_cast<double>(o.count), static_cast<double>(o.features)};
  Tensor<Any> initial = o.initial({o.count, o.features}, fans, o.dtype);
  if (o.padding) initial = set(initial, {*o.padding}, 0);
  return Tensor<Any>::variable(initial, "weight");
}

void check_indices(const char* layer, const Tensor<Any>& indices) {
  if (!is_integer(indices.dtype())) {
    core::throw_error<TypeError>(layer, ": indices are ", name_of(indices.dtype()), "; integers are expected");
  }
}

/// Lengths of rows, which keep their axis.
Tensor<Any> lengths(const Tensor<Any>& rows, double p) {
  if (p == 2) return l2_norm(rows, -1, true);
  const Tensor<Any> distances = abs(rows);
  if (p == 1) return sum(distances, -1, true);
  return std::isinf(p) ? max(distances, -1, true) : power(sum(power(distances, p), -1, true), 1 / p);
}

/// Rows no longer than they may be.
Tensor<Any> no_longer(const Tensor<Any>& rows, double most, double p) {
  if (const auto found = core::in_f32(&no_longer, rows, most, p)) return *found;
  const Tensor<Any> length = lengths(rows, p);
  return where(greater(length, most), rows * (most / (length + 1e-7)), rows);
}

/// The table with the rows at `indices` no longer than they may be. Its gradient is that of the table, as if the rows
/// had been short before.
Tensor<Any> shortened(const Tensor<Any>& weight, const Tensor<Any>& indices, double most, double p) {
  const auto shorten = [=](const Tensors& in) {
    const Tensor<Any> places = reshape(indices, {-1}), rows = take(in[0], places, 0);
    return scatter(in[0], Tensors{places}, no_longer(rows, most, p));
  };
  const auto as_it_is = [](const Tensors&, const Tensor<Any>&, const Tensor<Any>& gradient) {
    return Tensors{gradient};
  };
  return custom_gradient<Tensor<Any>>(shorten, as_it_is)({weight});
}

/// Rows whose gradients are divided by how often their index stands among all.
Tensor<Any> shared_by_count(const Tensor<Any>& rows, const Tensor<Any>& indices, std::int64_t count) {
  const auto same = [](const Tensors& in) { return in[0]; };
  const auto divide = [=](const Tensors&, const Tensor<Any>&, const Tensor<Any>& gradient) {
    const DType type = statistics_type(gradient.dtype());
    const Tensor<Any> places = reshape(indices, {-1});
    const Tensor<Any> counts =
        scatter_add(Tensor<Any>::zeros({count}, type), Tensors{places}, Tensor<Any>::ones(places.shape(), type));
    const Tensor<Any> own = expand_dims(take(counts, indices, 0), {-1});
    return Tensors{as_type(as_type(gradient, type) / own, gradient.dtype())};
  };
  return custom_gradient<Tensor<Any>>(same, divide)({rows});
}

Tensor<Any> looked_up(const char* layer, const Tensor<Any>& weight, const Tensor<Any>& given, const EmbeddingOptions& o,
                      Phase phase) {
  const Tensor<Any> indices =
      check_bounds(as_index(given), {-o.count, o.count - 1, layer, "index", "rows of the weight"});
  Tensor<Any> from = weight;
  if (o.max_norm) {
    from = shortened(weight, indices, *o.max_norm, o.p);
    if (is_training(layer, phase) && is_batch(indices)) assign(weight, from);
  }
  Tensor<Any> rows = take(from, indices, 0);
  if (o.share_by_count) rows = shared_by_count(rows, indices, o.count);
  if (!o.padding) return rows;
  return where(expand_dims(equal(indices, *o.padding), {-1}), stop_gradient(rows), rows);
}

/// The largest of the rows (places, features) of each bag; of equal ones the first has the gradient.
Tensor<Any> largest_listed(const Tensor<Any>& rows, const Tensor<Any>& bag, const Tensor<Any>& empty) {
  const Tensor<Any> fixed = stop_gradient(rows), largest = scatter_max(empty, Tensors{bag}, fixed);
  const std::int64_t count = rows.shape()[0];
  if (count == 0) return largest;
  const Tensor<Any> found = equal(fixed, take(largest, bag, 0)) || isnan(fixed);
  const Tensor<Any> places = where(found, Tensor<Any>::arange(count).reshape({count, 1}), count);
  const Tensor<Any> nowhere = Tensor<Any>::full(empty.shape(), count, places.dtype());
  const Tensor<Any> first = minimum(scatter_min(nowhere, Tensors{bag}, places), count - 1);
  return take_along_axis(rows, first, 0);
}

/// Offsets whose values are known must begin at 0, not descend, and not lie beyond the places.
void check_offsets(const Tensor<Any>& offsets, std::int64_t places) {
  if (!is_integer(offsets.dtype()) || offsets.ndim() != 1) {
    core::throw_error<ShapeError>("EmbeddingBag: offsets ", offsets.shape(), " of ", name_of(offsets.dtype()),
                                  " must be integers (bags,)");
  }
  if (offsets.size() == 0 && places > 0) {
    core::throw_error<ShapeError>("EmbeddingBag: ", places, " places are in no bag: there are no offsets");
  }
  const std::optional<Tensor<Eager>> values = known(offsets);
  if (!values) return;
  const std::vector<std::int64_t> begins = cast(*values, DType::i64).to_vector<std::int64_t>();
  for (std::size_t bag = 0; bag < begins.size(); ++bag) {
    const std::int64_t least = bag == 0 ? 0 : begins[bag - 1], most = bag == 0 ? 0 : places;
    if (begins[bag] >= least && begins[bag] <= most) continue;
    core::throw_error<ValueError>("EmbeddingBag: offset ", bag, " is ", begins[bag],
                                  "; the first is 0, none is below the", " one before it or above the ", places,
                                  " places");
  }
}

/// Rows at indices, weighted and put together as the bags that they are in.
Tensor<Any> in_bags(const Tensor<Any>& each, const Tensor<Any>& indices, const BagOptions<Any>& bags,
                    const EmbeddingBagOptions& options) {
  Tensor<Any> rows = each;
  if (bags.weights.defined()) rows = rows * expand_dims(bags.weights, {-1});
  // The indices that count, in their shape and an axis for features.
  const Tensor<Any> all_count = Tensor<Any>::ones(indices.shape(), DType::boolean);
  const Tensor<Any> counts = expand_dims(options.padding ? not_equal(indices, *options.padding) : all_count, {-1});
  const bool largest = options.mode == BagMode::max;
  const double nothing = largest ? -std::numeric_limits<double>::infinity() : 0;
  if (options.padding) rows = where(counts, rows, nothing);
  const DType summed = statistics_type(rows.dtype());
  const Tensor<Any> ones = cast(counts, summed);
  Tensor<Any> result, seen;
  if (bags.offsets.defined()) {
    // Places before the first offset, which only a run may tell, are in a bag of their own before the others.
    const std::int64_t count = bags.offsets.size();
    const Tensors own{searchsorted(as_index(bags.offsets), Tensor<Any>::arange(indices.size()), true)};
    const Tensor<Any> empty = Tensor<Any>::full({count + 1, options.features}, nothing, rows.dtype());
    const auto of_bags = [&](const Tensor<Any>& all) { return narrow(all, 0, 1, count + 1); };
    result = of_bags(largest ? largest_listed(rows, own[0], empty) : scatter_add(empty, own, rows));
    seen = of_bags(scatter_add(Tensor<Any>::zeros({count + 1, 1}, summed), own, ones));
  } else {
    const bool empty = indices.shape()[1] == 0;
    result = largest && !empty ? squeeze(take_along_axis(rows, argmax(rows, 1, true), 1), 1) : sum(rows, 1);
    seen = sum(ones, 1);
  }
  if (largest) return where(greater(seen, 0.0), result, 0.0);
  return options.mode == BagMode::mean ? result / maximum(seen, 1.0) : result;
}

EmbeddingOptions of_bag(const EmbeddingBagOptions& o) {
  return {o.count, o.features, o.padding, o.max_norm, o.p, o.share_by_count, o.initial, o.dtype};
}

}  // namespace

Embedding::Embedding(const EmbeddingOptions& given) : options(given), weight(table("Embedding", given)) {}

Tensor<Any> Embedding::forward(const Tensor<Any>& indices, Phase phase) const {
  check_indices("Embedding", indices);
  return looked_up("Embedding", weight, indices, options, phase);
}

Members Embedding::members() const { return {{"weight", weight}}; }

EmbeddingBag::EmbeddingBag(const EmbeddingBagOptions& given)
    : options(given), weight(table("EmbeddingBag", of_bag(given))) {}

Tensor<Any> EmbeddingBag::forward(const Tensor<Any>& indices, Phase phase) const {
  return gathered(indices, {}, phase);
}

Tensor<Any> EmbeddingBag::gathered(const Tensor<Any>& indices, const BagOptions<Any>& bags, Phase phase) const {
  return LayerCall(*this, phase).run([&]() -> Tensor<Any> {
    constexpr const char* name = "EmbeddingBag";
    check_indices(name, indices);
    const bool listed = bags.offsets.defined();
    if (indices.ndim() != (listed ? 1 : 2)) {
      core::throw_error<ShapeError>(name, ": indices ", indices.shape(),
                                    " must be (bags, length), or (places,) with offsets");
    }
    if (listed) check_offsets(bags.offsets, indices.size());
    if (bags.weights.defined() && (options.mode != BagMode::sum || bags.weights.shape() != indices.shape())) {
      core::throw_error<ShapeError>(name, ": weights ", bags.weights.shape(), " are of the indices ", indices.shape(),
                                    " of a sum, BagMode::sum");
    }
    const Tensor<Any> rows = looked_up(name, weight, indices, of_bag(options), phase);
    const auto bagged = [&](const Tensor<Any>& each, const Tensor<Any>& weights) {
      return in_bags(each, indices, {bags.offsets, weights}, options);
    };
    if (options.mode != BagMode::max) {
      if (const auto found = core::in_f32(bagged, rows, bags.weights)) return *found;
    }
    return bagged(rows, bags.weights);
  });
}

Members EmbeddingBag::members() const { return {{"weight", weight}}; }

}  // namespace nn
}  // namespace TYTO_API
