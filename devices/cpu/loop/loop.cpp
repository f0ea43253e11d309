// SPDX-License-Identifier: MIT
// Prepares kernels of element-wise operators, softmaxes and fused groups: chooses how the loop is run, by machine code
// or the interpreter.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/loop/operator_loop.hpp"
#include "core/value/shape.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/element_source.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "devices/cpu/loop/loop_kernels.hpp"
#include "devices/cpu/loop/product_kernel.hpp"
#include "devices/cpu/loop/reduction.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

/// Rows that machine code reduces in the order in which a reduction alone would, which cuts longer ones.
constexpr std::int64_t longest_row = 16384;
/// So many rows occupy the threads, however long they are.
constexpr std::int64_t enough_rows = 32;

/// A loop that ends in one reduction: its elements are computed in the reduction's kernel, as this reads them.
KernelRef prepare_fold(const core::BoundLoop& bound) {
  core::LoopProgram elements = bound.loop.program;
  const OpId op = elements.instructions.back().op;
  elements.outputs = {elements.instructions.back().operands[0]};
  elements.instructions.pop_back();
  const DType type = core::value_types(elements, bound.input_types())[elements.outputs[0]];
  const core::Operand whole{type, core::View::dense(bound.loop.shape)};
  const core::Attributes over = core::fold_attributes(op, bound.loop.axes);
  const core::Step reduction{op, &over, {&whole, 1}, bound.outputs};
  if (whole.view.count() == 0) return prepare_reduction(reduction);
  const bool floating = whole.dtype == DType::f32 || whole.dtype == DType::f64;
  const bool summed = reduction_of(op).fold == Fold::sum && floating;
  const std::int64_t line = whole.view.count() / bound.outputs[0].view.count();
  const core::BoundLoop source = bound_loop(std::move(elements), bound.inputs, {whole});
  return prepare_reduction(reduction, prepare_source(source, summed ? line : 0));
}

/// Axes of length one may come behind.
bool reduces_last_axes(const core::LoopAttributes& loop) {
  for (std::int64_t axis = std::ranges::min(loop.axes); axis < loop.shape.rank(); ++axis) {
    const bool reduced = std::ranges::find(loop.axes, axis) != loop.axes.end();
    if (!reduced && loop.shape[static_cast<std::size_t>(axis)] != 1) return false;
  }
  return true;
}

/// Whether machine code reduces the rows of a loop that ends in its only reduction, as it computes them.
bool folds_rows(const core::BoundLoop& bound, std::int64_t length, std::int64_t rows) {
  if (taken_as_columns(length, rows) || length > longest_row) return false;
  const core::LoopInstruction& fold = bound.loop.program.instructions.back();
  const std::vector<DType> types = core::value_types(bound.loop.program, bound.input_types());
  return jit::is_available() && jit::partial_type(fold.op, types[fold.operands[0]]).has_value();
}

/// Results begin where their memory does and have no gaps; parts of complex numbers lie between each other.
bool writes_dense(const core::BoundLoop& bound) {
  return std::ranges::all_of(bound.outputs, [](const core::Operand& result) {
    return core::is_dense(result.view) && result.view.offset == 0;
  });
}

/// The loop over rows with the axes before the reduced ones merged where all operands step through them evenly, so that
/// blocks of rows may be cut anywhere.
core::BoundLoop with_merged_rows(core::BoundLoop bound) {
  const auto each_view = [&](const auto& visit) {
    for (core::Operand& input : bound.inputs) visit(input.view);
    for (core::Operand& output : bound.outputs) visit(output.view);
  };
  const auto mergeable = [&](std::size_t axis) {
    const Shape& shape = bound.loop.shape;
    bool all = true;
    const auto alike = [&](const Shape& own) {
      const std::size_t missing = shape.size() - own.size();
      const auto varies = [&](std::size_t i) { return i >= missing && own[i - missing] == shape[i]; };
      return varies(axis) == varies(axis + 1);
    };
    each_view([&](const core::View& view) {
      all = all && alike(view.shape) && view.strides[axis] == view.strides[axis + 1] * view.shape[axis + 1];
    });
    return all && std::ranges::all_of(bound.given, alike);
  };
  for (auto axis = static_cast<std::size_t>(std::ranges::min(bound.loop.axes)); axis-- > 1;) {
    if (!mergeable(axis - 1)) continue;
    const auto merge = [axis](auto& list) {
      list[axis - 1] *= list[axis];
      list.erase(axis);
    };
    for (Shape& shape : bound.given) {
      while (shape.size() < bound.loop.shape.size()) shape.insert(0, 1);
      merge(shape);
    }
    each_view([&](core::View& view) {
      merge(view.shape);
      view.strides.erase(axis - 1);
    });
    merge(bound.loop.shape);
    for (std::int64_t& reduced : bound.loop.axes) --reduced;
  }
  return bound;
}

/// The loop with its reduced axes in front and, behind them, the longest of the others.
core::BoundLoop as_columns(core::BoundLoop bound) {
  const auto rank = static_cast<std::size_t>(bound.loop.shape.rank());
  const auto reduced = [&](std::int64_t axis) {
    return std::ranges::find(bound.loop.axes, axis) != bound.loop.axes.end();
  };
  const auto length = [&](std::int64_t axis) { return bound.loop.shape[static_cast<std::size_t>(axis)]; };
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_partition(order, reduced);
  const auto others = order.begin() + static_cast<std::ptrdiff_t>(bound.loop.axes.size());
  const auto longest = std::max_element(others, order.end(), [&](auto a, auto b) { return length(a) < length(b); });
  std::rotate(others, longest, longest + 1);

  const IntList axes(order);
  const auto permute = [&](Shape& shape) {
    while (shape.size() < rank) shape.insert(0, 1);
    shape = core::permute(core::View::dense(shape), axes).shape;
  };
  for (core::Operand& input : bound.inputs) input.view = core::permute(input.view, axes);
  for (core::Operand& output : bound.outputs) output.view = core::permute(output.view, axes);
  for (Shape& shape : bound.given) permute(shape);
  permute(bound.loop.shape);
  for (std::size_t i = 0; i < bound.loop.axes.size(); ++i) bound.loop.axes[i] = static_cast<std::int64_t>(i);
  return bound;
}

KernelRef prepare_loop(const core::BoundLoop& bound, const KernelChoice& choice) {
  const core::LoopAttributes& loop = bound.loop;
  if (loop.axes.empty()) {
    auto kernel = prepare_elements(bound, choice);
    const bool whole = bound.input_of.empty() && bound.output_of.empty();
    return whole ? may_follow_product(std::move(kernel), bound) : kernel;
  }
  const std::int64_t rows = element_count(core::reduced_shape(loop.shape, loop.axes, true));
  const std::int64_t length = rows == 0 ? 0 : element_count(loop.shape) / rows;
  const bool last = reduces_last_axes(loop);
  if (core::ends_in_its_only_reduction(loop.program)) {
    return last && folds_rows(bound, length, rows) ? prepare_rows(bound) : prepare_fold(bound);
  }
  if (last && taken_as_columns(length, rows)) return prepare_staged(as_columns(with_merged_rows(bound)));
  const bool in_rows = last && length != 0 && (length <= longest_row || rows >= enough_rows) && writes_dense(bound);
  if (rows == 0 || in_rows) return prepare_rows(bound);
  return prepare_staged(bound);
}

/// A loop over parts of its step's operands: each address goes to all of the loop's operands that are parts of what
/// lies there. Addresses are repeated on the stack, so that a launch allocates nothing.
class PartKernel final : public core::Kernel {
 public:
  PartKernel(KernelRef kernel, std::vector<std::size_t> input_of, std::vector<std::size_t> output_of)
      : kernel_(std::move(kernel)), input_of_(std::move(input_of)), output_of_(std::move(output_of)) {}

  std::size_t workspace() const override { return kernel_->workspace(); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    std::array<core::Address, most_operands> from, to;
    for (std::size_t i = 0; i < input_of_.size(); ++i) from[i] = inputs[input_of_[i]];
    for (std::size_t i = 0; i < output_of_.size(); ++i) to[i] = outputs[output_of_[i]];
    kernel_->launch(std::span(from).first(input_of_.size()), std::span(to).first(output_of_.size()), workspace);
  }

 private:
  KernelRef kernel_;
  std::vector<std::size_t> input_of_, output_of_;
};

constexpr auto prepare = [](const core::Step& step) { return prepare_elementwise(step); };

/// Elements along the traversed axis must be contiguous.
std::uint64_t requires_dense(const core::Step& step) {
  const core::View& x = step.inputs[0].view;
  if (x.rank() == 0 || x.count() == 0) return 0;
  const std::int64_t nearest = x.shape.back() == 1 ? 1 : x.strides.back();
  return nearest == 0 || nearest == 1 ? 0 : 1;
}

/// Groups without reductions write results of any strides; what reduces rows writes them one behind the other.
bool writes_strided(const core::Step& step) { return std::get<core::LoopAttributes>(*step.attributes).axes.empty(); }

constexpr KernelEntry entries[] = {{OpId::fused, prepare, nullptr, writes_strided},
                                   {OpId::softmax, prepare, requires_dense},
                                   {OpId::log_softmax, prepare, requires_dense}};

constexpr auto elementwise_entries = [] {
  std::array<KernelEntry, core::elementwise_count + 2> list{};
  list.fill({OpId::cast, prepare, nullptr, any_result});
  for (std::size_t i = 0; i < core::elementwise_count; ++i) list[i].op = static_cast<OpId>(i);
  list.back().op = OpId::copy;
  return list;
}();

}  // namespace

KernelRef prepare_elementwise(const core::Step& step, const KernelChoice& choice) {
  const core::BoundLoop bound = *core::loop_of(step);
  KernelRef kernel = prepare_loop(bound, choice);
  if (bound.input_of.empty() && bound.output_of.empty()) return kernel;
  return std::make_shared<const PartKernel>(std::move(kernel), bound.input_of, bound.output_of);
}

std::span<const KernelEntry> loop_kernels() { return entries; }
std::span<const KernelEntry> elementwise_kernels() { return elementwise_entries; }

}  // namespace tyto::cpu
