// SPDX-License-Identifier: MIT
// Text that all kernels of products share: operands, sizes, epilogues.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/value/text.hpp"
#include "devices/opencl/products/matrix_product.hpp"
#include "devices/opencl/text/kernel_text.hpp"
#include "devices/opencl/text/loop_axes.hpp"

namespace tyto::opencl {

/// The C type of sums. Integers wrap, which only unsigned arithmetic defines.
inline const char* sum_type(DType type) {
  switch (compute_of(type)) {
    case Compute::i32: return "uint";
    case Compute::i64:
    case Compute::u64: return "ulong";
    case Compute::f32: return "float";
    default: return "double";
  }
}

class ProductText {
 public:
  ProductText(const MatrixProduct& product, bool narrow_indices)
      : kernel_(narrow_indices),
        product_(product),
        result_(product.c.dtype),
        type_(sum_type(product.c.dtype)),
        batch_{LoopAxes("ba", product.a.batch), LoopAxes("bb", product.b.batch), LoopAxes("bc", product.c.batch)},
        rows_("ra", product.a.rows),
        result_rows_("rc", product.c.rows),
        depth_{LoopAxes("da", product.a.columns), LoopAxes("db", product.b.rows)} {}

 protected:
  void memory(const ProductOperand& operand, std::string_view name) {
    kernel_.memory(operand.role, operand.index, storage_name(operand.dtype), size_of(operand.dtype), operand.offset,
                   name);
  }
  void epilogue_memory() {
    if (!product_.epilogue) return;
    const ProductEpilogue& epilogue = *product_.epilogue;
    const auto input = [&](std::size_t which, std::int64_t offset, std::string_view name) {
      kernel_.memory(MemoryArgument::Role::input, which, storage_name(result_), size_of(result_), offset, name);
    };
    for_each_column_operand([&](const ColumnOperand& operand, std::string_view name) {
      input(operand.input, operand.offset, name);
      kernel_.number(core::text(name, "_step"), operand.stride);
      kernel_.number(core::text(name, "_batch_step"), operand.batch_stride);
    });
    if (epilogue.residual) input(*epilogue.residual, epilogue.residual_offset, "residual");
    if (!epilogue.is_limited) return;
    const bool wide = compute_of(result_) == Compute::f64;
    const auto limit = [&](double at) { return wide ? Argument(at) : Argument(static_cast<float>(at)); };
    kernel_.constant(type_, "low", limit(epilogue.low));
    kernel_.constant(type_, "high", limit(epilogue.high));
  }
  void sizes() {
    kernel_.number("m", product_.m);
    kernel_.number("n", product_.n);
    kernel_.number("k", product_.k);
    batch_[0].declare_lengths(kernel_);  // of all three
  }
  void axes(const LoopAxes& axes) {
    axes.declare_lengths(kernel_);
    axes.declare_strides(kernel_);
  }
  // A unit stride is part of the text: it decides how memory is read.
  void stride(const std::string& name, std::int64_t value) {
    if (value == 1) {
      kernel_.line(core::text("  const ", kernel_.index(), " ", name, " = 1;"));
    } else {
      kernel_.number(name, value);
    }
  }
  void batch_axes(int which) { batch_[which].declare_strides(kernel_); }
  void b_columns() { stride("b_column", product_.b.columns.strides[0]); }
  bool has_row_axes() const { return result_rows_.rank() > 1; }
  void c_strides() {
    if (has_row_axes()) result_rows_.declare_strides(kernel_);
    else stride("c_row", product_.c.rows.strides[0]);
    stride("c_column", product_.c.columns.strides[0]);
  }

  /// The result, what the epilogue reads, and the strides of all axes.
  void result_and_sizes() {
    memory(product_.c, "c");
    epilogue_memory();
    sizes();
    b_columns();
    c_strides();
    for (int which = 0; which < 3; ++which) batch_axes(which);
    axes(rows_);
    for (const LoopAxes& depth : depth_) axes(depth);
  }
  void split_batch(std::string_view index) {
    kernel_.line(core::text("  ", batch_[0].split("batch", index, kernel_.index())));
  }
  void start_column_operands(std::string_view batch) {
    for_each_column_operand([&](const ColumnOperand&, std::string_view name) {
      kernel_.line(
          core::text("  const ", kernel_.index(), " ", name, "_start = (", batch, ") * ", name, "_batch_step;"));
    });
  }
  void start(int which) {
    static constexpr const char* names[3] = {"a", "b", "c"};
    kernel_.line(
        core::text("  const ", kernel_.index(), " ", names[which], "_start = ", batch_[which].place("batch"), ";"));
  }

  /// Calls visit(operand, its name in the text) for each that there is.
  template <class Visit>
  void for_each_column_operand(const Visit& visit) const {
    if (!product_.epilogue) return;
    if (product_.epilogue->scale) visit(*product_.epilogue->scale, "scale");
    if (product_.epilogue->bias) visit(*product_.epilogue->bias, "bias");
  }
  /// An element of an operand as it is multiplied.
  std::string element(DType type, std::string_view pointer, std::string_view index) const {
    return core::text("(", type_, ")(", load(type, pointer, index), ")");
  }
  /// x and y, multiplied, added to a sum.
  std::string plus_product(const std::string& sum, const std::string& x, const std::string& y) const {
    if (result_ == DType::boolean) return core::text(sum, " | (", x, " & ", y, ")");
    return is_floating(compute_of(result_)) ? core::text("fma(", x, ", ", y, ", ", sum, ")")
                                            : core::text(sum, " + ", x, " * ", y);
  }
  std::string plus(std::string_view a, std::string_view b) const {
    return core::text(a, result_ == DType::boolean ? " | " : " + ", b);
  }
  std::string of_column(std::string_view name, std::string_view column) const {
    return element(result_, name, core::text(name, "_start + (", column, ") * ", name, "_step"));
  }
  /// A statement that scales `value` of a column.
  std::string with_scale(std::string_view value, std::string_view column) const {
    if (!product_.epilogue || !product_.epilogue->scale) return "";
    return core::text(value, " = ", value, " * ", of_column("scale", column), "; ");
  }
  /// A statement that adds the residual's element at `index` of c to `value`.
  std::string with_residual(std::string_view value, std::string_view index) const {
    if (!product_.epilogue || !product_.epilogue->residual) return "";
    return core::text(value, " = ", plus(value, element(result_, "residual", index)), ";");
  }
  /// Statements that do to `value` of a column what comes last. NaN passes the limits.
  std::string with_bias_and_limits(std::string_view value, std::string_view column) const {
    std::string out;
    if (!product_.epilogue) return out;
    if (product_.epilogue->bias) {
      out += core::text(value, " = ", plus(value, of_column("bias", column)), "; ");
    }
    if (product_.epilogue->is_limited) {
      out += core::text(value, " = ", value, " < low ? low : ", value, "; ", value, " = ", value,
                        " > high ? high : ", value, ";");
    }
    return out;
  }

  KernelText kernel_;
  const MatrixProduct& product_;
  DType result_;
  std::string type_;
  LoopAxes batch_[3];
  LoopAxes rows_;         // of a
  LoopAxes result_rows_;  // of c: one axis, or the axes of a's rows
  LoopAxes depth_[2];     // the inner dimension, in a and in b
};

}  // namespace tyto::opencl
