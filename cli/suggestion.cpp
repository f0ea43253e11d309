// SPDX-License-Identifier: MIT
// Finds near names by edit distance: letters added, left out, changed, or exchanged with their neighbour.
#include "cli/suggestion.hpp"

#include <algorithm>
#include <cctype>

#include <tyto/error.hpp>

#include "cli/arguments.hpp"

namespace tyto::cli {

namespace {

std::string in_small_letters(std::string_view word) {
  std::string small(word);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

/// Damerau and Levenshtein's distance, without changes of what was exchanged.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_above, above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above = above;
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string given = in_small_letters(word);
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(given.size() / 3, 1) + 1;
  for (const std::string& name : known) {
    const std::string candidate = in_small_letters(name);
    // The beginning of a name stands for it.
    const bool begins = given.size() >= 3 && candidate.starts_with(given);
    const std::size_t away = begins ? 1 : edits_between(given, candidate);
    if (away >= least || away >= std::max(given.size(), candidate.size())) continue;
    least = away;
    nearest = &name;
  }
  return nearest == nullptr ? "" : " (did you mean '" + *nearest + "'?)";
}

void require_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return;
  std::vector<std::string> there;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    there.push_back((path.has_parent_path() ? folder / entry.path().filename() : entry.path().filename()).string());
  }
  std::sort(there.begin(), there.end());
  throw_error<IoError>(path.string(), ": cannot be opened for reading: there is no such file",
                       suggestion(path.string(), there));
}

}  // namespace tyto::cli
