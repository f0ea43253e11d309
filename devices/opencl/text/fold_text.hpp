// SPDX-License-Identifier: MIT
// Writes the parts of a reduction: its initial value, how two accumulators are combined, the final step.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/operator.hpp"
#include "devices/opencl/text/element_types.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

class FoldText {
 public:
  FoldText(core::OpId op, DType accumulator) : op_(op), accumulator_(accumulator) {}

  /// The type that an operator accumulates elements of a type in.
  static DType accumulator_of(core::OpId op, DType type);

  /// The C type of the accumulator.
  const char* type() const { return type_name(compute_of(accumulator_)); }
  /// An element of a type, given in its compute form, as an accumulator.
  std::string element(DType from, std::string_view value) const;
  /// The neutral element of the reduction.
  std::string start() const;
  std::string two(const std::string& a, const std::string& b) const;

  /// A mean's divisor as an argument called `name`; nothing for other operators.
  void declare_divisor(KernelText& kernel, std::string_view name, double count) const;
  /// The accumulator as a result of a type, in its compute form. The divisor is that of declare_divisor.
  std::string finished(DType result, const std::string& value, std::string_view divisor) const;

 private:
  core::OpId op_;
  DType accumulator_;
};

}  // namespace tyto::opencl
