// The parser of command lines.
#include "cli/arguments.hpp"

#include <algorithm>
#include <charconv>

namespace tyto::cli {

Arguments::Arguments(std::span<const OptionRow> known, std::span<const std::string> given) {
  bool options_over = false;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const std::string& word = given[k];
    if (options_over || word.size() < 2 || word[0] != '-') {
      operands_.push_back(word);
      continue;
    }
    if (word == "--") {
      options_over = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto row = std::find_if(known.begin(), known.end(), [&](const OptionRow& r) { return r.name == name; });
    if (row == known.end()) throw UsageError("unknown option " + name);
    if (has(name) && !row->repeats) throw UsageError("option " + name + " is given twice");
    if (row->value.empty()) {
      if (equals != std::string::npos) throw UsageError("option " + name + " takes no value");
      values_.emplace_back(name, "");
    } else if (equals != std::string::npos) {
      values_.emplace_back(name, word.substr(equals + 1));
    } else {
      if (k + 1 == given.size()) throw UsageError("option " + name + " needs a value: " + std::string(row->value));
      values_.emplace_back(name, given[++k]);
    }
  }
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Arguments::texts(std::string_view name) const {
  std::vector<std::string> list;
  for (const auto& [key, value] : values_) {
    if (key == name) list.push_back(value);
  }
  return list;
}

std::optional<std::int64_t> Arguments::number(std::string_view name, std::int64_t least) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc{} || stop != value->data() + value->size() || number < least) {
    throw UsageError("option " + std::string(name) + " takes an integer of at least " + std::to_string(least) +
                     ", not '" + *value + "'");
  }
  return number;
}

}  // namespace tyto::cli
