// docs/numpy.md tells of every name of the array API standard and of NumPy what to write for it, or why there is
// nothing.
#include <doctest/doctest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace numpy_names {

#include "numpy_names.inc"

/// The words of the first column of the page's rows.
std::set<std::string> words_of_page() {
  std::ifstream page("docs/numpy.md");
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

TEST_CASE("docs/numpy.md has a row for every name of the array API standard and of NumPy") {
  const std::set<std::string> words = words_of_page();
  for (const auto* names : {&array_api_names, &numpy_names, &linalg_names, &fft_names}) {
    for (const std::string& name : *names) {
      CAPTURE(name);
      CHECK(words.count(name) == 1);
    }
  }
}

}  // namespace numpy_names
