// SPDX-License-Identifier: MIT
// Repeats operands with one value a column (a slope a channel, say) several times in a row on the stack, and runs the
// loop over rows as many times as long: with 10 columns vectors are 10/16 full otherwise, and a result laid over an
// operand waits for the row before it, whose store its load overlaps.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "devices/cpu/loop/loop_geometry.hpp"

namespace tyto::cpu {

namespace {

/// Rows of as many elements fill their vectors well enough.
constexpr std::int64_t long_row = 64, whole_row = 16;
constexpr std::int64_t fewest_rows = 64;
constexpr std::size_t repeated_bytes = 2048;  ///< of one operand, at most
constexpr std::size_t most_repeated = 4;

class RepeatedRows final : public core::Kernel {
 public:
  /// An input whose row is repeated, in bytes.
  struct Row {
    std::size_t input;
    std::ptrdiff_t start, step;
    std::size_t width;
  };

  RepeatedRows(KernelRef kernel, std::vector<Row> rows, std::int64_t columns, std::int64_t times)
      : kernel_(std::move(kernel)), rows_(std::move(rows)), columns_(columns), times_(times) {}

  std::size_t workspace() const override { return kernel_->workspace(); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    alignas(64) std::array<std::array<std::byte, repeated_bytes>, most_repeated> repeated;
    std::array<core::Address, most_inputs> from;
    std::ranges::copy(inputs, from.begin());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      std::byte* const to = repeated[i].data();
      const std::byte* const x = inputs[row.input].pointer() + row.start;
      for (std::int64_t j = 0; j < columns_; ++j)
        std::memcpy(to + static_cast<std::size_t>(j) * row.width, x + j * row.step, row.width);
      const std::size_t bytes = static_cast<std::size_t>(columns_) * row.width;
      for (std::int64_t k = 1; k < times_; ++k) std::memcpy(to + static_cast<std::size_t>(k) * bytes, to, bytes);
      from[row.input] = {to, 0};
    }
    kernel_->launch({from.data(), inputs.size()}, outputs, workspace);
  }

  static constexpr std::size_t most_inputs = 16;

 private:
  KernelRef kernel_;
  std::vector<Row> rows_;
  std::int64_t columns_, times_;
};

/// The most rows that make one of at most `most` elements and come out even; 1 where there are none.
std::int64_t rows_that_make_one(std::int64_t rows, std::int64_t columns, std::int64_t most) {
  for (std::int64_t times = most / columns; times > 1; --times) {
    if (rows % times == 0) return times;
  }
  return 1;
}

}  // namespace

KernelRef prepare_repeated_rows(const core::BoundLoop& bound, const KernelChoice& choice) {
  const std::span<const core::Operand> inputs = bound.inputs, outputs = bound.outputs;
  const bool whole = bound.input_of.empty() && bound.output_of.empty();
  if (!whole || inputs.empty() || inputs.size() > RepeatedRows::most_inputs) return nullptr;
  auto [views, widths, crossed] = order_axes(inputs, outputs);
  const std::size_t rank = views[0].shape.size();
  if (crossed || rank < 2) return nullptr;
  const std::int64_t columns = views[0].shape[rank - 1], rows = views[0].shape[rank - 2];
  if (columns < 2 || columns >= long_row || columns % whole_row == 0 || rows < fewest_rows) return nullptr;

  std::vector<RepeatedRows::Row> repeated;
  std::size_t widest = 1;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const core::View& view = views[i];
    const std::int64_t row = view.strides[rank - 2], column = view.strides[rank - 1];
    if ((column == 1 && row == columns) || (column == 0 && row == 0 && i < inputs.size())) continue;
    if (i >= inputs.size() || row != 0 || column == 0) return nullptr;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      if (view.strides[axis] != 0) return nullptr;
    }
    const auto width = static_cast<std::size_t>(widths[i]);
    repeated.push_back({i, view.offset * widths[i], column * widths[i], width});
    widest = std::max(widest, width);
  }
  if (repeated.empty() || repeated.size() > most_repeated) return nullptr;
  const std::int64_t times = rows_that_make_one(rows, columns, static_cast<std::int64_t>(repeated_bytes / widest));
  if (times * columns < long_row) return nullptr;

  core::BoundLoop longer = bound;
  for (std::size_t i = 0; i < views.size(); ++i) {
    core::View view = views[i];
    const bool varies = view.strides[rank - 1] != 0;
    view.shape[rank - 2] = rows / times;
    view.shape[rank - 1] = columns * times;
    view.strides[rank - 2] *= times;
    if (varies) view.strides[rank - 1] = 1;
    if (std::ranges::any_of(repeated, [&](const auto& each) { return each.input == i; })) view.offset = 0;
    (i < inputs.size() ? longer.inputs[i] : longer.outputs[i - inputs.size()]).view = view;
  }
  auto kernel = jit::prepare_loop(longer, choice);
  if (kernel == nullptr) return nullptr;
  return std::make_shared<const RepeatedRows>(std::move(kernel), std::move(repeated), columns, times);
}

}  // namespace tyto::cpu
