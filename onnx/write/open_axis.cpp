// SPDX-License-Identifier: MIT
// Compares models that were written for several lengths: parts that are equal, linear in the length, or refused.
#include "onnx/write/open_axis.hpp"

#include <algorithm>

#include "core/value/text.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... why) {
  core::throw_error<GraphError>("write_onnx: the axis cannot be left open: ", why...);
}

/// "2, 3, 5".
template <class List, class Read>
std::string listed(const List& list, Read&& read) {
  std::string text;
  for (const auto& each : list) text += core::text(text.empty() ? "" : ", ", read(each));
  return text;
}

std::string lengths_of(const std::vector<WrittenParts>& parts) {
  return listed(parts, [](const WrittenParts& each) { return each.length; });
}

/// The line through the first two values, if all lie on it.
std::optional<LinearLength> line_through(const std::vector<WrittenParts>& parts,
                                         const std::vector<std::int64_t>& values) {
  const std::int64_t run = parts[1].length - parts[0].length, rise = values[1] - values[0];
  if (rise % run != 0) return std::nullopt;
  const LinearLength line{values[0] - rise / run * parts[0].length, rise / run};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (line.offset + line.factor * parts[i].length != values[i]) return std::nullopt;
  }
  return line;
}

/// A line for each place of lists of one length.
std::optional<std::vector<LinearLength>> lines_through(const std::vector<WrittenParts>& parts,
                                                       const std::vector<std::vector<std::int64_t>>& lists) {
  std::vector<LinearLength> lines;
  for (std::size_t place = 0; place < lists[0].size(); ++place) {
    std::vector<std::int64_t> values;
    for (const std::vector<std::int64_t>& list : lists) {
      if (list.size() != lists[0].size()) return std::nullopt;
      values.push_back(list[place]);
    }
    const std::optional<LinearLength> line = line_through(parts, values);
    if (!line) return std::nullopt;
    lines.push_back(*line);
  }
  return lines;
}

std::optional<std::vector<LinearLength>> lines_through(const std::vector<WrittenParts>& parts,
                                                       const std::vector<Shape>& shapes) {
  std::vector<std::vector<std::int64_t>> lists;
  for (const Shape& shape : shapes) {
    if (shape.size() != shapes[0].size()) return std::nullopt;
    lists.emplace_back(shape.begin(), shape.end());
  }
  return lines_through(parts, lists);
}

bool same_bytes(const Tensor<Eager>& a, const Tensor<Eager>& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

/// Whether both are filled with the same element.
bool filled_alike(const Tensor<Eager>& a, const Tensor<Eager>& b) {
  const std::size_t width = size_of(a.dtype());
  if (a.dtype() != b.dtype() || a.size() == 0 || b.size() == 0) return false;
  const std::span<const std::byte> first = a.bytes().first(width);
  for (const Tensor<Eager>* each : {&a, &b}) {
    for (std::size_t at = 0; at < each->bytes().size(); at += width) {
      if (!std::ranges::equal(first, each->bytes().subspan(at, width))) return false;
    }
  }
  return true;
}

/// Whether both are vectors that begin with the same number and rise by the same step.
bool counted_alike(const Tensor<Eager>& a, const Tensor<Eager>& b) {
  if (a.dtype() != DType::i64 || b.dtype() != DType::i64 || a.ndim() != 1 || b.ndim() != 1) return false;
  const std::vector<std::int64_t> first = a.to_vector<std::int64_t>(), second = b.to_vector<std::int64_t>();
  if (first.size() < 2 || second.size() < 2 || first[0] != second[0]) return false;
  const std::int64_t step = first[1] - first[0];
  const auto rises = [&](const std::vector<std::int64_t>& list) {
    return std::ranges::adjacent_find(list, [&](auto x, auto y) { return y - x != step; }) == list.end();
  };
  return step != 0 && rises(first) && rises(second);
}

std::optional<OpenConstant> compared_constant(const std::vector<WrittenParts>& parts, std::size_t number) {
  std::vector<Tensor<Eager>> values;
  for (const WrittenParts& each : parts) values.push_back(each.constants[number]);
  const Tensor<Eager>& first = values[0];
  const auto all_of = [&](auto&& test) { return std::all_of(values.begin() + 1, values.end(), test); };
  if (all_of([&](const auto& other) { return same_bytes(first, other); })) return std::nullopt;
  if (all_of([&](const auto& other) { return other.shape() == first.shape(); })) {
    if (first.dtype() == DType::i64 && first.ndim() <= 1) {
      std::vector<std::vector<std::int64_t>> lists;
      for (const Tensor<Eager>& value : values) lists.push_back(value.to_vector<std::int64_t>());
      if (const auto lines = lines_through(parts, lists)) return OpenConstant{OpenConstant::Kind::integers, *lines};
    }
  } else {
    std::vector<Shape> shapes;
    for (const Tensor<Eager>& value : values) shapes.push_back(value.shape());
    const auto lines = lines_through(parts, shapes);
    const bool filled = all_of([&](const auto& other) { return filled_alike(first, other); });
    const bool counted = all_of([&](const auto& other) { return counted_alike(first, other); });
    if (lines && filled) return OpenConstant{OpenConstant::Kind::fill, *lines};
    if (lines && counted) return OpenConstant{OpenConstant::Kind::range, *lines};
  }
  refuse("a constant of '", parts[0].uses[number], "', of type ", name_of(first.dtype()), " and shape ", first.shape(),
         " with length ", parts[0].length, ", is neither the same for the lengths ", lengths_of(parts),
         " nor linear in them");
}

}  // namespace

OpenAxis open_axis_of(const std::string& symbol, const std::vector<WrittenParts>& parts) {
  const WrittenParts& first = parts[0];
  for (const WrittenParts& other : parts) {
    const auto differs = std::ranges::mismatch(first.nodes, other.nodes);
    if (differs.in1 != first.nodes.end() || differs.in2 != other.nodes.end()) {
      const auto op = [](auto at, auto end) {
        return at == end ? std::string("no more") : at->substr(0, at->find(' '));
      };
      refuse("the graphs of lengths ", first.length, " and ", other.length, " differ at node ",
             differs.in1 - first.nodes.begin(), ", ", op(differs.in1, first.nodes.end()), " and ",
             op(differs.in2, other.nodes.end()));
    }
    if (other.constants.size() != first.constants.size() || other.shapes.size() != first.shapes.size()) {
      refuse("the graphs of lengths ", first.length, " and ", other.length, " have other inputs or constants");
    }
  }
  OpenAxis axis{symbol, {}, {}};
  for (std::size_t i = 0; i < first.constants.size(); ++i) axis.constants.push_back(compared_constant(parts, i));
  for (std::size_t i = 0; i < first.shapes.size(); ++i) {
    std::vector<Shape> shapes;
    for (const WrittenParts& each : parts) shapes.push_back(each.shapes[i]);
    const auto lines = lines_through(parts, shapes);
    if (!lines) {
      refuse("an input or output of shapes ", listed(shapes, [](const Shape& each) { return each; }),
             " with the lengths ", lengths_of(parts), " is not linear in them");
    }
    axis.shapes.push_back(*lines);
  }
  return axis;
}

}  // namespace tyto::onnx
