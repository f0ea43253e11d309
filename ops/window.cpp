// SPDX-License-Identifier: MIT
// Resolves padding, stride and dilation of windows to numbers for each axis, and counts how many windows fit.
#include "ops/window.hpp"

namespace tyto::core {

namespace {
// Far above any picture and far below overflow of a product of two.
constexpr std::int64_t largest = std::int64_t{1} << 30;
}  // namespace

IntList per_axis(std::string_view op, std::string_view what, const IntList& given, std::size_t rank,
                 std::int64_t least) {
  if (given.size() != 1 && given.size() != rank) {
    throw_error<ShapeError>(op, ": ", what, " ", given, " has ", given.size(), " entries for ", rank, " spatial axes");
  }
  IntList out(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    out[i] = given.size() == 1 ? given[0] : given[i];
    if (out[i] < least) throw_error<ValueError>(op, ": ", what, " ", given, " must be at least ", least);
    if (out[i] > largest) throw_error<ValueError>(op, ": ", what, " ", given, " must be at most ", largest);
  }
  return out;
}

void resolve_padding(std::string_view op, const Padding& padding, std::span<const std::int64_t> sizes,
                     WindowAttributes& attributes) {
  const std::size_t rank = sizes.size();
  if (padding.kind() == Padding::Kind::explicit_counts) {
    attributes.before = per_axis(op, "padding", padding.before(), rank, 0);
    attributes.after = per_axis(op, "padding", padding.after(), rank, 0);
    return;
  }
  attributes.before = attributes.after = IntList(rank, 0);
  if (padding.kind() == Padding::Kind::valid) return;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t results = (sizes[i] + attributes.stride[i] - 1) / attributes.stride[i];
    const std::int64_t reach = (attributes.window[i] - 1) * attributes.dilation[i] + 1;
    const std::int64_t total = std::max<std::int64_t>((results - 1) * attributes.stride[i] + reach - sizes[i], 0);
    attributes.before[i] = total / 2;
    attributes.after[i] = total - total / 2;
  }
}

namespace {

void check_window(std::string_view op, std::size_t rank, const WindowAttributes& a) {
  struct Row {
    const IntList* list;
    std::int64_t least;
  };
  for (const Row row :
       {Row{&a.window, 1}, Row{&a.stride, 1}, Row{&a.dilation, 1}, Row{&a.before, 0}, Row{&a.after, 0}}) {
    if (row.list->size() != rank) {
      throw_error<ShapeError>(op, ": windows of ", row.list->size(), " axes over ", rank, " spatial axes");
    }
    for (const std::int64_t number : *row.list) {
      if (number < row.least || number > largest) {
        throw_error<ValueError>(op, ": the number ", number, " of a window is outside [", row.least, ", ", largest,
                                "]");
      }
    }
  }
  if (a.groups < 1) throw_error<ValueError>(op, ": ", a.groups, " groups; at least one is needed");
}

}  // namespace

void check_image(std::string_view op, const Shape& shape) {
  check_lengths(op, shape);
  if (shape.rank() < 3 || shape.rank() > 5) {
    throw_error<ShapeError>(op, ": (batch, 1 to 3 spatial axes, channels) are needed, not shape ", shape);
  }
}

std::span<const std::int64_t> spatial(const Shape& shape) { return {shape.data() + 1, shape.size() - 2}; }

Shape with_spatial(std::int64_t batch, const Shape& sizes, std::int64_t channels) {
  Shape shape{batch};
  for (const std::int64_t size : sizes) shape.push_back(size);
  shape.push_back(channels);
  return shape;
}

WindowAttributes shaped(const Attributes& attributes, const Shape& shape) {
  WindowAttributes out = get<WindowAttributes>(attributes);
  out.shape = shape;
  return out;
}

Shape window_sizes(std::string_view op, std::span<const std::int64_t> sizes, const WindowAttributes& a) {
  check_window(op, sizes.size(), a);
  Shape out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out.push_back(window_count(op, sizes[i], a.window[i], a.stride[i], a.dilation[i], a.before[i], a.after[i]));
  }
  return out;
}

IntList channels_last(int rank) {
  IntList order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

IntList channels_first(int rank) {
  IntList order{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) order.push_back(i);
  return order;
}

}  // namespace tyto::core
