// SPDX-License-Identifier: MIT
// Ensembles of decision trees: all rows descend all trees side by side, a level at a time.
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "onnx/operators/class_scores.hpp"
#include "onnx/operators/leaf_table.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

/// How the addends of trees are joined, by the numbers that TreeEnsemble has for it.
enum class Aggregate : std::uint8_t { average = 0, sum = 1, min = 2, max = 3 };
constexpr std::array<std::string_view, 4> aggregate_names = {"AVERAGE", "SUM", "MIN", "MAX"};

Aggregate named_aggregate(const OperatorCall& call) {
  const std::string_view name = call.text("aggregate_function", "SUM");
  for (std::size_t i = 0; i < aggregate_names.size(); ++i) {
    if (name == aggregate_names[i]) return static_cast<Aggregate>(i);
  }
  call.refuse("aggregate_function '", name, "'; known are SUM, AVERAGE, MIN and MAX");
}

/// Tables as tensors. See TreeEnsemble and LeafTable.
struct TreeModel {
  std::int64_t targets = 0, columns = 0, trees = 0, depth = 0, features_needed = 0;
  Array features = {}, splits = {}, next = {}, roots = {};
  Array chosen_trees = {}, offsets = {}, values = {}, present = {};
  std::vector<bool> always = {};
  std::vector<double> base = {};
  PostTransform transform = PostTransform::none;
  Aggregate aggregate = Aggregate::sum;
  // Fields of classifiers.
  ClassLabels labels = {};
  bool one_class_weighted = false, weights_below_zero = false;
};

void fill_tables(const OperatorCall& call, TreeModel& model, TreeEnsemble ensemble, DType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double absent =
      model.aggregate == Aggregate::min ? infinity : (model.aggregate == Aggregate::max ? -infinity : 0);
  model.trees = std::ssize(ensemble.roots);
  const LeafTable table = leaf_table(call, ensemble, model.targets, absent);
  model.columns = table.columns;
  model.depth = ensemble.depth;
  model.features_needed = ensemble.features_needed;
  model.features = vector_of(ensemble.features);
  model.splits = cast(vector_of(ensemble.splits), type);
  model.next = vector_of(ensemble.next);
  model.roots = vector_of(ensemble.roots);
  if (!table.trees.empty()) model.chosen_trees = vector_of(table.trees);
  model.offsets = Array::from(table.offsets, {model.targets, model.columns});
  model.values = cast(vector_of(table.values), type);
  model.present = cast(vector_of(table.present), DType::boolean);
  model.always = table.always;
}

/// The leaf that each row ends in, by tree. Leaves follow themselves, so that trees may be shallower than others.
Array leaves_reached(const OperatorCall& call, const TreeModel& model, const Array& x) {
  const std::int64_t rows = axis_length(x, 0), width = axis_length(x, 1);
  if (width < model.features_needed) {
    call.refuse("input of shape ", call[0].shape(), " has no feature ", model.features_needed - 1,
                ", which nodes_featureids names");
  }
  if (model.depth == 0) return broadcast_to(model.roots, {rows, axis_length(model.roots, 0)});
  // Elements of a flat tensor are looked up in less than half the time that those of rows take.
  const DType index = x.size() <= std::numeric_limits<std::int32_t>::max() ? DType::i32 : DType::i64;
  const Array flat = reshape(x, {-1}), row_begins = cast(expand_dims(Array::arange(rows) * width, 1), index);
  // Made from x, so that the loop is recorded where x is.
  const Array start = model.roots + zeros_like(cast(part_of(x, 1, 0, 1), DType::i32));
  return fori_loop(0, model.depth, start, [&](const Array&, const Array& nodes) {
    const Array value = take(flat, row_begins + take(model.features, nodes, 0), 0);
    const Array split = take(model.splits, nodes, 0);
    const Array above = where(greater(value, split), std::int32_t{2}, std::int32_t{3});
    const Array outcome = where(less(value, split), 0, where(equal(value, split), 1, above));
    return take(model.next, nodes * outcomes + cast(outcome, DType::i32), 0);
  });
}

struct Scores {
  Array sums;     // (rows, targets)
  Array present;  // whether a tree had a weight; undefined where all targets always have some
};

Scores scores_of(const TreeModel& model, const Array& leaves) {
  const std::int64_t rows = axis_length(leaves, 0);
  if (model.columns == 0) {
    return {Array::zeros({rows, model.targets}, model.values.dtype()),
            Array::zeros({rows, model.targets}, DType::boolean)};
  }
  const Array nodes = model.chosen_trees.defined()
                          ? reshape(take(leaves, model.chosen_trees, 1), {rows, model.targets, model.columns})
                          : expand_dims(leaves, 1);
  const Array places = nodes + model.offsets;
  const Array addends = take(model.values, places, 0);
  Scores scores;
  for (const bool always : model.always) {
    if (!always && !scores.present.defined()) scores.present = any(take(model.present, places, 0), 2);
  }
  switch (model.aggregate) {
    case Aggregate::min: scores.sums = min(addends, 2); break;
    case Aggregate::max: scores.sums = max(addends, 2); break;
    case Aggregate::average: scores.sums = sum(addends, 2) / static_cast<double>(model.trees); break;
    case Aggregate::sum: scores.sums = sum(addends, 2); break;
  }
  if (scores.present.defined()) scores.sums = where(scores.present, scores.sums, 0.0);
  return scores;
}

Array regressed(const OperatorCall& call, const TreeModel& model, const Array& x) {
  const Scores scores = scores_of(model, leaves_reached(call, model, x));
  Array y = scores.sums;
  if (!model.base.empty()) y = y + cast(vector_of(model.base), y.dtype());
  if (model.targets == 1) return transformed_column(y, model.transform);
  // In ONNX Runtime a target for which no tree has a weight, among several, loses its base value too.
  if (scores.present.defined()) y = where(scores.present, y, 0.0);
  return transformed(y, model.transform);
}

std::int64_t target_count(const OperatorCall& call) {
  const std::int64_t targets = call.integer("n_targets");
  if (targets < 1) call.refuse("n_targets is ", targets, ", expected 1 or more");
  call.require_bounded("n_targets", targets);
  return targets;
}

Outputs tree_regressor(const OperatorCall& call) {
  const Array x = floating_rows(call);
  const TreeModel& model = call.prepared([&] {
    TreeModel made{.targets = target_count(call),
                   .base = listed_numbers(call, "base_values"),
                   .transform = post_transform_of(call),
                   .aggregate = named_aggregate(call)};
    if (!made.base.empty() && std::ssize(made.base) != made.targets) {
      call.refuse("base_values has ", made.base.size(), " elements for ", made.targets, " targets");
    }
    fill_tables(call, made, listed_trees(call, "target", made.targets), x.dtype());
    return made;
  });
  return {cast(regressed(call, model, x), DType::f32)};
}

Outputs linked_tree_ensemble(const OperatorCall& call) {
  const Array x = floating_rows(call);
  const TreeModel& model = call.prepared([&] {
    const auto numbered = [&](const char* name, std::int64_t otherwise, std::int64_t last) {
      const std::int64_t number = call.integer(name, otherwise);
      if (number < 0 || number > last) call.refuse(name, " is ", number, "; known are 0 to ", last);
      return number;
    };
    TreeModel made{.targets = target_count(call),
                   .transform = static_cast<PostTransform>(numbered("post_transform", 0, 4)),
                   .aggregate = static_cast<Aggregate>(numbered("aggregate_function", 1, 3))};
    fill_tables(call, made, linked_trees(call, made.targets), x.dtype());
    return made;
  });
  return {cast(regressed(call, model, x), call[0].dtype())};
}

/// Labels (rows) and scores (rows, 2) of two classes. The classes of weights decide their meaning, as ONNX Runtime
/// has it: where all are of one class, they are those of the second, and where none is below zero, they are
/// probabilities.
Outputs of_two_classes(const TreeModel& model, const Scores& scores) {
  const Array first = at_position(scores.sums, 1, 0), second = at_position(scores.sums, 1, 1);
  const Array all_present = ones_like(cast(scores.sums, DType::boolean));
  const Array& present = scores.present.defined() ? scores.present : all_present;
  const Array has_first = at_position(present, 1, 0), has_second = at_position(present, 1, 1);
  const bool probabilities = model.one_class_weighted && !model.weights_below_zero;
  Array low = first, high = second;
  if (model.base.size() == 2) {
    const Array sum = first + model.base[1];
    low = where(has_second, -sum, first + model.base[0]);
    high = where(has_second, sum, second + model.base[1]);
  } else if (model.base.size() == 1) {
    low = first + model.base[0];
  }
  low = where(has_first, low, 0.0);
  high = where(has_second, high, 0.0);
  const Array decisive = where(has_second, high, low);
  Array columns = transformed(stack<Any>({low, high}, 1), model.transform);
  if (model.base.size() < 2) {
    // With one base value and weights of both classes, a row that meets none of the second computes one column.
    const bool one_column = model.base.size() == 1 && !model.one_class_weighted;
    const Array alone = one_column ? stack<Any>({transformed_column(low, model.transform), zeros_like(low)}, 1)
                                   : pair_of(low, model.transform, probabilities);
    columns = where(expand_dims(has_second, 1), columns, alone);
  }
  return {greater(decisive, probabilities ? 0.5 : 0.0), columns};
}

/// The class of the largest score among those that have one.
Array best_class(const Scores& scores) {
  if (!scores.present.defined()) return argmax(scores.sums, 1);
  return argmax(where(scores.present, scores.sums, -std::numeric_limits<double>::infinity()), 1);
}

Outputs tree_classifier(const OperatorCall& call) {
  const Array x = floating_rows(call);
  const TreeModel& model = call.prepared([&] {
    TreeModel made{.base = listed_numbers(call, "base_values"),
                   .transform = post_transform_of(call),
                   .labels = class_labels(call, "classlabels_int64s", "classlabels_strings")};
    made.targets = static_cast<std::int64_t>(made.labels.count());
    if (made.targets == 0) call.refuse("neither classlabels_int64s nor classlabels_strings lists classes");
    const auto given = std::ssize(made.base);
    if (made.targets == 2 ? given > 2 : given != 0 && given != made.targets) {
      call.refuse("base_values has ", given, " elements for ", made.targets, " classes");
    }
    const std::vector<std::int64_t>& classes = call.integers("class_ids");
    made.one_class_weighted = made.targets == 2 && std::set(classes.begin(), classes.end()).size() == 1;
    for (const double weight : listed_numbers(call, "class_weights")) {
      made.weights_below_zero = made.weights_below_zero || weight < 0;
    }
    fill_tables(call, made, listed_trees(call, "class", made.targets), x.dtype());
    return made;
  });
  Scores scores = scores_of(model, leaves_reached(call, model, x));
  if (model.targets == 2) {
    const Outputs two = of_two_classes(model, scores);
    // Only where weights are those of one class, ONNX Runtime looks at how classes are called.
    const ClassLabels plain{{0, 1}, {}};
    const bool named = model.one_class_weighted || !model.labels.texts.empty();
    return labelled(call, named ? model.labels : plain, cast(two[0].tensor, DType::i64),
                    cast(two[1].tensor, DType::f32));
  }
  if (!model.base.empty()) scores.sums = scores.sums + cast(vector_of(model.base), scores.sums.dtype());
  if (model.targets == 1) {
    const Array positive = cast(greater(at_position(scores.sums, 1, 0), 0.0), DType::i64);
    return labelled(call, model.labels.texts.empty() ? ClassLabels{{0, 1}, {}} : model.labels,
                    model.labels.texts.empty() ? positive : zeros_like(positive),
                    cast(transformed_column(scores.sums, model.transform), DType::f32));
  }
  if (!model.base.empty()) scores.present = {};
  return labelled(call, model.labels, best_class(scores), cast(transformed(scores.sums, model.transform), DType::f32));
}

constexpr OperatorRow tree_table[] = {
    {"TreeEnsemble", 5, linked_tree_ensemble},
    {"TreeEnsembleClassifier", 1, tree_classifier},
    {"TreeEnsembleRegressor", 1, tree_regressor},
};

}  // namespace

std::span<const OperatorRow> tree_rows() { return tree_table; }

}  // namespace tyto::onnx
