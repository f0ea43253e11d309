// SPDX-License-Identifier: MIT
// Division by a constant gives the bits of a division, though the JIT multiplies by the reciprocal of a power of two.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace tyto::cpu::testing::division {

namespace {

template <class T>
std::vector<T> divided(const std::vector<T>& x, T divisor, InstructionSet set) {
  constexpr DType type = sizeof(T) == 4 ? DType::f32 : DType::f64;
  core::LoopBuilder program({&type, 1});
  const auto by = program.constant(static_cast<double>(divisor), type);
  const auto quotient = program.apply(core::OpId::divide, type, {0, by});
  const core::Operand operand{type, core::View::dense({static_cast<std::int64_t>(x.size())})};
  std::vector<T> result(x.size());
  const core::Address from{const_cast<T*>(x.data()), 0}, to{result.data(), 0};
  const KernelChoice choice{
      .implementation = Implementation::automatic, .instructions = set, .threads = 1, .loops = LoopBackend::jit};
  prepare_elements(bound_loop(program.finish({&quotient, 1}), {operand}, {operand}), choice)
      ->launch({&from, 1}, {&to, 1}, {});
  return result;
}

template <class T>
std::int64_t differences(const std::vector<T>& x, T divisor, const std::vector<T>& found) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T want = x[i] / divisor;
    count += std::isnan(want) ? !std::isnan(found[i]) : std::memcmp(&want, &found[i], sizeof want) != 0;
  }
  return count;
}

}  // namespace

TEST_CASE("machine code divides by numbers as the processor does: any size, zeros, infinities and NaN") {
  std::mt19937 random(5);
  std::vector<float> x;
  std::vector<double> wide;
  for (int i = 0; i < 200'000; ++i) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (const float special : {0.0F, -0.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e-45F, 3.4e38F, 1.2e-38F}) {
    for (int i = 0; i < 16; ++i) x.push_back(i % 5 == 0 ? special : static_cast<float>(i));
    for (int i = 0; i < 16; ++i) x.push_back(special);
  }
  for (const float number : x) wide.push_back(static_cast<double>(number) * 1.1);
  std::vector<float> divisors = {6.0F, -3.0F, 255.0F, 0.1F, 1.4142135F, 8.0F, -0.25F, 0x1p-110F, 1e-30F, 1e30F, 0.0F};
  std::uniform_real_distribution<float> usual(-100, 100);
  for (int i = 0; i < 30; ++i) divisors.push_back(usual(random));
  for (const InstructionSet set : all_sets()) {
    if (!jit::is_available() || jit::find_target(set) == nullptr) continue;
    for (const float divisor : divisors) {
      CAPTURE(divisor);
      CHECK(differences(x, divisor, divided(x, divisor, set)) == 0);
      const auto other = static_cast<double>(divisor);
      CHECK(differences(wide, other, divided(wide, other, set)) == 0);
    }
  }
}

}  // namespace tyto::cpu::testing::division
