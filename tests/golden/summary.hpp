// SPDX-License-Identifier: MIT
// Counts the cases computed in each way, by operator: printed in short, written in full where a file is asked for.
#pragma once

#include <map>
#include <string>

#include "tests/golden/golden.hpp"

namespace tyto::golden {

/// Cases of one operator, computed in one way: how many, and of how many the gradients and second gradients.
struct Counts {
  int values = 0;
  int gradients = 0;
  int second_gradients = 0;
};

class Summary {
 public:
  /// Prints the sums; writes the table to the file that the environment variable TYTO_GOLDEN_SUMMARY names.
  ~Summary();
  void count(const Case& one, const std::string& way);

 private:
  std::map<std::string, std::map<std::string, Counts>> by_operator_;
};

/// The one of this run of the program, finished with it.
Summary& summary();

}  // namespace tyto::golden
