// SPDX-License-Identifier: MIT
// Writes products for GPUs: a work-group multiplies strips of a and b that it keeps in local memory.
#include <algorithm>

#include "core/value/view.hpp"
#include "devices/opencl/products/product_kernels.hpp"
#include "devices/opencl/products/product_text.hpp"
#include "devices/opencl/text/coordinate_loop.hpp"

namespace tyto::opencl {

namespace {

using Role = MemoryArgument::Role;

// The division of a product depends on shapes alone, so that results do not depend on the device's size.
constexpr std::int64_t enough_tiles = 256;  // keep every unit of large GPUs busy
constexpr std::int64_t least_depth = 128;   // of a part: less of it costs less than adding the parts up
constexpr std::int64_t most_depth_parts = 128;
constexpr std::int64_t strip_bytes = 64;  // of the depth that a work-group keeps at a time

/// The part of a result that a work-group computes, and how its items share it out: `across` x `down` of them, each
/// with as many results along both sides.
struct GroupTile {
  std::int64_t across, results;

  std::int64_t down() const { return group_items / across; }
  std::int64_t rows() const { return down() * results; }
  std::int64_t columns() const { return across * results; }
  std::int64_t count(const MatrixProduct& product) const {
    return divided_up(product.m, rows()) * divided_up(product.n, columns());
  }
};

std::int64_t depth_parts(const MatrixProduct& product, const GroupTile& tile) {
  const std::int64_t groups = tile.count(product) * product.c.batch.count();
  return std::max<std::int64_t>(std::min({enough_tiles / groups, product.k / least_depth, most_depth_parts}), 1);
}

// Few rows or columns take a tile that is as narrow. A larger tile reads its operands less often, where there are
// enough of them to go round.
GroupTile tile_of(const MatrixProduct& product) {
  GroupTile best{16, 4};
  for (const std::int64_t across : {8, 32, 4, 64}) {
    if (size_of(accumulator_of(product.c.dtype)) > 4 && (across == 4 || across == 64)) continue;
    const GroupTile tile{across, 4};
    if (tile.count(product) < best.count(product)) best = tile;
  }
  const GroupTile large{16, 8};
  const std::int64_t groups = large.count(product) * product.c.batch.count() * depth_parts(product, large);
  const bool is_filled = 4 * large.count(product) <= best.count(product) + best.count(product) / 4;
  const bool has_registers = size_of(accumulator_of(product.c.dtype)) == 4;
  return is_filled && has_registers && groups >= enough_tiles / 2 ? large : best;
}

bool has_narrow_indices(const MatrixProduct& product) {
  std::vector<View> views;
  for (const ProductOperand* operand : {&product.a, &product.b, &product.c}) {
    View whole = operand->batch;
    for (const View* axes : {&operand->rows, &operand->columns}) {
      for (const std::int64_t length : axes->shape) whole.shape.push_back(length);
      for (const std::int64_t stride : axes->strides) whole.strides.push_back(stride);
    }
    views.push_back(whole);
  }
  if (product.epilogue) {
    for (const std::optional<ColumnOperand>* each : {&product.epilogue->scale, &product.epilogue->bias}) {
      if (*each) {
        views.push_back({{product.c.batch.count(), product.n}, {(*each)->batch_stride, (*each)->stride}, 0});
      }
    }
  }
  return fits_int(views);
}

/// Sums over parts of the depth, which lie in the workspace between two kernels: by part, matrix of the batch, row and
/// column.
struct Parts {
  std::int64_t count = 1;
  std::int64_t offset = 0;  // elements
};

/// Writes the epilogue of the kernels for GPUs.
class FinishingText : protected ProductText {
 protected:
  FinishingText(const MatrixProduct& product, const Parts& parts)
      : ProductText(product, has_narrow_indices(product)), parts_(parts), index_(kernel_.index()) {}

  void sums_memory() {
    kernel_.memory(Role::workspace, 0, type_, size_of(accumulator_of(result_)), parts_.offset, "sums");
    kernel_.number("parts", parts_.count);
    kernel_.number("matrices", product_.c.batch.count());
  }
  void result_memory() {
    memory(product_.c, "c");
    epilogue_memory();
    c_strides();
    batch_axes(2);
    if (!has_row_axes()) return;
    result_rows_.declare_lengths(kernel_);
  }
  void start_results() {
    start(2);
    start_column_operands("matrix");
  }
  /// The statement that declares where a row of the result begins.
  std::string place_row(std::string_view row) const {
    if (!has_row_axes()) return text("const ", index_, " row_place = c_start + (", row, ") * c_row;");
    return text(result_rows_.split("written", row, kernel_.index()), " const ", index_, " row_place = c_start + ",
                result_rows_.place("written"), ";");
  }
  /// Statements that finish a sum and store it.
  std::string finish(std::string_view sum, std::string_view column) const {
    return text("const ", index_, " place = row_place + (", column, ") * c_column; ", type_, " value = ", sum, "; ",
                with_scale("value", column), with_residual("value", "place"), with_bias_and_limits("value", column),
                store(result_, "c", "place", "value"));
  }

  Parts parts_;
  std::string index_;
};

/// Multiplies. Items read the next strips while they multiply those that are kept.
class GroupText : FinishingText {
 public:
  GroupText(const MatrixProduct& product, const GroupTile& tile, const Parts& parts)
      : FinishingText(product, parts),
        tile_(tile),
        strip_(strip_bytes / static_cast<std::int64_t>(size_of(accumulator_of(product.c.dtype)))),
        left_{"left", "a", product.a.dtype, depth_[0], tile.rows(), depth_[0].inner_stride() == 1},
        right_{"right", "b", product.b.dtype, depth_[1], tile.columns(), product.b.columns.strides[0] != 1} {}

  KernelLaunch generate() {
    memory(product_.a, "a");
    memory(product_.b, "b");
    sizes();
    if (is_cut()) {
      sums_memory();
      kernel_.number("share", divided_up(divided_up(product_.k, parts_.count), strip_) * strip_);
    } else {
      result_memory();
    }
    b_columns();
    for (int which = 0; which < 2; ++which) batch_axes(which);
    axes(rows_);
    for (const LoopAxes& depth : depth_) axes(depth);
    place_tile();
    for (int which = 0; which < 2; ++which) start(which);
    begin_fetching(left_,
                   text(rows_.split("of", "at", kernel_.index()), " place = a_start + ", rows_.place("of"), ";"));
    begin_fetching(right_, "place = b_start + at * b_column;");
    kernel_.line(text("  ", type_, " sum[", tile_.results, "][", tile_.results, "];"));
    each("i", tile_.results, text(counted("j", tile_.results), "sum[i][j] = 0;"));
    fetch();
    kernel_.line(text("  for (", index_, " depth = begin; depth < end; depth += ", strip_, ") {"));
    keep(left_);
    keep(right_);
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line(text("    if (depth + ", strip_, " < end) {"));
    fetch();
    kernel_.line("    }");
    multiply();
    kernel_.line("    barrier(CLK_LOCAL_MEM_FENCE);");
    kernel_.line("  }");
    if (!is_cut()) start_results();
    write();
    KernelLaunch launch = kernel_.finish(text("__attribute__((reqd_work_group_size(", group_items, ", 1, 1))) "));
    launch.local = {group_items, 1, 1};
    const std::int64_t groups = tile_.count(product_) * product_.c.batch.count() * parts_.count;
    launch.global = {static_cast<std::size_t>(groups * group_items), 1, 1};
    return launch;
  }

 private:
  /// The strip of an operand. Neighbouring items read neighbouring elements, along the depth or across it, as the
  /// strides have it.
  struct Side {
    std::string name, memory;
    DType dtype;
    const LoopAxes& depth;
    std::int64_t length;
    bool along_depth;
  };

  bool is_cut() const { return parts_.count > 1; }

  // Elements of a strip that an item reads, and how far they lie apart.
  std::int64_t fetches(const Side& side) const { return side.length * strip_ / group_items; }
  std::int64_t apart(const Side& side) const { return group_items / (side.along_depth ? strip_ : side.length); }

  static std::string counted(std::string_view counter, std::int64_t count) {
    return text("for (int ", counter, " = 0; ", counter, " < ", count, "; ++", counter, ") ");
  }
  void each(std::string_view counter, std::int64_t count, std::string_view statements) {
    kernel_.line("    #pragma unroll");
    kernel_.line(text("    ", counted(counter, count), "{ ", statements, " }"));
  }

  void place_tile() {
    kernel_.number("tiles_across", divided_up(product_.n, tile_.columns()));
    kernel_.number("tiles_down", divided_up(product_.m, tile_.rows()));
    for (const Side* side : {&left_, &right_}) {
      kernel_.line(text("  local ", type_, " ", side->name, "[", strip_, "][", side->length + 1, "];"));
    }
    kernel_.line("  const int me = get_local_id(0);");
    kernel_.line(text("  const int x = me % ", tile_.across, "; const int y = me / ", tile_.across, ";"));
    kernel_.line(text("  const ", index_, " group = get_group_id(0);"));
    kernel_.line(text("  const ", index_, " column = group % tiles_across * ", tile_.columns(), ";"));
    kernel_.line(text("  const ", index_, " row = group / tiles_across % tiles_down * ", tile_.rows(), ";"));
    kernel_.line(text("  const ", index_, " tile_stack = group / tiles_across / tiles_down;"));
    if (is_cut()) {
      kernel_.line(text("  const ", index_, " matrix = tile_stack / parts, part = tile_stack % parts;"));
      kernel_.line(text("  const ", index_, " begin = part * share, end = min(begin + share, k);"));
    } else {
      kernel_.line(text("  const ", index_, " matrix = tile_stack, begin = 0, end = k;"));
    }
    split_batch("matrix");
  }

  // Rows and columns past the last are read as the last: their results are not written. `find_place` sets `place` to
  // where row or column `at` lies.
  void begin_fetching(const Side& side, std::string_view find_place) {
    const std::int64_t fast = side.along_depth ? strip_ : side.length;
    const std::int64_t places = side.along_depth ? fetches(side) : 1;
    const bool is_left = side.memory == "a";
    kernel_.line(text("  const int ", side.name, "_across = me ", side.along_depth ? "/ " : "% ", fast, ";"));
    kernel_.line(text("  const int ", side.name, "_along = me ", side.along_depth ? "% " : "/ ", fast, ";"));
    kernel_.line(text("  ", index_, " ", side.name, "_place[", places, "];"));
    kernel_.line(text("  ", type_, " ", side.name, "_value[", fetches(side), "];"));
    each("f", places,
         text("const ", index_, " at = min((", index_, ")(", is_left ? "row + " : "column + ", side.name,
              "_across + f * ", apart(side), "), (", index_, ")(", is_left ? "m" : "n", " - 1)); ", index_, " place; ",
              find_place, " ", side.name, "_place[f] = place;"));
    kernel_.line(text("  ", index_, " ", side.name, "_at = begin + ", side.name, "_along;"));
    kernel_.line(text("  ", side.depth.split(side.name, text(side.name, "_at"), kernel_.index())));
  }

  // Reads the next elements of both strips, and steps on.
  void fetch() {
    for (const Side* side : {&left_, &right_}) {
      const std::string& name = side->name;
      const auto step = [&](std::int64_t by) {
        return text(name, "_at += ", by, "; ", side->depth.advance_inner(name, by));
      };
      const std::string place = text(name, "_place[", side->along_depth ? "f" : "0", "] + ", side->depth.place(name));
      const std::string read = text(name, "_value[f] = 0; if (", name, "_at < end) ", name,
                                    "_value[f] = ", element(side->dtype, side->memory, place), ";");
      if (side->along_depth) {
        each("f", fetches(*side), read);
        kernel_.line(text("    ", step(strip_)));
      } else {
        each("f", fetches(*side), text(read, " ", step(apart(*side))));
      }
    }
  }
  void keep(const Side& side) {
    const std::string further = text(" + f * ", apart(side));
    each("f", fetches(side),
         text(side.name, "[", side.name, "_along", side.along_depth ? "" : further, "][", side.name, "_across",
              side.along_depth ? further : "", "] = ", side.name, "_value[f];"));
  }

  void multiply() {
    const std::int64_t results = tile_.results;
    kernel_.line("    #pragma unroll 4");
    kernel_.line(text("    for (int d = 0; d < ", strip_, "; ++d) {"));
    kernel_.line(text("    ", type_, " a_value[", results, "]; ", type_, " b_value[", results, "];"));
    each("i", results, text("a_value[i] = left[d][y + i * ", tile_.down(), "];"));
    each("j", results, text("b_value[j] = right[d][x + j * ", tile_.across, "];"));
    kernel_.line("    #pragma unroll");
    kernel_.line(text("    ", counted("i", results)));
    each("j", results, text("sum[i][j] = ", plus_product("sum[i][j]", "a_value[i]", "b_value[j]"), ";"));
    kernel_.line("    }");
  }

  void write() {
    const std::string of_row =
        is_cut() ? text("const ", index_, " row_place = ((part * matrices + matrix) * m + r) * n;") : place_row("r");
    kernel_.line("  #pragma unroll");
    kernel_.line(text("  ", counted("i", tile_.results), "{"));
    kernel_.line(text("    const ", index_, " r = row + y + i * ", tile_.down(), "; if (r < m) { ", of_row));
    kernel_.line("    #pragma unroll");
    kernel_.line(text("    ", counted("j", tile_.results), "{"));
    kernel_.line(text("      const ", index_, " q = column + x + j * ", tile_.across, ";"));
    kernel_.line(
        text("      if (q < n) { ", is_cut() ? "sums[row_place + q] = sum[i][j];" : finish("sum[i][j]", "q"), " }"));
    kernel_.line("    } } }");
  }

  GroupTile tile_;
  std::int64_t strip_;  // of the depth
  Side left_, right_;
};

/// Adds the parts up, one after the other: an item a result.
class SumOfPartsText : FinishingText {
 public:
  SumOfPartsText(const MatrixProduct& product, const Parts& parts) : FinishingText(product, parts) {}

  KernelLaunch generate(const Context& context) {
    const std::int64_t results = product_.c.batch.count() * product_.m * product_.n;
    const CoordinateLoop loop(context, {product_.c.batch.count(), product_.m, product_.n});
    sums_memory();
    batch_[0].declare_lengths(kernel_);
    result_memory();
    kernel_.number("results", results);
    loop.open(kernel_);
    kernel_.line(text("    const ", index_, " matrix = ", loop.coordinate(0), ";"));
    split_batch("matrix");
    start_results();
    kernel_.line(text("    ", place_row(loop.coordinate(1))));
    kernel_.line(text("    ", type_, " sum = sums[", CoordinateLoop::number, "];"));
    kernel_.line("    #pragma unroll 8");
    kernel_.line(text("    for (", index_, " part = 1; part < parts; ++part) sum = ",
                      plus("sum", text("sums[part * results + ", CoordinateLoop::number, "]")), ";"));
    kernel_.line(text("    ", finish("sum", loop.coordinate(2))));
    return loop.close(kernel_);
  }
};

}  // namespace

void append_group_kernels(LaunchPlan& plan, const Context& context, const MatrixProduct& product) {
  const GroupTile tile = tile_of(product);
  Parts parts{depth_parts(product, tile)};
  if (parts.count == 1) {
    plan.launches.push_back(GroupText(product, tile, parts).generate());
    return;
  }
  const std::size_t size = size_of(accumulator_of(product.c.dtype));
  const std::int64_t sums = parts.count * product.c.batch.count() * product.m * product.n;
  parts.offset = static_cast<std::int64_t>(plan.reserve(static_cast<std::size_t>(sums) * size) / size);
  plan.launches.push_back(GroupText(product, tile, parts).generate());
  plan.launches.push_back(SumOfPartsText(product, parts).generate(context));
}

}  // namespace tyto::opencl
