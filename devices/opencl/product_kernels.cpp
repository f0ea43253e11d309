// The texts of products: packing and a register tile for processors, a tile in local memory for GPUs.
#include "devices/opencl/product_kernels.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/loop_axes.hpp"

namespace tyto::opencl {

namespace {

using core::text;
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

// The local-memory tile of the GPU style: 16 x 16 items, each with 4 x 4 results.
constexpr std::int64_t results_a_side = 4;
constexpr std::int64_t group_tile = group_side * results_a_side;
constexpr std::int64_t group_depth = 16;

/// The C type of sums. Integers wrap, which only unsigned arithmetic defines.
const char* sum_type(DType type) {
  switch (compute_of(type)) {
    case Compute::i32: return "uint";
    case Compute::i64:
    case Compute::u64: return "ulong";
    case Compute::f32: return "float";
    default: return "double";
  }
}

TileShape tile_shape(const MatrixProduct& product, std::int64_t lanes) {
  const std::int64_t vectors = std::min(divided_up(product.n, lanes), most_vectors);
  const core::View& rows = product.a.rows;
  const std::size_t inner = rows.shape.size() - 1;
  if (rows.strides[inner] == 1) {
    for (const TileShape& shape : adjoining_shapes) {
      if (shape.vectors == vectors && rows.shape[inner] % shape.rows == 0) return shape;
    }
  }
  return {vectors, rows_of_tile[vectors - 1], false};
}

class ProductText {
 public:
  explicit ProductText(const MatrixProduct& product)
      : kernel_(false),
        product_(product),
        result_(product.c.dtype),
        type_(sum_type(product.c.dtype)),
        batch_{LoopAxes("ba", product.a.batch), LoopAxes("bb", product.b.batch), LoopAxes("bc", product.c.batch)},
        rows_("ra", product.a.rows),
        depth_{LoopAxes("da", product.a.columns), LoopAxes("db", product.b.rows)} {}

 protected:
  void memory(const ProductOperand& operand, std::string_view name) {
    kernel_.memory(operand.role, operand.index, storage_name(operand.dtype), size_of(operand.dtype), operand.offset,
                   name);
  }
  void packed_memory(std::size_t at) {
    const std::size_t size = size_of(accumulator_of(result_));
    kernel_.memory(Role::workspace, 0, type_, size, static_cast<std::int64_t>(at / size), "packed");
  }
  void epilogue_memory() {
    if (!product_.epilogue) return;
    const ProductEpilogue& epilogue = *product_.epilogue;
    const auto input = [&](std::size_t which, std::int64_t offset, std::string_view name) {
      kernel_.memory(Role::input, which, storage_name(result_), size_of(result_), offset, name);
    };
    for_each_column_operand([&](const ColumnOperand& operand, std::string_view name) {
      input(operand.input, operand.offset, name);
      kernel_.number(text(name, "_step"), operand.stride);
      kernel_.number(text(name, "_batch_step"), operand.batch_stride);
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
      kernel_.line(text("  const long ", name, " = 1;"));
    } else {
      kernel_.number(name, value);
    }
  }
  void batch_axes(int which) { batch_[which].declare_strides(kernel_); }
  void b_columns() { stride("b_column", product_.b.columns.strides[0]); }
  void c_strides() {
    stride("c_row", product_.c.rows.strides[0]);
    stride("c_column", product_.c.columns.strides[0]);
  }
  void split_batch(std::string_view index) { kernel_.line(text("  ", batch_[0].split("batch", index, "long"))); }
  void start_column_operands(std::string_view batch) {
    for_each_column_operand([&](const ColumnOperand&, std::string_view name) {
      kernel_.line(text("  const long ", name, "_start = (", batch, ") * ", name, "_batch_step;"));
    });
  }
  void start(int which) {
    static constexpr const char* names[3] = {"a", "b", "c"};
    kernel_.line(text("  const long ", names[which], "_start = ", batch_[which].place("batch"), ";"));
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
    return text("(", type_, ")(", load(type, pointer, index), ")");
  }
  /// x and y, multiplied, added to a sum.
  std::string plus_product(const std::string& sum, const std::string& x, const std::string& y) const {
    if (result_ == DType::boolean) return text(sum, " | (", x, " & ", y, ")");
    return is_floating(compute_of(result_)) ? text("fma(", x, ", ", y, ", ", sum, ")") : text(sum, " + ", x, " * ", y);
  }
  std::string plus(std::string_view a, std::string_view b) const {
    return text(a, result_ == DType::boolean ? " | " : " + ", b);
  }
  std::string of_column(std::string_view name, std::string_view column) const {
    return element(result_, name, text(name, "_start + (", column, ") * ", name, "_step"));
  }
  /// A statement that scales `value` of a column.
  std::string with_scale(std::string_view value, std::string_view column) const {
    if (!product_.epilogue || !product_.epilogue->scale) return "";
    return text(value, " = ", value, " * ", of_column("scale", column), "; ");
  }
  /// A statement that adds the residual's element at `index` of c to `value`.
  std::string with_residual(std::string_view value, std::string_view index) const {
    if (!product_.epilogue || !product_.epilogue->residual) return "";
    return text(value, " = ", plus(value, element(result_, "residual", index)), ";");
  }
  /// Statements that do to `value` of a column what comes last. NaN passes the limits.
  std::string with_bias_and_limits(std::string_view value, std::string_view column) const {
    std::string out;
    if (!product_.epilogue) return out;
    if (product_.epilogue->bias) {
      out += text(value, " = ", plus(value, of_column("bias", column)), "; ");
    }
    if (product_.epilogue->is_limited) {
      out += text(value, " = ", value, " < low ? low : ", value, "; ", value, " = ", value, " > high ? high : ", value,
                  ";");
    }
    return out;
  }

  KernelText kernel_;
  const MatrixProduct& product_;
  DType result_;
  std::string type_;
  LoopAxes batch_[3];
  LoopAxes rows_;      // of a
  LoopAxes depth_[2];  // the inner dimension, in a and in b
};

// A register tile at a time multiplies rows of a with a panel of b, whose rows each item first copies to a block of its
// own: [depth][lanes of the panel], zeros beyond the last column. The block stays in the second-level cache.
class TileText : ProductText {
 public:
  TileText(const MatrixProduct& product, std::int64_t lanes, const TileShape& shape)
      : ProductText(product),
        lanes_(lanes),
        vectors_(shape.vectors),
        width_(lanes * shape.vectors),
        tile_rows_(shape.rows),
        is_adjoining_(shape.adjoining),
        vector_(text(type_, lanes)),
        // Sums of a type that is not stored as it is added up are made in one piece.
        cuts_(accumulator_of(result_) == result_),
        block_((cuts_ ? std::min(product.k, depth_block) : product.k) * width_) {}

  KernelLaunch generate(LaunchPlan& plan, std::int64_t items) {
    const std::int64_t panels = divided_up(product_.n, width_);
    // Enough tasks for the units to share evenly, but not so few rows of a task that copying the panel costs more than
    // multiplying with it; they are a multiple of the tile.
    const std::int64_t batches = product_.a.batch.count();
    const std::int64_t most_blocks = std::max<std::int64_t>(product_.m / least_rows, 1);
    const std::int64_t blocks = std::clamp<std::int64_t>(divided_up(items, batches * panels), 1, most_blocks);
    const std::int64_t rows = divided_up(divided_up(product_.m, blocks), tile_rows_) * tile_rows_;
    const std::int64_t row_blocks = divided_up(product_.m, rows), tasks = batches * panels * row_blocks;
    const std::size_t size = size_of(accumulator_of(result_));
    const std::size_t packed =
        plan.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(items, 1, tasks) * block_) * size);
    memory(product_.a, "a");
    memory(product_.b, "b");
    packed_memory(packed);
    memory(product_.c, "c");
    epilogue_memory();
    sizes();
    b_columns();
    c_strides();
    for (int which = 0; which < 3; ++which) batch_axes(which);
    axes(rows_);
    for (const LoopAxes& depth : depth_) axes(depth);
    kernel_.number("panels", panels);
    kernel_.number("rows", rows);
    kernel_.number("row_blocks", row_blocks);
    kernel_.number("block", block_);
    kernel_.distribute(tasks, items);
    kernel_.line("  const long panel = task / row_blocks % panels;");
    split_batch("task / (row_blocks * panels)");
    start_column_operands("task / (row_blocks * panels)");
    for (int which = 0; which < 3; ++which) start(which);
    kernel_.line(text("  const long column = panel * ", width_, ";"));
    kernel_.line("  const long first_row = task % row_blocks * rows;");
    kernel_.line("  const long past_row = min(first_row + rows, m);");
    kernel_.line(text("  global ", type_, "* const panel_start = packed + (long)get_global_id(0) * block;"));
    kernel_.line("  long depth = 0;");
    kernel_.line("  do {");
    kernel_.line(text("  const long until = ", cuts_ ? text("min(depth + ", depth_block, ", k)") : "k", ";"));
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
    if (is_adjoining_) {
      kernel_.line(text("    const long at0 = a_start + ", rows_.place("r"), ";"));
      kernel_.line(text("    ", next_row(tile_rows_)));
    } else {
      // Rows past the end repeat the last one, and are not stored.
      for (int r = 0; r < tile_rows_; ++r) {
        kernel_.line(text("    const long at", r, " = a_start + ", rows_.place("r"), ";"));
        kernel_.line(text("    if (row + ", r, " + 1 < m) { ", next_row(1), " }"));
      }
    }
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

  std::string sums(int r) const {
    std::string list;
    for (int v = 0; v < vectors_; ++v) list += text(v == 0 ? "" : ", ", "s", r, "_", v, " = 0");
    return list;
  }

  void store_row(int r) {
    kernel_.line(text("    if (row + ", r, " < past_row) {"));
    kernel_.line(text("      const long place = c_start + (row + ", r, ") * c_row + column * c_column;"));
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
  std::int64_t block_;  // elements of an item's panel
};

// GPU: a work-group computes a square of the result from strips of a and b in local memory.
class GroupText : ProductText {
 public:
  explicit GroupText(const MatrixProduct& product) : ProductText(product) {}

  KernelLaunch generate() {
    memory(product_.a, "a");
    memory(product_.b, "b");
    memory(product_.c, "c");
    epilogue_memory();
    sizes();
    b_columns();
    c_strides();
    for (int which = 0; which < 3; ++which) batch_axes(which);
    axes(rows_);
    for (const LoopAxes& depth : depth_) axes(depth);
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
    each_result(text("if (", at_row, " < m && ", at_column, " < n) { const long place = c_start + (", at_row,
                     ") * c_row + (", at_column, ") * c_column; ", type_, " value = sum[i][j]; ",
                     with_scale("value", at_column), with_residual("value", "place"),
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

KernelLaunch tile_kernel(const MatrixProduct& product, LaunchPlan& plan, std::int64_t items) {
  const std::int64_t lanes = 64 / static_cast<std::int64_t>(size_of(accumulator_of(product.c.dtype)));
  return TileText(product, lanes, tile_shape(product, lanes)).generate(plan, items);
}

KernelLaunch group_kernel(const MatrixProduct& product) { return GroupText(product).generate(); }

}  // namespace tyto::opencl
