// The search for what to keep; see the header. Every candidate is rewritten, ordered and measured, none is estimated.
#include "optimiser/recompute/recompute.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "optimiser/recompute/rewrite.hpp"
#include "optimiser/schedule/orders.hpp"
#include "optimiser/schedule/schedule.hpp"

namespace tyto::recompute {

using optimiser::Home;
using optimiser::Storages;
using schedule::nothing;
using schedule::Order;
using schedule::Problem;
using schedule::Task;

namespace {

/// One graph in one order, and what is alive across the worst step.
class Round {
 public:
  Round(const core::Graph& graph, const std::string& order)
      : graph_(graph), storages_(graph), problem_(schedule::make_problem(graph, storages_)) {
    order_ = choose_order(problem_, {.strategy = order, .worth_changing = 0}).order;
    const schedule::Footprint worst = footprint(problem_, order_);
    peak_ = worst.peak;
    boundary_ = worst.at;
    position_.resize(problem_.tasks());
    for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    find_idle();
  }

  std::int64_t peak() const { return peak_; }
  std::size_t idle() const { return idle_.size(); }

  /// The graph in this order.
  core::Graph ordered() const { return rewrite(graph_, storages_, problem_, order_, everything_kept()); }

  /// What values to keep at the ends of segments that make about `bytes` idle bytes each; none when 0.
  std::vector<bool> ends_of_segments(std::int64_t bytes) const {
    std::vector<bool> keep(problem_.storages(), false);
    if (bytes == 0) return keep;
    std::vector<std::int64_t> made(boundary_ + 1, 0);
    for (const std::uint32_t storage : idle_) made[position_[problem_.maker[storage]]] += problem_.bytes[storage];
    std::size_t begin = 0;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i <= boundary_; ++i) {
      sum += made[i];
      if (sum < bytes) continue;
      // Cut where the fewest bytes go on, in the later half of the segment.
      std::size_t cut = i;
      for (std::size_t j = i; j > begin + (i - begin) / 2; --j) {
        if (crossing_[j] < crossing_[cut]) cut = j;
      }
      for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
        if (crosses(storage, cut)) keep[storage] = true;
      }
      sum = 0;
      for (std::size_t j = cut + 1; j <= i; ++j) sum += made[j];
      begin = cut + 1;
    }
    return keep;
  }

  /// The graph that keeps `keep` and, of the other idle values, the `count` most expensive for their bytes.
  core::Graph with_kept(const std::vector<bool>& keep, std::size_t count) const {
    Choice choice = everything_kept();
    std::size_t kept = 0;
    for (const std::uint32_t storage : idle_) {
      choice.keep[storage] = keep[storage] || kept < count;
      if (!keep[storage]) ++kept;
    }
    // What dies before the worst step is not there afterwards either; it is made again where it is needed.
    for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
      if (over_before_[storage]) choice.keep[storage] = keep[storage];
    }
    return rewrite(graph_, storages_, problem_, order_, choice);
  }

  std::int64_t idle_bytes() const {
    std::int64_t sum = 0;
    for (const std::uint32_t storage : idle_) sum += problem_.bytes[storage];
    return sum;
  }

 private:
  Choice everything_kept() const { return {boundary_, std::vector<bool>(problem_.storages(), true)}; }

  // Values that a repeated run may not repeat: what a user's function does is unknown.
  bool must_stay(std::uint32_t storage) const {
    const core::GraphNode& node = graph_.nodes()[problem_.node[problem_.maker[storage]]];
    return node.op == core::OpId::custom || core::definition(node.op).is(core::Traits::effect);
  }

  void find_idle() {
    over_before_.assign(problem_.storages(), false);
    last_early_reader_.assign(problem_.storages(), 0);
    crossing_.assign(boundary_ + 2, 0);
    std::vector<double> worth(problem_.storages(), 0);
    for (std::uint32_t storage = 0; storage < problem_.storages(); ++storage) {
      const Task maker = problem_.maker[storage];
      if (maker == nothing || position_[maker] > boundary_) continue;
      bool read_late = false;
      std::size_t last = position_[maker];
      for (const Task reader : problem_.readers_of[storage]) {
        if (position_[reader] > boundary_) {
          read_late = true;
        } else {
          last = std::max(last, position_[reader]);
        }
      }
      last_early_reader_[storage] = last;
      crossing_[position_[maker]] += problem_.bytes[storage];
      crossing_[last] -= problem_.bytes[storage];
      const bool read_at_end = problem_.readers[storage] > problem_.readers_of[storage].size();
      if (read_at_end || must_stay(storage) || problem_.into[storage] != nothing) continue;
      // Read by the worst step itself: it has to be there.
      if (last == boundary_ && !read_late) continue;
      if (!read_late) {
        over_before_[storage] = true;
        continue;
      }
      idle_.push_back(storage);
      worth[storage] = cost(graph_, graph_.nodes()[problem_.node[maker]]) /
                       static_cast<double>(std::max<std::int64_t>(problem_.bytes[storage], 1));
    }
    std::partial_sum(crossing_.begin(), crossing_.end(), crossing_.begin());
    std::stable_sort(idle_.begin(), idle_.end(), [&](std::uint32_t a, std::uint32_t b) { return worth[a] > worth[b]; });
  }

  // Made up to the cut and read after it, by what still comes before the worst step.
  bool crosses(std::uint32_t storage, std::size_t cut) const {
    const Task maker = problem_.maker[storage];
    return maker != nothing && position_[maker] <= cut && last_early_reader_[storage] > cut;
  }

  const core::Graph& graph_;
  Storages storages_;
  Problem problem_;
  Order order_;
  std::int64_t peak_ = 0;
  std::size_t boundary_ = 0;
  std::vector<std::size_t> position_;           // by task
  std::vector<std::size_t> last_early_reader_;  // by storage: position, up to the worst step
  std::vector<std::int64_t> crossing_;          // by position: bytes that go on to tasks before the worst step
  std::vector<bool> over_before_;               // by storage: read for the last time before the worst step
  std::vector<std::uint32_t> idle_;  // storages alive at the worst step for later readers, dearest by the byte first
};

// Peak of a graph whose recorded order is good already: as it stands, or with prompt updates.
std::int64_t quick_peak(const core::Graph& graph) {
  const Problem problem = schedule::make_problem(graph, Storages(graph));
  const Order order = schedule::recorded(problem);
  return std::min(footprint(problem, order).peak, footprint(problem, prompt(problem, order)).peak);
}

double total_cost(const core::Graph& graph) {
  double sum = 0;
  for (const core::GraphNode& node : graph.nodes()) {
    const core::OpDef& def = core::definition(node.op);
    if (!def.is(core::Traits::view) && !def.is(core::Traits::leaf)) sum += cost(graph, node);
  }
  return sum;
}

struct Candidate {
  core::Graph graph;
  std::int64_t peak = 0;
  double cost = 0;
};

Candidate measured(core::Graph graph) {
  Candidate candidate{std::move(graph), 0, 0};
  candidate.peak = quick_peak(candidate.graph);
  candidate.cost = total_cost(candidate.graph);
  return candidate;
}

/// Takes the candidate if it is the cheapest that fits, or, while none does, the one with the lowest peak. Returns
/// whether it fits.
bool consider(std::optional<Candidate>& best, Candidate candidate, std::int64_t limit) {
  const bool fits = candidate.peak <= limit;
  const bool best_fits = best && best->peak <= limit;
  const bool better = !best || (fits != best_fits ? fits
                                : fits            ? candidate.cost < best->cost
                                                  : candidate.peak < best->peak);
  if (better) best = std::move(candidate);
  return fits;
}

void one_round(const Round& round, std::int64_t limit, std::optional<Candidate>& best) {
  const std::int64_t idle = round.idle_bytes();
  for (const std::int64_t segments : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) {
    const std::vector<bool> ends = round.ends_of_segments(segments == 1 ? 0 : idle / segments);
    // The more values are kept beside the ends, the cheaper, as long as they fit.
    if (!consider(best, measured(round.with_kept(ends, 0)), limit)) continue;
    std::size_t fits = 0;
    std::size_t too_many = round.idle() + 1;
    while (too_many - fits > 1) {
      const std::size_t middle = fits + (too_many - fits) / 2;
      (consider(best, measured(round.with_kept(ends, middle)), limit) ? fits : too_many) = middle;
    }
  }
}

/// The cheapest rewriting that fits, or the one with the lowest peak. The lowest order has often moved work of the way
/// forwards behind the worst step, and then much is made twice; a plain one has not.
core::Graph rewritten(const core::Graph& graph, const Round& lowest, std::int64_t limit) {
  std::optional<Candidate> best;
  one_round(lowest, limit, best);
  const Round plain(graph, "prompt_depth_first");
  if (plain.idle() != 0) one_round(plain, limit, best);
  return std::move(best->graph);
}

}  // namespace

Fitted fit(const core::Graph& graph, std::int64_t limit) {
  constexpr int rounds = 3;
  Fitted out;
  core::Graph current = graph;
  for (int i = 0; i <= rounds; ++i) {
    const Round round(current, "best");
    const bool lower = i == 0 || round.peak() < out.peak;
    if (!lower) break;
    core::Graph ordered = round.ordered();
    out.peak = round.peak();
    out.fits = out.peak <= limit;
    if (!out.fits && i < rounds && round.idle() != 0) current = rewritten(current, round, limit);
    out.graph = std::move(ordered);
    if (out.fits || i == rounds || round.idle() == 0) break;
  }
  out.extra_flops = total_flops(out.graph) - total_flops(graph);
  return out;
}

}  // namespace tyto::recompute
