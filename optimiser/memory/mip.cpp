// mip: the planning problem as a mixed-integer programme, solved by Cbc where the library was built with it.
#include "optimiser/memory/strategies.hpp"

#ifdef TYTO_HAVE_CBC
#include <cmath>
#include <coin/CbcModel.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
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

  std::vector<Bytes> solve(const Effort& effort) {
    CoinPackedMatrix matrix(true, rows_.data(), columns_.data(), values_.data(), static_cast<int>(values_.size()));
    OsiClpSolverInterface solver;
    solver.messageHandler()->setLogLevel(0);
    const std::vector<double> no_lower(upper_of_row_.size(), -solver.getInfinity());
    matrix.setDimensions(static_cast<int>(upper_of_row_.size()), static_cast<int>(lower_.size()));
    solver.loadProblem(matrix, lower_.data(), upper_.data(), cost_.data(), no_lower.data(), upper_of_row_.data());
    for (const int which : integers_) solver.setInteger(which);
    CbcModel model(solver);
    model.setLogLevel(0);
    model.messageHandler()->setLogLevel(0);
    model.solver()->messageHandler()->setLogLevel(0);
    // Trying out branches before taking one costs seconds a node here, where thousands of either-ors look alike.
    model.setNumberStrong(0);
    model.setNumberBeforeTrust(0);
    model.setCutoff(ceiling_ - 0.5);  // only what is lower than the greedy plan is of use
    model.setMaximumNodes(static_cast<int>(std::min<std::int64_t>(
        effort.deadline ? 1'000'000'000 : effort.work_or(default_nodes * work_per_mip_node) / work_per_mip_node + 1,
        1'000'000'000)));
    if (effort.deadline) {
      model.setUseElapsedTime(true);
      model.setMaximumSeconds(std::max(0.01, std::chrono::duration<double>(*effort.deadline - Clock::now()).count()));
    }
    model.branchAndBound();
    const double* found = model.bestSolution();
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
  const std::vector<Bytes> offsets = IntegerProgram(p, start.height).solve(effort);
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

bool mip_available() { return true; }

Placement mip(const Problem& p, const Effort& effort) { return by_parts(p, effort, mip_part); }

#endif

}  // namespace tyto::memory
