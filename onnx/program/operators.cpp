// SPDX-License-Identifier: MIT
// Finds an operator's row by domain, name and version.
#include "onnx/program/operators.hpp"

#include <algorithm>
#include <array>

namespace tyto::onnx {

std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

std::span<const OperatorFamily> operator_families() {
  static const std::array families = {
      OperatorFamily{"", elementwise_rows()},
      OperatorFamily{"", activation_rows()},
      OperatorFamily{"", reduction_rows()},
      OperatorFamily{"", shape_rows()},
      OperatorFamily{"", movement_rows()},
      OperatorFamily{"", index_rows()},
      OperatorFamily{"", creation_rows()},
      OperatorFamily{"", convolution_rows()},
      OperatorFamily{"", pooling_rows()},
      OperatorFamily{"", normalisation_rows()},
      OperatorFamily{"", product_rows()},
      OperatorFamily{"", attention_rows()},
      OperatorFamily{"", resampling_rows()},
      OperatorFamily{"", recurrent_rows()},
      OperatorFamily{"", quantised_rows()},
      OperatorFamily{"", loss_rows()},
      OperatorFamily{"", signal_rows()},
      OperatorFamily{"", control_rows()},
      OperatorFamily{"", ngram_rows()},
      OperatorFamily{"", picture_rows()},
      OperatorFamily{"", loop_rows()},
      OperatorFamily{"", sequence_rows()},
      OperatorFamily{"", state_space_rows()},
      OperatorFamily{"ai.onnx.ml", feature_rows()},
      OperatorFamily{"ai.onnx.ml", label_rows()},
      OperatorFamily{"ai.onnx.ml", linear_model_rows()},
      OperatorFamily{"ai.onnx.ml", tree_rows()},
      OperatorFamily{"com.microsoft", microsoft_rows()},
      OperatorFamily{"com.microsoft", microsoft_attention_rows()},
      OperatorFamily{"com.microsoft", microsoft_quantised_rows()},
      OperatorFamily{"com.microsoft", microsoft_quantisation_rows()},
      OperatorFamily{"com.microsoft", microsoft_recurrent_rows()},
  };
  return families;
}

const OperatorRow* find_operator(std::string_view domain, std::string_view name, std::int64_t version) {
  const OperatorRow* best = nullptr;
  for (const OperatorFamily& family : operator_families()) {
    if (family.domain != domain) continue;
    for (const OperatorRow& row : family.rows) {
      if (name == row.name && row.since <= version && (best == nullptr || row.since > best->since)) best = &row;
    }
  }
  return best;
}

bool draws_random_numbers(const OperatorRow& row) {
  constexpr std::array<std::string_view, 7> names = {
      "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"};
  return std::find(names.begin(), names.end(), std::string_view(row.name)) != names.end();
}

bool moves_elements(const OperatorRow& row) {
  constexpr std::array<std::string_view, 44> names = {
      "ArrayFeatureExtractor",
      "Cast",
      "CastLike",
      "Compress",
      "Concat",
      "ConcatFromSequence",
      "Constant",
      "ConstantOfShape",
      "DepthToSpace",
      "Equal",
      "Expand",
      "Flatten",
      "Gather",
      "GatherElements",
      "GatherND",
      "Identity",
      "If",
      "LabelEncoder",
      "Loop",
      "OneHotEncoder",
      "Optional",
      "OptionalGetElement",
      "OptionalHasElement",
      "Reshape",
      "ReverseSequence",
      "Scan",
      "ScatterElements",
      "ScatterND",
      "SequenceAt",
      "SequenceConstruct",
      "SequenceErase",
      "SequenceInsert",
      "SequenceMap",
      "Shape",
      "Size",
      "Slice",
      "SpaceToDepth",
      "Split",
      "SplitToSequence",
      "Squeeze",
      "Tile",
      "Transpose",
      "Unsqueeze",
      "Where",
  };
  return std::binary_search(names.begin(), names.end(), std::string_view(row.name));
}

bool quantises_elements(const OperatorRow& row) {
  const std::string_view name = row.name;
  return name == "DequantizeLinear" || name == "QuantizeLinear";
}

bool applies_graphs(const OperatorRow& row) {
  const std::string_view name = row.name;
  return name == "Loop" || name == "Scan" || name == "SequenceMap";
}

}  // namespace tyto::onnx
