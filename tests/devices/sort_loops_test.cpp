// SPDX-License-Identifier: MIT
// Sorting, selecting and ordering of lines of every length and kind, for each instruction set, against the standard
// library's stable sort.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "devices/cpu/sort/order_key.hpp"
#include "devices/cpu/sort/sort_loops.hpp"
#include "tyto/choosing.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"
#include "tyto/statistics.hpp"

namespace sort_loops_test {

using namespace tyto;
using T = Tensor<Eager>;

namespace {

/// The shapes of data that sorts stumble over, by number; `random` gives any number.
constexpr int kinds = 9;
template <class Random>
double element_of(int kind, std::int64_t i, std::int64_t count, Random& random) {
  const auto any = static_cast<double>(static_cast<std::int32_t>(random()));
  switch (kind) {
    case 0: return any;
    case 1: return 7;                                                        // all equal
    case 2: return static_cast<double>(i);                                   // sorted
    case 3: return static_cast<double>(count - i);                           // reversed
    case 4: return static_cast<double>(std::min(i, count - i));              // organ pipe
    case 5: return static_cast<double>(random() % 3);                        // few values
    case 6: return static_cast<double>(i % 17);                              // saw teeth
    case 7: return i % 5 == 0 ? any : static_cast<double>(i);                // nearly sorted
    default: return random() % 4 == 0 ? any : static_cast<double>(1 << 30);  // mostly the greatest
  }
}

/// Lengths about all sizes of networks, and some far beyond them.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> list(300);
  std::iota(list.begin(), list.end(), 0);
  for (const std::int64_t length : {511, 512, 513, 700, 1023, 1025, 2049, 3000, 4097, 5000}) list.push_back(length);
  return list;
}

template <class K>
void check_columns(const cpu::KeyLoops<K>& loops) {
  std::mt19937_64 random(2);
  REQUIRE(loops.short_line <= cpu::longest_short_line);
  for (std::int64_t count = 1; count <= loops.short_line; ++count) {
    std::vector<K> keys(static_cast<std::size_t>(count * cpu::lines_beside)), order(keys.size());
    for (K& key : keys) key = random() % 9 == 0 ? cpu::greatest_key<K> : static_cast<K>(random() % 5) - 2;
    loops.order_columns(keys.data(), order.data(), static_cast<int>(count));
    for (std::int64_t lane = 0; lane < cpu::lines_beside; ++lane) {
      const auto in_lane = [&](std::int64_t i) { return static_cast<std::size_t>(i * cpu::lines_beside + lane); };
      std::vector<std::int64_t> expected(static_cast<std::size_t>(count)), got;
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(),
                       [&](std::int64_t a, std::int64_t b) { return keys[in_lane(a)] < keys[in_lane(b)]; });
      for (std::int64_t i = 0; i < count; ++i) got.push_back(order[in_lane(i)]);
      CHECK(got == expected);
    }
  }
}

template <class K>
void check_loops(const cpu::KeyLoops<K>& loops, const cpu::PartLoops<K>& part_loops) {
  std::mt19937_64 random(1);
  for (const std::int64_t count : lengths()) {
    if (count == 0) continue;
    for (int kind = 0; kind < kinds; ++kind) {
      const auto size = static_cast<std::size_t>(count);
      std::vector<K> given(size), other(size + 16), kept(size + 16);
      for (std::size_t i = 0; i < size; ++i) {
        const double element = element_of(kind, static_cast<std::int64_t>(i), count, random);
        given[i] = element == 1 << 30 ? cpu::greatest_key<K> : static_cast<K>(element);
      }
      std::vector<K> expected = given, keys = given;
      std::sort(expected.begin(), expected.end());
      loops.sort(keys.data(), other.data(), count);
      const std::string what = "count " + std::to_string(count) + ", kind " + std::to_string(kind);
      if (keys != expected) FAIL("sorted wrongly: " << what);

      const std::int64_t ranks[] = {0, count / 3, std::min(count / 3 + 1, count - 1), count - 1};
      K found[4];
      keys = given;
      loops.select(keys.data(), other.data(), count, ranks, 4, found);
      for (int k = 0; k < 4; ++k) {
        if (found[k] != expected[static_cast<std::size_t>(ranks[k])]) FAIL("selected wrongly: " << what);
      }

      const K bound = expected[size / 2];
      const std::int64_t below = loops.split(given.data(), count, bound, other.data());
      CHECK(below == std::count_if(given.begin(), given.end(), [&](K key) { return key < bound; }));
      if (!std::is_permutation(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(below), expected.begin(),
                               expected.begin() + static_cast<std::ptrdiff_t>(below))) {
        FAIL("split wrongly: " << what);
      }
      std::vector<K> wanted;
      std::copy_if(given.begin(), given.end(), std::back_inserter(wanted),
                   [&](K key) { return key >= expected[size / 4] && key <= bound; });
      std::int64_t less = 0;
      const std::int64_t held = part_loops.keep(given.data(), count, expected[size / 4], bound, kept.data(), less);
      CHECK(less == std::count_if(given.begin(), given.end(), [&](K key) { return key < expected[size / 4]; }));
      kept.resize(static_cast<std::size_t>(held));
      if (kept != wanted) FAIL("kept wrongly: " << what);

      CHECK(loops.count_from(given.data(), count, bound) ==
            std::count_if(given.begin(), given.end(), [&](K key) { return key >= bound; }));
      K least, greatest;
      part_loops.bracket(given.data(), count, count / 2, least, greatest);
      CHECK(least <= greatest);
      std::vector<K> below_bound, above_bound, low(size + 16), high = given;
      std::copy_if(given.begin(), given.end(), std::back_inserter(below_bound), [&](K key) { return key < bound; });
      std::copy_if(given.begin(), given.end(), std::back_inserter(above_bound), [&](K key) { return key > bound; });
      high.resize(size + 16);
      // Elements below have room for a vector more, those above for no more than they are.
      const auto room = static_cast<std::int64_t>(above_bound.size());
      std::vector<K> above(above_bound.size() + 1, K{99});
      const auto [lows, highs] = part_loops.part_around(
          high.data(), count, bound, {low.data(), low.data() + count + 16}, {above.data(), above.data() + room});
      if (highs != room || above.back() != 99) FAIL("parted beyond its room: " << what);
      low.resize(static_cast<std::size_t>(lows));
      above.pop_back();
      if (low != below_bound || above != above_bound) FAIL("parted wrongly: " << what);
      // In place.
      low.assign(size + 16, K{});
      const auto counts = part_loops.part_around(high.data(), count, bound, {low.data(), low.data() + count + 16},
                                                 {high.data(), high.data() + count + 16});
      low.resize(static_cast<std::size_t>(counts.below));
      high.resize(static_cast<std::size_t>(counts.above));
      if (low != below_bound || high != above_bound) FAIL("parted wrongly: " << what);

      std::vector<std::int64_t> places(size);
      for (const bool after : {false, true}) {
        loops.search(expected.data(), count, given.data(), count, after, places.data());
        for (std::size_t i = 0; i < size; ++i) {
          const auto place = after ? std::upper_bound(expected.begin(), expected.end(), given[i])
                                   : std::lower_bound(expected.begin(), expected.end(), given[i]);
          if (places[i] != place - expected.begin()) FAIL("searched wrongly: " << what);
        }
      }
    }
  }
}

std::vector<cpu::InstructionSet> sets() {
  std::vector<cpu::InstructionSet> list;
  for (const auto set : {cpu::InstructionSet::baseline, cpu::InstructionSet::avx2, cpu::InstructionSet::avx512}) {
    if (set <= cpu::widest_instruction_set()) list.push_back(set);
  }
  return list;
}

/// Whether a comes before b: ascending or descending, NaN last either way.
template <class E>
bool before(E a, E b, bool descending) {
  if constexpr (std::is_floating_point_v<E>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return descending ? a > b : a < b;
}

template <class E>
bool same_bits(E a, E b) {
  if constexpr (std::is_floating_point_v<E>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class E>
std::vector<E> line(int kind, std::int64_t count, std::mt19937_64& random) {
  std::vector<E> elements(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    E& element = elements[static_cast<std::size_t>(i)];
    if constexpr (std::is_floating_point_v<E>) {
      element = static_cast<E>(element_of(kind, i, count, random)) / 8;
      const std::uint64_t special = random() % 16;  // both zeros, infinities and NaN among them
      if (kind != 1 && special < 5) {
        const E infinity = std::numeric_limits<E>::infinity();
        const E specials[] = {E{0}, -E{0}, infinity, -infinity, std::numeric_limits<E>::quiet_NaN()};
        element = specials[special];
      }
    } else if (sizeof(E) == 8 && kind == 0) {
      element = static_cast<E>(random());  // more bits than fit beside an index
    } else {
      element = static_cast<E>(static_cast<std::int64_t>(element_of(kind, i, count, random)));
    }
  }
  return elements;
}

template <class E>
void check_orders() {
  std::mt19937_64 random(2);
  for (const std::int64_t count : {1, 2, 3, 15, 16, 17, 31, 33, 64, 100, 129, 255, 256, 257, 600, 1500, 5000}) {
    for (int kind = 0; kind < kinds; ++kind) {
      const std::vector<E> given = line<E>(kind, count, random);
      const T x = T::from(given, {count});
      // One of two columns: nothing lies side by side.
      const T column = stack<Eager>({x, x}, 1)(all, 1);
      for (const bool descending : {false, true}) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(count));
        std::iota(order.begin(), order.end(), 0);
        const auto element = [&](std::int64_t i) { return given[static_cast<std::size_t>(i)]; };
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int64_t a, std::int64_t b) { return before(element(a), element(b), descending); });
        const std::string what = "count " + std::to_string(count) + ", kind " + std::to_string(kind);
        if (argsort(x, 0, descending).template to_vector<std::int64_t>() != order) FAIL("argsort: " << what);
        const std::int64_t few = std::max<std::int64_t>(count / 10, 1);
        std::vector<std::int64_t> first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(few));
        if (topk(x, few, 0, descending).indices.template to_vector<std::int64_t>() != first) FAIL("topk: " << what);
        for (const T& source : {x, column}) {
          const std::vector<E> sorted = sort(source, 0, descending).template to_vector<E>();
          for (std::size_t i = 0; i < sorted.size(); ++i) {
            if (!same_bits(sorted[i], element(order[i]))) FAIL("sort: " << what << " at " << i);
          }
        }
        if (descending) continue;
        for (const std::int64_t kth : {count / 3, count / 50, count - 1 - count / 50, std::int64_t{0}}) {
          const E middle = element(order[static_cast<std::size_t>(kth)]);
          std::vector<std::int64_t> parts(static_cast<std::size_t>(count));
          std::iota(parts.begin(), parts.end(), 0);
          std::stable_sort(parts.begin(), parts.end(), [&](std::int64_t a, std::int64_t b) {
            const auto part = [&](std::int64_t i) {
              return before(element(i), middle, false) ? 0 : before(middle, element(i), false) ? 2 : 1;
            };
            return part(a) < part(b);
          });
          if (argpartition(x, kth).template to_vector<std::int64_t>() != parts) FAIL("argpartition: " << what);
          for (const T& source : {x, column}) {
            const std::vector<E> parted = partition(source, kth).template to_vector<E>();
            for (std::size_t i = 0; i < parted.size(); ++i) {
              if (!same_bits(parted[i], element(parts[i]))) FAIL("partition: " << what << " at " << i);
            }
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("keys of 32 bits are sorted, selected and split by every instruction set") {
  for (const cpu::InstructionSet set : sets()) {
    CAPTURE(cpu::name_of(set));
    check_loops(cpu::sort_loops(set).narrow, cpu::sort_loops(set).narrow_parts(DType::i32));
  }
}

TEST_CASE("columns of keys are in stable order, by every instruction set") {
  for (const cpu::InstructionSet set : sets()) {
    CAPTURE(cpu::name_of(set));
    check_columns(cpu::sort_loops(set).narrow);
    check_columns(cpu::sort_loops(set).wide);
  }
}

TEST_CASE("keys of 64 bits are sorted, selected and split by every instruction set") {
  for (const cpu::InstructionSet set : sets()) {
    CAPTURE(cpu::name_of(set));
    check_loops(cpu::sort_loops(set).wide, cpu::sort_loops(set).wide_parts(DType::i64));
  }
}

TEST_CASE_TEMPLATE("lines of every kind are ordered as the standard library's stable sort orders them", E, std::uint8_t,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double) {
  check_orders<E>();
}

TEST_CASE("elements as keys are in the order of the elements, and come back") {
  std::mt19937_64 random(3);
  for (const cpu::InstructionSet set : sets()) {
    const cpu::ElementLoops loops = cpu::sort_loops(set).elements(DType::f64);
    const std::vector<double> given = line<double>(0, 1001, random);
    std::vector<std::int64_t> keys(given.size());
    std::vector<double> back(given.size());
    for (const bool descending : {false, true}) {
      CHECK(loops.encode(given.data(), 1001, descending, keys.data()));  // there are negative zeros
      loops.decode(keys.data(), 1001, descending, back.data());
      for (std::size_t i = 0; i < given.size(); ++i) {
        CHECK((back[i] == given[i] || (std::isnan(back[i]) && std::isnan(given[i]))));
        CHECK((keys[i] < keys[0]) == before(given[i], given[0], descending));
      }
    }
  }
}

TEST_CASE("bytes and short integers in long lines are counted") {
  std::mt19937_64 random(4);
  const auto check = [&]<class E>(E) {
    std::vector<E> elements(70001);
    for (E& element : elements) element = static_cast<E>(random());
    const std::vector<E> sorted = sort(T::from(elements, {70001})).template to_vector<E>();
    std::sort(elements.begin(), elements.end());
    CHECK(sorted == elements);
  };
  check(std::uint8_t{});
  check(std::int8_t{});
  check(std::int16_t{});
}

TEST_CASE("the first few of a line are right where the last of them is the largest number there is") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto smallest = [](const T& x) { return topk(x, 3, 0, false).indices.to_vector<std::int64_t>(); };
  const std::vector<std::int64_t> expected = {1, 3, 0};
  CHECK(smallest(T::from(std::vector<std::int64_t>{most, 3, most, 5}, {4})) == expected);
  CHECK(smallest(T::from(std::vector<std::int64_t>{most, 0, most, 5}, {4})) == expected);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(smallest(T::from(std::vector<double>{nan, 0.0, nan, 1.0}, {4})) == expected);
}

TEST_CASE("doubles that differ beyond the bits beside an index are still in order") {
  std::vector<double> elements(3000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = 1 + static_cast<double>((i * 7919) % 3000) * 0x1p-52;
  elements[1234] = -1e300;  // a wide range leaves few bits of each key
  elements[17] = elements[18];
  std::vector<std::int64_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return elements[static_cast<std::size_t>(a)] < elements[static_cast<std::size_t>(b)];
  });
  const T x = T::from(elements, {3000});
  CHECK(argsort(x).to_vector<std::int64_t>() == order);
  order.resize(5);
  CHECK(topk(x, 5, 0, false).indices.to_vector<std::int64_t>() == order);
}

}  // namespace sort_loops_test
