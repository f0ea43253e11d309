// SPDX-License-Identifier: MIT
// mip: the planning problem as a mixed-integer programme, solved by Cbc where the library was built with it. Cbc is
// loaded when somebody plans so.
#include "optimiser/memory/strategies.hpp"

#ifdef TYTO_HAVE_CBC
#include <coin/Cbc_C_Interface.h>

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "core/system/shared_library.hpp"
#endif

namespace tyto::memory {

#ifndef TYTO_HAVE_CBC

bool mip_available() { return false; }

// plan_memory refuses the strategy by name before it gets here.
Placement mip(const Problem&, const Effort&) { throw ValueError("plan_memory: this library was built without Cbc"); }

#else

namespace {

// Beyond this many either-or decisions even the relaxation takes minutes.
constexpr std::int64_t most_pairs = 4'000;
// Offsets travel through doubles and a big constant; beyond this the solver's tolerance would be whole units.
constexpr Bytes most_units = Bytes{1} << 40;
constexpr std::int64_t default_nodes = 500;
constexpr std::int64_t work_per_mip_node = 1'000'000;

struct Cbc {
  decltype(&Cbc_newModel) new_model = nullptr;
  decltype(&Cbc_deleteModel) delete_model = nullptr;
  decltype(&Cbc_loadProblem) load_problem = nullptr;
  decltype(&Cbc_setInteger) set_integer = nullptr;
  decltype(&Cbc_setLogLevel) set_log_level = nullptr;
  decltype(&Cbc_setParameter) set_parameter = nullptr;
  decltype(&Cbc_solve) solve = nullptr;
  decltype(&Cbc_bestSolution) best_solution = nullptr;

  Cbc() {
    const core::SharedLibrary library{"libCbcSolver.so.3", "libCbcSolver.so"};
    library.find(new_model, "Cbc_newModel");
    library.find(delete_model, "Cbc_deleteModel");
    library.find(load_problem, "Cbc_loadProblem");
    library.find(set_integer, "Cbc_setInteger");
    library.find(set_log_level, "Cbc_setLogLevel");
    library.find(set_parameter, "Cbc_setParameter");
    library.find(solve, "Cbc_solve");
    library.find(best_solution, "Cbc_bestSolution");
  }
  bool complete() const {
    return new_model != nullptr && delete_model != nullptr && load_problem != nullptr && set_integer != nullptr &&
           set_log_level != nullptr && set_parameter != nullptr && solve != nullptr && best_solution != nullptr;
  }
};

const Cbc& cbc_if_there() {
  static const Cbc loaded;
  return loaded;
}

const Cbc& cbc() {
  const Cbc& loaded = cbc_if_there();
  if (!loaded.complete()) throw ValueError("plan_memory: mip needs the library Cbc (libCbcSolver.so.3)");
  return loaded;
}

// Variables: the height first, then an offset a block (in multiples of its alignment), then one either-or a pair.
class IntegerProgram {
 public:
  IntegerProgram(const Problem& p, Bytes ceiling) : p_(p), ceiling_(static_cast<double>(ceiling)) {
    add_column(static_cast<double>(p.bound), ceiling_, 1, true);
    for (Index i = 0; i < p.count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double step = static_cast<double>(p.alignment[at]);
      const bool fixed = p.fixed[at] != not_fixed;
      const double place = static_cast<double>(p.fixed[at]) / step;
      const double highest = std::floor((ceiling_ - static_cast<double>(p.size[at])) / step);
      add_column(fixed ? place : 0, fixed ? place : highest, 0, p.alignment[at] > 1);
      // size + offset <= height
      add_row({{0, -1}, {column(i), step}}, -static_cast<double>(p.size[at]));
    }
    for (Index i = 0; i < p.count(); ++i) {
      for (const Index j : p.neighbours(i)) {
        if (j > i) add_pair(i, j);
      }
    }
  }

  std::vector<Bytes> solve(const Cbc& cbc, const Effort& effort) {
    const auto columns = static_cast<int>(lower_.size()), rows = static_cast<int>(upper_of_row_.size());
    // Terms come row by row; Cbc takes them column by column.
    std::vector<CoinBigIndex> start(lower_.size() + 1, 0);
    for (const int column : columns_) ++start[static_cast<std::size_t>(column) + 1];
    for (std::size_t i = 0; i < lower_.size(); ++i) start[i + 1] += start[i];
    std::vector<CoinBigIndex> next(start.begin(), start.end() - 1);
    std::vector<int> row_of(values_.size());
    std::vector<double> value_of(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(columns_[i])]++);
      row_of[at] = rows_[i];
      value_of[at] = values_[i];
    }
    const std::vector<double> no_lower(upper_of_row_.size(), -std::numeric_limits<double>::max());
    // Cbc's own thread safety is not documented.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const std::unique_ptr<Cbc_Model, decltype(cbc.delete_model)> model(cbc.new_model(), cbc.delete_model);
    cbc.set_log_level(model.get(), 0);
    cbc.load_problem(model.get(), columns, rows, start.data(), row_of.data(), value_of.data(), lower_.data(),
                     upper_.data(), cost_.data(), no_lower.data(), upper_of_row_.data());
    for (const int which : integers_) cbc.set_integer(model.get(), which);
    const std::int64_t nodes = std::min<std::int64_t>(
        effort.deadline ? 1'000'000'000 : effort.work_or(default_nodes * work_per_mip_node) / work_per_mip_node + 1,
        1'000'000'000);
    const auto option = [&](const char* name, const std::string& value) {
      cbc.set_parameter(model.get(), name, value.c_str());
    };
    // Trying out branches before taking one costs seconds a node here, where thousands of either-ors look alike. A
    // plain branch and bound also ends where the limit of nodes says.
    for (const char* name : {"preprocess", "presolve", "heuristicsOnOff", "cutsOnOff"}) option(name, "off");
    option("strongBranching", "0");
    option("trustPseudoCosts", "0");
    option("cutoff", std::to_string(ceiling_ - 0.5));  // only what is lower than the greedy plan is of use
    option("maxNodes", std::to_string(nodes));
    if (effort.deadline) {
      const double seconds = std::chrono::duration<double>(*effort.deadline - Clock::now()).count();
      option("timeMode", "elapsed");
      option("seconds", std::to_string(std::max(0.01, seconds)));
    }
    cbc.solve(model.get());
    const double* found = cbc.best_solution(model.get());
    if (found == nullptr) return {};
    std::vector<Bytes> offsets(p_.size.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] = static_cast<Bytes>(std::llround(found[i + 1] * static_cast<double>(p_.alignment[i])));
    }
    return offsets;
  }

 private:
  static int column(Index block) { return block + 1; }

  int add_column(double lower, double upper, double cost, bool integer) {
    const int which = static_cast<int>(lower_.size());
    lower_.push_back(lower);
    upper_.push_back(upper);
    cost_.push_back(cost);
    if (integer) integers_.push_back(which);
    return which;
  }

  void add_row(std::initializer_list<std::pair<int, double> > terms, double upper) {
    for (const auto& [which, value] : terms) {
      rows_.push_back(static_cast<int>(upper_of_row_.size()));
      columns_.push_back(which);
      values_.push_back(value);
    }
    upper_of_row_.push_back(upper);
  }

  // i below j when the pair's variable is 0, j below i when it is 1; the ceiling switches the other one off.
  void add_pair(Index i, Index j) {
    const int above = add_column(0, 1, 0, true);
    const double step_i = static_cast<double>(p_.alignment[static_cast<std::size_t>(i)]);
    const double step_j = static_cast<double>(p_.alignment[static_cast<std::size_t>(j)]);
    const double size_i = static_cast<double>(p_.size[static_cast<std::size_t>(i)]);
    const double size_j = static_cast<double>(p_.size[static_cast<std::size_t>(j)]);
    add_row({{column(i), step_i}, {column(j), -step_j}, {above, -ceiling_}}, -size_i);
    add_row({{column(j), step_j}, {column(i), -step_i}, {above, ceiling_}}, ceiling_ - size_j);
  }

  const Problem& p_;
  double ceiling_;
  std::vector<double> lower_;
  std::vector<double> upper_;
  std::vector<double> cost_;
  std::vector<int> integers_;
  std::vector<int> rows_;
  std::vector<int> columns_;
  std::vector<double> values_;
  std::vector<double> upper_of_row_;
};

Placement mip_part(const Problem& p, const Effort& effort) {
  Placement start = best_greedy(p, effort, best_sweep(p, effort));
  if (start.height <= effort.enough) return start;
  const auto pairs = static_cast<std::int64_t>(p.neighbour.size() / 2);
  if (!p.listed || pairs > most_pairs || start.height > most_units) {
    start.remark = "too large for Cbc: " + start.remark;
    return start;
  }
  const std::vector<Bytes> offsets = IntegerProgram(p, start.height).solve(cbc(), effort);
  if (offsets.empty()) return start;
  // The solver's offsets went through floating point, so they count as an order only: placing blocks in that order
  // gives whole offsets that are valid whatever was rounded. For the same reason its own claim to optimality is not
  // repeated.
  Placement placed = place_in_order(p, order_of_offsets(p, offsets), Fit::first);
  if (placed.height >= start.height) return start;
  placed.remark = "Cbc";
  return placed;
}

}  // namespace

bool mip_available() { return cbc_if_there().complete(); }

Placement mip(const Problem& p, const Effort& effort) { return by_parts(p, effort, mip_part); }

#endif

}  // namespace tyto::memory
