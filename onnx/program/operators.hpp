// SPDX-License-Identifier: MIT
// Tables of the ONNX operators that can be read: one row an operator and version, by family.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

using Apply = Outputs (*)(const OperatorCall&);

struct OperatorRow {
  const char* name;
  std::int32_t since;  // the first version of the operator set for which it holds, until a later row of that name
  Apply apply;
  RowFunction function = {};
};

/// Operators of one domain.
struct OperatorFamily {
  std::string_view domain;
  std::span<const OperatorRow> rows;
};

/// Domains by their one name: "" is what files also call "ai.onnx".
std::string_view canonical_domain(std::string_view domain);

/// Null when there is none. `version` is that of the operator set that the model imports.
const OperatorRow* find_operator(std::string_view domain, std::string_view name, std::int64_t version);

/// Whether its results are other ones each time, so that they must not be computed beforehand.
bool draws_random_numbers(const OperatorRow& row);

/// Whether it moves elements, compares them or casts them, so that they may be of any type, or it says which they may
/// be.
bool moves_elements(const OperatorRow& row);
/// Whether it makes numbers of fewer bits, or of numbers of fewer bits others.
bool quantises_elements(const OperatorRow& row);

/// Whether it applies the graphs that are its attributes to operands: what they lack is lacking wherever they are used.
bool applies_graphs(const OperatorRow& row);

/// The newest operator set of the default domain that was looked at when the tables were written.
inline constexpr std::int64_t newest_operator_set = 28;

std::span<const OperatorFamily> operator_families();

std::span<const OperatorRow> elementwise_rows();
std::span<const OperatorRow> activation_rows();
std::span<const OperatorRow> attention_rows();
std::span<const OperatorRow> reduction_rows();
std::span<const OperatorRow> resampling_rows();
std::span<const OperatorRow> shape_rows();
std::span<const OperatorRow> movement_rows();
std::span<const OperatorRow> index_rows();
std::span<const OperatorRow> creation_rows();
std::span<const OperatorRow> convolution_rows();
std::span<const OperatorRow> pooling_rows();
std::span<const OperatorRow> normalisation_rows();
std::span<const OperatorRow> product_rows();
std::span<const OperatorRow> recurrent_rows();
std::span<const OperatorRow> quantised_rows();
std::span<const OperatorRow> loss_rows();
std::span<const OperatorRow> signal_rows();
std::span<const OperatorRow> control_rows();
std::span<const OperatorRow> ngram_rows();
std::span<const OperatorRow> picture_rows();
std::span<const OperatorRow> loop_rows();
std::span<const OperatorRow> sequence_rows();
std::span<const OperatorRow> state_space_rows();
std::span<const OperatorRow> feature_rows();
std::span<const OperatorRow> label_rows();
std::span<const OperatorRow> linear_model_rows();
std::span<const OperatorRow> tree_rows();
std::span<const OperatorRow> microsoft_rows();
std::span<const OperatorRow> microsoft_attention_rows();
std::span<const OperatorRow> microsoft_quantised_rows();
std::span<const OperatorRow> microsoft_quantisation_rows();
std::span<const OperatorRow> microsoft_recurrent_rows();

}  // namespace tyto::onnx
