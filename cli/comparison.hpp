// SPDX-License-Identifier: MIT
// Tolerances and errors of a model's outputs against expected ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tyto/named.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tensor.hpp>

#include "cli/arguments.hpp"

namespace tyto::cli {

inline constexpr OptionRow expect_option = {
    "--expect", "[NAME=]FILE|FOLDER",
    "compare outputs with FILE.npz, FILE.npy or .pb, or output_0.pb, ... of a folder; status 1 where they differ",
    true};
inline constexpr OptionRow rtol_option = {
    "--rtol", "R", "of floating-point numbers, the difference allowed as a part of what is expected (0.001)"};
inline constexpr OptionRow atol_option = {"--atol", "R", "... and beside that (1e-7)"};

/// A difference of |expected| * relative + absolute is allowed; integers must be equal, NaN is equal to NaN.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};
Tolerance tolerance_of(const Arguments& arguments);

/// The outcome for one output.
struct Comparison {
  std::string name;
  std::string other_kind = {};  // how shape or type differ, which leaves nothing else to say
  std::int64_t elements = 0;
  std::int64_t differing = 0;
  double largest = 0;  // difference
  // The element furthest beyond what is allowed, of those that differ.
  Shape place = {};
  double value = 0, expected = 0, allowed = 0;

  bool agrees() const { return other_kind.empty() && differing == 0; }
};

/// The expected values of --expect, by name. Throws UsageError for names that are no outputs of the model.
NamedList<Tensor<Lazy>> expected_values(const std::vector<ModelTensor>& outputs, const Arguments& arguments);

Comparison compared(const std::string& name, const Tensor<Lazy>& value, const Tensor<Lazy>& expected,
                    const Tolerance& tolerance);

/// "y: 2 of 6 elements differ; the worst is [1,2]: 3.5, expected 3 (a difference of 0.003 is allowed)".
std::string in_words(const Comparison& comparison);

}  // namespace tyto::cli
