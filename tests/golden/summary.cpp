// SPDX-License-Identifier: MIT
// Counts cases by operator and way, and writes the table of them.
#include "tests/golden/summary.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>

namespace tyto::golden {

namespace {

void add(Counts& sum, const Counts& more) {
  sum.values += more.values;
  sum.gradients += more.gradients;
  sum.second_gradients += more.second_gradients;
}

std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << counts.values << " / " << counts.gradients << " / " << counts.second_gradients;
}

}  // namespace

void Summary::count(const Case& one, const std::string& way) {
  add(by_operator_[one.op][way], {1, one.gradients.empty() ? 0 : 1, one.second_gradients.empty() ? 0 : 1});
}

Summary::~Summary() {
  std::map<std::string, Counts> sums;
  for (const auto& [op, ways] : by_operator_) {
    for (const auto& [way, counts] : ways) add(sums[way], counts);
  }
  for (const auto& [way, counts] : sums) {
    std::cout << "goldens of " << by_operator_.size() << " operators, " << way
              << ", values / gradients / second gradients: " << counts << '\n';
  }
  const char* path = std::getenv("TYTO_GOLDEN_SUMMARY");
  if (path == nullptr || sums.empty()) return;
  std::ofstream file(path);
  file << "Cases held against goldens: values / gradients / second gradients.\n\n| operator |";
  for (const auto& sum : sums) file << ' ' << sum.first << " |";
  file << "\n|---|";
  for (std::size_t i = 0; i < sums.size(); ++i) file << "---|";
  for (const auto& [op, ways] : by_operator_) {
    file << "\n| " << op << " |";
    for (const auto& sum : sums) file << ' ' << (ways.contains(sum.first) ? ways.at(sum.first) : Counts()) << " |";
  }
  file << "\n| all |";
  for (const auto& sum : sums) file << ' ' << sum.second << " |";
  file << '\n';
}

Summary& summary() {
  static Summary one;
  return one;
}

}  // namespace tyto::golden
