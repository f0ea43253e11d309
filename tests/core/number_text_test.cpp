// SPDX-License-Identifier: MIT
// Doubles are parsed alike with every standard library.
#include "core/system/number_text.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <string_view>

using tyto::core::number_from;

namespace number_text_test {

namespace {

struct Case {
  std::string_view text;
  double number;       // what was there before, where the text is refused
  std::size_t length;  // how much of the text is read
  std::errc error = {};
};

constexpr double before = 7;
constexpr Case cases[] = {
    {"2.5", 2.5, 3},
    {"-4e2 ", -400, 4},
    {".5x", 0.5, 2},
    {"1e", 1, 1},
    {"0x10", 0, 1},
    {"-0x10", 0, 2},
    {"5e-324", std::numeric_limits<double>::denorm_min(), 6},
    {"-2.2250738585072009e-308", -0x0.fffffffffffffp-1022, 24},
    {"-inf", -std::numeric_limits<double>::infinity(), 4},
    {"1e-999", before, 6, std::errc::result_out_of_range},
    {"1e999", before, 5, std::errc::result_out_of_range},
    {"+1", before, 0, std::errc::invalid_argument},
    {" 1", before, 0, std::errc::invalid_argument},
    {"--1", before, 0, std::errc::invalid_argument},
    {"x", before, 0, std::errc::invalid_argument},
    {"", before, 0, std::errc::invalid_argument},
};

}  // namespace

TEST_CASE("a double is read from text as std::from_chars reads it") {
  for (const Case& each : cases) {
    CAPTURE(std::string(each.text));
    double number = before;
    const auto [end, error] = number_from(each.text, number);
    CHECK(number == each.number);
    CHECK(end - each.text.data() == static_cast<std::ptrdiff_t>(each.length));
    CHECK((error == each.error));
  }
}

}  // namespace number_text_test
