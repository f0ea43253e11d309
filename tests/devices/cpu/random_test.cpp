// SPDX-License-Identifier: MIT
// Random draws: Philox's published answers, the distributions' moments and distribution functions, and independence of
// threads, of instruction sets and of how much is drawn.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/random/random.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace random_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::OpId;
using cpu::KernelChoice;

struct Key {
  std::uint64_t seed = 42, base = 0;
};

StoredTensor draw(OpId op, DType type, std::int64_t count, double first, double second, Key key = {},
                  std::int64_t place = 0, const KernelChoice& choice = {}) {
  StoredTensor keys = StoredTensor::dense(DType::i64, {2});
  std::memcpy(keys.memory.data(), &key.seed, 8);
  std::memcpy(keys.memory.data() + 8, &key.base, 8);
  StoredTensor result = StoredTensor::dense(type, {count});
  run_step([&](const core::Step& step) { return cpu::prepare_random(step, choice); }, op,
           core::RandomAttributes{{count}, type, place, first, second}, {&keys}, result);
  return result;
}

/// The 32-bit word behind a uniform f32 draw, as far as the draw shows it: its upper 24 bits.
std::uint32_t upper_bits(long double unit) { return static_cast<std::uint32_t>(unit * 0x1p24L); }

TEST_CASE("draws are the published answers of Philox 4x32-10") {
  const StoredTensor zero = draw(OpId::random_uniform, DType::f32, 4, 0, 1, {0, 0});
  const std::uint32_t answers[] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  for (std::int64_t i = 0; i < 4; ++i) CHECK(upper_bits(zero.get(i)) == answers[i] >> 8);
}

/// Philox written as its authors state it, one block at a time.
struct Block {
  std::uint32_t word[4];
};
Block philox(std::uint64_t counter, std::uint64_t place, std::uint64_t seed) {
  std::uint32_t c[4] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                        static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)};
  std::uint32_t k[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t low = 0xD2511F53ull * c[0], high = 0xCD9E8D57ull * c[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(high >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(high),
        static_cast<std::uint32_t>(low >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(low)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

TEST_CASE("the reference used below gives Philox's published answers") {
  const Block ones = philox(~0ull, ~0ull, ~0ull);
  CHECK(ones.word[0] == 0x408f276du);
  CHECK(ones.word[3] == 0x6d5451fdu);
  const Block digits = philox(0x85a308d3243f6a88ull, 0x0370734413198a2eull, 0x299f31d0a4093822ull);
  CHECK(digits.word[0] == 0xd16cfe09u);
  CHECK(digits.word[3] == 0x24126ea1u);
}

TEST_CASE("element i takes word i % 4 of block i / 4, or the whole block i, of the key's draw") {
  const Key key{0x0123456789abcdefull, 0xfffffffffffffff0ull};
  const std::int64_t place = 0x20;  // the sum wraps around
  for (const cpu::InstructionSet set : all_sets()) {
    const KernelChoice choice{.instructions = set, .threads = 1};
    const StoredTensor narrow = draw(OpId::random_uniform, DType::f32, 1030, 0, 1, key, place, choice);
    const StoredTensor wide = draw(OpId::random_uniform, DType::f64, 1030, 0, 1, key, place, choice);
    const StoredTensor whole = draw(OpId::random_integers, DType::i64, 1030, -1000, 1000, key, place, choice);
    for (std::int64_t i = 0; i < 1030; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      CHECK(upper_bits(narrow.get(i)) == philox(index / 4, 0x10, key.seed).word[index % 4] >> 8);
      const Block block = philox(index, 0x10, key.seed);
      const std::uint64_t bits = std::uint64_t{block.word[0]} << 32 | block.word[1];
      CHECK(wide.get(i) == static_cast<long double>(bits >> 11) * 0x1p-53L);
      CHECK(whole.get(i) == -1000 + std::floor(static_cast<long double>(bits) * 2000 * 0x1p-64L));
    }
  }
}

/// Mean, variance, and the largest distance between the draws' distribution function and the true one.
struct Sample {
  long double mean = 0, variance = 0, distance = 0;
};
Sample summarise(const StoredTensor& draws, const std::function<long double(long double)>& distribution) {
  std::vector<long double> list = draws.numbers();
  std::sort(list.begin(), list.end());
  const auto n = static_cast<long double>(list.size());
  Sample sample;
  for (const long double x : list) sample.mean += x / n;
  for (const long double x : list) sample.variance += (x - sample.mean) * (x - sample.mean) / n;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const long double f = distribution(list[i]);
    sample.distance = std::max({sample.distance, std::abs(f - static_cast<long double>(i) / n),
                                std::abs(f - static_cast<long double>(i + 1) / n)});
  }
  return sample;
}

long double normal_distribution(long double x) { return 0.5L * std::erfc(-x / std::sqrt(2.0L)); }

/// The lower incomplete gamma function by its series, divided by gamma(k).
long double gamma_distribution(long double k, long double x) {
  long double term = 1 / k, sum = term;
  for (int i = 1; term > sum * 1e-12L; ++i) sum += term *= x / (k + i);
  return x <= 0 ? 0 : sum * std::exp(-x + k * std::log(x) - std::lgamma(k));
}

TEST_CASE("each distribution has its mean, variance and distribution function") {
  struct Case {
    std::string name;
    OpId op;
    double first, second;
    long double mean, variance;
    std::function<long double(long double)> distribution;
  };
  const long double cut = normal_distribution(2) - normal_distribution(-2);
  const auto gamma_case = [](double k, double scale) {
    return Case{"gamma", OpId::random_gamma, k, scale, k * scale, k * scale * scale, [=](long double x) {
                  return gamma_distribution(k, x / scale);
                }};
  };
  const Case cases[] = {
      {"uniform", OpId::random_uniform, -1, 3, 1, 16.0L / 12, [](long double x) { return (x + 1) / 4; }},
      {"normal", OpId::random_normal, 2, 3, 2, 9, [](long double x) { return normal_distribution((x - 2) / 3); }},
      {"truncated normal", OpId::random_truncated_normal, 1, 2, 1, 4 * 0.7737413L,
       [=](long double x) { return (normal_distribution((x - 1) / 2) - normal_distribution(-2)) / cut; }},
      {"exponential", OpId::random_exponential, 4, 0, 0.25L, 0.0625L,
       [](long double x) { return 1 - std::exp(-4 * x); }},
      gamma_case(0.5, 2),
      gamma_case(1, 1),
      gamma_case(7.5, 0.5),
  };
  constexpr std::int64_t count = 40'000;
  for (const Case& one : cases) {
    for (const DType type : {DType::f32, DType::f64}) {
      for (const cpu::InstructionSet set : all_sets()) {
        INFO(one.name, " ", std::string(name_of(type)), " ", std::string(cpu::name_of(set)));
        const StoredTensor draws =
            draw(one.op, type, count, one.first, one.second, {}, 3, {.instructions = set, .threads = 2});
        const Sample sample = summarise(draws, one.distribution);
        // Five standard errors; the distance is below 1.95 / sqrt(n) but once in a thousand seeds.
        CHECK(std::abs(sample.mean - one.mean) < 5 * std::sqrt(one.variance / count));
        CHECK(std::abs(sample.variance - one.variance) < 0.06L * one.variance);
        CHECK(sample.distance < 1.95L / std::sqrt(static_cast<long double>(count)));
      }
    }
  }
}

TEST_CASE("bernoulli draws ones with the probability asked for, in any type") {
  for (const DType type : all_types) {
    const StoredTensor draws = draw(OpId::random_bernoulli, type, 20'000, 0.3, 0);
    long double ones = 0;
    for (const long double x : draws.numbers()) {
      REQUIRE((x == 0) != (x == 1));
      ones += x;
    }
    CHECK(std::abs(ones - 6'000) < 5 * std::sqrt(20'000 * 0.21L));
  }
  CHECK(draw(OpId::random_bernoulli, DType::boolean, 1000, 1, 0).numbers() == std::vector<long double>(1000, 1));
  CHECK(draw(OpId::random_bernoulli, DType::boolean, 1000, 0, 0).numbers() == std::vector<long double>(1000, 0));
}

TEST_CASE("integers take every value of their range about equally often, and no other") {
  for (const DType type :
       {DType::u8, DType::u16, DType::u32, DType::u64, DType::i8, DType::i16, DType::i32, DType::i64}) {
    std::vector<long double> counts(6, 0);
    for (const long double x : draw(OpId::random_integers, type, 60'000, 3, 9).numbers()) {
      REQUIRE(x >= 3);
      REQUIRE(x < 9);
      counts[static_cast<std::size_t>(x - 3)] += 1;
    }
    for (const long double seen : counts) CHECK(std::abs(seen - 10'000) < 5 * std::sqrt(10'000.0L));
  }
  const StoredTensor wide = draw(OpId::random_integers, DType::i64, 1000, -0x1p63, 0x1p63);
  const auto numbers = wide.numbers();
  CHECK(*std::min_element(numbers.begin(), numbers.end()) < -0x1p62L);
  CHECK(*std::max_element(numbers.begin(), numbers.end()) > 0x1p62L);
}

TEST_CASE("a permutation holds every index once and is not the identity") {
  for (const std::int64_t count : {0, 1, 2, 7, 8, 63, 64, 1000, 100000}) {
    auto order = draw(OpId::random_permutation, DType::i64, count, 0, 0).numbers();
    const bool shuffled = !std::is_sorted(order.begin(), order.end());
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<long double>(i));
    if (count >= 1000) CHECK(shuffled);
  }
}

// Of five million words a few pairs differ in bits only that find no room beside an index.
TEST_CASE("a permutation is the order of its blocks' first words, equal ones by index") {
  const Key key{0x0123456789abcdefull, 0xfffffffffffffff0ull};
  for (const std::int64_t count : {1, 2, 3, 15, 16, 17, 31, 32, 33, 255, 257, 5000, 100'003, 5'000'000}) {
    std::vector<std::pair<std::uint64_t, std::int64_t>> words;
    for (std::int64_t i = 0; i < count; ++i) {
      const Block block = philox(static_cast<std::uint64_t>(i), key.base + 0x20, key.seed);
      words.emplace_back(std::uint64_t{block.word[0]} << 32 | block.word[1], i);
    }
    std::sort(words.begin(), words.end());
    for (const cpu::InstructionSet set : all_sets()) {
      const StoredTensor drawn =
          draw(OpId::random_permutation, DType::i64, count, 0, 0, key, 0x20, {.instructions = set, .threads = 1});
      std::vector<std::int64_t> order(static_cast<std::size_t>(count));
      std::memcpy(order.data(), drawn.memory.data(), order.size() * 8);
      CHECK(std::ranges::equal(order, words, {}, {}, &std::pair<std::uint64_t, std::int64_t>::second));
    }
  }
}

TEST_CASE("the numbers depend neither on threads nor on how many are drawn, but on seed and draw") {
  const OpId ops[] = {OpId::random_uniform,     OpId::random_normal, OpId::random_truncated_normal,
                      OpId::random_exponential, OpId::random_gamma,  OpId::random_permutation,
                      OpId::random_bernoulli};
  for (const OpId op : ops) {
    const DType type = op == OpId::random_permutation ? DType::i64 : DType::f32;
    const StoredTensor one = draw(op, type, 5001, 0.5, 1, {}, 0, {.instructions = {}, .threads = 1});
    for (const int threads : {2, 3, 7}) {
      CHECK(draw(op, type, 5001, 0.5, 1, {}, 0, {.instructions = {}, .threads = threads}).memory == one.memory);
    }
    CHECK(draw(op, type, 5001, 0.5, 1, {43, 0}).memory != one.memory);
    CHECK(draw(op, type, 5001, 0.5, 1, {42, 1}).memory != one.memory);
    CHECK(draw(op, type, 5001, 0.5, 1, {42, 7}, -7).memory == one.memory);
    if (op == OpId::random_permutation) continue;
    const auto some = draw(op, type, 777, 0.5, 1).numbers(), all = one.numbers();
    CHECK(std::equal(some.begin(), some.end(), all.begin()));
  }
}

TEST_CASE("16-bit draws are the f32 draws rounded") {
  const auto wide = draw(OpId::random_normal, DType::f32, 500, 0, 1).numbers();
  const auto half = draw(OpId::random_normal, DType::f16, 500, 0, 1).numbers();
  const auto brain = draw(OpId::random_normal, DType::bf16, 500, 0, 1).numbers();
  for (std::size_t i = 0; i < 500; ++i) {
    CHECK(half[i] == static_cast<float>(Half(static_cast<float>(wide[i]))));
    CHECK(brain[i] == static_cast<float>(BFloat16(static_cast<float>(wide[i]))));
  }
}

}  // namespace

}  // namespace random_test
