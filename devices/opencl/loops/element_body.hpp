// SPDX-License-Identifier: MIT
// Writes the body of a loop for one element: loads, instructions, stores.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "devices/opencl/loops/named_loop.hpp"
#include "devices/opencl/text/kernel_text.hpp"

namespace tyto::opencl {

/// In the text value i is called v<i>, input i is the memory in<i> and output i the memory out<i>. Every value that a
/// step reads has been rounded to its type, as if it had been stored and loaded.
class ElementBody {
 public:
  /// Both must outlive the body.
  ElementBody(const Context& context, const NamedLoop& loop);

  DType type(std::size_t value) const { return types_[value]; }
  /// True for an input that is no operand element by element: the key of a random draw.
  bool raw(std::size_t input) const { return raw_[input]; }

  /// Declares what constants and steps need beside memory and sizes, and writes the constants.
  void declare(KernelText& kernel) const;

  /// Statements. `at` is a place in the memory of the input or output.
  std::string load_input(std::size_t i, std::string_view at) const;
  std::string store_output(std::size_t i, std::string_view at) const;
  /// `index` names the number of the element in row-major order.
  std::string step(std::size_t value, std::string_view index) const;

 private:
  std::string expression(std::size_t value, std::string_view index) const;
  std::string number(const core::LoopInstruction& step, std::string_view index) const;
  std::string draw(const core::LoopInstruction& step, bool exact, std::string_view index) const;

  const Context& context_;
  const NamedLoop& loop_;
  const core::LoopProgram& program_;
  std::vector<DType> types_;  // of the values
  std::vector<bool> raw_;     // of the inputs
  std::vector<bool> exact_;   // values that must be rounded to their type as soon as they are made
};

}  // namespace tyto::opencl
