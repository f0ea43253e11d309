// SPDX-License-Identifier: MIT
// Writes products for processors: packing and a register tile.
#include <algorithm>

#include "devices/opencl/products/product_kernels.hpp"
#include "devices/opencl/products/product_text.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

// The register tile of the CPU style: up to four vectors wide, and as many rows as keep its accumulators, a row of the
// panel and a broadcast in the 32 registers of AVX-512, and a pointer to each row in those for addresses. A vector is
// 64 bytes there; narrower machines split it.
constexpr std::int64_t most_vectors = 4;
constexpr std::int64_t rows_of_tile[most_vectors] = {8, 10, 8, 6};
constexpr std::int64_t depth_block = 512;  // of a packed panel that stays in the second-level cache
constexpr std::int64_t least_rows = 32;    // of a task, where there are as many

std::int64_t lanes_of(DType dtype) { return 64 / static_cast<std::int64_t>(size_of(accumulator_of(dtype))); }

// A register tile at a time multiplies rows of a with a panel of b, whose rows each item first copies to a block of its
// own: [depth][lanes of the panel], zeros beyond the last column. The block stays in the second-level cache.
class TileText : ProductText {
 public:
  explicit TileText(const MatrixProduct& product)
      : ProductText(product, false),
        lanes_(lanes_of(result_)),
        vectors_(std::min(divided_up(product.n, lanes_), most_vectors)),
        width_(lanes_ * vectors_),
        tile_rows_(rows_of_tile[vectors_ - 1]),
        vector_(text(type_, lanes_)),
        // Sums of a type that is not stored as it is added up are made in one piece.
        cuts_(accumulator_of(result_) == result_) {}

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
    const std::size_t size = size_of(accumulator_of(result_));
    const std::size_t at = plan.reserve(static_cast<std::size_t>(busy * block) * size);
    kernel_.memory(Role::workspace, 0, type_, size, static_cast<std::int64_t>(at / size), "packed");
    kernel_.number("block", block);
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
    kernel_.line(text("  global ", type_, "* const panel_start = packed + (long)get_global_id(0) * block;"));
    pack();
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
    const std::string b = element(product_.b.dtype, "b", text("from", depth.inner_term("j"), " + l * b_column"));
    kernel_.line("  for (long j = 0; j < run; ++j) {");
    kernel_.line(text("    for (int l = 0; l < width; ++l) to[j * ", width_, " + l] = ", b, ";"));
    kernel_.line(text("    for (int l = width; l < ", width_, "; ++l) to[j * ", width_, " + l] = 0;"));
    kernel_.line("  }");
    kernel_.line(text("  to += run * ", width_, "; i += run; ", inner, " = 0; ", depth.advance("e")));
    kernel_.line("  }");
    kernel_.line("  }");
  }

  void tile() {
    const std::string last_row = text("r_c", rows_.rank() - 1), row_length = text("ra_n", rows_.rank() - 1);
    const std::string wrap = rows_.rank() == 1 ? std::string()
                                               : text(" if (", last_row, " == ", row_length, ") { ", last_row, " = 0; ",
                                                      rows_.advance("r"), " }");
    for (int r = 0; r < tile_rows_; ++r) {
      kernel_.line(text("    const long at", r, " = a_start + ", rows_.place("r"), ";"));
      if (has_row_axes()) kernel_.line(text("    const long to", r, " = c_start + ", result_rows_.place("r"), ";"));
      // Rows past the end repeat the last one, and are not stored.
      kernel_.line(text("    if (row + ", r, " + 1 < past_row) { ++", last_row, ";", wrap, " }"));
    }
    for (int r = 0; r < tile_rows_; ++r) kernel_.line(text("    ", vector_, " ", sums(r), ";"));
    kernel_.line(text("    const global ", type_, "* w = panel_start;"));
    const LoopAxes& depth = depth_[0];
    const std::string inner = text("d_c", depth.rank() - 1);
    kernel_.line(text("    ", depth.split("d", "depth", "long")));
    kernel_.line("    for (long i = depth; i < until;) {");
    kernel_.line(text("    const long run = min(da_n", depth.rank() - 1, " - ", inner, ", until - i);"));
    kernel_.line(text("    const long from = ", depth.place("d"), ";"));
    for (int r = 0; r < tile_rows_; ++r) {
      kernel_.line(
          text("    const global ", storage_name(product_.a.dtype), "* restrict a", r, " = a + at", r, " + from;"));
    }
    kernel_.line(text("    for (long j = 0; j < run; ++j, w += ", width_, ") {"));
    for (int v = 0; v < vectors_; ++v) {
      kernel_.line(text("      const ", vector_, " w", v, " = vload", lanes_, "(", v, ", w);"));
    }
    for (int r = 0; r < tile_rows_; ++r) {
      const std::string x = element(product_.a.dtype, text("a", r), text("0", depth.inner_term("j")));
      kernel_.line(text("      { const ", vector_, " x = (", vector_, ")(", x, ");"));
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
    return text("to", r, " + column * c_column");
  }

  std::string sums(int r) const {
    std::string list;
    for (int v = 0; v < vectors_; ++v) list += text(v == 0 ? "" : ", ", "s", r, "_", v, " = 0");
    return list;
  }

  void store_row(int r) {
    kernel_.line(text("    if (row + ", r, " < past_row) {"));
    kernel_.line(text("      const long place = ", result_place(r), ";"));
    kernel_.line(text("      ", type_, " part[", width_, "];"));
    for (int v = 0; v < vectors_; ++v) {
      kernel_.line(text("      vstore", lanes_, "(s", r, "_", v, ", ", v, ", part);"));
    }
    kernel_.line(text("      const int count = min(n - column, (long)", width_, ");"));
    kernel_.line("      for (int j = 0; j < count; ++j) {");
    const std::string at = "place + j * c_column";
    kernel_.line(text("        ", type_, " value = part[j]; ", with_scale("value", "column + j")));
    kernel_.line(text("        if (depth != 0) value = ", plus("value", element(result_, "c", at)), ";"));
    if (const std::string added = with_residual("value", at); !added.empty()) {
      kernel_.line(text("        if (depth == 0) { ", added, " }"));
    }
    if (const std::string last = with_bias_and_limits("value", "column + j"); !last.empty()) {
      kernel_.line(text("        if (until == k) { ", last, " }"));
    }
    kernel_.line(text("        ", store(result_, "c", at, "value")));
    kernel_.line("      }");
    kernel_.line("    }");
  }

  std::int64_t lanes_, vectors_, width_, tile_rows_;
  std::string vector_;
  bool cuts_;
};

}  // namespace

KernelLaunch tile_kernel(const MatrixProduct& product, LaunchPlan& plan, std::int64_t items) {
  return TileText(product).generate(plan, items);
}

}  // namespace tyto::opencl
