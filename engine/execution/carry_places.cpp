// Places as functions of the number of the iteration: values change their places by their numbers, and are not moved.
#include "engine/execution/carry_places.hpp"

namespace tyto::run {

// Place number `place` of a ring. In a loop whose end is known the members' places at the end are the results'.
RegionPlace CarryPlaces::ring(const PlacedChain& placed, std::size_t place, std::int64_t trips, bool over) const {
  const std::size_t members = placed.chain.members.size();
  const RegionPlace own{RegionPlace::Kind::workspace, 0, placed.workspace};
  // The first iteration reads the initial value, so that it must not write there.
  if (over) return place == 0 ? own : result(placed, 0);
  if (tested) {
    if (placed.own_places > 1) {
      return {RegionPlace::Kind::workspace, 0, placed.workspace + place * placed.place_bytes};
    }
    return place == 0 ? result(placed, 0) : own;
  }
  const auto end = static_cast<std::size_t>(trips % static_cast<std::int64_t>(placed.places));
  // The member i, from one, whose value is at the end in this place: (end - i) mod places = place.
  const std::size_t member = (end + placed.places - place) % placed.places;
  if (member == 0 || member > members || static_cast<std::int64_t>(member) > trips) return own;
  return result(placed, member - 1);
}

RegionPlace CarryPlaces::next(const PlacedChain& placed, std::int64_t iteration, std::int64_t trips, bool over) const {
  if (placed.in_place) return result(placed, 0);
  if (placed.chain.stack) return row(*placed.chain.stack, iteration, trips);
  if (placed.chain.history) {
    return iteration + 1 < trips ? row(*placed.chain.history, iteration + 1, trips) : result(placed, 0);
  }
  return ring(placed, static_cast<std::size_t>(iteration % static_cast<std::int64_t>(placed.places)), trips, over);
}

RegionPlace CarryPlaces::value(const PlacedChain& placed, std::size_t member, std::int64_t iteration,
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
