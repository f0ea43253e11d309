// SPDX-License-Identifier: MIT
// Operators of several steps in f16: results that fit into the type are right, even where squares and sums on the way
// do not. The same node in f32, which goldens check, gives the expected values.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include <algorithm>

#include "tests/onnx/model_text.hpp"

namespace tyto::onnx_tests {
namespace {

using Input = Named<Tensor<Eager>>;

std::vector<std::string> lengths_of(const Shape& shape) {
  std::vector<std::string> lengths;
  for (const std::int64_t length : shape) lengths.push_back(std::to_string(length));
  return lengths;
}

template <class T>
std::vector<Named<T>> results(const Message& one, const std::vector<std::string>& outputs, int version,
                              const std::vector<Input>& inputs, DType type) {
  GraphParts parts{.nodes = {one}, .inputs = {}, .outputs = {}, .initialisers = {}};
  NamedList<T> given;
  for (const Input& each : inputs) {
    parts.inputs.push_back(value(each.name, lengths_of(each.value.shape()), type));
    given.push_back({each.name, T(each.value.astype(DType::f16).astype(type))});
  }
  for (const std::string& name : outputs) parts.outputs.push_back(value(name, {"n"}, type));
  return read<T>(model(parts, version))(given);
}

/// Compares all outputs of one node in both modes, and that they are of f16.
void compare(const Message& one, int version, const std::vector<Input>& inputs,
             const std::vector<std::string>& outputs = {"y"}) {
  const auto wide = results<Tensor<Eager>>(one, outputs, version, inputs, DType::f32);
  const auto check = [&]<class T>(const T&) {
    const auto halves = results<T>(one, outputs, version, inputs, DType::f16);
    REQUIRE(halves.size() == wide.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      CAPTURE(i);
      const Tensor<Eager> found(halves[i].value), right = wide[i].value;
      CHECK(found.dtype() == DType::f16);
      REQUIRE(found.shape() == right.shape());
      // One rounding, and those of factors and offsets where the operator's text has these in f16.
      CHECK(all(abs(found.astype(DType::f32) - right) <= 0x1p-9 * abs(right) + 0x1p-9).item<bool>());
    }
  };
  check(Tensor<Eager>());
  check(Tensor<Lazy>());
}

Tensor<Eager> drawn(const Shape& shape, double size, std::uint64_t seed) {
  return Tensor<Eager>::normal(shape, {.stddev = size, .key = Key{seed, 0}});
}

}  // namespace

TEST_CASE("operators of several steps in f16 give what fits into f16") {
  for (const double size : {1.0, 100.0, 3000.0}) {
    CAPTURE(size);
    const Input x{"x", drawn({2, 4, 5, 3}, size, 1)}, by_channel{"s", drawn({4}, 1, 2)}, offset{"b", drawn({4}, 1, 3)},
        by_group{"s", drawn({2}, 1, 4)}, of_groups{"b", drawn({2}, 1, 5)};
    compare(node("InstanceNormalization", {"x", "s", "b"}, {"y"}, {}), 18, {x, by_channel, offset});
    compare(node("GroupNormalization", {"x", "s", "b"}, {"y"}, {attribute("num_groups", std::int64_t{2})}), 21,
            {x, by_channel, offset});
    compare(node("GroupNormalization", {"x", "s", "b"}, {"y"}, {attribute("num_groups", std::int64_t{2})}), 18,
            {x, by_group, of_groups});
    compare(node("MeanVarianceNormalization", {"x"}, {"y"}, {}), 13, {x});
    compare(node("LpNormalization", {"x"}, {"y"}, {attribute("axis", std::int64_t{1})}), 18, {x});
    compare(node("LRN", {"x"}, {"y"}, {attribute("size", std::int64_t{3})}), 13, {x});
    compare(node("LpPool", {"x"}, {"y"}, {attribute("kernel_shape", std::vector<std::int64_t>{2, 2})}), 18, {x});
    compare(node("GlobalLpPool", {"x"}, {"y"}, {}), 18, {x});
    const Input mean{"m", drawn({4}, 1, 6)}, spread{"v", square(drawn({4}, 1, 7))};
    // The variance itself fits where its elements are not that far apart.
    const Input near{"x", drawn({2, 4, 5, 3}, std::min(size, 150.0), 1) + size};
    compare(node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "mean", "variance"},
                 {attribute("training_mode", std::int64_t{1})}),
            15, {near, by_channel, offset, mean, spread}, {"y", "mean", "variance"});
    compare(node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}), 15,
            {near, by_channel, offset, {"m", mean.value + size}, {"v", spread.value + 0.25}});
    const Input large{"x", abs(drawn({40}, size * 10, 8))};
    compare(node("Mean", {"x", "x", "x", "x"}, {"y"}, {}), 13, {large});
    compare(node("Sum", {"x", "x", "m"}, {"y"}, {}), 13, {large, {"m", -large.value}});
    const Input a{"x", drawn({4, 300}, size, 9)}, w{"w", drawn({300, 3}, 10, 10)};
    compare(node("Gemm", {"x", "w"}, {"y"}, {attribute("alpha", 0.001F)}), 13, {a, w});
    compare(node("Gemm", {"x", "w", "c"}, {"y"}, {attribute("alpha", 0.001F), attribute("beta", 2.0F)}), 13,
            {a, w, {"c", drawn({3}, size, 11)}});
    compare(node("ReduceLogSum", {"x"}, {"y"}, {}), 13, {large});
    const auto microsoft = [](std::string_view op, const std::vector<std::string>& inputs,
                              const std::vector<Message>& attributes = {}) {
      return node(op, inputs, {"y"}, attributes, "com.microsoft");
    };
    compare(microsoft("FusedMatMul", {"x", "w"}, {attribute("alpha", 0.001F)}), 13, {a, w});
    const Input skipped{"k", drawn({4, 300}, size, 12)}, scale{"g", drawn({300}, 1, 13)};
    compare(microsoft("SkipLayerNormalization", {"x", "k", "g"}), 13, {a, skipped, scale});
    compare(microsoft("SkipSimplifiedLayerNormalization", {"x", "k", "g"}), 13, {a, skipped, scale});
  }
}

}  // namespace tyto::onnx_tests
