// SPDX-License-Identifier: MIT
// Prints lists of tensors, such as gradients: pending ones are evaluated as one graph.
#include <algorithm>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/graph/evaluate.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

std::ostream& detail::print_list(std::ostream& out, const std::vector<Value>& values) {
  std::vector<Value> defined;
  std::ranges::copy_if(values, std::back_inserter(defined),
                       [](const Value& value) { return static_cast<bool>(value); });
  run::evaluate(defined);  // as one graph
  out << '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::ostringstream element;
    print(element, values[i]);
    out << (i == 0 ? "" : ",\n ");
    const std::string text = element.str();
    for (std::size_t at = 0; at < text.size(); ++at) {  // its lines stand one column further to the right
      out << text[at];
      if (text[at] == '\n' && text[at + 1] != '\n') out << ' ';
    }
  }
  return out << ']';
}

}  // namespace TYTO_API
