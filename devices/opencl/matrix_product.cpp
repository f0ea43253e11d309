// Reads a product's operands, and multiplies them with our own kernels.
#include "devices/opencl/matrix_product.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using core::text;
using core::View;
using Role = MemoryArgument::Role;

// The register tile of the CPU style: four vectors wide, so that with six rows 24 accumulators, four panel vectors and
// a broadcast fit the 32 registers of AVX-512. A vector is 64 bytes there; narrower machines split it.
constexpr std::int64_t tile_rows = 6;
constexpr std::int64_t tile_vectors = 4;
constexpr std::int64_t depth_block = 512;  // of a packed panel that stays in the second-level cache

// The local-memory tile of the GPU style: 16 x 16 items, each with 4 x 4 results.
constexpr std::int64_t group_side = 16;
constexpr std::int64_t results_a_side = 4;
constexpr std::int64_t group_tile = group_side * results_a_side;
constexpr std::int64_t group_depth = 16;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

View batch_axes(const View& view) {
  View out = view;
  out.shape.pop_back();
  out.shape.pop_back();
  out.strides.pop_back();
  out.strides.pop_back();
  out.offset = 0;
  return out;
}

constexpr const char* names[3] = {"a", "b", "c"};

class ProductText {
 public:
  explicit ProductText(const MatrixProduct& product)
      : kernel_(false),
        product_(product),
        type_(type_name(compute_of(product.dtype))),
        batch_{LoopAxes("ba", product.batch[0]), LoopAxes("bb", product.batch[1]), LoopAxes("bc", product.batch[2])} {}

 protected:
  void operand(int which) {
    kernel_.memory(which == 2 ? Role::output : Role::input, which == 1 ? 1 : 0, type_, size_of(product_.dtype),
                   product_.offset[which], names[which]);
  }
  void workspace(std::string_view name) { kernel_.memory(Role::workspace, 0, type_, size_of(product_.dtype), 0, name); }
  void sizes() {
    kernel_.number("m", product_.m);
    kernel_.number("n", product_.n);
    kernel_.number("k", product_.k);
    batch_[0].declare_lengths(kernel_);  // of all three
  }
  // Row and column strides, the batch's, and the place of matrix `batch` of the operand.
  void strides(int which) {
    // A unit stride is part of the text: it decides how memory is read.
    stride(text(names[which], "_row"), product_.row[which]);
    stride(text(names[which], "_column"), product_.column[which]);
    batch_[which].declare_strides(kernel_);
  }
  void start(int which) {
    kernel_.line(text("  const long ", names[which], "_start = ", batch_[which].place("batch"), ";"));
  }
  std::string at(int which, std::string_view row, std::string_view column) const {
    return text(names[which], "[", names[which], "_start + (", row, ") * ", names[which], "_row + (", column, ") * ",
                names[which], "_column]");
  }

  KernelText kernel_;
  const MatrixProduct& product_;
  std::string type_;
  LoopAxes batch_[3];

 private:
  void stride(const std::string& name, std::int64_t value) {
    if (value == 1) {
      kernel_.line(text("  const long ", name, " = 1;"));
    } else {
      kernel_.number(name, value);
    }
  }
};

// Copies b into panels: [panel][depth][lanes of the panel], zeros beyond the last column.
class PackText : ProductText {
 public:
  PackText(const MatrixProduct& product, std::int64_t width) : ProductText(product), width_(width) {}

  KernelLaunch generate(std::int64_t items) {
    operand(1);
    workspace("packed");
    sizes();
    strides(1);
    const std::int64_t panels = divided_up(product_.n, width_);
    const std::int64_t tasks = product_.batch[1].count() * panels;
    kernel_.number("panels", panels);
    kernel_.distribute(tasks, items);
    kernel_.line("  const long panel = task % panels;");
    kernel_.line(text("  ", batch_[0].split("batch", "task / panels", "long")));
    start(1);
    kernel_.line(text("  global ", type_, "* restrict to = packed + task * k * ", width_, ";"));
    kernel_.line(text("  const long width = min(n - panel * ", width_, ", (long)", width_, ");"));
    kernel_.line("  for (long i = 0; i < k; ++i) {");
    kernel_.line(text("    if (width == ", width_, ") {"));
    kernel_.line(text("      for (int j = 0; j < ", width_, "; ++j) to[i * ", width_,
                      " + j] = ", at(1, "i", text("panel * ", width_, " + j")), ";"));
    kernel_.line("    } else {");
    kernel_.line(text("      for (int j = 0; j < width; ++j) to[i * ", width_,
                      " + j] = ", at(1, "i", text("panel * ", width_, " + j")), ";"));
    kernel_.line(text("      for (int j = width; j < ", width_, "; ++j) to[i * ", width_, " + j] = 0;"));
    kernel_.line("    }");
    kernel_.line("  }");
    kernel_.line("  }");
    return kernel_.finish();
  }

 private:
  std::int64_t width_;
};

// Multiplies rows of a with packed panels, a register tile at a time.
class TileText : ProductText {
 public:
  TileText(const MatrixProduct& product, std::int64_t lanes)
      : ProductText(product), lanes_(lanes), vector_(text(type_, lanes)) {}

  KernelLaunch generate(std::int64_t items) {
    operand(0);
    workspace("packed");
    operand(2);
    sizes();
    strides(0);
    strides(2);
    const std::int64_t width = lanes_ * tile_vectors;
    const std::int64_t panels = divided_up(product_.n, width);
    // Enough tasks for the units to share evenly; rows of a task are a multiple of the tile.
    const std::int64_t batches = product_.batch[0].count();
    const std::int64_t row_tiles = divided_up(product_.m, tile_rows);
    const std::int64_t wanted = divided_up(items, batches * panels);
    const std::int64_t rows = divided_up(row_tiles, std::clamp<std::int64_t>(wanted, 1, row_tiles)) * tile_rows;
    const std::int64_t row_blocks = divided_up(product_.m, rows);
    const std::int64_t tasks = batches * panels * row_blocks;
    kernel_.number("panels", panels);
    kernel_.number("rows", rows);
    kernel_.number("row_blocks", row_blocks);
    kernel_.distribute(tasks, items);
    kernel_.line("  const long panel = task / row_blocks % panels;");
    kernel_.line(text("  ", batch_[0].split("batch", "task / (row_blocks * panels)", "long")));
    start(0);
    start(2);
    kernel_.line(text("  const long column = panel * ", width, ";"));
    kernel_.line("  const long first_row = task % row_blocks * rows;");
    kernel_.line("  const long past_row = min(first_row + rows, m);");
    kernel_.line(
        text("  const global ", type_, "* restrict panel_start = packed + task / row_blocks * k * ", width, ";"));
    // A block of the panel's depth at a time, so that it is read from the cache by all rows.
    kernel_.line("  long depth = 0;");
    kernel_.line("  do {");
    kernel_.line(text("  const long until = min(depth + ", depth_block, ", k);"));
    kernel_.line(text("  for (long row = first_row; row < past_row; row += ", tile_rows, ") {"));
    tile(width);
    kernel_.line("  }");
    kernel_.line("  depth = until;");
    kernel_.line("  } while (depth < k);");
    kernel_.line("  }");
    return kernel_.finish();
  }

 private:
  void tile(std::int64_t width) {
    // Rows past the end repeat the last one, and are not stored.
    for (int r = 0; r < tile_rows; ++r) {
      kernel_.line(
          text("    const global ", type_, "* restrict a", r, " = a + a_start + min(row + ", r, ", m - 1) * a_row;"));
    }
    for (int r = 0; r < tile_rows; ++r) {
      kernel_.line(text("    ", vector_, " ", sums(r), ";"));
    }
    kernel_.line(text("    const global ", type_, "* restrict w = panel_start + depth * ", width, ";"));
    kernel_.line(text("    for (long i = depth; i < until; ++i, w += ", width, ") {"));
    for (int v = 0; v < tile_vectors; ++v) {
      kernel_.line(text("      const ", vector_, " w", v, " = vload", lanes_, "(", v, ", w);"));
    }
    for (int r = 0; r < tile_rows; ++r) {
      kernel_.line(text("      { const ", vector_, " x = a", r, "[i * a_column];"));
      for (int v = 0; v < tile_vectors; ++v) {
        kernel_.line(text("      s", r, v, " = fma(x, w", v, ", s", r, v, ");"));
      }
      kernel_.line("      }");
    }
    kernel_.line("    }");
    for (int r = 0; r < tile_rows; ++r) store_row(r, width);
  }

  std::string sums(int r) const {
    std::string list;
    for (int v = 0; v < tile_vectors; ++v) list += text(v == 0 ? "" : ", ", "s", r, v, " = 0");
    return list;
  }

  void store_row(int r, std::int64_t width) {
    kernel_.line(text("    if (row + ", r, " < past_row) {"));
    kernel_.line(
        text("      global ", type_, "* restrict to = c + c_start + (row + ", r, ") * c_row + column * c_column;"));
    if (product_.column[2] == 1) {
      kernel_.line(text("      if (column + ", width, " <= n) {"));
      for (int v = 0; v < tile_vectors; ++v) {
        kernel_.line(text("        vstore", lanes_, "(depth == 0 ? s", r, v, " : s", r, v, " + vload", lanes_, "(", v,
                          ", to), ", v, ", to);"));
      }
      kernel_.line("      } else {");
    } else {
      kernel_.line("      {");
    }
    kernel_.line(text("        ", type_, " part[", width, "];"));
    for (int v = 0; v < tile_vectors; ++v) {
      kernel_.line(text("        vstore", lanes_, "(s", r, v, ", ", v, ", part);"));
    }
    kernel_.line(text("        const int count = min(n - column, (long)", width, ");"));
    kernel_.line("        for (int j = 0; j < count; ++j)");
    kernel_.line("          to[j * c_column] = depth == 0 ? part[j] : part[j] + to[j * c_column];");
    kernel_.line("      }");
    kernel_.line("    }");
  }

  std::int64_t lanes_;
  std::string vector_;
};

// GPU: a work-group computes a square of the result from strips of a and b in local memory.
class GroupText : ProductText {
 public:
  explicit GroupText(const MatrixProduct& product) : ProductText(product) {}

  KernelLaunch generate() {
    for (int which = 0; which < 3; ++which) operand(which);
    sizes();
    for (int which = 0; which < 3; ++which) strides(which);
    const std::int64_t items = group_side * group_side;
    kernel_.line(text("  local ", type_, " left[", group_depth, "][", group_tile + 1, "];"));
    kernel_.line(text("  local ", type_, " right[", group_depth, "][", group_tile + 1, "];"));
    kernel_.line(text("  ", batch_[0].split("batch", "get_group_id(2)", "long")));
    for (int which = 0; which < 3; ++which) start(which);
    kernel_.line("  const int x = get_local_id(0); const int y = get_local_id(1);");
    kernel_.line(text("  const int me = y * ", group_side, " + x;"));
    kernel_.line(text("  const long column = (long)get_group_id(0) * ", group_tile, ";"));
    kernel_.line(text("  const long row = (long)get_group_id(1) * ", group_tile, ";"));
    kernel_.line(text("  ", type_, " sum[", results_a_side, "][", results_a_side, "];"));
    each_result("sum[i][j] = 0;");
    kernel_.line(text("  for (long depth = 0; depth < k; depth += ", group_depth, ") {"));
    kernel_.line(text("    for (int i = me; i < ", group_tile * group_depth, "; i += ", items, ") {"));
    fetch("left", 0);
    fetch("right", 1);
    kernel_.line("    }");
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("    for (int d = 0; d < ", group_depth, "; ++d) {"));
    each_result(
        text("sum[i][j] = fma(left[d][y + i * ", group_side, "], right[d][x + j * ", group_side, "], sum[i][j]);"));
    kernel_.line("    }");
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line("  }");
    const std::string at_row = text("row + y + i * ", group_side);
    const std::string at_column = text("column + x + j * ", group_side);
    each_result(text("if (", at_row, " < m && ", at_column, " < n) ", at(2, at_row, at_column), " = sum[i][j];"));
    KernelLaunch launch =
        kernel_.finish(text("__attribute__((reqd_work_group_size(", group_side, ", ", group_side, ", 1))) "));
    launch.local = {group_side, group_side, 1};
    launch.global = {static_cast<std::size_t>(divided_up(product_.n, group_tile) * group_side),
                     static_cast<std::size_t>(divided_up(product_.m, group_tile) * group_side),
                     static_cast<std::size_t>(product_.batch[0].count())};
    return launch;
  }

 private:
  void each_result(std::string_view statement) {
    kernel_.line(text("    for (int i = 0; i < ", results_a_side, "; ++i) for (int j = 0; j < ", results_a_side,
                      "; ++j) { ", statement, " }"));
  }

  // Neighbouring items read neighbouring elements: along the depth or across it, as the strides have it.
  void fetch(std::string_view tile, int which) {
    const bool depth_first = which == 0 ? product_.column[0] == 1 : product_.column[1] != 1;
    const std::string depth = depth_first ? text("i % ", group_depth) : text("i / ", group_tile);
    const std::string across = depth_first ? text("i / ", group_depth) : text("i % ", group_tile);
    kernel_.line(text("      { const int d = ", depth, "; const int e = ", across, ";"));
    const std::string guard = which == 0 ? "row + e < m" : "column + e < n";
    const std::string element = which == 0 ? at(0, "row + e", "depth + d") : at(1, "depth + d", "column + e");
    kernel_.line(text("      ", tile, "[d][e] = (depth + d < k && ", guard, ") ? ", element, " : 0; }"));
  }
};

}  // namespace

MatrixProduct matrix_product(const core::Step& step) {
  MatrixProduct product;
  const core::Operand* const operands[3] = {&step.inputs[0], &step.inputs[1], &step.outputs[0]};
  product.dtype = operands[0]->dtype;
  for (std::size_t i = 0; i < 3; ++i) {
    const View& view = operands[i]->view;
    const std::size_t rank = view.shape.size();
    product.batch[i] = batch_axes(view);
    product.row[i] = view.strides[rank - 2];
    product.column[i] = view.strides[rank - 1];
    product.offset[i] = view.offset;
  }
  core::collapse(product.batch);
  for (View& batch : product.batch) {
    if (batch.rank() == 0) batch = View{{1}, {1}, 0};
  }
  const Shape& a = operands[0]->view.shape;
  const Shape& b = operands[1]->view.shape;
  product.m = a[a.size() - 2];
  product.k = a.back();
  product.n = b.back();
  return product;
}

LaunchPlan matrix_launch_plan(const Context& context, const MatrixProduct& product) {
  LaunchPlan plan;
  plan.name = "matmul";
  if (product.m == 0 || product.n == 0 || product.batch[2].count() == 0) return plan;
  if (context.style == Style::gpu && context.group >= group_side * group_side) {
    plan.launches.push_back(GroupText(product).generate());
    return plan;
  }
  const std::int64_t lanes = 64 / static_cast<std::int64_t>(size_of(product.dtype));
  const std::int64_t width = lanes * tile_vectors;
  const auto items = static_cast<std::int64_t>(context.units) * 4;
  plan.workspace =
      static_cast<std::size_t>(product.batch[1].count() * divided_up(product.n, width) * width * product.k) *
      size_of(product.dtype);
  if (product.k > 0) plan.launches.push_back(PackText(product, width).generate(items));
  plan.launches.push_back(TileText(product, lanes).generate(items));
  return plan;
}

}  // namespace tyto::opencl
