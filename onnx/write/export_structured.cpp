// SPDX-License-Identifier: MIT
// Exports structured operators to ONNX: creation, views, reductions, scans, joining, products.
#include "onnx/write/export.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Names same(const ExportedNode& n) { return {n[0]}; }
Names cast_elements(const ExportedNode& n) { return {n.as_result(0)}; }

Names filled(const ExportedNode& n) {
  const ListedTensor& y = n.result();
  const Name one = n.out().number(n.scalar("start"), y.dtype);
  return {n.add("Expand", {one, n.out().integers(y.shape)})};
}
Names counted(const ExportedNode& n) {
  const ListedTensor& y = n.result();
  const DType type = is_floating(y.dtype) ? DType::f64 : y.dtype;
  const Tensor<Eager> steps = cast(Tensor<Eager>::arange(y.shape[0]), type);
  return {n.out().constant(cast(steps * Tensor<Eager>(n.scalar("step")) + Tensor<Eager>(n.scalar("start")), y.dtype))};
}
Names identity_matrix(const ExportedNode& n) {
  const ListedTensor& y = n.result();
  return {n.out().constant(Tensor<Eager>::eye(y.shape[0], y.shape[1], n.scalar("start").as_int(), y.dtype))};
}

Names reshaped(const ExportedNode& n) { return {n.reshaped(n[0], n.result().shape)}; }
Names transposed_axes(const ExportedNode& n) { return {n.out().transposed(n[0], n.list("list"))}; }
Names stretched_to(const ExportedNode& n) { return {n.add("Expand", {n[0], n.out().integers(n.result().shape)})}; }

Names sliced_part(const ExportedNode& n) { return {n.part(n[0], n.list("start"), n.list("count"), n.list("step"))}; }
Names flipped(const ExportedNode& n) {
  if (n.list("axes").empty()) return {n[0]};
  const Shape& x = n.input(0).shape;
  IntList start(x.size(), 0), step(x.size(), 1);
  for (const std::int64_t axis : n.list("axes")) {
    start[static_cast<std::size_t>(axis)] = x[static_cast<std::size_t>(axis)] - 1;
    step[static_cast<std::size_t>(axis)] = -1;
  }
  return {n.part(n[0], start, x, step)};
}

// Reductions work in the result's element type.
Names reduced_axes(const ExportedNode& n) {
  return {n.add(n.word_of_row(), {n.as_result(0), n.out().integers(n.list("axes"))},
                {{"keepdims", n.integer("keepdims")}})};
}
// Operands of type bool are compared as numbers.
Names asked_of_booleans(const ExportedNode& n) {
  const Name truth = n.out().cast(n.as(0, DType::boolean), DType::boolean, DType::i32);
  const Name y =
      n.add(n.word_of_row(), {truth, n.out().integers(n.list("axes"))}, {{"keepdims", n.integer("keepdims")}});
  // Without elements ReduceMax gives the least number and ReduceMin the largest.
  return {n.add("Greater", {y, n.out().number(0, DType::i32)})};
}

Names variance(const ExportedNode& n) {
  const Name x = n.as_result(0), axes = n.out().integers(n.list("axes"));
  const Name centre = n.add("ReduceMean", {x, axes}, {{"keepdims", std::int64_t{1}}});
  const Name apart = n.add("Sub", {x, centre});
  const Name y = n.add("ReduceMean", {n.add("Mul", {apart, apart}), axes}, {{"keepdims", n.integer("keepdims")}});
  const std::int64_t ddof = n.integer("ddof");
  if (ddof == 0) return {y};
  double count = 1;
  for (const std::int64_t axis : n.list("axes"))
    count *= static_cast<double>(n.input(0).shape[static_cast<std::size_t>(axis)]);
  return {n.add("Mul", {y, n.number(count / (count - static_cast<double>(ddof)))})};
}

Names place(const ExportedNode& n) {
  const Name x = n.input(0).dtype == DType::boolean ? n.as(0, DType::i32) : n[0];
  const Name y = n.add(n.word_of_row(), {x}, {{"axis", n.integer("axis")}, {"keepdims", n.integer("keepdims")}});
  return {n.out().cast(y, DType::i64, n.result().dtype)};
}

Names running_total(const ExportedNode& n) {
  const Name axis = n.out().number(n.integer("axis"), DType::i64);
  return {n.add("CumSum", {n.as_result(0), axis},
                {{"exclusive", n.integer("exclusive")}, {"reverse", n.integer("reverse")}})};
}

// By doubling: after the step of distance d each element has met the 2 d - 1 before it.
Names running(const ExportedNode& n) {
  const std::int64_t axis = n.integer("axis"), length = n.result().shape[static_cast<std::size_t>(axis)];
  const bool reverse = n.truth("reverse");
  if (element_count(n.result().shape) == 0) return {n.as_result(0)};
  const auto reached = [&](Name y, std::int64_t distance) {
    return reverse ? n.part(y, axis, distance, length - distance) : n.part(y, axis, 0, length - distance);
  };
  const auto joined = [&](Name fixed, Name moved) {
    return n.add("Concat", {reverse ? moved : fixed, reverse ? fixed : moved}, {{"axis", axis}});
  };
  // Truths are ordered as numbers.
  const DType type = n.result().dtype, met_in = type == DType::boolean ? DType::i32 : type;
  Name y = n.out().cast(n.as_result(0), type, met_in);
  for (std::int64_t distance = 1; distance < length; distance *= 2) {
    const std::int64_t fixed = reverse ? length - distance : 0, moved = reverse ? 0 : distance;
    const Name met = n.add(n.word_of_row(), {n.part(y, axis, moved, length - distance), reached(y, distance)});
    y = joined(n.part(y, axis, fixed, distance), met);
  }
  y = n.out().cast(y, met_in, type);
  if (!n.truth("exclusive")) return {y};
  Shape first = n.result().shape;
  first[static_cast<std::size_t>(axis)] = 1;
  return {joined(n.add("Expand", {n.number(1), n.out().integers(first)}), reached(y, 1))};
}

Names joined_parts(const ExportedNode& n) { return {n.add("Concat", n.inputs(), {{"axis", n.integer("axis")}})}; }
Names tiled_axes(const ExportedNode& n) { return {n.add("Tile", {n[0], n.out().integers(n.list("list"))})}; }

// Pad reflects about the middle of the last element only, so elements are gathered by their numbers.
Names padded_symmetrically(const ExportedNode& n) {
  Name y = n[0];
  const IntList before = n.list("before"), after = n.list("after");
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 0 && after[i] == 0) continue;
    const std::int64_t length = n.input(0).shape[i];
    std::vector<std::int64_t> numbers;
    for (std::int64_t k = -before[i]; k < length + after[i]; ++k) {
      const std::int64_t round = ((k % (2 * length)) + 2 * length) % (2 * length);
      numbers.push_back(round < length ? round : 2 * length - 1 - round);
    }
    const Tensor<Eager> places = Tensor<Eager>::from(numbers, {static_cast<std::int64_t>(numbers.size())});
    y = n.add("Gather", {y, n.out().constant(places)}, {{"axis", static_cast<std::int64_t>(i)}});
  }
  return {y};
}

Names padded_axes(const ExportedNode& n) {
  if (n.word("mode") == "symmetric") return padded_symmetrically(n);
  IntList pads = n.list("before");
  for (const std::int64_t each : n.list("after")) pads.push_back(each);
  Names inputs{n[0], n.out().integers(pads)};
  const std::string& mode = n.word("mode");
  if (mode == "constant") inputs.push_back(n.out().number(n.scalar("value"), n.result().dtype));
  return {n.add("Pad", inputs, {{"mode", mode.c_str()}})};
}

Names triangle_part(const ExportedNode& n) {
  const Name k = n.out().number(n.list("list")[0], DType::i64);
  return {n.add("Trilu", {n[0], k}, {{"upper", std::int64_t{n.word_of_row() != nullptr}}})};
}

Names along_one_axis(const ExportedNode& n) {
  return {n.add(n.word_of_row(), {n.as_result(0)}, {{"axis", n.integer("axis")}})};
}

Names matrix_product(const ExportedNode& n) { return {n.add("MatMul", {n.as_result(0), n.as_result(1)})}; }
// Numbers of few bits, one a byte.
Name apart(const ExportedNode& n, Name bytes, Shape shape, std::int64_t bits) {
  if (bits == 8) return bytes;
  IntList shifts, axis;
  for (std::int64_t at = 0; at < 8; at += bits) shifts.push_back(at);
  axis.push_back(shape.rank());
  shape[shape.size() - 1] *= 8 / bits;
  const Tensor<Eager> steps = cast(Tensor<Eager>::from(std::span<const std::int64_t>(shifts.begin(), shifts.size()),
                                                       {static_cast<std::int64_t>(shifts.size())}),
                                   DType::u8);
  const Name shifted = n.add("BitShift", {n.add("Unsqueeze", {bytes, n.out().integers(axis)}), n.out().constant(steps)},
                             {{"direction", "RIGHT"}});
  const Name mask = n.out().number((std::int64_t{1} << bits) - 1, DType::u8);
  return n.reshaped(n.add("BitwiseAnd", {shifted, mask}), shape);
}

Name few_bits_written_out(const ExportedNode& n, std::int64_t bits) {
  const DType dtype = n.result().dtype;
  const Shape &bytes = n.input(1).shape, &by_block = n.input(2).shape;
  const Shape each{by_block[0], by_block[1], 1};
  const Name numbers = n.out().cast(apart(n, n[1], bytes, bits), DType::u8, dtype);
  Name zero = n.number(static_cast<double>(std::int64_t{1} << (bits - 1)));
  if (n.inputs().size() > 3) {
    const DType stored = n.input(3).dtype;
    const Name points = stored == DType::u8 ? n.part(apart(n, n[3], n.input(3).shape, bits), 1, 0, by_block[1]) : n[3];
    zero = n.reshaped(n.out().cast(points, stored, dtype), each);
  }
  const Name weights = n.add("Mul", {n.add("Sub", {numbers, zero}), n.reshaped(n[2], each)});
  const Name rows = n.reshaped(weights, {bytes[0], bytes[1] * bytes[2] * 8 / bits});
  return n.add("MatMul", {n[0], n.out().transposed(n.part(rows, 1, 0, n.input(0).shape[1]), {1, 0})});
}

// Whether ONNX Runtime's kernel takes the operands. That of bf16 is on other devices than the CPU.
bool is_few_bits_operator(const ExportedNode& n, std::int64_t bits, std::int64_t block) {
  constexpr std::int64_t largest_block_of_2_bits = 256;
  if (n.result().dtype == DType::f64 || n.input(0).shape[1] == 0) return false;
  if (bits == 2 && block > largest_block_of_2_bits) return false;
  return bits != 8 || n.inputs().size() < 4 || n.input(3).dtype == DType::u8;
}

Names few_bits_product(const ExportedNode& n) {
  const std::int64_t bits = n.integer("bits"), columns = n.input(0).shape[1];
  const Shape& bytes = n.input(1).shape;
  const std::int64_t block = bytes[2] * 8 / bits;
  if (!is_few_bits_operator(n, bits, block)) return {few_bits_written_out(n, bits)};
  return {n.add("com.microsoft.MatMulNBits", n.inputs(),
                {{"K", columns}, {"N", bytes[0]}, {"bits", bits}, {"block_size", block}})};
}
Names determinant_of(const ExportedNode& n) { return {n.add("Det", {n.as_result(0)})}; }

constexpr ExportRow structured_export_table[] = {
    {"alias", same},
    {"all", asked_of_booleans, "ReduceMin"},
    {"any", asked_of_booleans, "ReduceMax"},
    {"arange", counted},
    {"argmax", place, "ArgMax"},
    {"argmin", place, "ArgMin"},
    {"broadcast_to", stretched_to},
    {"cast", cast_elements},
    {"concat", joined_parts},
    {"check_bounds", same},
    {"copy", same},
    {"cummax", running, "Max"},
    {"cummin", running, "Min"},
    {"cumprod", running, "Mul"},
    {"cumsum", running_total},
    {"det", determinant_of},
    {"eye", identity_matrix},
    {"fill", filled},
    {"flip", flipped},
    {"log_softmax", along_one_axis, "LogSoftmax"},
    {"logsumexp", reduced_axes, "ReduceLogSumExp"},
    {"matmul", matrix_product},
    {"max", reduced_axes, "ReduceMax"},
    {"mean", reduced_axes, "ReduceMean"},
    {"min", reduced_axes, "ReduceMin"},
    {"pad", padded_axes},
    {"prod", reduced_axes, "ReduceProd"},
    {"quantised_matmul", few_bits_product},
    {"reshape", reshaped},
    {"slice", sliced_part},
    {"softmax", along_one_axis, "Softmax"},
    {"stop_gradient", same},
    {"sum", reduced_axes, "ReduceSum"},
    {"tile", tiled_axes},
    {"transpose", transposed_axes},
    {"tril", triangle_part},
    {"triu", triangle_part, "upper"},
    {"var", variance},
    {"with_gradient", same},
};

}  // namespace

std::span<const ExportRow> structured_exports() { return structured_export_table; }

}  // namespace tyto::onnx
