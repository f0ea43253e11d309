// SPDX-License-Identifier: MIT
// Parses command lines by a table of options.
#include "cli/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/suggestion.hpp"

namespace tyto::cli {

namespace {

std::vector<std::string> option_names(std::span<const OptionRow> known) {
  std::vector<std::string> names{"--help"};
  for (const OptionRow& row : known) names.emplace_back(row.name);
  return names;
}

/// The integer at the beginning of a text and the rest of the text, or nothing where the text begins with none.
std::optional<std::pair<std::int64_t, std::string_view>> leading_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return std::pair(number, std::string_view(stop, static_cast<std::size_t>(text.data() + text.size() - stop)));
}

[[noreturn]] void refuse(std::string_view option, const std::string& takes, const std::string& given) {
  throw_error<UsageError>("option ", option, " takes ", takes, ", not '", given, "'");
}

}  // namespace

Arguments::Arguments(std::span<const OptionRow> known, std::span<const std::string> given, bool takes_program) {
  bool options_over = false;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const std::string& word = given[k];
    if (options_over || word.size() < 2 || word[0] != '-') {
      operands_.push_back(word);
      options_over = options_over || takes_program;
      continue;
    }
    if (word == "--") {
      options_over = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto row = std::find_if(known.begin(), known.end(), [&](const OptionRow& r) { return r.name == name; });
    if (row == known.end()) throw_error<UsageError>("unknown option ", name, suggestion(name, option_names(known)));
    if (has(name) && !row->repeats) throw_error<UsageError>("option ", name, " is given twice");
    if (row->value.empty()) {
      if (equals != std::string::npos) throw_error<UsageError>("option ", name, " takes no value");
      values_.emplace_back(name, "");
    } else if (equals != std::string::npos) {
      values_.emplace_back(name, word.substr(equals + 1));
    } else {
      if (k + 1 == given.size()) throw_error<UsageError>("option ", name, " needs a value: ", row->value);
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

NamedList<std::string> Arguments::named(std::string_view name, std::string_view what) const {
  NamedList<std::string> pairs;
  for (const std::string& word : texts(name)) {
    Named<std::string> pair = name_and_value(word, name, what);
    if (pairs.contains(pair.name)) throw_error<UsageError>(name, " names '", pair.name, "' twice");
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::optional<std::int64_t> Arguments::number(std::string_view name, std::int64_t least, std::int64_t most) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const auto number = leading_number(*value);
  if (!number || !number->second.empty() || number->first < least || number->first > most) {
    const bool open = most == std::numeric_limits<std::int64_t>::max();
    refuse(name,
           open ? "an integer of at least " + std::to_string(least)
                : "an integer from " + std::to_string(least) + " to " + std::to_string(most),
           *value);
  }
  return number->first;
}

std::optional<double> Arguments::real(std::string_view name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const std::optional<double> number = finite_number(*value);
  if (!number || *number < 0) refuse(name, "a number of at least 0", *value);
  return number;
}

std::optional<std::int64_t> Arguments::bytes(std::string_view name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const auto number = leading_number(*value);
  constexpr std::string_view units = "KMG";
  int shift = 0;
  if (number && number->second.size() == 1 && units.find(number->second[0]) != std::string_view::npos) {
    shift = 10 * static_cast<int>(units.find(number->second[0]) + 1);
  }
  if (!number || (shift == 0 && !number->second.empty()) || number->first < 1 ||
      number->first > std::numeric_limits<std::int64_t>::max() >> shift) {
    refuse(name, "a number of bytes such as 4096, 64K, 512M or 2G", *value);
  }
  return number->first << shift;
}

const std::string& Arguments::only_operand(std::string_view takes) const {
  if (operands_.size() != 1) throw_error<UsageError>(takes, ", not ", operands_.size());
  return operands_.front();
}

std::optional<double> finite_number(std::string_view text) {
  // libc++ before 20 has no std::from_chars of floating point.
  std::istringstream stream{std::string(text)};
  double number = 0;
  if (!(stream >> std::noskipws >> number) || !stream.eof() || !std::isfinite(number)) return std::nullopt;
  return number;
}

Named<std::string> name_and_value(const std::string& word, std::string_view option, std::string_view what) {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw_error<UsageError>(option, " takes ", what, ", not '", word, "'");
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

}  // namespace tyto::cli
