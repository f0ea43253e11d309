// SPDX-License-Identifier: MIT
// Random programs over all operators, in both modes, through every pass and every planner, with changing inputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/graph/operator.hpp"
#include "tests/fuzz/comparison.hpp"
#include "tests/fuzz/program.hpp"
#include "tests/fuzz/rounding_errors.hpp"
#include "tests/fuzz/trial.hpp"

using namespace tyto;

namespace {

// A seed draws another program where a compiler evaluates arguments in another order than g++, with which the seeds
// below were found.
#if defined(__clang__)
constexpr bool other_programs = true;
#else
constexpr bool other_programs = false;
#endif

fuzz::History one_output(const std::vector<float>& numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return {{.outputs = {fuzz::Data::of(Tensor<Eager>::from(numbers, {count}))}, .states = {}}};
}

}  // namespace

TEST_CASE("500 random programs compute in every way what eager mode computes") {
  // With every run verified, other hundred.
  const bool is_verified = std::getenv("TYTO_VERIFY") != nullptr;
  const std::uint64_t first = is_verified ? 501 : 1, programs = is_verified ? 100 : 500;
  fuzz::TrialCount count;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const std::optional<std::string> fault = fuzz::fault_of(fuzz::trial_of(seed), count);
    if (fault) FAIL_CHECK(*fault << "\n" << fuzz::smallest_fault(fuzz::trial_of(seed)));
  }
  CHECK(count.graphs == programs);
  // Few moves ask for what the library refuses; else little would be tried.
  CHECK(count.refused * 10 < count.nodes);

  if (is_verified) return;
  // What only other ways of recording make: leaves, and what passes put in; and what several processes do.
  const std::set<std::string_view> elsewhere{
      "state",        "read",       "fused",      "matmul_epilogue", "convolution_epilogue",
      "pack_weights", "all_reduce", "all_gather", "reduce_scatter",  "broadcast",
      "barrier",      "send",       "recv"};
  for (const core::OpDef& def : core::op_table()) {
    CAPTURE(def.name);
    if (!elsewhere.contains(def.name)) CHECK(count.operators[static_cast<std::size_t>(def.id)] > 0);
  }
}

TEST_CASE("open signs excuse the elements that depend on them and no others") {
  const fuzz::History expected = one_output({1, 5});
  const std::vector<fuzz::History> resigned{one_output({1, 5}), one_output({-1, 5})};
  CHECK(fuzz::difference_beyond_choices(expected, one_output({-1, 5}), resigned).empty());
  CHECK_FALSE(fuzz::difference_beyond_choices(expected, one_output({1, 6}), resigned).empty());
  CHECK_FALSE(fuzz::difference_beyond_choices(expected, one_output({-1, 5.000001f}), resigned).empty());
  CHECK_FALSE(fuzz::difference_beyond_choices(expected, one_output({777, 5}), resigned).empty());
}

TEST_CASE("open choices excuse what they were seen to make of an element, and nothing else") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const fuzz::History expected = one_output({1, 5});
  const std::vector<fuzz::History> undefined{one_output({1, 5}), one_output({nan, 5})};
  CHECK(fuzz::difference_beyond_choices(expected, one_output({nan, 5}), undefined).empty());
  CHECK_FALSE(fuzz::difference_beyond_choices(expected, one_output({777, 5}), undefined).empty());
  CHECK_FALSE(fuzz::difference_beyond_choices(expected, one_output({inf, 5}), undefined).empty());
  CHECK_FALSE(fuzz::difference_beyond_choices(expected, one_output({1, nan}), undefined).empty());

  // Beside rounding that moves the first by a thousandth.
  const std::vector<fuzz::History> moved{one_output({1.001f, 5}), one_output({1, 5})};
  CHECK(fuzz::difference(expected, one_output({1.002f, 5}), moved, 4, undefined).empty());
  CHECK(fuzz::difference(expected, one_output({nan, 5}), moved, 4, undefined).empty());
  CHECK(fuzz::difference(expected, one_output({inf, 5}), moved, 4, undefined).empty());
  CHECK_FALSE(fuzz::difference(expected, one_output({nan, 5}), moved, 4).empty());
  CHECK_FALSE(fuzz::difference(expected, one_output({777, 5}), moved, 4, undefined).empty());
  CHECK_FALSE(fuzz::difference(expected, one_output({1, nan}), moved, 4, undefined).empty());
  const std::vector<fuzz::History> hundred{one_output({100, 5})};
  CHECK(fuzz::difference(expected, one_output({100.002f, 5}), moved, 4, hundred).empty());
  CHECK_FALSE(fuzz::difference(expected, one_output({100.02f, 5}), moved, 4, hundred).empty());
  CHECK_FALSE(fuzz::difference(expected, one_output({777, 5}), moved, 4, hundred).empty());
}

TEST_CASE("bits that differ are told, and all NaN are one value") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(fuzz::difference_in_bits(one_output({nan, 0}), one_output({-nan, 0})).empty());
  CHECK_FALSE(fuzz::difference_in_bits(one_output({1, 0}), one_output({1, -0.0f})).empty());
  CHECK_FALSE(fuzz::difference_in_bits(one_output({1, 0}), one_output({nan, 0})).empty());
  CHECK(fuzz::difference(one_output({1, 0}), one_output({1, -0.0f})).empty());
}

TEST_CASE("noise that draws open signs anew moves nothing else") {
  const auto x = Tensor<Eager>{1.5f, -2.0f, -0.0f, std::numeric_limits<float>::quiet_NaN()};
  std::set<float> signs;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fuzz::Drawing<Eager> drawing(1, {x}, {.open_signs = true, .seed = seed});
    const std::vector<float> moved = copysign(1.0f, drawing.perturbed(x)).to_vector<float>();
    CHECK(moved[0] == 1);
    CHECK(moved[1] == -1);
    CHECK(moved[2] == -1);
    signs.insert(moved[3]);
    CHECK(drawing.perturbed(x).to_vector<float>()[1] == -2.0f);
  }
  CHECK(signs == std::set<float>{-1, 1});
}

TEST_CASE("noise that moves equal numbers alike leaves the smallest of them among them") {
  const auto x = Tensor<Eager>{1.5f, -2.0f, 1.5f, 1.5f};
  bool below = false, above = false;
  std::set<float> others;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fuzz::Drawing<Eager> drawing(1, {x}, {.places = 16, .alike = true, .seed = seed});
    const std::vector<float> moved = drawing.perturbed(x).to_vector<float>();
    CHECK(moved[2] == moved[0]);
    CHECK(moved[3] == moved[0]);
    CHECK(std::abs(moved[0] - 1.5f) <= 1.5f * 16 * 0x1p-23f);
    below = below || moved[0] < 1.5f;
    above = above || moved[0] > 1.5f;
    others.insert(drawing.perturbed(x).to_vector<float>()[1]);
  }
  CHECK(below);
  CHECK(above);
  CHECK(others.size() > 5);
}

TEST_CASE("gradients of zero are open behind regions that only a run decides, and only there" *
          doctest::skip(other_programs)) {
  // y = x / 0 is infinite, and a loop of no iterations hands something else on.
  const auto gradient_by = [](const fuzz::Trial& trial) {
    fuzz::TrialCount count;
    const std::optional<std::string> fault = fuzz::fault_of(trial, count);
    CHECK_MESSAGE(!fault, *fault);
    return count.by_choices;
  };
  CHECK(gradient_by({.seed = 93001687, .moves = 5}) > 0);
  CHECK(gradient_by({.seed = 93001687, .moves = 4}) == 0);
}

TEST_CASE("what is no view at the borders of regions is held to the same bits" * doctest::skip(other_programs)) {
  const auto x = Tensor<Eager>::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  fuzz::Drawing<Eager> outer(1, {x}), body(2, {x}), other(3, {x});
  outer.note_border({x, Tensor<Eager>(2.0)});
  outer.take_in(body);
  outer.note_transcript_of(body);
  CHECK(outer.dense_borders());
  body.note_border({x, transpose(x)});
  outer.take_in(body);
  CHECK_FALSE(outer.dense_borders());
  other.note_transcript_of(outer);
  CHECK_FALSE(other.dense_borders());
  // A loop whose carry is a transposed view, and a sum over it.
  fuzz::TrialCount count;
  const std::optional<std::string> fault = fuzz::fault_of({.seed = 9600196, .moves = 11}, count);
  CHECK_MESSAGE(!fault, *fault);
  CHECK(count.within_rounding > 0);
}

TEST_CASE("programs that are called faults unless equals move alike, or operators are off by what they round" *
          doctest::skip(other_programs)) {
  fuzz::TrialCount count;
  const fuzz::Trial equals = fuzz::region_trial_of(92011418), derivative = fuzz::region_trial_of(95056795);
  CHECK_FALSE(fuzz::fault_of(equals, count));
  CHECK(fuzz::fault_of(equals, count, {.equals_alike = false, .operators_off = false}));
  CHECK_FALSE(fuzz::fault_of(derivative, count));
  CHECK(fuzz::fault_of(derivative, count, {.operators_off = false}));
}

TEST_CASE("what depends on the smallest of equals is seen on its other side where they move alike, and only there") {
  const auto equals = Tensor<Eager>::full({11}, 1.5f, DType::f32);
  const auto drawn = [&](bool alike) {
    std::vector<fuzz::History> histories;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      fuzz::Drawing<Eager> drawing(1, {equals}, {.places = 4, .alike = alike, .seed = seed});
      histories.push_back(one_output({min(drawing.perturbed(equals)).item<float>() > 1.5f ? 1.0f : 0.0f}));
    }
    return histories;
  };
  CHECK(fuzz::difference(one_output({0}), one_output({1}), drawn(true)).empty());
  CHECK_FALSE(fuzz::difference(one_output({0}), one_output({1}), drawn(false)).empty());
}

TEST_CASE("a derivative of a softmax over one element is off where operators are, and not where its operand is moved") {
  const auto x = Tensor<Eager>{0.7f};
  auto gradient = grad([](const Tensor<Eager>& at) { return sum(softmax(at, 0) * 0.3f); });
  std::vector<fuzz::History> moved, off;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    fuzz::Drawing<Eager> drawing(1, {x}, {.places = 16, .seed = seed});
    moved.push_back(one_output(gradient(drawing.perturbed(x)).to_vector<float>()));
    const fuzz::RoundingErrors errors(1, seed);
    off.push_back(one_output(gradient(x).to_vector<float>()));
  }
  // Zero in exact arithmetic; a last place of 0.3 is what a line of it may be off by.
  CHECK(fuzz::difference(one_output({0}), one_output({3e-8f}), off).empty());
  CHECK_FALSE(fuzz::difference(one_output({0}), one_output({3e-8f}), moved).empty());
  CHECK_FALSE(fuzz::difference(one_output({0}), one_output({1e-5f}), off).empty());
}

TEST_CASE("regions in a gradient draw no function without one, and others do") {
  // A graph differentiates arms that are not chosen, too. The moves are the same but for those without a gradient.
  const auto refuses = [](std::uint64_t seed, bool in_gradient) {
    const auto loss = [&](const Tensor<Lazy>& x) {
      fuzz::Drawing<Lazy> drawing(seed, {x}, {}, {.depth = 1, .in_gradient = in_gradient});
      drawing.step(true);
      return sum(cast(drawing.tensors().back(), DType::f32));
    };
    try {
      grad(loss)(Tensor<Lazy>::placeholder({2}, DType::f32, "x"));
    } catch (const Error& error) {
      return true;
    }
    return false;
  };
  std::size_t elsewhere = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    CHECK_FALSE(refuses(seed, true));
    elsewhere += refuses(seed, false);
  }
  CHECK(elsewhere > 0);
}

TEST_CASE("the sign of a zero is open where it is the larger or smaller of two, and only there") {
  const auto x = Tensor<Eager>{0.0f, -0.0f, 3.0f};
  std::set<float> largest;
  std::set<float> added;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fuzz::Drawing<Eager> drawing(1, {x}, {.open_signs = true, .seed = seed});
    largest.insert(copysign(1.0f, drawing.perturbed(maximum(x, -x))).get({0}).item<float>());
    added.insert(copysign(1.0f, drawing.perturbed(x + x)).get({1}).item<float>());
    CHECK(drawing.perturbed(maximum(x, -x)).get({2}).item<float>() == 3);
  }
  CHECK(largest == std::set<float>{-1, 1});
  CHECK(added == std::set<float>{-1});
}

TEST_CASE("drawn rounding errors are as large as functions may make them, and what is exact makes none") {
  const std::vector<float> numbers{0.5f, -1.25f, 3.0f};
  const auto x = Tensor<Eager>::from(numbers, {3});
  const auto half = cast(x, DType::f16);
  float furthest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const fuzz::RoundingErrors errors(16, seed);
    const std::vector<float> power = exp(x).to_vector<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      // 16 places of the operand, as many of the result, and one of what rounds.
      const float exact = std::exp(numbers[i]), places = 16 * std::abs(numbers[i]) + 17;
      CHECK(std::abs(power[i] - exact) <= places * exact * 0x1p-23f);
      furthest = std::max(furthest, std::abs(power[i] - exact) / exact);
    }
    CHECK(maximum(x, 1.0f).to_vector<float>() == std::vector<float>{1, 1, 3});
    CHECK(take(x, Tensor<Eager>{2, 0}, 0).to_vector<float>() == std::vector<float>{3, 0.5f});
    // Twice each is a number of that type, and one place of it is a 1024th at most.
    const std::vector<float> doubled = cast(half + half, DType::f32).to_vector<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CHECK(std::abs(doubled[i] - 2 * numbers[i]) <= std::abs(2 * numbers[i]) / 1024);
    }
  }
  CHECK(furthest > 0x1p-22f);
  CHECK(exp(x).get({0}).item<float>() == doctest::Approx(1.6487213).epsilon(1e-6));
}

TEST_CASE("what is computed of scalar operands alone is drawn off, too, and they themselves are not") {
  // tanh(2) is 0.9640275801; two operands of a quotient and the quotient are off by 16 places each, and rounded.
  float furthest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const fuzz::RoundingErrors errors(16, seed);
    const float gradient = tanh(cast(Tensor<Eager>(2), DType::f32)).item<float>();
    CHECK(std::abs(gradient - 0.9640275801) <= 64 * 0x1p-23);
    furthest = std::max(furthest, std::abs(gradient - 0.9640275801f));
    CHECK(std::abs((Tensor<Eager>(8.0) / Tensor<Eager>(2.0)).item<float>() - 4) <= 4 * 50 * 0x1p-23f);
    CHECK(cast(Tensor<Eager>(2), DType::f32).item<float>() == 2);
    CHECK(maximum(Tensor<Eager>(2.5), Tensor<Eager>(1)).item<float>() == 2.5f);
  }
  CHECK(furthest > 0x1p-23f);
}

TEST_CASE("copies of one number get errors of their own in transforms and factorisations") {
  float largest = 0, least = 10, most = -10;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const fuzz::RoundingErrors errors(16, seed);
    // All but the first of these sums are zero; eight numbers are off by 16 + 8 places each, and what is computed of
    // them, too.
    const auto sums = abs(fft::rfft(Tensor<Eager>::full({8}, 0.1f, DType::f32))).to_vector<float>();
    for (std::size_t i = 1; i < sums.size(); ++i) {
      CHECK(sums[i] <= 8 * (24 + 16) * 0.1f * 0x1p-23f);
      largest = std::max(largest, sums[i]);
    }
    // Of two equal columns the second leaves no direction: any is as good as another for the third.
    const auto equal = Tensor<Eager>{{1.0f, 1.0f, 1.0f}, {2.0f, 2.0f, 0.0f}, {3.0f, 3.0f, 1.0f}};
    const float r = std::abs(linalg::qr(equal).r.get({1, 2}).item<float>());
    least = std::min(least, r);
    most = std::max(most, r);
  }
  CHECK(largest > 0);
  CHECK(most - least > 0.1f);
}

TEST_CASE("gradients are taken through drawn rounding errors") {
  const fuzz::RoundingErrors errors(16, 1);
  const auto gradient = grad([](Tensor<Eager> x) { return sum(x * x); })(Tensor<Eager>{1.5f, -2.0f});
  CHECK(gradient.get({0}).item<float>() == doctest::Approx(3).epsilon(1e-4));
  CHECK(gradient.get({1}).item<float>() == doctest::Approx(-4).epsilon(1e-4));
}
