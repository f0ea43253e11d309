// SPDX-License-Identifier: MIT
// Exports operators that pick, replace, sort and count elements to ONNX.
#include <limits>

#include "onnx/write/export.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Name with_axis(const ExportedNode& n, Name x, std::int64_t axis) {
  return n.add("Unsqueeze", {x, n.out().integers({axis})});
}

Names taken(const ExportedNode& n) { return {n.add("Gather", {n[0], n[1]}, {{"axis", n.integer("axis")}})}; }

// GatherElements stretches nothing.
Names taken_along(const ExportedNode& n) {
  const auto axis = static_cast<std::size_t>(n.integer("axis"));
  Shape x = n.result().shape;
  x[axis] = n.input(0).shape[axis];
  GraphExport& out = n.out();
  const auto stretched = [&](std::size_t i, const Shape& shape) {
    return n.input(i).shape == shape ? n[i] : n.add("Expand", {n[i], out.integers(shape)});
  };
  return {n.add("GatherElements", {stretched(0, x), stretched(1, n.result().shape)}, {{"axis", n.integer("axis")}})};
}

/// Index tensors, one an axis, as ONNX has them: the coordinates of a place side by side. Those of one element are i64.
Name coordinates(const ExportedNode& n, std::size_t first) {
  Names parts;
  for (std::size_t i = first; i < n.inputs().size(); ++i) parts.push_back(with_axis(n, n.as(i, DType::i64), -1));
  return parts.size() == 1 ? parts[0] : n.add("Concat", parts, {{"axis", std::int64_t{-1}}});
}
Names gathered(const ExportedNode& n) { return {n.add("GatherND", {n[0], coordinates(n, 1)})}; }
Names scattered(const ExportedNode& n) {
  return {n.add("ScatterND", {n[0], coordinates(n, 2), n[1]}, {{"reduction", n.word_of_row()}})};
}

Names classes_as_ones(const ExportedNode& n) {
  const std::int64_t depth = n.list("list")[0];
  const Name classes = with_axis(n, n.as(0, DType::i64), -1);
  const Name hit = n.add("Equal", {classes, n.out().constant(Tensor<Eager>::arange(depth))});
  return {n.out().cast(hit, DType::boolean, n.result().dtype)};
}

/// The part from `axis` on put into x, which has the length of the part along the axes before.
Name replaced(const ExportedNode& n, Name x, std::size_t axis) {
  const IntList start = n.list("start"), count = n.list("count");
  const Shape& shape = n.result().shape;
  while (axis < count.size() && count[axis] == shape[axis]) ++axis;
  if (axis == count.size()) return n[1];
  const auto at = static_cast<std::int64_t>(axis);
  const std::int64_t end = start[axis] + count[axis];
  Names parts;
  if (start[axis] > 0) parts.push_back(n.part(x, at, 0, start[axis]));
  parts.push_back(replaced(n, n.part(x, at, start[axis], count[axis]), axis + 1));
  if (end < shape[axis]) parts.push_back(n.part(x, at, end, shape[axis] - end));
  return n.add("Concat", parts, {{"axis", at}});
}

Names with_part_replaced(const ExportedNode& n) {
  const IntList start = n.list("start"), count = n.list("count"), step = n.list("step");
  const Shape& shape = n.result().shape;
  if (element_count(n.input(1).shape) == 0) return {n[0]};
  bool regular = true;
  for (const std::int64_t each : step) regular = regular && each == 1;
  if (regular) return {replaced(n, n[0], 0)};
  // The numbers of the elements that are replaced are those of all elements, cut in the same way.
  const std::int64_t all = element_count(shape);
  std::vector<Index> entries;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::int64_t end = start[i] + count[i] * step[i];
    entries.emplace_back(end < 0 ? slice(start[i], {}, step[i]) : slice(start[i], end, step[i]));
  }
  const Tensor<Eager> numbers = reshape(reshape(Tensor<Eager>::arange(all), shape).get(entries), {-1});
  const Name y = n.add("ScatterElements", {n.reshaped(n[0], {all}), n.out().constant(numbers),
                                           n.reshaped(n[1], {element_count(n.input(1).shape)})});
  return {n.reshaped(y, shape)};
}

Names diagonal_part(const ExportedNode& n) {
  const IntList list = n.list("list");
  const Shape& x = n.input(0).shape;
  IntList order;
  for (std::int64_t i = 0; i < n.rank(); ++i) {
    if (i != list[1] && i != list[2]) order.push_back(i);
  }
  Shape flat;
  for (const std::int64_t axis : order) flat.push_back(x[static_cast<std::size_t>(axis)]);
  const std::int64_t columns = x[static_cast<std::size_t>(list[2])];
  flat.push_back(x[static_cast<std::size_t>(list[1])] * columns);
  order.push_back(list[1]);
  order.push_back(list[2]);
  const std::int64_t first = list[0] >= 0 ? list[0] : -list[0] * columns;
  const Tensor<Eager> places = Tensor<Eager>::arange(n.result().shape.back()) * (columns + 1) + first;
  return {n.add("Gather", {n.reshaped(n.out().transposed(n[0], order), flat), n.out().constant(places)},
                {{"axis", std::int64_t{-1}}})};
}

/// The first `count` of a sorted axis and their positions, in types that TopK takes.
Names sorted(const ExportedNode& n, std::int64_t axis, std::int64_t count, bool descending) {
  const DType dtype = n.input(0).dtype;
  const DType wide = dtype == DType::bf16 ? DType::f32 : is_floating(dtype) || dtype == DType::u64 ? dtype : DType::i64;
  Names found = n.out().nodes("TopK", {n.as(0, wide), n.out().integers({count})}, 2,
                              {{"axis", axis}, {"largest", std::int64_t{descending}}});
  found[0] = n.out().cast(found[0], wide, dtype);
  return found;
}
Names first_k(const ExportedNode& n) { return sorted(n, n.integer("axis"), n.integer("k"), n.truth("largest")); }
Names sorted_whole(const ExportedNode& n) {
  const std::int64_t axis = n.integer("axis");
  return sorted(n, axis, n.input(0).shape[static_cast<std::size_t>(axis)], n.truth("descending"));
}
Names in_order(const ExportedNode& n) { return {sorted_whole(n)[0]}; }
Names order(const ExportedNode& n) { return {sorted_whole(n)[1]}; }

/// How many are true along an axis.
Name counted(const ExportedNode& n, Name truth, std::int64_t axis) {
  return n.add("ReduceSum", {n.out().cast(truth, DType::boolean, DType::i64), n.out().integers({axis})},
               {{"keepdims", std::int64_t{0}}});
}

// A value's place is the number of elements that go before it. NaN goes behind all numbers.
Names places_among(const ExportedNode& n) {
  const bool after_equals = n.truth("right");
  const Name value = with_axis(n, n[1], -1);
  Name before = n.add(after_equals ? "LessOrEqual" : "Less", {n[0], value});
  if (is_floating(n.input(0).dtype)) {
    const Name of_nan = n.add("IsNaN", {value});
    const Name number = n.add("Not", {n.add("IsNaN", {n[0]})});
    before = n.add("Or", {before, after_equals ? of_nan : n.add("And", {of_nan, number})});
  }
  return {counted(n, before, -1)};
}

// Between two edges lie those from the lower on, less those from the upper on; those at the last edge belong to the
// last interval.
Names counts_between(const ExportedNode& n) {
  const std::int64_t edges = n.input(1).shape[0];
  const Name x = n.reshaped(n[0], {element_count(n.input(0).shape), 1});
  const Name from = counted(n, n.add("GreaterOrEqual", {x, n[1]}), 0);
  const Name beyond = counted(n, n.add("Greater", {x, n[1]}), 0);
  const Name upper =
      n.add("Concat", {n.part(from, 0, 1, edges - 2), n.part(beyond, 0, edges - 1, 1)}, {{"axis", std::int64_t{0}}});
  return {n.add("Sub", {n.part(from, 0, 0, edges - 1), upper})};
}

// Corners may come in any order, so x and y may change places. NonMaxSuppression gives triples of picture, class, box.
Names kept_boxes(const ExportedNode& n) {
  GraphExport& out = n.out();
  const std::int64_t boxes = n.input(0).shape[0], most = n.integer("count");
  const double least = n.scalar("score").as_double();
  Names inputs{n.reshaped(n.as(0, DType::f32), {1, boxes, 4}), n.reshaped(n.as(1, DType::f32), {1, 1, boxes}),
               out.integers({most}), out.constant(Tensor<Eager>::full({1}, n.scalar("overlap"), DType::f32))};
  if (least > std::numeric_limits<float>::lowest())
    inputs.push_back(out.constant(Tensor<Eager>::full({1}, least, DType::f32)));
  const Name triples = n.add("NonMaxSuppression", inputs);
  const Name two = out.number(2, DType::i64);
  const Name found = n.add("Gather", {triples, two}, {{"axis", std::int64_t{1}}});
  const Name count = n.add("Shape", {found});
  const Name behind =
      n.add("Concat", {out.integers({0}), n.add("Sub", {out.integers({most}), count})}, {{"axis", std::int64_t{0}}});
  return {n.add("Pad", {found, behind, out.number(-1, DType::i64)}), n.reshaped(count, {})};
}

constexpr ExportRow indexing_export_table[] = {
    {"argsort", order},
    {"diagonal", diagonal_part},
    {"gather", gathered},
    {"histogram", counts_between},
    {"nms", kept_boxes},
    {"one_hot", classes_as_ones},
    {"scatter", scattered, "none"},
    {"scatter_add", scattered, "add"},
    {"scatter_max", scattered, "max"},
    {"scatter_min", scattered, "min"},
    {"scatter_multiply", scattered, "mul"},
    {"searchsorted", places_among},
    {"set_slice", with_part_replaced},
    {"sort", in_order},
    {"take", taken},
    {"take_along_axis", taken_along},
    {"topk", first_k},
};

}  // namespace

std::span<const ExportRow> indexing_exports() { return indexing_export_table; }

}  // namespace tyto::onnx
