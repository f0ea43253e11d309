// Structured operators in ONNX's words. Images are written channels first, as ONNX has them, between transposes that
// meet those of their neighbours.
#include <algorithm>
#include <limits>
#include <numeric>

#include "onnx/export.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t first_position = std::numeric_limits<std::int64_t>::min() / 2;

Names same(const ExportedNode& n) { return {n[0]}; }
Names cast_elements(const ExportedNode& n) { return {n.as_result(0)}; }

Names filled(const ExportedNode& n) {
  const ListedTensor& y = n.result();
  const std::string one = n.out().constant(Tensor<Eager>::full({}, n.scalar("start"), y.dtype));
  return {n.add("Expand", {one, n.out().integers(y.shape)})};
}
Names counted(const ExportedNode& n) {
  const ListedTensor& y = n.result();
  const Tensor<Eager> steps = cast(Tensor<Eager>::arange(y.shape[0]), y.dtype);
  return {n.out().constant(cast(steps * Tensor<Eager>(n.scalar("step")) + Tensor<Eager>(n.scalar("start")), y.dtype))};
}
Names identity_matrix(const ExportedNode& n) {
  const ListedTensor& y = n.result();
  return {n.out().constant(Tensor<Eager>::eye(y.shape[0], y.shape[1], n.scalar("start").as_int(), y.dtype))};
}

// Zeros would copy lengths of the input: an empty result keeps its own.
Names reshaped(const ExportedNode& n) {
  return {n.add("Reshape", {n[0], n.out().integers(n.result().shape)}, {{"allowzero", std::int64_t{1}}})};
}
Names transposed_axes(const ExportedNode& n) { return {n.out().transposed(n[0], n.list("list"))}; }
Names stretched_to(const ExportedNode& n) { return {n.add("Expand", {n[0], n.out().integers(n.result().shape)})}; }

Names cut(const ExportedNode& n, const std::string& x, const IntList& start, const IntList& count,
          const IntList& step) {
  IntList ends, axes;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::int64_t end = start[i] + count[i] * step[i];
    ends.push_back(end < 0 ? first_position : end);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  GraphExport& out = n.out();
  return {n.add("Slice", {x, out.integers(start), out.integers(ends), out.integers(axes), out.integers(step)})};
}
Names sliced_part(const ExportedNode& n) { return cut(n, n[0], n.list("start"), n.list("count"), n.list("step")); }
Names flipped(const ExportedNode& n) {
  const Shape& x = n.input(0).shape;
  IntList start(x.size(), 0), step(x.size(), 1);
  for (const std::int64_t axis : n.list("axes")) {
    start[static_cast<std::size_t>(axis)] = x[static_cast<std::size_t>(axis)] - 1;
    step[static_cast<std::size_t>(axis)] = -1;
  }
  return cut(n, n[0], start, x, step);
}

// Reductions work in the result's element type.
template <const char* op>
Names reduced_axes(const ExportedNode& n) {
  return {n.add(op, {n.as_result(0), n.out().integers(n.list("axes"))}, {{"keepdims", n.integer("keepdims")}})};
}
constexpr char reduce_sum[] = "ReduceSum", reduce_prod[] = "ReduceProd", reduce_mean[] = "ReduceMean",
               reduce_min[] = "ReduceMin", reduce_max[] = "ReduceMax", reduce_log_sum_exp[] = "ReduceLogSumExp";

// Of bool by their numbers.
template <const char* op>
Names asked(const ExportedNode& n) {
  const std::string truth = n.out().cast(n.as(0, DType::boolean), DType::boolean, DType::i32);
  const std::string y = n.add(op, {truth, n.out().integers(n.list("axes"))}, {{"keepdims", n.integer("keepdims")}});
  return {n.out().cast(y, DType::i32, DType::boolean)};
}

Names variance(const ExportedNode& n) {
  const std::string x = n.as_result(0), axes = n.out().integers(n.list("axes"));
  const std::string centre = n.add("ReduceMean", {x, axes}, {{"keepdims", std::int64_t{1}}});
  const std::string apart = n.add("Sub", {x, centre});
  const std::string y =
      n.add("ReduceMean", {n.add("Mul", {apart, apart}), axes}, {{"keepdims", n.integer("keepdims")}});
  const std::int64_t ddof = n.integer("ddof");
  if (ddof == 0) return {y};
  double count = 1;
  for (const std::int64_t axis : n.list("axes"))
    count *= static_cast<double>(n.input(0).shape[static_cast<std::size_t>(axis)]);
  return {n.add("Mul", {y, n.number(count / (count - static_cast<double>(ddof)))})};
}

template <const char* op>
Names place(const ExportedNode& n) {
  // keepdims is what the operator's switch says.
  const std::string y = n.add(op, {n[0]}, {{"axis", n.integer("axis")}, {"keepdims", n.integer("flag")}});
  return {n.out().cast(y, DType::i64, n.result().dtype)};
}
constexpr char arg_min[] = "ArgMin", arg_max[] = "ArgMax";

Names running_total(const ExportedNode& n) {
  const std::string axis = n.out().constant(Tensor<Eager>::full({}, n.integer("axis"), DType::i64));
  return {
      n.add("CumSum", {n.as_result(0), axis}, {{"exclusive", n.integer("flag")}, {"reverse", n.integer("reverse")}})};
}

Names joined_parts(const ExportedNode& n) { return {n.add("Concat", n.inputs(), {{"axis", n.integer("axis")}})}; }
Names tiled_axes(const ExportedNode& n) { return {n.add("Tile", {n[0], n.out().integers(n.list("list"))})}; }

Names padded_axes(const ExportedNode& n) {
  IntList pads = n.list("before");
  for (const std::int64_t each : n.list("after")) pads.push_back(each);
  Names inputs{n[0], n.out().integers(pads)};
  const std::string& mode = n.word("mode");
  if (mode == "constant")
    inputs.push_back(n.out().constant(Tensor<Eager>::full({}, n.scalar("value"), n.result().dtype)));
  return {n.add("Pad", inputs, {{"mode", mode}})};
}

template <int upper>
Names triangle_part(const ExportedNode& n) {
  const std::string k = n.out().constant(Tensor<Eager>::full({}, n.list("list")[0], DType::i64));
  return {n.add("Trilu", {n[0], k}, {{"upper", std::int64_t{upper}}})};
}

Names taken(const ExportedNode& n) { return {n.add("Gather", {n[0], n[1]}, {{"axis", n.integer("axis")}})}; }
Names taken_along(const ExportedNode& n) {
  return {n.add("GatherElements", {n[0], n[1]}, {{"axis", n.integer("axis")}})};
}

Names first_k(const ExportedNode& n) {
  const std::string k = n.out().integers({n.integer("k")});
  return n.out().nodes("TopK", {n[0], k}, 2, {{"axis", n.integer("axis")}, {"largest", n.integer("largest")}});
}

template <const char* op>
Names along_one_axis(const ExportedNode& n) {
  return {n.add(op, {n.as_result(0)}, {{"axis", n.integer("axis")}})};
}
constexpr char softmax_name[] = "Softmax", log_softmax_name[] = "LogSoftmax";

Names matrix_product(const ExportedNode& n) { return {n.add("MatMul", {n.as_result(0), n.as_result(1)})}; }
Names determinant_of(const ExportedNode& n) { return {n.add("Det", {n.as_result(0)})}; }

IntList channels_first(int rank) {
  IntList order{0, rank - 1};
  for (std::int64_t i = 1; i < rank - 1; ++i) order.push_back(i);
  return order;
}
IntList channels_last(int rank) {
  IntList order{0};
  for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}
IntList pads_of(const ExportedNode& n) {
  IntList pads = n.list("before");
  for (const std::int64_t each : n.list("after")) pads.push_back(each);
  return pads;
}

// Kernels (window..., in, out) are written (out, in, window...).
Names convolved_image(const ExportedNode& n) {
  const int rank = n.rank();
  IntList kernels{rank - 1, rank - 2};
  for (std::int64_t i = 0; i < rank - 2; ++i) kernels.push_back(i);
  GraphExport& out = n.out();
  const std::string y = n.add("Conv", {out.transposed(n[0], channels_first(rank)), out.transposed(n[1], kernels)},
                              {{"strides", n.list("stride")},
                               {"dilations", n.list("dilation")},
                               {"pads", pads_of(n)},
                               {"group", n.integer("groups")}});
  return {out.transposed(y, channels_last(rank))};
}

Names pooled(const ExportedNode& n, std::string_view op, std::vector<Written> attributes) {
  const int rank = n.rank();
  attributes.insert(attributes.end(), {{"kernel_shape", n.list("window")},
                                       {"strides", n.list("stride")},
                                       {"dilations", n.list("dilation")},
                                       {"pads", pads_of(n)}});
  const std::string y = n.add(op, {n.out().transposed(n.as_result(0), channels_first(rank))}, attributes);
  return {n.out().transposed(y, channels_last(rank))};
}
Names largest_of_windows(const ExportedNode& n) { return pooled(n, "MaxPool", {}); }
Names mean_of_windows(const ExportedNode& n) {
  return pooled(n, "AveragePool", {{"count_include_pad", n.integer("count_padding")}});
}

Names enlarged(const ExportedNode& n) {
  const int rank = n.rank();
  Shape sizes = n.result().shape;
  const std::int64_t channels = sizes.back();
  for (std::size_t i = sizes.size() - 1; i > 1; --i) sizes[i] = sizes[i - 1];
  sizes[1] = channels;
  const std::string x = n.out().transposed(n[0], channels_first(rank));
  const std::string y =
      n.add("Resize", {x, "", "", n.out().integers(sizes)},
            {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}});
  return {n.out().transposed(y, channels_last(rank))};
}

const ExportRow structured_export_table[] = {
    {"alias", same},
    {"all", asked<reduce_min>},
    {"any", asked<reduce_max>},
    {"arange", counted},
    {"argmax", place<arg_max>},
    {"argmin", place<arg_min>},
    {"average_pool", mean_of_windows},
    {"broadcast_to", stretched_to},
    {"cast", cast_elements},
    {"concat", joined_parts},
    {"convolution", convolved_image},
    {"copy", same},
    {"cumsum", running_total},
    {"det", determinant_of},
    {"eye", identity_matrix},
    {"fill", filled},
    {"flip", flipped},
    {"log_softmax", along_one_axis<log_softmax_name>},
    {"logsumexp", reduced_axes<reduce_log_sum_exp>},
    {"matmul", matrix_product},
    {"max", reduced_axes<reduce_max>},
    {"max_pool", largest_of_windows},
    {"mean", reduced_axes<reduce_mean>},
    {"min", reduced_axes<reduce_min>},
    {"pad", padded_axes},
    {"prod", reduced_axes<reduce_prod>},
    {"reshape", reshaped},
    {"slice", sliced_part},
    {"softmax", along_one_axis<softmax_name>},
    {"stop_gradient", same},
    {"sum", reduced_axes<reduce_sum>},
    {"take", taken},
    {"take_along_axis", taken_along},
    {"tile", tiled_axes},
    {"topk", first_k},
    {"transpose", transposed_axes},
    {"tril", triangle_part<0>},
    {"triu", triangle_part<1>},
    {"upsample_nearest", enlarged},
    {"var", variance},
};

}  // namespace

std::span<const ExportRow> structured_exports() { return structured_export_table; }

}  // namespace tyto::onnx
