// The search behind `exact`: each inference is one short function with the reason why it is sound.
#include "optimiser/memory/branch_and_bound.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tyto::memory {
namespace {

// T is the narrowest integer that holds all offsets: with 32 bits twice as many fit a vector register.
template <typename T>
class Search final : public FitSearch {
 public:
  Search(const Problem& p, std::span<const Index> preference, Bytes capacity, Style style)
      : style_(style),
        capacity_(static_cast<T>(capacity)),
        padded_capacity_(static_cast<T>(capacity + p.slack)),
        splits_(p.precedence == nullptr),
        aligned_(p.aligned),
        input_(preference.begin(), preference.end()) {
    const auto n = input_.size();
    std::vector<Index> rank(n);
    for (std::size_t r = 0; r < n; ++r) rank[at(input_[r])] = static_cast<Index>(r);
    for (const Index i : input_) {
      const std::size_t b = at(i);
      size_.push_back(static_cast<T>(p.size[b]));
      padded_.push_back(static_cast<T>(p.padded[b]));
      alignment_.push_back(static_cast<T>(p.alignment[b]));
      fixed_.push_back(static_cast<T>(p.fixed[b]));
      first_.push_back(p.first[b]);
      last_.push_back(p.last[b]);
    }
    grain_ = static_cast<T>(p.grain);
    neighbour_begin_.push_back(0);
    for (const Index i : input_) {
      for (const Index j : p.neighbours(i)) neighbour_.push_back(rank[at(j)]);
      std::sort(neighbour_.begin() + static_cast<std::ptrdiff_t>(neighbour_begin_.back()), neighbour_.end());
      neighbour_begin_.push_back(neighbour_.size());
    }
    fill_sections(p);
    find_twins();
    lowest_.resize(n);
    for (std::size_t b = 0; b < n; ++b) lowest_[b] = fixed_[b] >= 0 ? fixed_[b] : 0;
    bound_ = lowest_;
    placed_.assign(n, 0);
    asleep_.assign(n, 0);
    open_neighbours_.resize(n);
    for (std::size_t b = 0; b < n; ++b) {
      open_neighbours_[b] = static_cast<Index>(neighbour_begin_[b + 1] - neighbour_begin_[b]);
    }
    open_root();
  }

  Outcome run(std::int64_t nodes, const std::atomic<bool>& stop) override {
    if (outcome_ != Outcome::paused) return outcome_;
    const std::int64_t until = nodes_ + nodes;
    while (outcome_ == Outcome::paused) {
      if (nodes_ >= until) return Outcome::paused;
      if ((nodes_ & 255) == 0 && stop.load(std::memory_order_relaxed)) return Outcome::paused;
      step();
    }
    return outcome_;
  }

  std::vector<Bytes> offsets() const override {
    std::vector<Bytes> result(input_.size());
    for (std::size_t b = 0; b < input_.size(); ++b) result[at(input_[b])] = lowest_[b];
    return result;
  }

 private:
  static constexpr Index none = -1;

  // What changes about an unplaced block, and how it was before.
  struct Former {
    Index block;
    T lowest;
    T bound;
    char asleep;
  };
  struct OldFloor {
    Index section;
    T floor;
  };
  // Sections [begin, end) and the unplaced blocks that live there, to be completed before `next`.
  struct Piece {
    Index begin;
    Index end;
    std::size_t list_begin;
    std::size_t list_end;
    Index next;
    Index owner;  // the frame whose choice made this piece: if the piece fails, that choice fails
  };
  struct Frame {
    Index piece;
    bool root;  // of its piece
    std::size_t list_begin;
    std::size_t list_end;
    std::size_t candidates_begin;
    std::size_t candidates_end;
    std::size_t next_candidate;
    bool bottom_up;  // candidates come from the bottom of the whole piece
    T last_offset;   // nothing unplaced starts lower
    Index placed;
    std::size_t lists_mark;
    std::size_t pieces_mark;
    std::size_t former_begin;  // state when the frame was opened
    std::size_t floors_begin;
    std::size_t former_mark;  // state before the current choice
    std::size_t floors_mark;
  };

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void fill_sections(const Problem& p) {
    const auto sections = at(p.sections);
    floor_.assign(sections, 0);
    rest_.assign(sections, 0);
    crossing_.assign(sections, 0);
    std::vector<std::size_t> alive(sections + 1, 0);
    for (std::size_t b = 0; b < size_.size(); ++b) {
      for (Index k = first_[b]; k < last_[b]; ++k) {
        rest_[at(k)] += padded_[b];
        ++alive[at(k) + 1];
        if (k + 1 < last_[b]) ++crossing_[at(k)];
      }
    }
    for (std::size_t k = 0; k < sections; ++k) alive[k + 1] += alive[k];
    member_begin_ = alive;
    member_.resize(alive[sections]);
    for (std::size_t b = 0; b < size_.size(); ++b) {
      for (Index k = first_[b]; k < last_[b]; ++k) member_[alive[at(k)]++] = static_cast<Index>(b);
    }
    releases_.resize(64);
  }

  // Blocks that differ in nothing: each knows the one before it, and is only placed after that one.
  void find_twins() {
    const auto n = size_.size();
    twin_before_.assign(n, none);
    if (!splits_) return;  // under a precedence equal times do not mean equal conflicts
    std::vector<Index> order(n);
    for (std::size_t b = 0; b < n; ++b) order[b] = static_cast<Index>(b);
    const auto key = [&](Index i) {
      return std::tuple(first_[at(i)], last_[at(i)], size_[at(i)], alignment_[at(i)], fixed_[at(i)]);
    };
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    for (std::size_t k = 1; k < n; ++k) {
      if (key(order[k]) == key(order[k - 1]) && fixed_[at(order[k])] < 0) twin_before_[at(order[k])] = order[k - 1];
    }
  }

  void open_root() {
    const auto n = static_cast<Index>(size_.size());
    for (std::size_t k = 0; k < rest_.size(); ++k) {
      if (rest_[k] > padded_capacity_) outcome_ = Outcome::infeasible;
    }
    for (std::size_t b = 0; b < size_.size(); ++b) {
      if (lowest_[b] + size_[b] > capacity_) outcome_ = Outcome::infeasible;
    }
    if (outcome_ != Outcome::paused) return;
    if (n == 0) {
      outcome_ = Outcome::found;
      return;
    }
    for (Index b = 0; b < n; ++b) lists_.push_back(b);
    sort_list(0);
    pieces_.push_back({0, static_cast<Index>(rest_.size()), 0, lists_.size(), none, none});
    open_piece(0, 0);
  }

  void open_piece(Index piece, T last_offset) {
    const Piece& p = pieces_[at(piece)];
    open_frame(piece, true, p.list_begin, p.list_end, last_offset);
  }

  void open_frame(Index piece, bool root, std::size_t list_begin, std::size_t list_end, T last_offset) {
    Frame frame{piece,
                root,
                list_begin,
                list_end,
                candidates_.size(),
                0,
                0,
                false,
                last_offset,
                none,
                lists_.size(),
                pieces_.size(),
                former_.size(),
                floors_.size(),
                former_.size(),
                floors_.size()};
    frame.bottom_up = !candidates_of_tight_section(pieces_[at(piece)]);
    if (frame.bottom_up) candidates_at_the_bottom(list_begin, list_end, last_offset);
    for (std::size_t k = frame.candidates_begin + 1; k < candidates_.size(); ++k) {
      const Index moving = candidates_[k];
      std::size_t to = k;
      // Stable: the list is in the order of preference.
      for (; to > frame.candidates_begin && lowest_[at(moving)] < lowest_[at(candidates_[to - 1])]; --to) {
        candidates_[to] = candidates_[to - 1];
      }
      candidates_[to] = moving;
    }
    frame.candidates_end = candidates_.size();
    frame.next_candidate = frame.candidates_begin;
    frames_.push_back(frame);
  }

  // Heaviest first: sorts a list of unplaced blocks by the largest rest of any section that they cross, then by rank.
  void sort_list(std::size_t list_begin) {
    if (!style_.heaviest_first) return;
    by_weight_.clear();
    for (std::size_t k = list_begin; k < lists_.size(); ++k) {
      const std::size_t b = at(lists_[k]);
      T heaviest = 0;
      for (Index section = first_[b]; section < last_[b]; ++section) heaviest = std::max(heaviest, rest_[at(section)]);
      by_weight_.emplace_back(-heaviest, lists_[k]);
    }
    std::sort(by_weight_.begin(), by_weight_.end());
    for (std::size_t k = 0; k < by_weight_.size(); ++k) lists_[list_begin + k] = by_weight_[k].second;
  }

  bool waits_for_twin(Index i) const { return twin_before_[at(i)] != none && placed_[at(twin_before_[at(i)])] == 0; }

  bool can_start_now(Index i) const { return asleep_[at(i)] == 0 && bound_[at(i)] == lowest_[at(i)]; }

  // No unplaced neighbour can slip under block i, so that placing it now shuts nobody out.
  bool nothing_fits_below(Index i) const {
    for (std::size_t m = neighbour_begin_[at(i)]; m < neighbour_begin_[at(i) + 1]; ++m) {
      const std::size_t j = at(neighbour_[m]);
      if (placed_[j] == 0 && bound_[j] + size_[j] <= lowest_[at(i)]) return false;
    }
    return true;
  }

  // In a section without any waste left to spend the lowest unplaced block starts exactly at the floor: only blocks
  // that can start there come into question. The section with the fewest of them is taken.
  bool candidates_of_tight_section(const Piece& piece) {
    Index tightest = none;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (Index k = piece.begin; k < piece.end; ++k) {
      if (rest_[at(k)] == 0 || floor_[at(k)] + rest_[at(k)] != padded_capacity_ || padded_capacity_ != capacity_)
        continue;
      std::size_t count = 0;
      bool complete = true;  // or a sleeping block might still be lifted to just that place
      for (std::size_t m = member_begin_[at(k)]; m < member_begin_[at(k) + 1]; ++m) {
        const Index j = member_[m];
        if (placed_[at(j)] != 0 || bound_[at(j)] > floor_[at(k)]) continue;
        complete = complete && can_start_now(j) && nothing_fits_below(j);
        if (!waits_for_twin(j)) ++count;
      }
      if (!complete) continue;
      if (count < fewest) {
        fewest = count;
        tightest = k;
      }
    }
    if (tightest == none || fewest > style_.most_in_tight_section) return false;
    for (std::size_t m = member_begin_[at(tightest)]; m < member_begin_[at(tightest) + 1]; ++m) {
      const Index j = member_[m];
      if (placed_[at(j)] == 0 && bound_[at(j)] == floor_[at(tightest)] && !waits_for_twin(j)) {
        candidates_.push_back(j);
      }
    }
    return true;
  }

  // Dominance: a block that starts at or above the lowest possible top of another one would leave room below it into
  // which that other one could slide; the plan has a twin without the gap, so it need not be built.
  void candidates_at_the_bottom(std::size_t list_begin, std::size_t list_end, T last_offset) {
    T ceiling = std::numeric_limits<T>::max();
    for (std::size_t k = list_begin; k < list_end; ++k) {
      const std::size_t b = at(lists_[k]);
      ceiling = std::min(ceiling, static_cast<T>(lowest_[b] + size_[b]));
    }
    for (std::size_t k = list_begin; k < list_end; ++k) {
      const Index i = lists_[k];
      if (lowest_[at(i)] < ceiling && lowest_[at(i)] >= last_offset && can_start_now(i) && !waits_for_twin(i))
        candidates_.push_back(i);
    }
  }

  void step() {
    Frame& frame = frames_.back();
    if (frame.placed != none) {
      // The choice made here failed: from now on that block must be lifted by another one before it is placed. What
      // is fixed, or has no unplaced neighbour left, cannot be lifted, and then no other choice does better.
      const Index failed = frame.placed;
      undo(frame);
      if (open_neighbours_[at(failed)] == 0 || fixed_[at(failed)] >= 0 || !put_to_sleep(frame, failed)) {
        frame.next_candidate = frame.candidates_end;
      }
    }
    if (frame.next_candidate == frame.candidates_end) {
      fail();
      return;
    }
    const Index i = candidates_[frame.next_candidate++];
    ++nodes_;
    if (place(frame, i)) descend();
  }

  // The top frame has no candidate left: its piece fails, or the frame below tries its next one.
  void fail() {
    const Frame& top = frames_.back();
    const Index owner = top.root ? pieces_[at(top.piece)].owner : static_cast<Index>(frames_.size()) - 2;
    while (static_cast<Index>(frames_.size()) > owner + 1) {
      undo(frames_.back());
      restore(frames_.back().former_begin, frames_.back().floors_begin);
      candidates_.resize(frames_.back().candidates_begin);
      frames_.pop_back();
    }
    if (frames_.empty()) outcome_ = Outcome::infeasible;
  }

  // Choices from the bottom come in ascending offset, so that everything unplaced lies no lower.
  T last_offset(const Frame& frame) const { return frame.bottom_up ? lowest_[at(frame.placed)] : frame.last_offset; }

  void remember(std::size_t j) { former_.push_back({static_cast<Index>(j), lowest_[j], bound_[j], asleep_[j]}); }

  bool put_to_sleep(Frame& frame, Index i) {
    remember(at(i));
    asleep_[at(i)] = 1;
    Index begin = first_[at(i)];
    Index end = last_[at(i)];
    const bool alive =
        lift_sleepers(frame, begin, end) && sections_hold(pieces_[at(frame.piece)], frame.last_offset, begin, end);
    frame.former_mark = former_.size();
    frame.floors_mark = floors_.size();
    return alive;
  }

  // A sleeping block will rest on some unplaced neighbour, so it starts no lower than the lowest top among those.
  bool lift_sleepers(const Frame& frame, Index& touched_begin, Index& touched_end) {
    for (std::size_t k = frame.list_begin; k < frame.list_end; ++k) {
      const std::size_t b = at(lists_[k]);
      if (asleep_[b] == 0 || placed_[b] != 0) continue;
      T support = std::numeric_limits<T>::max();
      for (std::size_t m = neighbour_begin_[b]; m < neighbour_begin_[b + 1] && support > bound_[b]; ++m) {
        const std::size_t j = at(neighbour_[m]);
        if (placed_[j] == 0) support = std::min(support, static_cast<T>(bound_[j] + size_[j]));
      }
      if (support <= bound_[b]) continue;
      if (support == std::numeric_limits<T>::max() || support + size_[b] > capacity_) return false;
      remember(b);
      bound_[b] = support;
      touched_begin = std::min(touched_begin, first_[b]);
      touched_end = std::max(touched_end, last_[b]);
    }
    return true;
  }

  bool place(Frame& frame, Index i) {
    const std::size_t b = at(i);
    const T offset = lowest_[b];
    const T top = offset + size_[b];
    frame.placed = i;
    placed_[b] = 1;
    for (Index k = first_[b]; k < last_[b]; ++k) {
      rest_[at(k)] -= padded_[b];
      --crossing_[at(k)];
    }
    ++crossing_[at(last_[b] - 1)];  // the block does not cross its last border
    bool alive = true;
    Index touched_begin = first_[b];
    Index touched_end = last_[b];
    for (std::size_t k = neighbour_begin_[b]; k < neighbour_begin_[b + 1]; ++k) {
      const std::size_t j = at(neighbour_[k]);
      --open_neighbours_[j];
      if (placed_[j] != 0 || lowest_[j] >= top) continue;
      const T raised = aligned_ ? static_cast<T>(round_up(top, alignment_[j])) : top;
      remember(j);
      lowest_[j] = raised;
      bound_[j] = std::max(bound_[j], raised);
      asleep_[j] = 0;
      if (bound_[j] + size_[j] > capacity_ || (fixed_[j] >= 0 && raised > fixed_[j])) alive = false;
      touched_begin = std::min(touched_begin, first_[j]);
      touched_end = std::max(touched_end, last_[j]);
    }
    return alive && lift_sleepers(frame, touched_begin, touched_end) &&
           sections_hold(pieces_[at(frame.piece)], last_offset(frame), touched_begin, touched_end);
  }

  void undo(Frame& frame) {
    const Index i = frame.placed;
    if (i == none) return;
    const std::size_t b = at(i);
    restore(frame.former_mark, frame.floors_mark);
    for (Index k = first_[b]; k < last_[b]; ++k) {
      rest_[at(k)] += padded_[b];
      ++crossing_[at(k)];
    }
    --crossing_[at(last_[b] - 1)];
    for (std::size_t k = neighbour_begin_[b]; k < neighbour_begin_[b + 1]; ++k) ++open_neighbours_[at(neighbour_[k])];
    placed_[b] = 0;
    frame.placed = none;
    lists_.resize(frame.lists_mark);
    pieces_.resize(frame.pieces_mark);
  }

  void restore(std::size_t former_mark, std::size_t floors_mark) {
    while (former_.size() > former_mark) {
      const Former& former = former_.back();
      lowest_[at(former.block)] = former.lowest;
      bound_[at(former.block)] = former.bound;
      asleep_[at(former.block)] = former.asleep;
      former_.pop_back();
    }
    while (floors_.size() > floors_mark) {
      floor_[at(floors_.back().section)] = floors_.back().floor;
      floors_.pop_back();
    }
  }

  // Section inference, for the sections in which anything changed: whatever is unplaced must be stacked above the
  // lowest place where any of it can start. Stacking blocks in the order in which they become placeable wastes least,
  // so if even that passes the capacity, nothing fits.
  bool sections_hold(const Piece& piece, T last_offset, Index touched_begin, Index touched_end) {
    T worst = 0;
    for (Index k = piece.begin; k < piece.end; ++k) {
      const T reach = static_cast<T>(std::max(floor_[at(k)], last_offset) + rest_[at(k)]);
      worst = std::max(worst, rest_[at(k)] > 0 ? reach : T{0});
    }
    if (worst > padded_capacity_) return false;
    const Index end = std::min(piece.end, touched_end);
    for (Index k = std::max(piece.begin, touched_begin); k < end; ++k) {
      if (rest_[at(k)] > 0 && !stacks(k, last_offset)) return false;
    }
    return true;
  }

  bool stacks(Index section, T last_offset) {
    const std::size_t begin = member_begin_[at(section)];
    const std::size_t end = member_begin_[at(section) + 1];
    if (releases_.size() < end - begin) releases_.resize(end - begin);
    std::size_t count = 0;
    T low = std::numeric_limits<T>::max();
    T high = 0;
    for (std::size_t m = begin; m < end; ++m) {
      const std::size_t j = at(member_[m]);
      if (placed_[j] != 0) continue;
      const T release = std::max(bound_[j], last_offset);
      releases_[count++] = {release, padded_[j]};
      low = std::min(low, release);
      high = std::max(high, release);
    }
    const T rest = rest_[at(section)];
    if (low > floor_[at(section)]) {
      floors_.push_back({section, floor_[at(section)]});
      floor_[at(section)] = low;
    }
    if (high + rest <= padded_capacity_) return true;
    if (low + rest > padded_capacity_) return false;
    for (std::size_t k = 1; k < count; ++k) {
      const Release moving = releases_[k];
      std::size_t to = k;
      for (; to > 0 && releases_[to - 1].from > moving.from; --to) releases_[to] = releases_[to - 1];
      releases_[to] = moving;
    }
    T reach = 0;
    for (std::size_t k = 0; k < count; ++k) reach = std::max(reach, releases_[k].from) + releases_[k].size;
    return reach <= padded_capacity_;
  }

  // The frame's block is placed and nothing speaks against it: go on with what is left of its piece.
  void descend() {
    const Frame frame = frames_.back();
    const auto owner = static_cast<Index>(frames_.size()) - 1;
    const std::size_t b = at(frame.placed);
    const Piece piece = pieces_[at(frame.piece)];
    bool split = false;
    if (splits_) {
      for (Index k = first_[b]; k + 1 < last_[b]; ++k) split = split || crossing_[at(k)] == 0;
    }
    if (!split) {
      const std::size_t begin = lists_.size();
      for (std::size_t k = frame.list_begin; k < frame.list_end; ++k) {
        const Index i = lists_[k];
        if (i != frame.placed) lists_.push_back(i);
      }
      if (lists_.size() > begin) {
        open_frame(frame.piece, false, begin, lists_.size(), last_offset(frame));
      } else {
        advance(piece.next);
      }
      return;
    }
    // Decomposition: where no unplaced block crosses a border any more, left and right are solved on their own.
    const std::size_t first_piece = pieces_.size();
    Index begin = piece.begin;
    for (Index k = piece.begin; k < piece.end; ++k) {
      const bool border = k + 1 == piece.end || (k >= first_[b] && k + 1 < last_[b] && crossing_[at(k)] == 0);
      if (!border) continue;
      const std::size_t list_begin = lists_.size();
      for (std::size_t m = frame.list_begin; m < frame.list_end; ++m) {
        const Index i = lists_[m];
        if (i != frame.placed && first_[at(i)] >= begin && first_[at(i)] <= k) lists_.push_back(i);
      }
      sort_list(list_begin);
      if (lists_.size() > list_begin) pieces_.push_back({begin, k + 1, list_begin, lists_.size(), none, owner});
      begin = k + 1;
    }
    if (pieces_.size() == first_piece) {
      advance(piece.next);
      return;
    }
    // Small pieces first: they are the cheapest to find impossible.
    std::stable_sort(
        pieces_.begin() + static_cast<std::ptrdiff_t>(first_piece), pieces_.end(),
        [](const Piece& x, const Piece& y) { return x.list_end - x.list_begin < y.list_end - y.list_begin; });
    for (std::size_t k = first_piece; k < pieces_.size(); ++k) {
      pieces_[k].next = k + 1 < pieces_.size() ? static_cast<Index>(k + 1) : piece.next;
    }
    open_piece(static_cast<Index>(first_piece), last_offset(frame));
  }

  void advance(Index piece) {
    if (piece == none) {
      outcome_ = Outcome::found;
    } else {
      open_piece(piece, last_offset(frames_[at(pieces_[at(piece)].owner)]));
    }
  }

  struct Release {
    T from;
    T size;
  };

  Style style_;
  T capacity_;
  T padded_capacity_;
  T grain_ = 1;
  bool splits_;
  bool aligned_;
  Outcome outcome_ = Outcome::paused;
  std::vector<Index> input_;  // rank -> block of the problem
  std::vector<T> size_;
  std::vector<T> padded_;
  std::vector<T> alignment_;
  std::vector<T> fixed_;
  std::vector<Index> first_;
  std::vector<Index> last_;
  std::vector<std::size_t> neighbour_begin_;
  std::vector<Index> neighbour_;
  std::vector<std::size_t> member_begin_;
  std::vector<Index> member_;
  std::vector<Index> twin_before_;
  std::vector<T> lowest_;  // lowest offset still possible; the offset, once placed
  std::vector<T> bound_;   // the same, with what is known of sleeping blocks
  std::vector<char> placed_;
  std::vector<char> asleep_;  // failed at its lowest offset: something must lift it first
  std::vector<Index> open_neighbours_;
  std::vector<T> floor_;
  std::vector<T> rest_;          // padded sizes still to be placed, by section
  std::vector<Index> crossing_;  // unplaced blocks that cross the border after each section
  std::vector<Release> releases_;
  std::vector<Frame> frames_;
  std::vector<Piece> pieces_;
  std::vector<Index> lists_;
  std::vector<Index> candidates_;
  std::vector<std::pair<T, Index>> by_weight_;
  std::vector<Former> former_;
  std::vector<OldFloor> floors_;
};

}  // namespace

std::unique_ptr<FitSearch> FitSearch::start(const Problem& p, std::span<const Index> preference, Bytes capacity,
                                            Style style) {
  Bytes widest = capacity + p.slack;
  for (std::size_t i = 0; i < p.size.size(); ++i) widest = std::max(widest, p.padded[i] + p.alignment[i]);
  for (const Bytes load : p.load) widest = std::max(widest, load);
  if (widest < std::numeric_limits<std::int32_t>::max() / 4) {
    return std::make_unique<Search<std::int32_t>>(p, preference, capacity, style);
  }
  return std::make_unique<Search<std::int64_t>>(p, preference, capacity, style);
}

}  // namespace tyto::memory
