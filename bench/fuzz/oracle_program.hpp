// SPDX-License-Identifier: MIT
// Programs of loops and branches that another library can run as well: few operators, written as data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto::oracle {

/// The type of a value: f64 of no axes, of one, of two of the same length, or one integer.
enum class Kind { scalar, line, page, whole };

struct Region;

/// One line: an operator, what it reads and what it makes, by number. Regions see the numbers around them.
struct Line {
  std::string op;
  std::vector<int> in;
  std::vector<int> out;
  std::vector<Region> regions = {};
  std::vector<double> numbers = {};  ///< constants of the operator
};

struct Region {
  std::vector<int> parameters = {};
  std::vector<Line> lines = {};
  std::vector<int> results = {};
};

struct Program {
  std::int64_t length = 1;   ///< of every axis
  std::vector<Kind> inputs;  ///< numbered from 0 on, then come the states, which are lines
  std::vector<std::vector<double>> input_data;
  std::vector<std::vector<double>> state_data;
  Region body;
  bool differentiated = false;  ///< also the gradients of the sum of squares of the results; has no states
};

/// The program that the seed gives.
Program program_of(std::uint64_t seed);

/// The program as one line of JSON, without the closing brace.
std::string json_of(const Program& program);

/// Its results, given inputs and states.
template <class M>
std::vector<Tensor<M>> run(const Program& program, const std::vector<Tensor<M>>& inputs,
                           const std::vector<Tensor<M>>& states);

extern template std::vector<Tensor<Eager>> run(const Program&, const std::vector<Tensor<Eager>>&,
                                               const std::vector<Tensor<Eager>>&);
extern template std::vector<Tensor<Lazy>> run(const Program&, const std::vector<Tensor<Lazy>>&,
                                              const std::vector<Tensor<Lazy>>&);

}  // namespace tyto::oracle
