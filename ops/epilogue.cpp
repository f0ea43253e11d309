// SPDX-License-Identifier: MIT
// Products with an epilogue, a matrix product or convolution that scales its sums, adds a bias and a residual and
// limits them before it stores them, and their weights laid out beforehand. The graph optimiser makes them; nobody
// writes them.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"

namespace tyto::core {

namespace {

Attributes attributes_of_product(OpId product, const ProductAttributes& epilogue) {
  if (product == OpId::convolution) return epilogue.window;
  return NoAttributes{};
}

/// A product that only the optimiser makes: bytes, u8 or i8 by i8, with sums of i32.
bool is_of_bytes(DType left) { return left == DType::u8 || left == DType::i8; }

/// Operands: the left one, the weights, then scale, bias and residual where there are any.
template <OpId product>
std::vector<TensorType> infer_epilogue(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& epilogue = get<ProductAttributes>(attributes);
  const std::string_view op = product == OpId::matmul ? "matmul_epilogue" : "convolution_epilogue";
  const std::size_t by_channel = std::size_t{epilogue.scale} + std::size_t{epilogue.bias};
  const std::size_t operands = 2 + by_channel + std::size_t{epilogue.residual};
  if (inputs.size() != operands)
    throw_error<GraphError>(op, ": it takes ", operands, " operands, given ", inputs.size());
  const bool of_bytes = is_of_bytes(inputs[0].dtype);
  std::vector<TensorType> multiplied(inputs.begin(), inputs.begin() + 2);
  if (epilogue.packed) {
    if (inputs[0].shape != epilogue.left) {
      throw_error<GraphError>(op, ": the weights are packed for ", epilogue.left, ", not for ", inputs[0].shape);
    }
    if (inputs[1].dtype != DType::u8 || inputs[1].shape != Shape{epilogue.bytes}) {
      throw_error<GraphError>(op, ": packed weights are ", epilogue.bytes, " bytes, given ", inputs[1].dtype,
                              inputs[1].shape);
    }
    multiplied[1] = {of_bytes ? DType::i8 : inputs[0].dtype, epilogue.weights};
  }
  if (of_bytes && multiplied[1].dtype != DType::i8) {
    throw_error<GraphError>(op, ": bytes are multiplied by i8, not by ", multiplied[1].dtype);
  }
  if (of_bytes) multiplied[0].dtype = multiplied[1].dtype = DType::i32;
  const TensorType result = definition(product).infer(attributes_of_product(product, epilogue), multiplied)[0];
  for (const TensorType& each : inputs.subspan(2, by_channel)) {
    const std::int64_t channels = result.shape.back();
    const bool fits = !each.shape.empty() && each.shape.size() <= result.shape.size() &&
                      each.shape.back() == channels && element_count(each.shape) == channels;
    if (!fits || each.dtype != result.dtype) {
      throw_error<GraphError>(op, ": scale and bias are one number for each of ", channels, " channels of ",
                              result.dtype, ", given ", each.dtype, each.shape);
    }
  }
  if (epilogue.residual && (inputs.back().shape != result.shape || inputs.back().dtype != result.dtype)) {
    throw_error<GraphError>(op, ": the residual is ", inputs.back().dtype, inputs.back().shape, ", the result ",
                            result.dtype, result.shape);
  }
  return one(result.dtype, result.shape);
}

// Each step by itself, as it was before.
template <OpId product>
std::vector<Value> lower_epilogue(const Attributes& attributes, std::span<const Value> inputs) {
  const auto& epilogue = get<ProductAttributes>(attributes);
  if (epilogue.packed)
    throw_error<GraphError>(definition(product).name, ": packed weights are for the kernel that they were packed for");
  std::vector<Value> multiplied(inputs.begin(), inputs.begin() + 2);
  if (is_of_bytes(inputs[0].dtype())) {
    for (Value& each : multiplied) each = cast_to(each, DType::i32);
  }
  Value y = emit(product, attributes_of_product(product, epilogue), multiplied);
  if (epilogue.scale) y = emit(OpId::multiply, NoAttributes{}, {y, inputs[2]});
  for (const Value& summand : inputs.subspan(epilogue.scale ? 3 : 2)) y = emit(OpId::add, NoAttributes{}, {y, summand});
  if (!epilogue.is_limited()) return {y};
  const auto limit = [&](double at) { return scalar_constant(at, y.dtype()); };
  return {emit(OpId::clip, NoAttributes{}, {y, limit(epilogue.low), limit(epilogue.high)})};
}

std::vector<TensorType> infer_packed(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& product = get<ProductAttributes>(attributes);
  if (inputs[0].shape != product.weights || product.bytes < 0) {
    throw_error<GraphError>("pack_weights: the weights are ", inputs[0].shape, ", to be packed as ", product.weights);
  }
  return one(DType::u8, {product.bytes});
}

OpDef row(OpId id, std::string_view doc, Inference infer, Lowering lower, Sample sample) {
  OpDef def;
  def.id = id;
  def.doc = doc;
  def.min_inputs = 2;
  def.max_inputs = 5;
  def.in_place = InPlace::same_index;
  def.infer = infer;
  def.lower = lower;
  def.sample = sample;
  return def;
}

}  // namespace

std::span<const OpDef> epilogue_operators() {
  static const OpDef rows[] = {
      row(OpId::matmul_epilogue,
          "Matrix product with bias, residual and limits, made by the optimiser after gradients were taken.",
          infer_epilogue<OpId::matmul>, lower_epilogue<OpId::matmul>,
          [](DType t) -> Value {
            if (!is_floating(t)) throw TypeError("matmul_epilogue: the optimiser makes it of floating products only");
            ProductAttributes with_bias;
            with_bias.bias = true;
            return emit(OpId::matmul_epilogue, with_bias,
                        {samples::T::ones({2, 3}, t), samples::T::ones({3, 4}, t), samples::T::ones({4}, t)});
          }),
      row(OpId::convolution_epilogue,
          "Convolution with scale, bias, residual and limits, made by the optimiser after gradients were taken.",
          infer_epilogue<OpId::convolution>, lower_epilogue<OpId::convolution>,
          [](DType t) -> Value {
            if (!is_floating(t)) throw TypeError("convolution_epilogue: the optimiser makes it of floating ones only");
            ProductAttributes with_relu;
            with_relu.low = 0;
            with_relu.window = {{3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, false, {}};
            return emit(OpId::convolution_epilogue, with_relu,
                        {samples::picture(t), samples::T::ones({3, 3, 2, 2}, t)});
          }),
      {.id = OpId::pack_weights,
       .doc = "Weights of a product in f32, f64 or i8 laid out as its kernel reads them, made by the optimiser.",
       .infer = infer_packed,
       .sample = [](DType t) -> Value {
         if (size_of(t) < 4 || !is_floating(t)) throw TypeError("pack_weights: kernels read packed f32 and f64 only");
         ProductAttributes product;
         product.left = {64, 3};
         product.weights = {3, 4};
         product.bytes = 48;
         return emit(OpId::pack_weights, product, {samples::T::ones({3, 4}, t)});
       }},
  };
  return rows;
}

}  // namespace tyto::core
