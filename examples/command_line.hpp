// SPDX-License-Identifier: MIT
// The command line of an example: a table of options that fills in variables, checks what is given, and prints the
// help.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Names variables and what may be written into them; `parse` then reads the words of main.
///
///     CommandLine line("train", "Trains a network.");
///     line.number("--epochs", epochs, 0, "passes over the training set");
///     if (!line.parse(count, words)) return 0;  // the help was asked for, and printed
class CommandLine {
 public:
  CommandLine(std::string program, std::string purpose) : program_(std::move(program)), purpose_(std::move(purpose)) {}

  /// Any text; `what` stands for it in the help.
  CommandLine& text(const char* name, std::string& value, const char* what, const char* meaning) {
    add(name, what, meaning, value, [&value](const std::string& given) { value = given; });
    return *this;
  }
  /// One of some words.
  CommandLine& choice(const char* name, std::string& value, std::vector<std::string> words, const char* meaning) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : "|") + word;
    add(name, all, meaning, value, [&value, words = std::move(words), name = std::string(name), all](auto& given) {
      for (const std::string& word : words) {
        if (word == given) value = given;
      }
      if (value != given) throw std::invalid_argument(name + ": '" + given + "' is none of " + all);
    });
    return *this;
  }
  /// An integer or a real number from `least` on.
  template <class T>
  CommandLine& number(const char* name, T& value, std::type_identity_t<T> least, const char* meaning) {
    const std::string preset = value == std::numeric_limits<T>::max() ? "" : in_short(value);  // no limit
    add(name, std::is_integral_v<T> ? "N" : "R", meaning, preset,
        [&value, least, name = std::string(name)](const std::string& given) {
          T read{};
          std::istringstream stream(given);
          // A stream takes -1 for the largest unsigned number; and what is no number is refused too.
          const bool wraps = std::is_unsigned_v<T> && given.starts_with('-');
          if (wraps || !(stream >> std::noskipws >> read) || !stream.eof() || !(read >= least)) {
            throw std::invalid_argument(name + ": '" + given + "' is no number from " + in_short(least) + " on");
          }
          value = read;
        });
    return *this;
  }

  /// False when the help was asked for, which is then printed. Throws std::invalid_argument for what makes no sense.
  bool parse(int count, char** words) const {
    for (int i = 1; i < count; ++i) {
      const std::string name = words[i];
      if (name == "--help" || name == "-h") {
        print_help();
        return false;
      }
      const Option& option = find(name);
      if (i + 1 == count) throw std::invalid_argument(name + ": its value is missing; see --help");
      option.read(words[++i]);
    }
    return true;
  }

 private:
  struct Option {
    std::string name;
    std::string what;
    std::string meaning;
    std::function<void(const std::string&)> read;
  };

  template <class T>
  static std::string in_short(T number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
  }

  void add(const char* name, std::string what, std::string meaning, const std::string& preset,
           std::function<void(const std::string&)> read) {
    if (!preset.empty()) meaning += " (" + preset + ")";
    options_.push_back({name, std::move(what), std::move(meaning), std::move(read)});
  }
  const Option& find(const std::string& name) const {
    for (const Option& option : options_) {
      if (option.name == name) return option;
    }
    throw std::invalid_argument(name + ": no such option; see --help");
  }
  void print_help() const {
    std::size_t widest = 0;
    for (const Option& option : options_) widest = std::max(widest, option.name.size() + option.what.size());
    std::cout << "usage: " << program_ << " [OPTIONS]\n\n" << purpose_ << "\n\n";
    for (const Option& option : options_) {
      std::cout << "  " << option.name << ' ' << option.what
                << std::string(widest - option.name.size() - option.what.size() + 2, ' ') << option.meaning << '\n';
    }
  }

  std::string program_;
  std::string purpose_;
  std::vector<Option> options_;
};
