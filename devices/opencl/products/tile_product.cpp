// SPDX-License-Identifier: MIT
// The text of products for processors: packing and a register tile.
#include <algorithm>

#include "devices/opencl/products/product_kernels.hpp"
#include "devices/opencl/products/product_text.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

// The register tile of the CPU style: up to four vectors wide, and as many rows as keep its accumulators, a row of the
// panel and a broadcast in the 32 registers of AVX-512, and a pointer to each row in those for addresses. A vector is
// 64 bytes there; narrower machines split it.
constexpr std::int64_t rows_of_tile[most_vectors] = {8, 10, 8, 6};
// Where the rows of a lie side by side, one pointer does for all of a tile: the first shape whose rows divide theirs.
struct TileShape {
  std::int64_t vectors, rows;
  bool adjoining;
};
constexpr TileShape adjoining_shapes[] = {{1, 16, true}, {1, 8, true}, {2, 12, true}, {2, 8, true},
                                          {3, 8, true},  {4, 6, true}, {4, 4, true}};
constexpr std::int64_t depth_block = 512;  // of a packed panel that stays in the second-level cache
constexpr std::int64_t least_rows = 32;    // of a task, where there are as many

std::int64_t lanes_of(DType dtype) { return 64 / static_cast<std::int64_t>(size_of(accumulator_of(dtype))); }
std::int64_t vectors_of(std::int64_t columns, std::int64_t lanes) {
  return std::min(divided_up(columns, lanes), most_vectors);
}

TileShape tile_shape(const MatrixProduct& product, std::int64_t lanes) {
  const std::int64_t vectors = vectors_of(product.n, lanes);
  const core::View& rows = product.a.rows;
  const std::size_t inner = rows.shape.size() - 1;
  if (rows.strides[inner] == 1) {
    for (const TileShape& shape : adjoining_shapes) {
      if (shape.vectors == vectors && rows.shape[inner] % shape.rows == 0) return shape;
    }
  }
  return {vectors, rows_of_tile[vectors - 1], false};
}

// A register tile at a time multiplies rows of a with a panel of b, whose rows each item first copies to a block of its
// own: [depth][lanes of the panel], zeros beyond the last column. The block stays in the second-level cache.
class TileText : ProductText {
 public:
  TileText(const MatrixProduct& product, std::int64_t lanes, const TileShape& shape)
      : ProductText(product, false),
        lanes_(lanes),
        vectors_(shape.vectors),
        width_(lanes * shape.vectors),
        tile_rows_(shape.rows),
        is_adjoining_(shape.adjoining),
        vector_(text(type_, lanes)),
        // Sums of a type that is not stored as it is added up are made in one piece.
        cuts_(accumulator_of(result_) == result_),
        is_panel_(is_panel()) {}

  KernelLaunch generate(LaunchPlan& plan, std::int64_t items) {
    const std::int64_t panels = divided_up(product_.n, width_);
    // Enough tasks for the units to share evenly, but not so few rows of a task that copying the panel costs more than
    // multiplying with it; they are a multiple of the tile.
    const std::int64_t batches = product_.a.batch.count();
    const std::int64_t most_blocks = std::max<std::int64_t>(product_.m / least_rows, 1);
    const std::int64_t blocks = std::clamp<std::int64_t>(divided_up(items, batches * panels), 1, most_blocks);
    const std::int64_t rows = divided_up(divided_up(product_.m, blocks), tile_rows_) * tile_rows_;
    const std::int64_t row_blocks = divided_up(product_.m, rows);
    const std::int64_t tasks = batches * panels * row_blocks, busy = std::clamp<std::int64_t>(items, 1, tasks);
    const std::int64_t block = (cuts_ ? std::min(product_.k, depth_block) : product_.k) * width_;
    memory(product_.b, "b");
    memory(product_.a, "a");
    if (!is_panel_) {
      workspace(plan, busy * block, "packed");
      kernel_.number("block", block);
    }
    result_and_sizes();
    kernel_.number("panels", panels);
    kernel_.number("rows", rows);
    kernel_.number("row_blocks", row_blocks);
    kernel_.distribute(tasks, items);
    kernel_.line("  const long panel = task / row_blocks % panels;");
    split_batch("task / (row_blocks * panels)");
    start_column_operands("task / (row_blocks * panels)");
    for (int which = 0; which < 3; ++which) start(which);
    kernel_.line(text("  const long column = panel * ", width_, ";"));
    kernel_.line("  const long first_row = task % row_blocks * rows;");
    kernel_.line("  const long past_row = min(first_row + rows, m);");
    kernel_.line("  long depth = 0;");
    kernel_.line("  do {");
    kernel_.line(text("  const long until = ", cuts_ ? text("min(depth + ", depth_block, ", k)") : "k", ";"));
    if (is_panel_) {
      kernel_.line(
          text("  const global ", type_, "* const panel_start = b + b_start + (panel * k + depth) * ", width_, ";"));
    } else {
      kernel_.line(text("  global ", type_, "* const panel_start = packed + (long)get_global_id(0) * block;"));
      pack();
    }
    kernel_.line(text("  ", rows_.split("r", "first_row", "long")));
    kernel_.line(text("  for (long row = first_row; row < past_row; row += ", tile_rows_, ") {"));
    tile();
    kernel_.line("  }");
    kernel_.line("  depth = until;");
    kernel_.line("  } while (depth < k);");
    kernel_.line("  }");
    return kernel_.finish();
  }

 private:
  /// Whether b lies in memory as its one panel would be packed.
  bool is_panel() const {
    const core::View& rows = product_.b.rows;
    return product_.n == width_ && product_.b.columns.strides[0] == 1 && rows.rank() == 1 &&
           rows.strides[0] == width_ && is_floating(result_) && product_.b.dtype == accumulator_of(result_);
  }

  /// So many elements of the workspace, of the type of sums.
  void workspace(LaunchPlan& plan, std::int64_t elements, std::string_view name) {
    const std::size_t size = size_of(accumulator_of(result_));
    const std::size_t at = plan.reserve(static_cast<std::size_t>(elements) * size);
    kernel_.memory(Role::workspace, 0, type_, size, static_cast<std::int64_t>(at / size), name);
  }

  // Copies rows depth ... until - 1 of the panel.
  void pack() {
    const LoopAxes& depth = depth_[1];
    const std::string inner = text("e_c", depth.rank() - 1);
    kernel_.line("  {");
    kernel_.line(text("  global ", type_, "* to = panel_start;"));
    kernel_.line(text("  const long width = min(n - column, (long)", width_, ");"));
    kernel_.line(text("  ", depth.split("e", "depth", "long")));
    kernel_.line("  for (long i = depth; i < until;) {");
    kernel_.line(text("  const long run = min(db_n", depth.rank() - 1, " - ", inner, ", until - i);"));
    kernel_.line(text("  const long from = b_start + column * b_column + ", depth.place("e"), ";"));
    kernel_.line("  long j = 0;");
    const bool is_plain = is_floating(result_) && product_.b.dtype == accumulator_of(result_);
    kernel_.line(text("  if (width == ", width_, ") {"));
    if (is_plain && product_.b.columns.strides[0] == 1) pack_vectors();
    else if (is_plain && depth.inner_stride() == 1) pack_transposed();
    kernel_.line("    for (; j < run; ++j) {");
    kernel_.line(text("      for (int l = 0; l < ", width_, "; ++l) to[j * ", width_, " + l] = ", b_at("l"), ";"));
    kernel_.line("    }");
    kernel_.line("  }");
    kernel_.line("  for (; j < run; ++j) {");
    kernel_.line(text("    for (int l = 0; l < width; ++l) to[j * ", width_, " + l] = ", b_at("l"), ";"));
    kernel_.line(text("    for (int l = width; l < ", width_, "; ++l) to[j * ", width_, " + l] = 0;"));
    kernel_.line("  }");
    kernel_.line(text("  to += run * ", width_, "; i += run; ", inner, " = 0; ", depth.advance("e")));
    kernel_.line("  }");
    kernel_.line("  }");
  }

  std::string b_at(std::string_view lane) const {
    return element(product_.b.dtype, "b", text("from", depth_[1].inner_term("j"), " + ", lane, " * b_column"));
  }

  void pack_vectors() {
    kernel_.line("    for (; j < run; ++j) {");
    kernel_.line(text("      const global ", type_, "* const row = b + from", depth_[1].inner_term("j"), ";"));
    for (int v = 0; v < vectors_; ++v) {
      kernel_.line(text("      vstore", lanes_, "(vload", lanes_, "(", v, ", row), ", v, ", to + j * ", width_, ");"));
    }
    kernel_.line("    }");
  }

  // Columns lie behind each other: squares of them are transposed, by as many shuffles as there are powers of two.
  void pack_transposed() {
    kernel_.line(text("    for (; j + ", lanes_, " <= run; j += ", lanes_, ") {"));
    kernel_.line(text("      for (int v = 0; v < ", vectors_, "; ++v) {"));
    kernel_.line(text("        const global ", type_, "* const square = b + from + j + v * ", lanes_, " * b_column;"));
    for (int l = 0; l < lanes_; ++l) {
      kernel_.line(text("        const ", vector_, " t0_", l, " = vload", lanes_, "(0, square + ", l, " * b_column);"));
    }
    int stage = 0;
    for (std::int64_t apart = lanes_; apart > 1; apart /= 2, ++stage) {
      for (int l = 0; l < lanes_ / 2; ++l) {
        const std::string one = text("t", stage, "_", l), other = text("t", stage, "_", l + lanes_ / 2);
        for (const int half : {0, 1}) {
          kernel_.line(text("        const ", vector_, " t", stage + 1, "_", 2 * l + half, " = ",
                            interleaved(one, other, half * static_cast<int>(lanes_) / 2), ";"));
        }
      }
    }
    for (int l = 0; l < lanes_; ++l) {
      kernel_.line(text("        vstore", lanes_, "(t", stage, "_", l, ", v, to + (j + ", l, ") * ", width_, ");"));
    }
    kernel_.line("      }");
    kernel_.line("    }");
  }

  /// Elements of two vectors in turn, from the given one on.
  std::string interleaved(std::string_view one, std::string_view other, int from) const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string list;
    for (int l = 0; l < lanes_ / 2; ++l) {
      const char digit = digits[from + l];
      list += text(l == 0 ? "" : ", ", one, ".s", digit, ", ", other, ".s", digit);
    }
    return text("(", vector_, ")(", list, ")");
  }

  void tile() {
    const std::string last_row = text("r_c", rows_.rank() - 1), row_length = text("ra_n", rows_.rank() - 1);
    const auto next_row = [&](std::int64_t count) {
      const std::string past = text(last_row, " += ", count, "; ");
      return rows_.rank() == 1 ? past
                               : text(past, "if (", last_row, " == ", row_length, ") { ", last_row, " = 0; ",
                                      rows_.advance("r"), " }");
    };
    for (int r = 0; r < (is_adjoining_ ? 1 : tile_rows_); ++r) {
      kernel_.line(text("    const long at", r, " = a_start + ", rows_.place("r"), ";"));
      if (has_row_axes()) kernel_.line(text("    const long to", r, " = c_start + ", result_rows_.place("r"), ";"));
      // Rows past the end repeat the last one, and are not stored.
      if (!is_adjoining_) kernel_.line(text("    if (row + ", r, " + 1 < past_row) { ", next_row(1), " }"));
    }
    if (is_adjoining_) kernel_.line(text("    ", next_row(tile_rows_)));
    for (int r = 0; r < tile_rows_; ++r) kernel_.line(text("    ", vector_, " ", sums(r), ";"));
    kernel_.line(text("    const global ", type_, "* w = panel_start;"));
    const LoopAxes& depth = depth_[0];
    const std::string inner = text("d_c", depth.rank() - 1);
    kernel_.line(text("    ", depth.split("d", "depth", "long")));
    kernel_.line("    for (long i = depth; i < until;) {");
    kernel_.line(text("    const long run = min(da_n", depth.rank() - 1, " - ", inner, ", until - i);"));
    kernel_.line(text("    const long from = ", depth.place("d"), ";"));
    for (int r = 0; r < (is_adjoining_ ? 1 : tile_rows_); ++r) {
      kernel_.line(
          text("    const global ", storage_name(product_.a.dtype), "* restrict a", r, " = a + at", r, " + from;"));
    }
    kernel_.line(text("    for (long j = 0; j < run; ++j, w += ", width_, ") {"));
    for (int v = 0; v < vectors_; ++v) {
      kernel_.line(text("      const ", vector_, " w", v, " = vload", lanes_, "(", v, ", w);"));
    }
    for (int r = 0; r < tile_rows_; ++r) {
      const std::string at = text(is_adjoining_ ? r : 0, depth.inner_term("j"));
      kernel_.line(text("      { const ", vector_, " x = (", vector_, ")(",
                        element(product_.a.dtype, text("a", is_adjoining_ ? 0 : r), at), ");"));
      for (int v = 0; v < vectors_; ++v) {
        const std::string sum = text("s", r, "_", v);
        kernel_.line(text("      ", sum, " = ", plus_product(sum, "x", text("w", v)), ";"));
      }
      kernel_.line("      }");
    }
    kernel_.line("    }");
    kernel_.line(text("    i += run; ", inner, " = 0; ", depth.advance("d")));
    kernel_.line("    }");
    for (int r = 0; r < tile_rows_; ++r) store_row(r);
  }

  /// Where column `column` of a row of the tile is stored.
  std::string result_place(int r) const {
    if (!has_row_axes()) return text("c_start + (row + ", r, ") * c_row + column * c_column");
    const std::string within = is_adjoining_ ? text("to0 + ", r, " * ", result_rows_.inner_step()) : text("to", r);
    return text(within, " + column * c_column");
  }

  std::string sums(int r) const {
    std::string list;
    for (int v = 0; v < vectors_; ++v) list += text(v == 0 ? "" : ", ", "s", r, "_", v, " = 0");
    return list;
  }

  void store_row(int r) {
    kernel_.line(text("    if (row + ", r, " < past_row) {"));
    kernel_.line(text("      const long place = ", result_place(r), ";"));
    kernel_.line(is_stored_as_vectors() ? text("      if (column + ", width_, " <= n) {") : "      {");
    if (is_stored_as_vectors()) {
      for (int v = 0; v < vectors_; ++v) store_vector(r, v);
      kernel_.line("      } else {");
    }
    kernel_.line(text("        ", type_, " part[", width_, "];"));
    for (int v = 0; v < vectors_; ++v) {
      kernel_.line(text("        vstore", lanes_, "(s", r, "_", v, ", ", v, ", part);"));
    }
    kernel_.line(text("        const int count = min(n - column, (long)", width_, ");"));
    kernel_.line("        for (int j = 0; j < count; ++j) {");
    const std::string at = "place + j * c_column";
    kernel_.line(text("          ", type_, " value = part[j]; ", with_scale("value", "column + j")));
    kernel_.line(text("          if (depth != 0) value = ", plus("value", element(result_, "c", at)), ";"));
    if (const std::string added = with_residual("value", at); !added.empty()) {
      kernel_.line(text("          if (depth == 0) { ", added, " }"));
    }
    if (const std::string last = with_bias_and_limits("value", "column + j"); !last.empty()) {
      kernel_.line(text("          if (until == k) { ", last, " }"));
    }
    kernel_.line(text("          ", store(result_, "c", at, "value")));
    kernel_.line("        }");
    kernel_.line("      }");
    kernel_.line("    }");
  }

  bool is_stored_as_vectors() const {
    bool is_so = product_.c.columns.strides[0] == 1 && is_floating(result_) && accumulator_of(result_) == result_;
    for_each_column_operand(
        [&](const ColumnOperand& operand, std::string_view) { is_so = is_so && operand.stride == 1; });
    return is_so;
  }

  // As the elements are stored one by one.
  void store_vector(int r, int v) {
    const auto of = [&](std::string_view name, std::string_view at) {
      return text("vload", lanes_, "(", v, ", ", name, " + ", at, ")");
    };
    const auto of_columns = [&](std::string_view name) { return of(name, text(name, "_start + column")); };
    kernel_.line(text("        { ", vector_, " value = s", r, "_", v, ";"));
    const std::optional<ProductEpilogue>& epilogue = product_.epilogue;
    if (epilogue && epilogue->scale) kernel_.line(text("          value = value * ", of_columns("scale"), ";"));
    kernel_.line(text("          if (depth != 0) value = value + ", of("c", "place"), ";"));
    if (epilogue && epilogue->residual) {
      kernel_.line(text("          if (depth == 0) value = value + ", of("residual", "place"), ";"));
    }
    if (epilogue && (epilogue->bias || epilogue->is_limited)) {
      kernel_.line("          if (until == k) {");
      if (epilogue->bias) kernel_.line(text("            value = value + ", of_columns("bias"), ";"));
      if (epilogue->is_limited) {
        kernel_.line(text("            value = value < (", vector_, ")(low) ? (", vector_, ")(low) : value;"));
        kernel_.line(text("            value = value > (", vector_, ")(high) ? (", vector_, ")(high) : value;"));
      }
      kernel_.line("          }");
    }
    kernel_.line(text("          vstore", lanes_, "(value, ", v, ", c + place); }"));
  }

  std::int64_t lanes_, vectors_, width_, tile_rows_;
  bool is_adjoining_;
  std::string vector_;
  bool cuts_;
  bool is_panel_;
};

}  // namespace

KernelLaunch tile_kernel(const MatrixProduct& product, LaunchPlan& plan, std::int64_t items) {
  const std::int64_t lanes = lanes_of(product.c.dtype);
  return TileText(product, lanes, tile_shape(product, lanes)).generate(plan, items);
}

}  // namespace tyto::opencl
