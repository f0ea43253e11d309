// SPDX-License-Identifier: MIT
// Checks results for NaN and infinities, so that an error names the operator that made the first one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/label.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

class Executable;

/// The numbers that results are checked for.
struct NumberCheck {
  bool nan = false;
  bool infinity = false;  // in the result of finite operands
  friend bool operator==(const NumberCheck&, const NumberCheck&) = default;
};

/// The check that TYTO_NAN switches on.
NumberCheck number_check_of_environment();
/// The check that the options switch on, or the environment.
NumberCheck number_check_of(const CompileOptions& options);

/// Elements of a tensor: where the view's storage starts, on a device.
struct Elements {
  core::Device* device;
  core::Address start;
  DType dtype;
  const core::View* view;
};
Elements elements_of(const core::Array& array);

/// The first elements in row-major order that are NaN, and infinite.
struct WrongNumbers {
  std::optional<Shape> nan = {};
  std::optional<Shape> infinity = {};
};
WrongNumbers wrong_numbers(const Elements& elements);

/// An operand's name, and its wrong elements before the operator ran.
struct CheckedOperand {
  std::string name;
  WrongNumbers wrong;
};

/// Throws ValueError where the result holds what is looked for: operator, element, operands that were wrong already,
/// and the label if there is one.
void check_result(const NumberCheck& check, std::string_view op, const core::Label& label, const Elements& result,
                  std::span<const CheckedOperand> operands);

/// A step of an executable, whose operands are looked at before it runs: it may write where they lie.
class CheckedStep {
 public:
  /// `addresses` are those of all operands of the executable, as kernels are given them.
  CheckedStep(const Executable& executable, std::size_t step, const core::Address* addresses);
  /// Checks the results of the step that has run.
  void check_results() const;

 private:
  bool is_checked() const;
  Elements elements(std::uint32_t operand) const;
  std::string name_of(std::uint32_t operand, std::size_t number) const;

  const Executable& executable_;
  std::size_t step_;
  const core::Address* addresses_;
  NumberCheck check_;
  std::vector<CheckedOperand> operands_;
};

}  // namespace tyto::run
