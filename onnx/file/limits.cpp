// SPDX-License-Identifier: MIT
// Counts against the limits of a model, with sums that saturate at the largest number.
#include "onnx/file/limits.hpp"

#include "core/value/text.hpp"

namespace tyto::onnx {

namespace {

std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  return a != 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

}  // namespace

void require_numbers(std::int64_t rows, std::int64_t columns) {
  core::AllocationLimit::require(static_cast<std::size_t>(
      saturated_product(saturated_product(rows, columns), static_cast<std::int64_t>(sizeof(double)))));
}

void Limits::add_weights(const std::string& where, std::size_t bytes) {
  if (!bounds_bytes()) return;
  if (bytes > bytes_left()) {
    core::throw_error<LimitError>(where, " has ", bytes, " bytes where weights before it have ", weights_,
                                  "; max_bytes is ", bytes_);
  }
  weights_ += bytes;
}

void Limits::check_result(const std::string& where, const Array& result) {
  if (!bounds_bytes()) return;
  const auto bytes = static_cast<std::size_t>(result.size()) * size_of(result.dtype());
  if (bytes > bytes_) {
    core::throw_error<LimitError>(where, ": a result of shape ", result.shape(), " has ", bytes,
                                  " bytes; max_bytes is ", bytes_);
  }
  if (bytes <= largest_bytes_) return;
  largest_bytes_ = bytes;
  largest_ = where;
}

void Limits::add_iterations(const std::string& where, std::int64_t count) {
  if (!bounds_iterations()) return;
  const std::int64_t added = saturated_product(count, times_), left = iterations_ - counted_;
  if (added > left) {
    core::throw_error<LimitError>(where, ": ", added, added == 1 ? " iteration" : " iterations", " behind ", counted_,
                                  " of this call; max_iterations is ", iterations_);
  }
  counted_ += added;
}

void Limits::refuse(const std::string& where, const core::AllocationRefused& refused) const {
  core::throw_error<LimitError>(where, ": needs ", refused.asked, " bytes where ", refused.held + weights_,
                                " are taken; max_bytes is ", bytes_);
}

void Limits::refuse_plan(const std::string& file, const core::AllocationRefused& refused) const {
  if (largest_.empty()) refuse(file, refused);
  core::throw_error<LimitError>(largest_, ": its result of ", largest_bytes_,
                                " bytes is the largest of a plan that needs ", refused.asked, " bytes where ",
                                refused.held + weights_, " are taken; max_bytes is ", bytes_);
}

Limits::Body::Body(Limits& limits, std::int64_t times) : limits_(limits), outer_(limits.times_) {
  limits_.times_ = saturated_product(outer_, times);
}

}  // namespace tyto::onnx
