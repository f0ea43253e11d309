// SPDX-License-Identifier: MIT
// Places of a loop's carries in each of its iterations, and the copies before the first and after the last one: runs,
// reports and the checker of contents all use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "optimiser/storage/carries.hpp"

namespace tyto::run {

/// Memory as the kernel of a region knows it: a number of bytes after the start of an operand, of a result, or of the
/// kernel's workspace.
struct RegionPlace {
  enum class Kind : std::uint8_t { operand, result, workspace };
  Kind kind = Kind::workspace;
  std::uint32_t number = 0;  // of the operand or result
  std::size_t offset = 0;
  friend bool operator==(const RegionPlace&, const RegionPlace&) = default;
};

/// A chain and where its values lie: in the result's own memory, in a ring of places, or in the rows of a stack.
struct PlacedChain {
  static constexpr std::uint32_t none = UINT32_MAX;

  optimiser::CarryChain chain;
  std::size_t bytes = 0;
  bool in_place = false;        // one place: the next value is computed over the one before
  std::uint32_t output = none;  // of the program: what computes the next value into its place
  std::size_t places = 0;       // of a ring
  std::size_t own_places = 0;   // those of them that lie in the workspace
  std::size_t place_bytes = 0;  // from one of these to the next
  std::size_t workspace = 0;    // offset of the first of these
  std::size_t addresses = 0;    // number of the first of its addresses among those of a launch

  /// Whether its values are rows of a stack.
  bool in_rows() const { return chain.stack || chain.history; }
  std::size_t address_count() const { return in_place || in_rows() ? 0 : chain.members.size() + 1; }
};

/// Bytes that are copied to another place as they are.
struct CarryMove {
  RegionPlace to, from;
  std::size_t bytes = 0;
};

/// Places are functions of the number of the iteration: values change their places by their numbers, and are not moved.
/// `trips` is how often the loop runs, or at most where it is tested; `over`: what crossing() names share their memory.
struct CarryPlaces {
  std::vector<PlacedChain> chains;
  std::vector<std::size_t> row_bytes;  // of the stacked results
  std::uint32_t first_carry = 0;       // among the operands
  std::uint32_t carries = 0;
  bool tested = false;
  bool reverse = false;

  std::int64_t row_at(std::int64_t iteration, std::int64_t trips) const {
    return reverse ? trips - 1 - iteration : iteration;
  }
  RegionPlace initial(const PlacedChain& placed, std::size_t member) const {
    return {RegionPlace::Kind::operand, first_carry + placed.chain.members[member], 0};
  }
  RegionPlace result(const PlacedChain& placed, std::size_t member) const {
    return {RegionPlace::Kind::result, placed.chain.members[member], 0};
  }
  RegionPlace row(std::uint32_t stack, std::int64_t iteration, std::int64_t trips) const {
    return {RegionPlace::Kind::result, carries + stack,
            static_cast<std::size_t>(row_at(iteration, trips)) * row_bytes[stack]};
  }
  /// Members of a chain that lies in a ring.
  struct Crossing {
    std::size_t result, initial;
  };
  /// The one result that is computed into the kernel's own place when it may not lie there at the end, and the initial
  /// value that no other result can take the place of. Where these two share their memory, the place is the ring's, and
  /// the result is copied there after the last iteration.
  std::optional<Crossing> crossing(const PlacedChain& placed, std::int64_t trips) const;
  /// Where what the chain's first carry becomes in an iteration is computed.
  RegionPlace next(const PlacedChain& placed, std::int64_t iteration, std::int64_t trips, bool over) const;
  /// Where the value lies that member number `member`, from zero, has at the beginning of an iteration.
  RegionPlace value(const PlacedChain& placed, std::size_t member, std::int64_t iteration, std::int64_t trips,
                    bool over) const;

  /// Calls `move(CarryMove)` for the initial value where it does not stay in its place. `runs`: at least once.
  template <class Move>
  void enter(const PlacedChain& placed, std::int64_t trips, bool runs, const Move& move) const {
    if (placed.in_place) move(CarryMove{result(placed, 0), initial(placed, 0), placed.bytes});
    if (placed.chain.history && runs) {
      move(CarryMove{row(*placed.chain.history, 0, trips), initial(placed, 0), placed.bytes});
    }
  }
  /// The same for the members' values after `done` iterations; those that lie there already are among them.
  template <class Move>
  void leave(const PlacedChain& placed, std::int64_t done, std::int64_t trips, bool over, const Move& move) const {
    for (std::size_t i = 0; i < placed.chain.members.size(); ++i) {
      move(CarryMove{result(placed, i), value(placed, i, done, trips, over), placed.bytes});
    }
  }

 private:
  RegionPlace ring(const PlacedChain& placed, std::size_t place, std::int64_t trips, bool over) const;
};

// In the header: the first iterations ask for each carry, and with rings all do until they have gone round.

inline std::optional<CarryPlaces::Crossing> CarryPlaces::crossing(const PlacedChain& placed, std::int64_t trips) const {
  if (placed.places == 0 || (tested && placed.own_places > 1)) return std::nullopt;
  if (tested) return Crossing{0, 0};
  const auto end = static_cast<std::size_t>(trips % static_cast<std::int64_t>(placed.places));
  if (end == 0) return std::nullopt;
  return Crossing{end - 1, placed.places - 1 - end};
}

// Place number `place` of a ring. In a loop whose end is known the members' places at the end are the results'. The
// first iteration reads all initial values, so that it computes into the kernel's own place where a result's is one of
// theirs.
inline RegionPlace CarryPlaces::ring(const PlacedChain& placed, std::size_t place, std::int64_t trips,
                                     bool over) const {
  const std::size_t members = placed.chain.members.size();
  const RegionPlace own{RegionPlace::Kind::workspace, 0, placed.workspace};
  if (tested) {
    if (placed.own_places > 1) {
      return {RegionPlace::Kind::workspace, 0, placed.workspace + place * placed.place_bytes};
    }
    return (place == 0) == over ? own : result(placed, 0);
  }
  const auto end = static_cast<std::size_t>(trips % static_cast<std::int64_t>(placed.places));
  if (over && place == 0) return own;
  if (over && place == end) return result(placed, end - 1);
  // The member i, from one, whose value is at the end in this place: (end - i) mod places = place.
  const std::size_t member = (end + placed.places - place) % placed.places;
  if (member == 0 || member > members || static_cast<std::int64_t>(member) > trips) return own;
  return result(placed, member - 1);
}

inline RegionPlace CarryPlaces::next(const PlacedChain& placed, std::int64_t iteration, std::int64_t trips,
                                     bool over) const {
  if (placed.in_place) return result(placed, 0);
  if (placed.chain.stack) return row(*placed.chain.stack, iteration, trips);
  if (placed.chain.history) {
    return iteration + 1 < trips ? row(*placed.chain.history, iteration + 1, trips) : result(placed, 0);
  }
  return ring(placed, static_cast<std::size_t>(iteration % static_cast<std::int64_t>(placed.places)), trips, over);
}

inline RegionPlace CarryPlaces::value(const PlacedChain& placed, std::size_t member, std::int64_t iteration,
                                      std::int64_t trips, bool over) const {
  const auto i = static_cast<std::int64_t>(member);
  if (placed.in_place) return result(placed, 0);
  if (placed.chain.cyclic) {
    const auto length = static_cast<std::int64_t>(placed.chain.members.size());
    return initial(placed, static_cast<std::size_t>(((i - iteration) % length + length) % length));
  }
  if (iteration <= i) return initial(placed, static_cast<std::size_t>(i - iteration));
  return next(placed, iteration - i - 1, trips, over);
}

}  // namespace tyto::run
