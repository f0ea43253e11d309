// The search for what to keep; see the header. Every candidate is rewritten,
// ordered and measured, none is estimated.
#include "optimiser/recompute/recompute.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "optimiser/recompute/chain.hpp"
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

  /// What values to keep at the ends of segments that make about `bytes` idle
  /// bytes each; none when 0.
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

  /// The graph that keeps `keep` and, of the other idle values, the `count`
  /// most expensive for their bytes.
  core::Graph with_kept(const std::vector<bool>& keep, std::size_t count) const {
    Choice choice = everything_kept();
    std::size_t kept = 0;
    for (const std::uint32_t storage : idle_) {
      choice.keep[storage] = keep[storage] || kept < count;
      if (!keep[storage]) ++kept;
    }
    // What dies before the worst step is not there afterwards either; it is
    // made again where it is needed.
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

  /// What comes up to the worst step as a chain, cut where fewest bytes cross;
  /// level l keeps of a segment's idle values those among the l quarters that
  /// are dearest by the byte.
  Chain chain() const {
    Chain chain(ends_.size(), levels);
    for (std::size_t end = 1; end <= ends_.size(); ++end) {
      for (std::size_t level = 0; level < levels; ++level) weigh_segments(chain, end, level);
    }
    return chain;
  }
  std::size_t links() const { return ends_.size(); }

  /// Bytes alive at the worst step beside the idle values.
  std::int64_t beside() const { return beside_.front(); }

  /// The values that segments of that chain keep.
  std::vector<bool> kept_by(const std::vector<Cut>& cuts) const {
    std::vector<bool> keep(problem_.storages(), false);
    std::size_t position = 0;
    for (const Cut& cut : cuts) {
      const std::size_t end = ends_[cut.end - 1];
      for (; position <= end; ++position) {
        for (const std::uint32_t storage : problem_.makes[order_[position]]) {
          keep[storage] = crosses(storage, end) || quarter_[storage] < cut.level;
        }
      }
    }
    return keep;
  }

 private:
  Choice everything_kept() const { return {boundary_, std::vector<bool>(problem_.storages(), true)}; }

  // Values that a repeated run may not repeat: what a user's function does is
  // unknown.
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
    const std::int64_t all = std::max<std::int64_t>(idle_bytes(), 1);
    quarter_.assign(problem_.storages(), levels);
    std::int64_t dearer = 0;
    for (const std::uint32_t storage : idle_) {
      quarter_[storage] = static_cast<std::size_t>(dearer * static_cast<std::int64_t>(levels - 1) / all);
      dearer += problem_.bytes[storage];
    }
    find_ends();
    find_beside();
  }

  // Positions that nothing is cheaper to cut at than their neighbours, the
  // cheapest of them, and the worst step.
  void find_ends() {
    constexpr std::size_t most = 96;
    for (std::size_t i = 0; i < boundary_; ++i) {
      const bool falls = i == 0 || crossing_[i] < crossing_[i - 1];
      if (falls && crossing_[i] <= crossing_[i + 1]) ends_.push_back(i);
    }
    std::ranges::stable_sort(ends_, std::ranges::less(), [&](std::size_t end) { return crossing_[end]; });
    if (ends_.size() >= most) ends_.resize(most - 1);
    std::ranges::sort(ends_);
    ends_.push_back(boundary_);
  }

  // What is alive from the worst step on without the idle values.
  void find_beside() {
    last_late_.assign(problem_.storages(), 0);
    first_late_.assign(problem_.storages(), order_.size());
    std::vector<std::int64_t> idle(order_.size() + 1,
                                   0);  // by position: bytes that end before it
    for (const std::uint32_t storage : idle_) {
      for (const Task reader : problem_.readers_of[storage]) {
        if (position_[reader] <= boundary_) continue;
        last_late_[storage] = std::max(last_late_[storage], position_[reader]);
        first_late_[storage] = std::min(first_late_[storage], position_[reader]);
      }
      idle[last_late_[storage] + 1] += problem_.bytes[storage];
    }
    schedule::Simulation simulation(problem_);
    std::int64_t alive = idle_bytes();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::int64_t during = simulation.run(order_[i]);
      alive -= idle[i];
      if (i >= boundary_) beside_.push_back(std::max<std::int64_t>(during - alive, 0));
    }
  }

  // The segments that end with link `end`, longer and longer: what stays, what
  // is made again, and for how long.
  void weigh_segments(Chain& chain, std::size_t end, std::size_t level) const {
    std::vector<bool> needed(problem_.storages(), false);
    Segment form;
    std::int64_t again = 0;    // bytes of idle values that are made again
    std::int64_t passing = 0;  // the largest value on the way to them
    std::int64_t around = 0;   // most bytes alive beside, over their turn
    std::size_t first = 0;     // their turn
    std::size_t last = 0;
    std::size_t link = end;
    const std::size_t cut = ends_[end - 1];
    for (std::size_t position = cut + 1; position-- > 0;) {
      const Task task = order_[position];
      bool repeated = false;
      for (const std::uint32_t storage : problem_.makes[task]) {
        const bool idle = quarter_[storage] < levels;
        if (!idle && !over_before_[storage]) continue;  // it stays in any case
        const std::int64_t bytes = problem_.bytes[storage];
        if (crosses(storage, cut) || quarter_[storage] < level) {
          form.stays += bytes;
          continue;
        }
        if (idle) {
          again += bytes;
          if (first == 0) {
            first = last = first_late_[storage];
            around = beside_[first - boundary_];
          }
          while (first > first_late_[storage]) around = std::max(around, beside_[--first - boundary_]);
          while (last < last_late_[storage]) around = std::max(around, beside_[++last - boundary_]);
        } else if (needed[storage]) {
          passing = std::max(passing, bytes);
        }
        repeated = repeated || idle || needed[storage];
      }
      if (repeated) {
        form.cost += cost(graph_, graph_.nodes()[problem_.node[task]]);
        for (const std::uint32_t storage : problem_.reads[task]) needed[storage] = true;
      }
      if (position != 0 && (link == 1 || position - 1 != ends_[link - 2])) continue;
      --link;
      form.turn = form.stays + again + passing + around;
      chain.at(link, end, level) = form;
    }
  }

  // Made up to the cut and read after it, by what still comes before the worst
  // step.
  bool crosses(std::uint32_t storage, std::size_t cut) const {
    const Task maker = problem_.maker[storage];
    return maker != nothing && position_[maker] <= cut && last_early_reader_[storage] > cut;
  }

  static constexpr std::size_t levels = 5;  // of a chain

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
  std::vector<std::size_t> quarter_;            // by storage: of idle bytes, the dearest
                                                // first; `levels` where not idle
  std::vector<std::size_t> first_late_;         // by idle storage: position of the
                                                // first reader after the worst step
  std::vector<std::size_t> last_late_;          // and of the last
  std::vector<std::size_t> ends_;               // positions at which the links of the chain end
  std::vector<std::int64_t> beside_;            // by position, from the worst step on:
                                                // bytes alive, idle ones apart
  std::vector<std::uint32_t> idle_;             // storages alive at the worst step for
                                                // later readers, dearest by the byte first
};

// Peak of a graph whose recorded order is good already: as it stands, or with
// prompt updates.
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

/// Takes the candidate if it is the cheapest that fits, or, while none does,
/// the one with the lowest peak. Returns whether it fits.
bool consider(std::optional<Candidate>& best, Candidate candidate, std::int64_t limit) {
  const bool fits = candidate.peak <= limit;
  const bool best_fits = best && best->peak <= limit;
  const bool better = !best || (fits != best_fits ? fits
                                : fits            ? candidate.cost < best->cost
                                                  : candidate.peak < best->peak);
  if (better) best = std::move(candidate);
  return fits;
}

// Keeps `ends` and, while that fits, more: the more values are kept beside the
// ends, the cheaper. Returns the peak with the ends alone.
std::int64_t fill(const Round& round, const std::vector<bool>& ends, std::int64_t limit,
                  std::optional<Candidate>& best) {
  Candidate bare = measured(round.with_kept(ends, 0));
  const std::int64_t peak = bare.peak;
  if (!consider(best, std::move(bare), limit)) return peak;
  std::size_t fits = 0;
  std::size_t too_many = round.idle() + 1;
  while (too_many - fits > 1) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    (consider(best, measured(round.with_kept(ends, middle)), limit) ? fits : too_many) = middle;
  }
  return peak;
}

// Cuts chosen at once for the whole chain. The chain is a model, and so is what it says of the peak: what was missed,
// or left over, is taken off the budget for another try. It may see no way where there is one, too.
void cut_chain(const Round& round, std::int64_t limit, std::optional<Candidate>& best) {
  constexpr int attempts = 4;
  constexpr int generous = 8;
  fill(round, round.kept_by(even_cuts(round.links())), limit, best);
  const Chain chain = round.chain();
  std::int64_t budget = limit;
  for (int i = 0, tried = 0; i < generous && tried < attempts && budget > 0; ++i) {
    const std::vector<Cut> cuts = cheapest_cuts(chain, budget, round.beside());
    if (cuts.empty()) {
      if (tried != 0) break;
      budget += limit / generous;
      continue;
    }
    ++tried;
    const std::int64_t missed = fill(round, round.kept_by(cuts), limit, best) - limit;
    if (missed == 0) break;
    budget -= missed;
  }
}

void one_round(const Round& round, std::int64_t limit, std::optional<Candidate>& best) {
  const std::int64_t idle = round.idle_bytes();
  for (const std::int64_t segments : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) {
    fill(round, round.ends_of_segments(segments == 1 ? 0 : idle / segments), limit, best);
  }
  cut_chain(round, limit, best);
}

/// The cheapest rewriting that fits, or the one with the lowest peak. The
/// lowest order has often moved work of the way forwards behind the worst step,
/// and then much is made twice; plain ones have not. What lies behind the worst
/// step is lowest where each weight's gradient becomes an update at once.
core::Graph rewritten(const core::Graph& graph, const Round& lowest, std::int64_t limit) {
  std::optional<Candidate> best;
  one_round(lowest, limit, best);
  for (const char* order : {"prompt_depth_first", "whole_updates"}) {
    const Round plain(graph, order);
    if (plain.idle() != 0) one_round(plain, limit, best);
  }
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
