// SPDX-License-Identifier: MIT
// Parses the choice of passes.
#include "optimiser/passes/pass_selection.hpp"
#include "core/value/text.hpp"

#include <algorithm>
#include <string>

#include "optimiser/passes/pass.hpp"
#include "tyto/error.hpp"

namespace tyto::optimiser {

PassSelection::PassSelection() {
  for (const Pass& pass : pass_table()) on_.push_back(pass.on);
}

void PassSelection::apply(std::string_view text) {
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(", \t"), text.size());
    if (end != 0) {
      apply_word(text.substr(0, end), first);
      first = false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void PassSelection::apply_word(std::string_view word, bool first) {
  const bool sign = word.front() == '+' || word.front() == '-';
  const bool on = word.front() != '-';
  const std::string_view name = sign ? word.substr(1) : word;
  if (!sign && (name == "all" || name == "none")) {
    std::fill(on_.begin(), on_.end(), name == "all");
    return;
  }
  if (!sign && first) std::fill(on_.begin(), on_.end(), false);
  if (name == "fast_math") {
    fast_math_ = on;
    return;
  }
  std::string known = "all, none, fast_math";
  for (std::size_t i = 0; i < on_.size(); ++i) {
    if (pass_table()[i].name == name) {
      on_[i] = on;
      return;
    }
    known += ", " + std::string(pass_table()[i].name);
  }
  core::throw_error<ValueError>("passes: '", word, "' is none of ", known);
}

}  // namespace tyto::optimiser
