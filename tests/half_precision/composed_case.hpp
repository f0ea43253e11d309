// SPDX-License-Identifier: MIT
// Compares a function made of several operators in f16 and bf16 with the same function of the same numbers in f64.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

namespace half_precision {

using namespace tyto;

template <class M>
using Function = std::function<Tensor<M>(const std::vector<Tensor<M>>&)>;

/// Numbers drawn evenly from [low, high], times the scale of a trial where `scaled`, and rounded to half precision; or
/// whole ones below `classes`.
struct Operand {
  Shape shape;
  double low = -1, high = 1;
  bool scaled = true;
  std::int64_t classes = 0;
};
inline Operand any(const Shape& shape) { return {shape}; }
inline Operand positive(const Shape& shape) { return {shape, 0.25, 1}; }
inline Operand between(double low, double high, const Shape& shape) { return {shape, low, high, false}; }
inline Operand labels(std::int64_t classes, const Shape& shape) { return {shape, 0, 0, false, classes}; }

/// The error of a result. The function computes in f32 and rounds once: an element is off by half a unit in its last
/// place, and by `condition` times 2^-24 of the largest element: the count of roundings, times what each is enlarged
/// by.
struct Terms {
  double condition = 64;
  /// Ordinary numbers, and those whose squares, products and quotients are no numbers of f16.
  std::vector<double> scales = {1, 300, 60000, 1e-4};
  /// The highest order of derivatives that is tested.
  int derivatives = 2;
};

struct Case {
  std::string name;
  std::vector<Operand> operands;
  Function<Eager> eager;
  Function<Lazy> lazy;
  Terms terms;
};

template <class F>
Case of(std::string name, std::vector<Operand> operands, const F& f, Terms terms = {}) {
  return {std::move(name), std::move(operands), f, f, std::move(terms)};
}

/// Values, gradients and gradients of gradients in both types of half precision and both modes.
void check(const Case& function);

// By family; each function of the public headers stands in one, or among those that declared_test.cpp excuses.
std::vector<Case> cases_of_functions();
std::vector<Case> cases_of_networks();
std::vector<Case> cases_of_distributions();

}  // namespace half_precision
