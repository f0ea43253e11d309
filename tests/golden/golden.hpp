// SPDX-License-Identifier: MIT
// Golden cases: expected results of each operator, read from the manifest, and the comparison with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/golden/npz.hpp"

namespace tyto::golden {

/// A result passes when it differs from the expected value by at most absolute + relative * |expected|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  std::string why;
};

/// One operator on given inputs. Arrays are owned by the suite; a null gradient stands for an input that has none.
struct Case {
  std::string id;
  std::string op;
  std::string family;
  std::string dtype;
  nlohmann::json arguments;
  std::vector<const Array*> inputs;
  std::vector<const Array*> outputs;
  Tolerance tolerance;

  /// Empty for a case that is not differentiated. The gradients are of the sum over all floating outputs of
  /// cotangent * output; the second gradients are of the sum of all elements of all gradients.
  std::vector<const Array*> cotangents;
  std::vector<const Array*> gradients;
  Tolerance gradient_tolerance;
  std::vector<const Array*> second_gradients;
  Tolerance second_tolerance;
};

/// All cases of a folder that holds cases.json and its archives.
class Suite {
 public:
  explicit Suite(const std::filesystem::path& folder);
  Suite(const Suite&) = delete;
  Suite& operator=(const Suite&) = delete;

  const std::vector<Case>& cases() const { return cases_; }
  const std::map<std::string, std::map<std::string, Array>>& families() const { return families_; }

 private:
  std::map<std::string, std::map<std::string, Array>> families_;
  std::vector<Case> cases_;
};

/// The committed cases, read once.
const Suite& committed();

/// Element `index` of an array in row-major order. i64 beyond 2^53 loses bits; difference() compares integers exactly.
double element(const Array& array, std::int64_t index);

/// Describes the fault of `got`: type, shape, or the worst element, with index, both values and what was allowed. Empty
/// when it passes. NaN equals NaN, an infinity only itself.
std::string difference(const Array& got, const Array& want, const Tolerance& tolerance);

}  // namespace tyto::golden
