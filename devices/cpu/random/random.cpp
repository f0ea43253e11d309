// SPDX-License-Identifier: MIT
// The random family: each distribution's loop run over the elements by any number of threads.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/random/random.hpp"
#include "devices/cpu/random/random_loops.hpp"
#include "devices/cpu/sort/sort_loops.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using core::Address;
using core::OpId;

/// A distribution's loop, the type it makes, and roughly its vector operations an element.
struct Distribution {
  RandomLoop loop;
  DType makes;
  double operations;
};

Distribution distribution_of(OpId op, DType type, const RandomLoops& loops) {
  const bool wide = type == DType::f64;
  const DType real = wide ? DType::f64 : DType::f32;
  switch (op) {
    case OpId::random_uniform: return {wide ? loops.uniform_f64 : loops.uniform_f32, real, 8};
    case OpId::random_normal: return {wide ? loops.normal_f64 : loops.normal_f32, real, 30};
    case OpId::random_truncated_normal:
      return {wide ? loops.truncated_normal_f64 : loops.truncated_normal_f32, real, 40};
    case OpId::random_exponential: return {wide ? loops.exponential_f64 : loops.exponential_f32, real, 20};
    case OpId::random_gamma: return {loops.gamma_f64, DType::f64, 120};
    case OpId::random_integers: return {loops.integers, DType::i64, 20};
    case OpId::random_bernoulli: return {loops.bernoulli, DType::boolean, 8};
    default: core::refuse_operator("cpu: random numbers", op);
  }
}

/// The key is read when the kernel runs: a compiled graph draws new numbers each time.
RandomStream stream_of(const core::Operand& key, const Address& address, const core::RandomAttributes& attributes) {
  std::int64_t words[2];
  std::memcpy(words, address.pointer() + key.view.offset * 8, sizeof words);
  return {static_cast<std::uint64_t>(words[0]),
          static_cast<std::uint64_t>(words[1]) + static_cast<std::uint64_t>(attributes.draw), attributes.first,
          attributes.second};
}

std::byte* start_of(const core::Operand& operand, const Address& address) {
  return address.pointer() + operand.view.offset * static_cast<std::int64_t>(size_of(operand.dtype));
}

KernelRef prepare_automatic(const core::Step& step) { return prepare_random(step); }

/// The order that sorts a 64-bit word for each element; equal words keep their order. Numbers of a word's upper bits
/// and its index are sorted. Words are spread evenly, so that their first bits put few into each bucket.
KernelRef prepare_permutation(const core::Step& step, const KernelChoice& choice) {
  const core::Operand key = step.inputs[0], result = step.outputs[0];
  const auto attributes = std::get<core::RandomAttributes>(*step.attributes);
  const std::int64_t count = result.view.count();
  const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
  const int bits = std::clamp(width - 5, 0, 16);  // 16 to 32 in a bucket, and counts that stay in second-level caches
  const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
  const std::size_t buckets = std::size_t{1} << bits;
  const std::int64_t index_mask = (std::int64_t{1} << width) - 1;
  return make_kernel(
      [=, words = random_loops(choice.set()).words, sort = sort_loops(choice.set()).wide.sort](
          Addresses inputs, Addresses outputs, Address workspace) {
        const RandomStream stream = stream_of(key, inputs[0], attributes);
        auto* numbers = reinterpret_cast<std::int64_t*>(workspace.pointer());
        auto* sorted = reinterpret_cast<std::int64_t*>(workspace.pointer() + bytes);
        auto* ends = reinterpret_cast<std::int64_t*>(workspace.pointer() + 2 * bytes);
        std::fill_n(ends, buckets, 0);
        const auto bucket_of = [shift = 63 - bits](std::int64_t number) { return number >> shift; };
        std::uint64_t run[random_run];
        for (std::int64_t begin = 0; begin < count; begin += std::int64_t{random_run}) {
          const std::int64_t length = std::min<std::int64_t>(random_run, count - begin);
          words(run, stream, static_cast<std::uint64_t>(begin), static_cast<std::size_t>(length));
          for (std::int64_t i = 0; i < length; ++i) {
            numbers[begin + i] = (static_cast<std::int64_t>(run[i] >> 1) & ~index_mask) | (begin + i);
            ++ends[bucket_of(numbers[begin + i])];
          }
        }
        std::exclusive_scan(ends, ends + buckets, ends, std::int64_t{0});
        for (const std::int64_t* at = numbers; at != sorted; ++at) sorted[ends[bucket_of(*at)]++] = *at;
        for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
          const std::int64_t begin = bucket == 0 ? 0 : ends[bucket - 1];
          sort(sorted + begin, numbers, ends[bucket] - begin);
        }
        auto* out = reinterpret_cast<std::int64_t*>(start_of(result, outputs[0]));
        const auto are_close = [=](std::int64_t a, std::int64_t b) { return (a ^ b) <= index_mask; };
        std::transform(sorted, sorted + count, out, [=](std::int64_t number) { return number & index_mask; });
        // Where words differ in their lower bits only, these decide.
        const auto word_of = [&](std::int64_t index) { return words(run, stream, std::uint64_t(index), 1), run[0]; };
        for (auto at = sorted, end = sorted + count; (at = std::adjacent_find(at, end, are_close)) != end; ++at) {
          for (std::int64_t j = at - sorted; j >= 0 && are_close(sorted[j], at[1]); --j) {
            if (word_of(out[j]) > word_of(out[j + 1])) std::swap(out[j], out[j + 1]);
          }
        }
      },
      2 * bytes + buckets * sizeof(std::int64_t));
}

constexpr KernelEntry entries[] = {
    {OpId::random_uniform, prepare_automatic, all_dense},
    {OpId::random_normal, prepare_automatic, all_dense},
    {OpId::random_bernoulli, prepare_automatic, all_dense},
    {OpId::random_integers, prepare_automatic, all_dense},
    {OpId::random_truncated_normal, prepare_automatic, all_dense},
    {OpId::random_gamma, prepare_automatic, all_dense},
    {OpId::random_exponential, prepare_automatic, all_dense},
    {OpId::random_permutation, prepare_automatic, all_dense},
};

}  // namespace

KernelRef prepare_random(const core::Step& step, const KernelChoice& choice) {
  if (step.op == OpId::random_permutation) return prepare_permutation(step, choice);

  const RandomLoops& loops = random_loops(choice.set());
  const core::Operand key = step.inputs[0], result = step.outputs[0];
  const auto attributes = std::get<core::RandomAttributes>(*step.attributes);
  const Distribution distribution = distribution_of(step.op, result.dtype, loops);
  const TileLoop store = conversion(tile_loops(choice.set()), distribution.makes, result.dtype);
  const std::int64_t count = result.view.count();
  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  const double nanoseconds = distribution.operations * static_cast<double>(count) / machine::vector_operations;
  const int wanted = choice.threads > 0 ? choice.threads : threads_for(nanoseconds);
  return make_kernel([=](Addresses inputs, Addresses outputs, Address) {
    const RandomStream stream = stream_of(key, inputs[0], attributes);
    std::byte* out = start_of(result, outputs[0]);
    run_team(wanted, [&](Team team) {
      const Range mine = share(count, team.member, team.size, random_run);
      alignas(64) double run[random_run];
      for (std::int64_t begin = mine.begin; begin < mine.end; begin += std::int64_t{random_run}) {
        const auto length = static_cast<std::size_t>(std::min<std::int64_t>(random_run, mine.end - begin));
        distribution.loop(run, stream, static_cast<std::uint64_t>(begin), length);
        store(out + begin * width, run, nullptr, nullptr, length);
      }
    });
  });
}

std::span<const KernelEntry> random_kernels() { return entries; }

}  // namespace tyto::cpu
