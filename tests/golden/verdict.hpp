// SPDX-License-Identifier: MIT
// Describes what is wrong with a case that was computed in some way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/golden/computation.hpp"

namespace tyto::golden {

/// The shapes of these results depend on elements, so that only eager mode can have them.
inline bool eager_only(const Case& one) { return one.op == "unique" || one.op == "nonzero"; }

/// Describes the difference between results and those of the case; empty when there is none.
std::string verdict(const Case& one, const std::vector<Array>& found);

/// The same of results still to be computed. What is thrown meanwhile is wrong, too.
std::string verdict(const Case& one, const std::function<std::vector<Array>(const Case&)>& compute);

/// Describes the fault where an invalid computation does not throw.
std::string refusal(const Case& one, const std::function<std::vector<Array>(const Case&)>& compute);

template <class M>
std::vector<Array> arrays_of(const Tensors<M>& tensors) {
  std::vector<Array> arrays;
  for (const Tensor<M>& tensor : tensors) arrays.push_back(array_of(tensor));
  return arrays;
}

}  // namespace tyto::golden
