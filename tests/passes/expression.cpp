// SPDX-License-Identifier: MIT
// Parses expressions into graphs.
#include "tests/passes/expression.hpp"

#include <map>
#include <stdexcept>
#include <string>

#include "core/system/number_text.hpp"

namespace tyto::testing {

namespace {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, DType dtype) : rest_(text), dtype_(dtype) {}

  core::Graph graph() {
    const core::Port root = read(dtype_);
    if (!rest_.empty()) throw std::invalid_argument("left over: " + std::string(rest_));
    sketch_.builder().add_output(root);
    for (const core::Port port : shared_) sketch_.builder().add_output(port);
    return sketch_.graph({});
  }

 private:
  bool skip(std::string_view wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return true;
  }

  core::Port read(DType dtype) {
    if (skip("bool ")) dtype = DType::boolean;
    if (rest_.front() == '-' || (rest_.front() >= '0' && rest_.front() <= '9')) {
      double value = 0;
      const auto end = core::number_from(rest_, value).ptr;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return sketch_.number(value, dtype);
    }
    const std::string_view word = rest_.substr(0, rest_.find_first_of("(), "));
    rest_.remove_prefix(word.size());
    if (word.size() == 1) {
      const auto found = inputs_.find(word);
      return found != inputs_.end() ? found->second
                                    : inputs_.emplace(std::string(word), sketch_.input({2, 3}, dtype)).first->second;
    }
    const core::OpDef* def = core::find_operator(word);
    if (def == nullptr || !skip("(")) throw std::invalid_argument("no operator: " + std::string(word));
    core::Port operands[3] = {};
    std::size_t count = 0;
    do {
      operands[count++] = read(dtype);
    } while (skip(","));
    if (!skip(")")) throw std::invalid_argument("no end: " + std::string(rest_));
    const core::Port result = sketch_.builder().add(def->id, nullptr, std::span<const core::Port>(operands, count));
    if (skip("!")) shared_.push_back(result);
    return result;
  }

  std::string_view rest_;
  DType dtype_;
  Sketch sketch_;
  std::vector<core::Port> shared_;
  std::map<std::string, core::Port, std::less<>> inputs_;
};

}  // namespace

core::Graph graph_of(std::string_view expression, DType dtype) { return ExpressionParser(expression, dtype).graph(); }

}  // namespace tyto::testing
