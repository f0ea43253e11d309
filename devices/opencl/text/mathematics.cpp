// SPDX-License-Identifier: MIT
// Selects and specialises the sections of OpenCL C that a program needs.
#include "devices/opencl/text/mathematics.hpp"

#include <algorithm>
#include <cctype>
#include <unordered_set>
#include <vector>

#include "devices/opencl/text/mathematics_source.hpp"

namespace tyto::opencl {

namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

// A C number: digits, fraction, exponent with sign.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const char c = text[at];
    const bool sign_of_exponent = (c == '+' || c == '-') && (text[at - 1] == 'e' || text[at - 1] == 'p');
    if (!is_digit(c) && c != '.' && std::isalpha(static_cast<unsigned char>(c)) == 0 && !sign_of_exponent) break;
    ++at;
  }
  return at;
}

// A whole or decimal constant in the type's own form, so that no arithmetic is widened.
std::string constant_of(std::string number, Compute type) {
  if (type == Compute::i32) return number;
  if (type == Compute::i64) return number + "L";
  if (type == Compute::u64) return number + "UL";
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return type == Compute::f32 ? number + "f" : number;
}

// PoCL 3.1 takes a branch that stands right behind a barrier for one that the whole work-group takes alike, and lets
// its last item decide. Compilers put one there where the head of a loop over what is an item's own compares what was
// compared before the barrier: `for (i = member; i < count; i += members)` was then skipped by all if the last had
// nothing to do. A store between the two, which no compiler may drop, makes the branch each item's own again.
constexpr std::string_view barrier_section = R"CLC(
#ifdef POCL_DEVICE_ADDRESS_BITS
#define barrier(fences) { barrier(fences); volatile int behind = 0; }
#endif
)CLC";

// The sections are written for every type at once: `real`, `whole` and `natural` stand for its name, those of the
// signed and unsigned integers of its width; @ for its suffix; 1.5r for a constant of it.
std::string instantiate(std::string_view section, Compute type) {
  const bool wide = is_wide(type);
  std::string out;
  for (std::size_t at = 0; at < section.size();) {
    const char c = section[at];
    if (c == '@') {
      out.append("_").append(suffix(type));
      ++at;
    } else if (starts_name(c)) {
      std::size_t past = at;
      while (past < section.size() && continues_name(section[past])) ++past;
      const std::string_view word = section.substr(at, past - at);
      if (word == "real") {
        out += type_name(type);
      } else if (word == "whole") {
        out += type == Compute::u64 ? "ulong" : wide ? "long" : "int";
      } else if (word == "natural") {
        out += wide ? "ulong" : "uint";
      } else {
        out += word;
      }
      at = past;
    } else if (is_digit(c)) {
      const std::size_t past = end_of_number(section, at);
      std::string number(section.substr(at, past - at));
      if (number.back() == 'r') {
        number.pop_back();
        if (type == Compute::f32) number += 'f';
      }
      out += number;
      at = past;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

}  // namespace

std::string specialise(std::string_view expression, Compute type) {
  std::string out;
  for (std::size_t at = 0; at < expression.size();) {
    const char c = expression[at];
    std::size_t past = at + 1;
    if (starts_name(c)) {
      while (past < expression.size() && continues_name(expression[past])) ++past;
      const std::string_view word = expression.substr(at, past - at);
      const bool call = past < expression.size() && expression[past] == '(';
      if (call && word == "num") {
        const std::size_t close = expression.find(')', past);
        out += constant_of(std::string(expression.substr(past + 1, close - past - 1)), type);
        past = close + 1;
      } else {
        out += word;
        if (call) out.append("_").append(suffix(type));
      }
    } else if (is_digit(c)) {
      past = end_of_number(expression, at);
      out += constant_of(std::string(expression.substr(at, past - at)), type);
    } else {
      out += c;
    }
    at = past;
  }
  return out;
}

namespace {

struct Definition {
  std::string name;
  std::string text;
};

// The name that a line like "static float exp_f32(float x) {" defines; empty for other lines.
std::string defined_name(std::string_view line) {
  if (!line.starts_with("static ")) return {};
  const std::size_t open = line.find('(');
  const std::size_t blank = line.rfind(' ', open);
  return std::string(line.substr(blank + 1, open - blank - 1));
}

// Appends the section's definitions; comments between them are for its readers.
void split(std::vector<Definition>& out, std::string_view section) {
  bool inside = false;
  while (!section.empty()) {
    const std::size_t end = std::min(section.find('\n'), section.size() - 1) + 1;
    const std::string_view line = section.substr(0, end);
    section.remove_prefix(end);
    if (std::string name = defined_name(line); !name.empty()) {
      out.push_back({std::move(name), {}});
      inside = true;
    } else if (line.starts_with("//")) {
      inside = false;
    }
    if (inside) out.back().text += line;
  }
}

// Functions of single elements must be inlined wherever loops over elements call them: a loop with a call does not
// become vectors, and what several kernels call a compiler may leave a call.
void inline_always(std::vector<Definition>& definitions) {
  for (Definition& each : definitions) each.text.insert(0, "__attribute__((always_inline)) ");
}

// Every function for a device, those that others call first.
std::vector<Definition> library(bool has_f64) {
  std::vector<Definition> out;
  const auto add = [&](std::string_view section, Compute type) { split(out, instantiate(section, type)); };
  split(out, narrow_section);
  split(out, index_section);
  add(integer_section, Compute::i32);
  add(integer_section, Compute::i64);
  add(integer_section, Compute::u64);
  add(signed_section, Compute::i32);
  add(signed_section, Compute::i64);
  split(out, natural_section);
  add(builtin_section, Compute::f32);
  if (has_f64) add(builtin_section, Compute::f64);
  add(real_section, Compute::f32);
  if (has_f64) add(real_section, Compute::f64);
  split(out, ordering_section);
  if (has_f64) split(out, wide_ordering_section);
  add(resizing_section, has_f64 ? Compute::f64 : Compute::f32);
  if (has_f64) split(out, widening_section);
  split(out, random_section);
  if (has_f64) split(out, wide_random_section);
  inline_always(out);
  return out;
}

void collect_names(std::unordered_set<std::string_view>& names, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t past = at + 1;
    if (continues_name(text[at])) {
      while (past < text.size() && continues_name(text[past])) ++past;
      names.insert(text.substr(at, past - at));
    }
    at = past;
  }
}

}  // namespace

std::string mathematics_for(const std::string& kernels, const Context& context) {
  // Compiling costs more than anything else here, so a program gets just the functions it calls. A function is used
  // only by later ones, so one pass from the end finds all.
  const std::vector<Definition> definitions = library(context.has_f64);
  std::unordered_set<std::string_view> needed;
  collect_names(needed, kernels);
  std::vector<const Definition*> used;
  for (auto it = definitions.rbegin(); it != definitions.rend(); ++it) {
    if (needed.erase(it->name) == 0) continue;
    used.push_back(&*it);
    collect_names(needed, it->text);
    needed.erase(it->name);
  }
  std::string out;
  for (auto it = used.rbegin(); it != used.rend(); ++it) out += (*it)->text;
  const std::string all = out + kernels;
  const bool wide = all.find("double") != std::string::npos, waits = all.find("barrier(") != std::string::npos;
  return (wide ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "") + std::string(waits ? barrier_section : "") +
         out;
}

}  // namespace tyto::opencl
