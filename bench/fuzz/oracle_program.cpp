// SPDX-License-Identifier: MIT
// Draws programs for the oracle and writes them as data.
#include "bench/fuzz/oracle_program.hpp"

#include <cstdio>
#include <utility>

#include "tests/fuzz/dice.hpp"

namespace tyto::oracle {

namespace {

using fuzz::Dice;

/// The values that can be seen where the next line is written.
using Scope = std::vector<std::pair<int, Kind>>;

class Author {
 public:
  Author(Dice& dice, int first, std::int64_t states, bool differentiated)
      : dice_(dice), next_(first), states_(states), differentiated_(differentiated) {}

  void some_lines(Scope& scope, Region& region, std::int64_t count, int depth) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (depth < 3 && dice_.one_in(depth == 0 ? 2 : 4)) region_line(scope, region, depth);
      else plain_line(scope, region);
    }
  }

  /// A value of the kind, made from others where there is none.
  int some(Scope& scope, Region& region, Kind kind) {
    std::vector<int> found;
    for (const auto& [id, its] : scope) {
      if (its == kind) found.push_back(id);
    }
    if (!found.empty()) {
      const auto count = static_cast<std::int64_t>(found.size());
      const std::int64_t back = dice_.one_in(3) ? dice_.below(count) : dice_.below(std::min<std::int64_t>(3, count));
      return found[static_cast<std::size_t>(count - 1 - back)];
    }
    switch (kind) {
      case Kind::scalar: return add(scope, region, kind, {"number", {}, {}, {}, {dice_.real(-1, 1)}});
      case Kind::whole: return add(scope, region, kind, {"whole", {}, {}, {}, {double(dice_.below(5))}});
      case Kind::line: return add(scope, region, kind, {"spread_line", {some(scope, region, Kind::scalar)}, {}});
      case Kind::page: return add(scope, region, kind, {"spread_page", {some(scope, region, Kind::line)}, {}});
    }
    return 0;
  }

 private:
  int add(Scope& scope, Region& region, Kind kind, Line line) {
    line.out = {next_++};
    scope.emplace_back(line.out[0], kind);
    region.lines.push_back(std::move(line));
    return scope.back().first;
  }

  Kind floating() { return dice_.of({Kind::scalar, Kind::line, Kind::line, Kind::page}); }

  void plain_line(Scope& scope, Region& region) {
    const Kind kind = floating();
    const auto any = [&](Kind its) { return some(scope, region, its); };
    switch (dice_.below(12)) {
      case 0:
      case 1: {
        const char* op = dice_.of({"tanh", "sin", "cos", "sigmoid", "negate"});
        add(scope, region, kind, {op, {any(kind)}, {}});
        return;
      }
      case 2:
      case 3:
      case 4: {
        const char* op = dice_.of({"add", "subtract", "multiply"});
        const int left = any(kind);
        add(scope, region, kind, {op, {left, any(dice_.one_in(3) ? Kind::scalar : kind)}, {}});
        return;
      }
      case 5: {
        const bool page = dice_.one_in(2);
        const int left = any(Kind::page);
        const int product = add(scope, region, page ? Kind::page : Kind::line,
                                {"matmul", {left, any(page ? Kind::page : Kind::line)}, {}});
        add(scope, region, page ? Kind::page : Kind::line, {"tanh", {product}, {}});
        return;
      }
      case 6: add(scope, region, Kind::line, {"cumsum", {any(Kind::line)}, {}}); return;
      case 7: {
        const bool page = dice_.one_in(2);
        add(scope, region, page ? Kind::line : Kind::scalar, {"sum", {any(page ? Kind::page : Kind::line)}, {}});
        return;
      }
      case 8: add(scope, region, Kind::page, {"transpose", {any(Kind::page)}, {}}); return;
      case 9: {
        const int page = any(Kind::page);
        add(scope, region, Kind::line, {"row", {page, any(Kind::whole)}, {}});
        return;
      }
      case 10: {
        const int page = any(Kind::page), at = any(Kind::whole);
        add(scope, region, Kind::page, {"set_row", {page, at, any(Kind::line)}, {}});
        return;
      }
      default: break;
    }
    if (states_ > 0 && dice_.one_in(2)) {
      const double state = static_cast<double>(dice_.below(states_));
      if (dice_.one_in(2)) add(scope, region, Kind::line, {"read", {}, {}, {}, {state}});
      else region.lines.push_back({"assign", {bounded(scope, region, Kind::line)}, {}, {}, {state}});
    } else if (dice_.one_in(2)) {
      const double numbers[] = {double(dice_.between(1, 3)), double(dice_.between(0, 4)), double(dice_.between(2, 5))};
      add(scope, region, Kind::whole, {"whole_step", {any(Kind::whole)}, {}, {}, {numbers[0], numbers[1], numbers[2]}});
    } else {
      const int truth = condition(scope, region);
      const int left = any(kind);
      add(scope, region, kind, {"where", {truth, left, any(kind)}, {}});
    }
  }

  // A bool, which is of no use for anything else: it is not put into the scope.
  int condition(Scope& scope, Region& region) {
    Line line = dice_.one_in(2) ? Line{"is_even", {some(scope, region, Kind::whole)}, {}}
                                : Line{"less", {some(scope, region, Kind::scalar)}, {}, {}, {dice_.real(-0.7, 0.7)}};
    line.out = {next_++};
    region.lines.push_back(std::move(line));
    return next_ - 1;
  }

  int bounded(Scope& scope, Region& region, Kind kind) {
    const int value = some(scope, region, kind);
    return kind == Kind::whole ? value : add(scope, region, kind, {"tanh", {value}, {}});
  }

  struct Carries {
    std::vector<int> start;
    std::vector<Kind> kinds;
  };
  Carries carries(Scope& scope, Region& region) {
    Carries made;
    const std::int64_t count = dice_.between(1, 4);
    for (std::int64_t i = 0; i < count; ++i) {
      const Kind kind = i > 0 && dice_.one_in(2) ? made.kinds[0] : dice_.one_in(5) ? Kind::whole : floating();
      made.kinds.push_back(kind);
      made.start.push_back(some(scope, region, kind));
    }
    return made;
  }

  // Parameters for values of these kinds.
  void take(Scope& scope, Region& region, const std::vector<Kind>& kinds) {
    for (const Kind kind : kinds) {
      region.parameters.push_back(next_);
      scope.emplace_back(next_++, kind);
    }
  }

  // Next values: computed, or another carry of the kind, or the same.
  void give_back(Scope& scope, Region& region, const std::vector<Kind>& kinds, std::size_t first) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      std::vector<int> passed;
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        if (kinds[k] == kinds[i]) passed.push_back(region.parameters[first + k]);
      }
      region.results.push_back(dice_.one_in(2) ? dice_.from(passed) : bounded(scope, region, kinds[i]));
    }
  }

  void region_line(Scope& scope, Region& region, int depth) {
    Line line;
    std::vector<Kind> made;
    const std::int64_t inner = dice_.between(1, 4);
    switch (dice_.below(depth == 0 ? 6 : 5)) {
      case 0:
      case 1: {  // cond, switch
        const bool two = dice_.one_in(2);
        line.op = two ? "cond" : "switch";
        line.in = {two ? condition(scope, region) : some(scope, region, Kind::whole)};
        const std::int64_t results = dice_.between(1, 2);
        for (std::int64_t i = 0; i < results; ++i) made.push_back(floating());
        const std::int64_t arms = two ? 2 : dice_.between(2, 4);
        for (std::int64_t arm = 0; arm < arms; ++arm) {
          Scope within = scope;
          Region body;
          if (!dice_.one_in(3)) some_lines(within, body, inner, depth + 1);
          for (const Kind kind : made) body.results.push_back(some(within, body, kind));
          line.regions.push_back(std::move(body));
        }
        break;
      }
      case 2: {  // fori: from, trips; a count that is data is bounded
        const Carries c = carries(scope, region);
        const bool known = dice_.one_in(2);
        line.op = known ? "fori" : "fori_data";
        line.in = c.start;
        if (!known) line.in.insert(line.in.begin(), some(scope, region, Kind::whole));
        line.numbers = {double(dice_.between(-1, 2)), double(dice_.between(0, 4)), double(dice_.between(1, 5))};
        made = c.kinds;
        Scope within = scope;
        Region body;
        take(within, body, {Kind::whole});
        take(within, body, c.kinds);
        some_lines(within, body, inner, depth + 1);
        give_back(within, body, c.kinds, 1);
        line.regions.push_back(std::move(body));
        break;
      }
      case 3: {  // while: a counter below a number, or a value below one; always bounded
        const Carries c = carries(scope, region);
        line.op = "while";
        line.in = c.start;
        line.numbers = {double(dice_.between(1, 5))};
        made = c.kinds;
        Scope within = scope;
        Region test;
        take(within, test, c.kinds);
        // The condition draws from the carries and what is captured, without lines that assign.
        const std::int64_t states = std::exchange(states_, 0);
        test.results = {condition(within, test)};
        states_ = states;
        line.regions.push_back(std::move(test));
        within = scope;
        Region body;
        take(within, body, c.kinds);
        some_lines(within, body, inner, depth + 1);
        give_back(within, body, c.kinds, 0);
        line.regions.push_back(std::move(body));
        break;
      }
      default: {  // scan over rows of a page or elements of a line, and one that stops
        const Carries c = carries(scope, region);
        const bool page = dice_.one_in(2);
        const bool until = !differentiated_ && dice_.one_in(3);
        line.op = until ? "scan_until" : "scan";
        line.in = c.start;
        line.in.insert(line.in.begin(), some(scope, region, page ? Kind::page : Kind::line));
        line.numbers = {until ? 0.0 : double(dice_.below(2))};
        made = c.kinds;
        const bool wide = dice_.one_in(2);
        made.push_back(wide ? Kind::page : Kind::line);
        Scope within = scope;
        Region body;
        take(within, body, c.kinds);
        take(within, body, {page ? Kind::line : Kind::scalar});
        some_lines(within, body, inner, depth + 1);
        give_back(within, body, c.kinds, 0);
        body.results.push_back(some(within, body, wide ? Kind::line : Kind::scalar));
        if (until) body.results.push_back(condition(within, body));
        if (until) made.push_back(Kind::whole);
        line.regions.push_back(std::move(body));
      }
    }
    for (const Kind kind : made) {
      line.out.push_back(next_);
      scope.emplace_back(next_++, kind);
    }
    region.lines.push_back(std::move(line));
  }

  Dice& dice_;
  int next_;
  std::int64_t states_;
  bool differentiated_;
};

std::size_t size_of_kind(Kind kind, std::int64_t length) {
  const auto n = static_cast<std::size_t>(length);
  return kind == Kind::page ? n * n : kind == Kind::line ? n : 1;
}

std::string list_of(const auto& items, const auto& write) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ",";
    text += write(item);
  }
  return text + "]";
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::string text_of(const Region& region) {
  const auto whole = [](int id) { return std::to_string(id); };
  return "{\"parameters\":" + list_of(region.parameters, whole) + ",\"lines\":" +
         list_of(region.lines,
                 [&](const Line& line) {
                   return "{\"op\":\"" + line.op + "\",\"in\":" + list_of(line.in, whole) +
                          ",\"out\":" + list_of(line.out, whole) + ",\"numbers\":" + list_of(line.numbers, number) +
                          ",\"regions\":" + list_of(line.regions, text_of) + "}";
                 }) +
         ",\"results\":" + list_of(region.results, whole) + "}";
}

}  // namespace

Program program_of(std::uint64_t seed) {
  Dice dice(seed * 6151);
  Program program;
  program.length = dice.between(1, 4);
  program.differentiated = dice.one_in(2);
  program.inputs = {Kind::line, Kind::scalar, Kind::line, Kind::page, Kind::whole};
  const std::int64_t states = program.differentiated ? 0 : dice.below(3);
  Scope scope;
  for (const Kind kind : program.inputs) {
    scope.emplace_back(static_cast<int>(scope.size()), kind);
    std::vector<double> data(size_of_kind(kind, program.length));
    for (double& x : data) x = kind == Kind::whole ? static_cast<double>(dice.below(5)) : dice.real(-1.5, 1.5);
    program.input_data.push_back(std::move(data));
  }
  for (std::int64_t i = 0; i < states; ++i) {
    std::vector<double> data(static_cast<std::size_t>(program.length));
    for (double& x : data) x = dice.real(-1, 1);
    program.state_data.push_back(std::move(data));
  }
  Author author(dice, static_cast<int>(scope.size()), states, program.differentiated);
  author.some_lines(scope, program.body, dice.between(2, 8), 0);
  // All that was made last, so that what a loop leaves behind is looked at.
  for (std::size_t back = 1; back <= 3 && back <= scope.size(); ++back) {
    const auto& [id, kind] = scope[scope.size() - back];
    if (static_cast<std::size_t>(id) >= program.inputs.size()) program.body.results.push_back(id);
  }
  program.body.results.push_back(author.some(scope, program.body, Kind::line));
  return program;
}

std::string json_of(const Program& program) {
  const auto numbers = [](const std::vector<double>& list) { return list_of(list, number); };
  return "{\"length\":" + std::to_string(program.length) +
         ",\"kinds\":" + list_of(program.inputs, [](Kind kind) { return std::to_string(static_cast<int>(kind)); }) +
         ",\"inputs\":" + list_of(program.input_data, numbers) + ",\"states\":" + list_of(program.state_data, numbers) +
         ",\"differentiated\":" + (program.differentiated ? "true" : "false") + ",\"body\":" + text_of(program.body);
}

}  // namespace tyto::oracle
