// The text of products for GPUs: a tile in local memory.
#include "devices/opencl/product_kernels.hpp"
#include "devices/opencl/product_text.hpp"

namespace tyto::opencl {

namespace {

using core::text;

// The local-memory tile of the GPU style: 16 x 16 items, each with 4 x 4 results.
constexpr std::int64_t results_a_side = 4;
constexpr std::int64_t group_tile = group_side * results_a_side;
constexpr std::int64_t group_depth = 16;

// GPU: a work-group computes a square of the result from strips of a and b in local memory.
class GroupText : ProductText {
 public:
  explicit GroupText(const MatrixProduct& product) : ProductText(product) {}

  KernelLaunch generate() {
    memory(product_.a, "a");
    memory(product_.b, "b");
    result_and_sizes();
    const std::int64_t items = group_side * group_side;
    kernel_.line(text("  local ", type_, " left[", group_depth, "][", group_tile + 1, "];"));
    kernel_.line(text("  local ", type_, " right[", group_depth, "][", group_tile + 1, "];"));
    split_batch("get_group_id(2)");
    start_column_operands("get_group_id(2)");
    for (int which = 0; which < 3; ++which) start(which);
    kernel_.line("  const int x = get_local_id(0); const int y = get_local_id(1);");
    kernel_.line(text("  const int me = y * ", group_side, " + x;"));
    kernel_.line(text("  const long column = (long)get_group_id(0) * ", group_tile, ";"));
    kernel_.line(text("  const long row = (long)get_group_id(1) * ", group_tile, ";"));
    kernel_.line(text("  ", type_, " sum[", results_a_side, "][", results_a_side, "];"));
    each_result("sum[i][j] = 0;");
    kernel_.line(text("  for (long depth = 0; depth < k; depth += ", group_depth, ") {"));
    kernel_.line(text("    for (int i = me; i < ", group_tile * group_depth, "; i += ", items, ") {"));
    fetch_left();
    fetch_right();
    kernel_.line("    }");
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("    for (int d = 0; d < ", group_depth, "; ++d) {"));
    each_result(text("sum[i][j] = ",
                     plus_product("sum[i][j]", text("left[d][y + i * ", group_side, "]"),
                                  text("right[d][x + j * ", group_side, "]")),
                     ";"));
    kernel_.line("    }");
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line("  }");
    const std::string at_row = text("row + y + i * ", group_side);
    const std::string at_column = text("column + x + j * ", group_side);
    const std::string of_row = has_row_axes() ? text(rows_.split("r", at_row, "long"),
                                                     " const long row_place = ", result_rows_.place("r"), ";")
                                              : text("const long row_place = (", at_row, ") * c_row;");
    each_result(text("if (", at_row, " < m && ", at_column, " < n) { ", of_row,
                     " const long place = c_start + row_place + (", at_column, ") * c_column; ", type_,
                     " value = sum[i][j]; ", with_scale("value", at_column), with_residual("value", "place"),
                     with_bias_and_limits("value", at_column), store(result_, "c", "place", "value"), " }"));
    KernelLaunch launch =
        kernel_.finish(text("__attribute__((reqd_work_group_size(", group_side, ", ", group_side, ", 1))) "));
    launch.local = {group_side, group_side, 1};
    launch.global = {static_cast<std::size_t>(divided_up(product_.n, group_tile) * group_side),
                     static_cast<std::size_t>(divided_up(product_.m, group_tile) * group_side),
                     static_cast<std::size_t>(product_.a.batch.count())};
    return launch;
  }

 private:
  void each_result(std::string_view statement) {
    kernel_.line(text("    for (int i = 0; i < ", results_a_side, "; ++i) for (int j = 0; j < ", results_a_side,
                      "; ++j) { ", statement, " }"));
  }

  // Neighbouring items read neighbouring elements: along the depth or across it, as the strides have it.
  void open_fetch(bool depth_first) {
    const std::string depth = depth_first ? text("i % ", group_depth) : text("i / ", group_tile);
    const std::string across = depth_first ? text("i / ", group_depth) : text("i % ", group_tile);
    kernel_.line(text("      { const int d = ", depth, "; const int e = ", across, ";"));
  }

  void fetch_left() {
    open_fetch(depth_[0].inner_stride() == 1);
    kernel_.line(text("      ", type_, " value = 0;"));
    kernel_.line(text("      if (depth + d < k && row + e < m) { ", rows_.split("r", "row + e", "long"),
                      depth_[0].split("d", "depth + d", "long")));
    kernel_.line(text("        value = ",
                      element(product_.a.dtype, "a", text("a_start + ", rows_.place("r"), " + ", depth_[0].place("d"))),
                      "; }"));
    kernel_.line("      left[d][e] = value; }");
  }

  void fetch_right() {
    open_fetch(product_.b.columns.strides[0] != 1);
    kernel_.line(text("      ", type_, " value = 0;"));
    kernel_.line(text("      if (depth + d < k && column + e < n) { ", depth_[1].split("d", "depth + d", "long")));
    kernel_.line(text(
        "        value = ",
        element(product_.b.dtype, "b", text("b_start + ", depth_[1].place("d"), " + (column + e) * b_column")), "; }"));
    kernel_.line("      right[d][e] = value; }");
  }
};

}  // namespace

KernelLaunch group_kernel(const MatrixProduct& product) { return GroupText(product).generate(); }

}  // namespace tyto::opencl
