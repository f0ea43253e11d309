// SPDX-License-Identifier: MIT
// docs/numpy.md and docs/pytorch.md list every name of what they compare with a replacement, or why there is none.
#include <doctest/doctest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace page_names {

#include "numpy_names.inc"
#include "pytorch_names.inc"

/// The words of the first column of the page's rows.
std::set<std::string> words_of_page(const char* path) {
  std::ifstream page(path);
  REQUIRE(page.good());
  std::set<std::string> words;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    std::string word;
    for (const char letter : line.substr(0, line.find(" | ", 2)) + " ") {
      if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_') {
        word += letter;
      } else if (!word.empty()) {
        words.insert(word);
        word.clear();
      }
    }
  }
  return words;
}

void check_names(const char* path, const std::vector<const std::vector<std::string>*>& lists) {
  const std::set<std::string> words = words_of_page(path);
  for (const auto* names : lists) {
    for (const std::string& name : *names) {
      CAPTURE(name);
      CHECK(words.count(name) == 1);
    }
  }
}

TEST_CASE("docs/numpy.md has a row for every name of the array API standard and of NumPy") {
  check_names("docs/numpy.md", {&array_api_names, &numpy_names, &linalg_names, &fft_names});
}

TEST_CASE("docs/pytorch.md has a row for every layer, loss, descent, schedule, initialiser and option of PyTorch") {
  check_names("docs/pytorch.md",
              {&layer_names, &descent_names, &schedule_names, &initialiser_names, &utility_names, &option_names});
}

TEST_CASE(
    "docs/pytorch.md has a row for every function of torch.linalg, fft, func, nn.functional and method of Tensor") {
  check_names("docs/pytorch.md",
              {&torch_linalg_names, &torch_fft_names, &torch_func_names, &functional_names, &method_names});
}

}  // namespace page_names
