// SPDX-License-Identifier: MIT
// Limits for untrusted models: bytes, and iterations of loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/device/allocation_limit.hpp"
#include "onnx/file/operand.hpp"
#include "tyto/onnx.hpp"

namespace tyto::onnx {

/// Asks before lists of rows * columns numbers are made beside tensors.
void require_numbers(std::int64_t rows, std::int64_t columns = 1);

/// Counts for one model, against what OnnxOptions say; 0 is no limit.
class Limits {
 public:
  explicit Limits(const OnnxOptions& options) : bytes_(options.max_bytes), iterations_(options.max_iterations) {}

  bool bounds_bytes() const { return bytes_ != 0; }
  bool bounds_iterations() const { return iterations_ != 0; }
  /// Whether calls are counted, which they are one at a time.
  bool counts() const { return bounds_bytes() || bounds_iterations(); }
  /// The bytes of max_bytes that weights leave.
  std::size_t bytes_left() const { return bytes_ - weights_; }

  /// f() in no more memory than the model may take, with its iterations counted from 0. Errors name `file` and a node.
  template <class F>
  auto within(const std::string& file, const F& f) {
    if (counts()) set_iterations(0);
    if (!bounds_bytes()) return f();
    const core::AllocationLimit limit(bytes_left());
    try {
      return f();
    } catch (const core::AllocationRefused& refused) {
      refuse_plan(file, refused);
    }
  }

  // Each throws LimitError that begins with `where`.

  /// Weights are counted before they are read.
  void add_weights(const std::string& where, std::size_t bytes);
  /// A result of a node may not be larger than max_bytes, a view of fewer elements included.
  void check_result(const std::string& where, const Array& result);
  void add_iterations(const std::string& where, std::int64_t count);
  /// An allocation that was refused.
  [[noreturn]] void refuse(const std::string& where, const core::AllocationRefused& refused) const;
  /// The same of a plan: its largest result is named.
  [[noreturn]] void refuse_plan(const std::string& file, const core::AllocationRefused& refused) const;

  /// Iterations since the call began.
  std::int64_t iterations() const { return counted_; }
  void set_iterations(std::int64_t count) { counted_ = count; }

  /// While alive, what is counted is the body of a loop that runs so often.
  class Body {
   public:
    Body(Limits& limits, std::int64_t times);
    ~Body() { limits_.times_ = outer_; }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

   private:
    Limits& limits_;
    std::int64_t outer_;
  };

 private:
  std::size_t bytes_;
  std::int64_t iterations_;
  std::size_t weights_ = 0;
  std::int64_t counted_ = 0;
  std::int64_t times_ = 1;
  std::size_t largest_bytes_ = 0;
  std::string largest_;  // the node that makes it
};

}  // namespace tyto::onnx
