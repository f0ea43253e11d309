// SPDX-License-Identifier: MIT
// Exports branches and loops as If and Loop, whose graphs read what they capture from the graph around them.
#include <algorithm>

#include "onnx/write/export.hpp"

namespace tyto::onnx {

namespace {

const ListedTensor number_type{DType::i64, {}};
const ListedTensor truth_type{DType::boolean, {}};

Name integer(GraphExport& out, std::int64_t value) { return out.number(value, DType::i64); }

// Results of the arms from number `arm` on: If chooses between two, so others are within its second graph.
Names choose(const ExportedNode& n, GraphExport& out, std::size_t arm) {
  const auto fill = [&](GraphExport& inside, std::size_t which) {
    const bool last = which + 1 == n.regions().size();
    Names results;
    if (which == arm || last) {
      for (std::size_t i = 1; i < n.inputs().size(); ++i) inside.name_input(i - 1, n[i]);
      inside.write_nodes();
      for (std::size_t i = 0; i < n.result_count(); ++i) results.push_back(inside.output(i));
    } else {
      results = choose(n, inside, which);
    }
    for (std::size_t i = 0; i < n.result_count(); ++i) inside.add_output(results[i], n.result(i));
    return inside.graph();
  };
  GraphExport first(n.regions()[arm], out), others(n.regions()[arm + 1], out);
  const ProtobufWriter then = fill(first, arm), otherwise = fill(others, arm + 1);
  // Numbers beyond the ends choose the first or the last.
  const Name chosen = out.node("LessOrEqual", {n[0], integer(out, static_cast<std::int64_t>(arm))});
  return out.nodes("If", {chosen}, n.result_count(), {{"then_branch", then}, {"else_branch", otherwise}});
}

Names write_branch(const ExportedNode& n) {
  if (n.regions().size() > 1) return choose(n, n.out(), 0);
  GraphExport only(n.regions()[0], n.out());
  for (std::size_t i = 1; i < n.inputs().size(); ++i) only.name_input(i - 1, n[i]);
  only.write_nodes();
  for (std::size_t i = 0; i < n.result_count(); ++i) only.add_output(only.output(i), n.result(i));
  const ProtobufWriter graph = only.graph();
  const Name always = n.out().constant(Tensor<Eager>::full({}, true, DType::boolean));
  return n.out().nodes("If", {always}, n.result_count(), {{"then_branch", graph}, {"else_branch", graph}});
}

/// Rows that were not reached are zeros; Loop leaves them out.
Name with_zeros_behind(GraphExport& out, Name rows, const ListedTensor& type) {
  IntList axes(type.shape.size() - 1, 0);
  const Name count = out.node("Shape", {rows}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  const Name missing = out.node("Sub", {out.integers({type.shape[0]}), count});
  IntList before = axes;
  before.push_back(0);
  Names widths{out.integers(before), missing};
  if (!axes.empty()) widths.push_back(out.integers(axes));
  return out.node("Pad", {rows, out.node("Concat", widths, {{"axis", std::int64_t{0}}})});
}

Names write_loop(const ExportedNode& n) {
  GraphExport& out = n.out();
  const auto carries = static_cast<std::size_t>(n.integer("carries"));
  const auto rows = static_cast<std::size_t>(n.integer("rows")),
             stacks = static_cast<std::size_t>(n.integer("stacked"));
  const std::int64_t trips = n.integer("trips");
  const bool tested = n.truth("tested"), counted = n.truth("counted"), numbered = n.truth("numbered"),
             reverse = n.truth("reverse");
  std::size_t next = 0;
  Name most = trips < 0 ? Name::none : integer(out, trips);
  if (counted) most = most == Name::none ? n[next] : out.node("Min", {n[next], most});
  next += counted;
  Names operands{most, tested ? n[next] : Name::none};
  next += tested;
  const std::size_t first_row = next + carries, first_capture = first_row + rows;
  for (std::size_t i = 0; i < carries; ++i) operands.push_back(n[next + i]);
  if (tested) operands.push_back(integer(out, 0));

  GraphExport body(n.regions()[0], out);
  const Name iteration = body.add_input(number_type), begun = body.add_input(truth_type);
  std::size_t input = 0;
  for (; input < carries; ++input) body.name_input(input, body.add_input(n.result(input)));
  const Name done = tested ? body.add_input(number_type) : Name::none;
  const Name row = reverse ? body.node("Sub", {body.node("Sub", {most, integer(body, 1)}), iteration}) : iteration;
  if (numbered) body.name_input(input++, row);
  for (std::size_t i = first_row; i < first_capture; ++i) body.name_input(input++, body.node("Gather", {n[i], row}));
  for (std::size_t i = first_capture; i < n.inputs().size(); ++i) body.name_input(input++, n[i]);
  body.write_nodes();
  body.add_output(tested ? body.output(carries) : begun, truth_type);
  for (std::size_t i = 0; i < carries; ++i) body.add_output(body.output(i), n.result(i));
  if (tested) body.add_output(body.node("Add", {done, integer(body, 1)}), number_type);
  for (std::size_t i = 0; i < stacks; ++i) {
    ListedTensor type = n.result(carries + i);
    type.shape.erase(0);
    body.add_output(body.output(carries + tested + i), type);
  }

  Names results = out.nodes("Loop", operands, carries + tested + stacks, {{"body", body.graph()}});
  if (tested) std::rotate(results.begin() + carries, results.begin() + carries + 1, results.end());
  for (std::size_t i = carries; i < carries + stacks; ++i) {
    if (reverse) {
      results[i] = out.node(
          "Slice", {results[i], out.integers({-1}), out.integers({INT64_MIN}), out.integers({0}), out.integers({-1})});
    }
    if (tested || counted) results[i] = with_zeros_behind(out, results[i], n.result(i));
  }
  return results;
}

constexpr ExportRow region_table[] = {
    {"branch", write_branch},
    {"loop", write_loop},
};

}  // namespace

std::span<const ExportRow> region_exports() { return region_table; }

}  // namespace tyto::onnx
