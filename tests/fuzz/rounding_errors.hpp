// SPDX-License-Identifier: MIT
// Random rounding errors: eager mode with each operator off by as much as it may be.
#pragma once

#include <cstdint>
#include <memory>

#include "core/graph/builder.hpp"

namespace tyto::fuzz {

/// While alive, what this thread computes in eager mode is off by chance, in gradients and bodies of loops too. An
/// operator gives what operands that are a little off would give, and that a little off (what is called mixed forward
/// and backward stability). With u the last place of the type, p the places that functions are documented to be off by,
/// n the longest axis of the operands or the elements that make one of the result:
///
///   functions of elements           each operand by p u of itself
///   sums, products, windows         each element of each operand by (p + n) u of itself: |error| <= n u |a||b|
///   transforms, factorisations      each element by (p + n) u of the largest of its matrix, as their backward errors
///   are
///
/// and each result by p u of itself, complex ones by p u of their absolute value. What moves, chooses or compares
/// elements is exact. Types of half width compute in f32: a result is off by one place, operands by none. What is
/// computed of scalar operands alone, which have no mode, is off as well; the operands themselves are as written.
class RoundingErrors {
 public:
  RoundingErrors(double places, std::uint64_t seed);
  ~RoundingErrors();
  RoundingErrors(const RoundingErrors&) = delete;
  RoundingErrors& operator=(const RoundingErrors&) = delete;

 private:
  std::unique_ptr<core::Builder> eager_, neutral_;
  core::Builder* outer_eager_;
  core::Builder* outer_neutral_;
};

}  // namespace tyto::fuzz
