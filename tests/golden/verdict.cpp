// SPDX-License-Identifier: MIT
// Compares the computed results of a case with the expected ones, in the case's order.
#include "tests/golden/verdict.hpp"

#include "tyto/error.hpp"

namespace tyto::golden {

std::string verdict(const Case& one, const std::vector<Array>& found) {
  const std::vector<Expectation> wanted = expectations(one);
  if (found.size() != wanted.size()) {
    return std::to_string(found.size()) + " results instead of " + std::to_string(wanted.size());
  }
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string here = difference(found[i], *wanted[i].array, *wanted[i].tolerance);
    if (!here.empty()) text += (text.empty() ? "" : "; ") + wanted[i].what + ": " + here;
  }
  return text;
}

std::string verdict(const Case& one, const std::function<std::vector<Array>(const Case&)>& compute) {
  try {
    return verdict(one, compute(one));
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string refusal(const Case& one, const std::function<std::vector<Array>(const Case&)>& compute) {
  try {
    compute(one);
  } catch (const GraphError&) {
    return {};
  }
  return "a result whose shape depends on elements was not refused";
}

}  // namespace tyto::golden
