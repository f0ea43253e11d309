// SPDX-License-Identifier: MIT
// Computes the cases that layers_oracle.py drew, in both modes: layers_oracle FOLDER [DEVICE [NAME]].
#include <fstream>
#include <iostream>
#include <sstream>

#include "bench/fuzz/drawn_case.hpp"

namespace tyto::oracle {

DrawnCase::DrawnCase(const std::string& folder, const std::string& line) : folder_(folder) {
  std::istringstream words(line);
  words >> name_ >> kind_;
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    options_[word.substr(0, sign)] = word.substr(sign + 1);
  }
  arrays_ = read_npz<Tensor<Eager>>(file(".npz"));
}

PerAxis DrawnCase::each(const std::string& option, int fallback) const {
  if (!has(option)) return fallback;
  IntList list;
  std::istringstream numbers(options_.at(option));
  for (std::string number; std::getline(numbers, number, ',');) list.push_back(std::stoll(number));
  return list;
}

Padding DrawnCase::padding() const {
  const std::string given = text("padding");
  if (given.empty() || given == "valid") return valid;
  if (given == "same") return same;
  const auto counts = [](const std::string& part) {
    IntList list;
    std::istringstream numbers(part);
    for (std::string number; std::getline(numbers, number, ',');) list.push_back(std::stoll(number));
    return list;
  };
  const std::size_t sign = given.find(':');
  if (sign == std::string::npos) return Padding(counts(given), counts(given));
  return Padding(counts(given.substr(0, sign)), counts(given.substr(sign + 1)));
}

void DrawnCase::write(const char* mode) {
  write_npz(file(std::string(".") + mode + ".npz"), results_);
  results_ = {};
}

namespace {

template <class M>
bool run(DrawnCase& drawn, const char* mode) {
  try {
    if (!run_layer<M>(drawn) && !run_loss<M>(drawn) && !run_rule<M>(drawn)) {
      throw std::invalid_argument("no such kind: " + drawn.kind());
    }
    drawn.write(mode);
    return true;
  } catch (const std::exception& fault) {
    std::cout << drawn.name() << ' ' << mode << ": " << fault.what() << std::endl;
    return false;
  }
}

int main_of(int count, char** arguments) {
  if (count < 2) throw std::invalid_argument("layers_oracle FOLDER [DEVICE [NAME]]");
  const DeviceScope device(count > 2 ? arguments[2] : "cpu");
  std::ifstream list(arguments[1] + std::string("/cases.txt"));
  int faults = 0;
  for (std::string line; std::getline(list, line);) {
    DrawnCase drawn(arguments[1], line);
    if (count > 3 && drawn.name() != arguments[3]) continue;
    faults += !run<Eager>(drawn, "eager");
    faults += !run<Lazy>(drawn, "lazy");
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tyto::oracle

int main(int count, char** arguments) try {
  return tyto::oracle::main_of(count, arguments);
} catch (const std::exception& fault) {
  std::cerr << fault.what() << '\n';
  return 2;
}
