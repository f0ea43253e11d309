// SPDX-License-Identifier: MIT
// The tokeniser: letters made plain, words taken apart at blanks and punctuation, and then greedily into known parts.
#include "tokeniser.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tyto/error.hpp>

namespace {

/// One character of UTF-8; a byte that begins none stands for itself.
std::string_view next_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return text.substr(0, length);
}

/// The number of a character; 0 for bytes that are none.
std::uint32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 1: return byte(0) < 0x80 ? byte(0) : 0;
    case 2: return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3: return (byte(0) & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    default: return 0x10000;
  }
}

bool is_blank(std::uint32_t code) { return code <= ' ' || code == 0x7f || code == 0xa0 || code == 0x3000; }

/// Characters that are words of their own: punctuation and Chinese characters.
bool stands_alone(std::uint32_t code) {
  const bool ascii =
      code < 0x80 && code > ' ' && !(code >= '0' && code <= '9') && !((code | 32) >= 'a' && (code | 32) <= 'z');
  return ascii || code == 0xa1 || code == 0xa7 || code == 0xab || code == 0xb6 || code == 0xb7 || code == 0xbb ||
         code == 0xbf || (code >= 0x2010 && code <= 0x2027) || (code >= 0x2030 && code <= 0x205e) ||
         (code >= 0x3001 && code <= 0x3003) || (code >= 0x3400 && code <= 0x9fff);
}

/// A small letter without its accent.
std::string plain(std::string_view character, std::uint32_t code) {
  // From U+00C0 on; a blank where the letter is one of its own.
  static constexpr std::string_view letters = "aaaaaa ceeeeiiii nooooo  uuuuy  aaaaaa ceeeeiiii nooooo  uuuuy y";
  static_assert(letters.size() == 64);
  if (code >= 'A' && code <= 'Z') return {static_cast<char>(code | 32)};
  if (code < 0xc0 || code > 0xff) return std::string(character);
  if (letters[code - 0xc0] != ' ') return {letters[code - 0xc0]};
  // The large letters that have a small one: it comes 32 places later.
  const bool large = code < 0xdf && code != 0xd7;
  return large ? std::string{'\xc3', static_cast<char>(character[1] + 32)} : std::string(character);
}

}  // namespace

Tokeniser::Tokeniser(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tyto::IoError(path + ": cannot be read");
  try {
    const nlohmann::json model = nlohmann::json::parse(file).at("model");
    vocabulary_ = model.at("vocab").get<std::unordered_map<std::string, std::int64_t>>();
  } catch (const nlohmann::json::exception& error) {
    throw tyto::IoError(path + ": holds no WordPiece vocabulary: " + error.what());
  }
  for (const char* token : {"[CLS]", "[SEP]", "[UNK]", "[PAD]"}) {
    if (!vocabulary_.contains(token)) throw tyto::IoError(path + ": lacks the token " + token);
  }
}

std::int64_t Tokeniser::number_of(const std::string& token) const {
  const auto found = vocabulary_.find(token);
  return found == vocabulary_.end() ? -1 : found->second;
}

/// The longest known beginning, then the longest known continuation, and so on; a word with a part that is unknown is
/// unknown as a whole.
void Tokeniser::add_word(const std::string& word, std::vector<std::int64_t>& numbers) const {
  if (word.empty()) return;
  std::vector<std::int64_t> parts;
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    std::int64_t number = -1;
    for (; end > begin && number < 0; --end) {
      number = number_of((begin == 0 ? "" : "##") + word.substr(begin, end - begin));
    }
    if (number < 0) {
      parts = {number_of("[UNK]")};
      break;
    }
    parts.push_back(number);
    begin = end + 1;
  }
  numbers.insert(numbers.end(), parts.begin(), parts.end());
}

std::vector<std::int64_t> Tokeniser::encode(const std::string& sentence, std::size_t longest) const {
  std::vector<std::int64_t> numbers{number_of("[CLS]")};
  std::string word;
  std::string_view rest = sentence;
  while (!rest.empty()) {
    const std::string_view character = next_character(rest);
    rest.remove_prefix(character.size());
    const std::uint32_t code = code_of(character);
    if (is_blank(code) || stands_alone(code)) {
      add_word(word, numbers);
      word.clear();
      if (stands_alone(code)) add_word(std::string(character), numbers);
    } else {
      word += plain(character, code);
    }
  }
  add_word(word, numbers);
  numbers.resize(std::min(numbers.size(), longest - 1));
  numbers.push_back(number_of("[SEP]"));
  return numbers;
}
