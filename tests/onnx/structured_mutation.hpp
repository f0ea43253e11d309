// SPDX-License-Identifier: MIT
// Damages models but leaves their files well-formed: numbers, names, types, shapes, operators and their order are
// changed, so that faults are found behind the reader or not at all.
#pragma once

#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/onnx/field_tree.hpp"

namespace tyto::onnx_tests {

class StructuredMutation {
 public:
  /// Operators and attributes that are put into a model come from all of them, which must outlive this.
  explicit StructuredMutation(std::span<const FieldTree> seeds);

  /// A seed after one to four changes.
  FieldTree mutated(FieldTree seed, std::mt19937_64& draw) const;

 private:
  std::vector<const FieldTree*> nodes_;
  std::vector<const FieldTree*> attributes_;
  std::vector<std::string_view> texts_;  // of attributes
};

}  // namespace tyto::onnx_tests
