// SPDX-License-Identifier: MIT
// Runs one function in several ways that must agree bit for bit: planned well, and without reuse over poisoned memory.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto {

using Outputs = std::vector<Tensor<Lazy>>;

inline std::vector<std::vector<unsigned char>> bits_of(const Outputs& outputs) {
  std::vector<std::vector<unsigned char>> list;
  for (const Tensor<Lazy>& output : outputs) {
    std::vector<unsigned char> bits;
    const auto append = [&]<class T>(const std::vector<T>& numbers) {
      for (const T number : numbers) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(&number);
        bits.insert(bits.end(), bytes, bytes + sizeof(T));
      }
    };
    if (output.dtype() == DType::f64) append(output.template to_vector<double>());
    else if (output.dtype() == DType::i64) append(output.template to_vector<std::int64_t>());
    else if (output.dtype() == DType::f32) append(output.template to_vector<float>());
    else append(output.astype(DType::f64).template to_vector<double>());
    list.push_back(std::move(bits));
  }
  return list;
}

/// The way every other is compared with: every tensor has memory of its own, which is NaN before and after its
/// lifetime.
inline CompileOptions plain_options() {
  return {.memory_strategy = "bump", .check_plan = true, .poison = true, .passes = "none"};
}

/// The results of a function over `runs` runs with these options; `fresh` makes it anew, with the states it changes.
template <class Fresh, class... T>
std::vector<std::vector<unsigned char>> bits_after(const Fresh& fresh, const CompileOptions& options, int runs,
                                                   const T&... arguments) {
  auto function = compile(fresh(), options);
  Outputs last;
  for (int run = 0; run < runs; ++run) last = function(arguments...);
  CHECK(function.report().unplanned_allocations == 0);
  return bits_of(last);
}

template <class Fresh, class... T>
void check_same_bits_of(const Fresh& fresh, int runs, const T&... arguments) {
  const auto plain = bits_after(fresh, plain_options(), runs, arguments...);
  const CompileOptions ways[] = {
      {.memory_strategy = "best", .check_plan = true, .passes = "none"},
      {.memory_strategy = "best", .check_plan = true, .poison = true, .passes = "none"},
      {.memory_strategy = "greedy_by_size", .check_plan = true, .poison = true, .passes = "none"},
  };
  for (const CompileOptions& way : ways) {
    CAPTURE(way.memory_strategy);
    CAPTURE(way.poison);
    CHECK(bits_after(fresh, way, runs, arguments...) == plain);
  }
}

/// A function of one tensor without states.
inline void check_same_bits(const std::function<Tensor<Lazy>(Tensor<Lazy>)>& function, const Tensor<Lazy>& argument) {
  const auto fresh = [&] {
    return std::function<Outputs(Tensor<Lazy>)>([&](Tensor<Lazy> x) { return Outputs{function(x)}; });
  };
  check_same_bits_of(fresh, 2, argument);
}

}  // namespace tyto
