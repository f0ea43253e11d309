// SPDX-License-Identifier: MIT
// Chooses which passes run, from a text such as "-cse,+fast_math".
#pragma once

#include <string_view>
#include <vector>

namespace tyto::optimiser {

/// Words are parted by commas or blanks and read from left to right: `+name` and `-name` switch one pass, `all` and
/// `none` every pass (not fast_math), and a bare name, when it is the first word, means "only these".
class PassSelection {
 public:
  /// The default of the table of passes.
  PassSelection();
  /// Throws ValueError listing the names when a word is none of them.
  void apply(std::string_view text);

  /// Whether the pass at this index of pass_table() runs.
  bool is_on(std::size_t pass) const { return on_[pass]; }
  bool fast_math() const { return fast_math_; }

 private:
  void apply_word(std::string_view word, bool first);

  std::vector<bool> on_;
  bool fast_math_ = false;
};

}  // namespace tyto::optimiser
