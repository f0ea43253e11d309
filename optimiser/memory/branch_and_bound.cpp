// SPDX-License-Identifier: MIT
// The search behind `exact`: chooses the next block, and splits the problem where it falls into independent parts.
// partial_plan.hpp draws the consequences of a choice; each inference is one short function with the reason why it is
// sound.
#include "optimiser/memory/branch_and_bound.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "optimiser/memory/partial_plan.hpp"

namespace tyto::memory {
namespace {

template <typename T>
class Search final : public FitSearch {
 public:
  Search(const Problem& p, std::span<const Index> preference, Bytes capacity, SearchOptions options)
      : options_(options), plan_(p, preference, capacity) {
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
    std::vector<Bytes> result(plan_.input.size());
    for (std::size_t b = 0; b < plan_.input.size(); ++b) result[at(plan_.input[b])] = plan_.lowest[b];
    return result;
  }

 private:
  using Scope = typename PartialPlan<T>::Scope;
  using Mark = typename PartialPlan<T>::Mark;

  static constexpr Index none = PartialPlan<T>::none;
  static std::size_t at(Index i) { return PartialPlan<T>::at(i); }

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
    Mark opened;         // how things stood when the frame was opened
    Mark before_choice;  // and before the current choice
  };

  Scope scope(const Frame& frame) const {
    const Piece& piece = pieces_[at(frame.piece)];
    return {{lists_.data() + frame.list_begin, lists_.data() + frame.list_end}, piece.begin, piece.end};
  }

  void open_root() {
    const auto n = static_cast<Index>(plan_.size.size());
    for (std::size_t k = 0; k < plan_.rest.size(); ++k) {
      if (plan_.rest[k] > plan_.padded_capacity) outcome_ = Outcome::infeasible;
    }
    for (std::size_t b = 0; b < plan_.size.size(); ++b) {
      if (plan_.lowest[b] + plan_.size[b] > plan_.capacity) outcome_ = Outcome::infeasible;
    }
    if (outcome_ != Outcome::paused) return;
    if (n == 0) {
      outcome_ = Outcome::found;
      return;
    }
    for (Index b = 0; b < n; ++b) lists_.push_back(b);
    sort_list(0);
    pieces_.push_back({0, static_cast<Index>(plan_.rest.size()), 0, lists_.size(), none, none});
    open_piece(0, 0);
  }

  void open_piece(Index piece, T last_offset) {
    const Piece& p = pieces_[at(piece)];
    open_frame(piece, true, p.list_begin, p.list_end, last_offset);
  }

  void open_frame(Index piece, bool root, std::size_t list_begin, std::size_t list_end, T last_offset) {
    Frame frame{piece,       root, list_begin,    list_end,       candidates_.size(), 0,           0, false,
                last_offset, none, lists_.size(), pieces_.size(), plan_.mark(),       plan_.mark()};
    frame.bottom_up = !candidates_of_tight_section(pieces_[at(piece)]);
    if (frame.bottom_up) candidates_at_the_bottom(list_begin, list_end, last_offset);
    for (std::size_t k = frame.candidates_begin + 1; k < candidates_.size(); ++k) {
      const Index moving = candidates_[k];
      std::size_t to = k;
      // Stable: the list is in the order of preference.
      for (; to > frame.candidates_begin && plan_.lowest[at(moving)] < plan_.lowest[at(candidates_[to - 1])]; --to) {
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
    if (!options_.heaviest_first) return;
    by_weight_.clear();
    for (std::size_t k = list_begin; k < lists_.size(); ++k) {
      const std::size_t b = at(lists_[k]);
      T heaviest = 0;
      for (Index section = plan_.first[b]; section < plan_.last[b]; ++section)
        heaviest = std::max(heaviest, plan_.rest[at(section)]);
      by_weight_.emplace_back(-heaviest, lists_[k]);
    }
    std::sort(by_weight_.begin(), by_weight_.end());
    for (std::size_t k = 0; k < by_weight_.size(); ++k) lists_[list_begin + k] = by_weight_[k].second;
  }

  // In a section without any waste left to spend the lowest unplaced block starts exactly at the floor: only blocks
  // that can start there come into question. The section with the fewest of them is taken.
  bool candidates_of_tight_section(const Piece& piece) {
    Index tightest = none;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (Index k = piece.begin; k < piece.end; ++k) {
      if (plan_.rest[at(k)] == 0 || plan_.floor[at(k)] + plan_.rest[at(k)] != plan_.padded_capacity ||
          plan_.padded_capacity != plan_.capacity)
        continue;
      std::size_t count = 0;
      bool complete = true;  // or a sleeping block might still be lifted to just that place
      for (std::size_t m = plan_.member_begin[at(k)]; m < plan_.member_begin[at(k) + 1]; ++m) {
        const Index j = plan_.member[m];
        if (plan_.placed[at(j)] != 0 || plan_.bound[at(j)] > plan_.floor[at(k)]) continue;
        complete = complete && plan_.can_start_now(j) && plan_.nothing_fits_below(j);
        if (!plan_.waits_for_identical(j)) ++count;
      }
      if (!complete) continue;
      if (count < fewest) {
        fewest = count;
        tightest = k;
      }
    }
    if (tightest == none || fewest > options_.most_in_tight_section) return false;
    for (std::size_t m = plan_.member_begin[at(tightest)]; m < plan_.member_begin[at(tightest) + 1]; ++m) {
      const Index j = plan_.member[m];
      if (plan_.placed[at(j)] == 0 && plan_.bound[at(j)] == plan_.floor[at(tightest)] &&
          !plan_.waits_for_identical(j)) {
        candidates_.push_back(j);
      }
    }
    return true;
  }

  // Dominance: a block that starts at or above the lowest possible top of another one would leave room below it into
  // which that other one could slide; an equivalent plan without the gap exists, so this one need not be built.
  void candidates_at_the_bottom(std::size_t list_begin, std::size_t list_end, T last_offset) {
    T ceiling = std::numeric_limits<T>::max();
    for (std::size_t k = list_begin; k < list_end; ++k) {
      const std::size_t b = at(lists_[k]);
      ceiling = std::min(ceiling, static_cast<T>(plan_.lowest[b] + plan_.size[b]));
    }
    for (std::size_t k = list_begin; k < list_end; ++k) {
      const Index i = lists_[k];
      if (plan_.lowest[at(i)] < ceiling && plan_.lowest[at(i)] >= last_offset && plan_.can_start_now(i) &&
          !plan_.waits_for_identical(i))
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
      if (plan_.open_neighbours[at(failed)] == 0 || plan_.fixed[at(failed)] >= 0 || !put_to_sleep(frame, failed)) {
        frame.next_candidate = frame.candidates_end;
      }
    }
    if (frame.next_candidate == frame.candidates_end) {
      fail();
      return;
    }
    const Index i = candidates_[frame.next_candidate++];
    ++nodes_;
    frame.placed = i;
    if (plan_.place(i, scope(frame), last_offset(frame))) descend();
  }

  bool put_to_sleep(Frame& frame, Index i) {
    const bool alive = plan_.put_to_sleep(i, scope(frame), frame.last_offset);
    frame.before_choice = plan_.mark();
    return alive;
  }

  void undo(Frame& frame) {
    if (frame.placed == none) return;
    plan_.take_back(frame.placed, frame.before_choice);
    frame.placed = none;
    lists_.resize(frame.lists_mark);
    pieces_.resize(frame.pieces_mark);
  }

  // The top frame has no candidate left: its piece fails, or the frame below tries its next one.
  void fail() {
    const Frame& top = frames_.back();
    const Index owner = top.root ? pieces_[at(top.piece)].owner : static_cast<Index>(frames_.size()) - 2;
    while (static_cast<Index>(frames_.size()) > owner + 1) {
      undo(frames_.back());
      plan_.restore(frames_.back().opened);
      candidates_.resize(frames_.back().candidates_begin);
      frames_.pop_back();
    }
    if (frames_.empty()) outcome_ = Outcome::infeasible;
  }

  // Choices from the bottom come in ascending offset, so that everything unplaced lies no lower.
  T last_offset(const Frame& frame) const {
    return frame.bottom_up ? plan_.lowest[at(frame.placed)] : frame.last_offset;
  }

  // The frame's block is placed and nothing speaks against it: go on with what is left of its piece.
  void descend() {
    const Frame frame = frames_.back();
    const auto owner = static_cast<Index>(frames_.size()) - 1;
    const std::size_t b = at(frame.placed);
    const Piece piece = pieces_[at(frame.piece)];
    bool split = false;
    if (plan_.splits) {
      for (Index k = plan_.first[b]; k + 1 < plan_.last[b]; ++k) split = split || plan_.crossing[at(k)] == 0;
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
      const bool border =
          k + 1 == piece.end || (k >= plan_.first[b] && k + 1 < plan_.last[b] && plan_.crossing[at(k)] == 0);
      if (!border) continue;
      const std::size_t list_begin = lists_.size();
      for (std::size_t m = frame.list_begin; m < frame.list_end; ++m) {
        const Index i = lists_[m];
        if (i != frame.placed && plan_.first[at(i)] >= begin && plan_.first[at(i)] <= k) lists_.push_back(i);
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

  SearchOptions options_;
  PartialPlan<T> plan_;
  Outcome outcome_ = Outcome::paused;
  std::vector<Frame> frames_;
  std::vector<Piece> pieces_;
  std::vector<Index> lists_;
  std::vector<Index> candidates_;
  std::vector<std::pair<T, Index>> by_weight_;
};

}  // namespace

std::unique_ptr<FitSearch> FitSearch::start(const Problem& p, std::span<const Index> preference, Bytes capacity,
                                            SearchOptions options) {
  Bytes widest = capacity + p.slack;
  for (std::size_t i = 0; i < p.size.size(); ++i) widest = std::max(widest, p.padded[i] + p.alignment[i]);
  for (const Bytes load : p.load) widest = std::max(widest, load);
  if (widest < std::numeric_limits<std::int32_t>::max() / 4) {
    return std::make_unique<Search<std::int32_t>>(p, preference, capacity, options);
  }
  return std::make_unique<Search<std::int64_t>>(p, preference, capacity, options);
}

}  // namespace tyto::memory
