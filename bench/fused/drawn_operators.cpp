// SPDX-License-Identifier: MIT
// The table of operators that random programs are drawn from.
#include "bench/fused/drawn_operators.hpp"

#include "core/graph/op_ids.hpp"

namespace tyto::bench {

namespace {

using core::OpId;

constexpr Interval refused{1, 0};

Interval around(std::initializer_list<double> ends) { return {std::min(ends), std::max(ends)}; }
Interval product(Interval a, Interval b) {
  return around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}
template <class Function>
Interval rising(Interval x, Function function) {
  return {function(x.low), function(x.high)};
}

Interval larger(Interval a, Interval b) {
  return a.overlaps(b) ? Interval{std::max(a.low, b.low), std::max(a.high, b.high)} : refused;
}
Interval smaller(Interval a, Interval b) {
  return a.overlaps(b) ? Interval{std::min(a.low, b.low), std::min(a.high, b.high)} : refused;
}
Interval magnitude(Interval a, Interval) { return a.overlaps({0, 0}) ? Interval{0, a.size()} : refused; }
Interval positive_part(Interval a, Interval) { return larger(a, {0, 0}); }
Interval sum(Interval a, Interval b) { return {a.low + b.low, a.high + b.high}; }
Interval difference(Interval a, Interval b) { return {a.low - b.high, a.high - b.low}; }

// The functions are those whose loops the compiler vectorises.
const Choice floating[] = {
    {OpId::add, 12, sum},
    {OpId::subtract, 10, difference},
    {OpId::multiply, 14, [](Interval a, Interval b) { return product(a, b); }},
    {OpId::maximum, 4, larger},
    {OpId::minimum, 4, smaller},
    {OpId::divide, 6,
     [](Interval a, Interval b) {
       return b.without_zero() ? product(a, {1 / b.high, 1 / b.low}) : refused;
     }},
    {OpId::power, 1,
     [](Interval a, Interval b) {
       if (!a.within(0.05, 8) || !b.within(-3, 3)) return refused;
       return around(
           {std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low), std::pow(a.high, b.high)});
     }},
    {OpId::hypot, 1,
     [](Interval a, Interval b) {
       return Interval{0, std::hypot(a.size(), b.size())};
     }},
    {OpId::atan2, 1,
     [](Interval, Interval) {
       return Interval{-3.2, 3.2};
     }},
    {OpId::negate, 3,
     [](Interval a, Interval) {
       return Interval{-a.high, -a.low};
     }},
    {OpId::abs, 3, magnitude},
    {OpId::square, 4,
     [](Interval a, Interval) {
       return Interval{0, a.size() * a.size()};
     }},
    {OpId::relu, 4, positive_part},
    {OpId::floor, 1,
     [](Interval a, Interval) {
       return Interval{std::floor(a.low), a.high};
     }},
    {OpId::round, 1,
     [](Interval a, Interval) {
       return Interval{std::floor(a.low), std::ceil(a.high)};
     }},
    {OpId::sqrt, 4,
     [](Interval a, Interval) { return a.low >= 0 ? rising(a, [](double x) { return std::sqrt(x); }) : refused; }},
    {OpId::rsqrt, 2,
     [](Interval a, Interval) {
       return a.low >= 0.05 ? Interval{0, 1 / std::sqrt(a.low)} : refused;
     }},
    {OpId::reciprocal, 2,
     [](Interval a, Interval) {
       return a.without_zero() ? Interval{1 / a.high, 1 / a.low} : refused;
     }},
    {OpId::exp, 4,
     [](Interval a, Interval) { return a.within(-9, 6) ? rising(a, [](double x) { return std::exp(x); }) : refused; }},
    {OpId::expm1, 1,
     [](Interval a, Interval) {
       return a.within(-9, 6) ? rising(a, [](double x) { return std::expm1(x); }) : refused;
     }},
    {OpId::log, 3,
     [](Interval a, Interval) { return a.low >= 0.05 ? rising(a, [](double x) { return std::log(x); }) : refused; }},
    {OpId::log1p, 1,
     [](Interval a, Interval) { return a.low >= 0 ? rising(a, [](double x) { return std::log1p(x); }) : refused; }},
    {OpId::tanh, 4,
     [](Interval, Interval) {
       return Interval{-1, 1};
     }},
    {OpId::sigmoid, 4,
     [](Interval, Interval) {
       return Interval{0, 1};
     }},
    {OpId::erf, 1,
     [](Interval, Interval) {
       return Interval{-1, 1};
     }},
    {OpId::gelu, 2,
     [](Interval a, Interval) {
       return Interval{-0.2, std::max(a.high, 0.0)};
     }},
    {OpId::silu, 2,
     [](Interval a, Interval) {
       return Interval{-0.3, std::max(a.high, 0.0)};
     }},
    {OpId::softplus, 2,
     [](Interval a, Interval) {
       return Interval{0, std::max(a.high, 0.0) + 0.7};
     }},
    {OpId::sin, 2,
     [](Interval a, Interval) {
       return a.size() < 1000 ? Interval{-1, 1} : refused;
     }},
    {OpId::cos, 2,
     [](Interval a, Interval) {
       return a.size() < 1000 ? Interval{-1, 1} : refused;
     }},
    {OpId::atan, 1,
     [](Interval, Interval) {
       return Interval{-1.6, 1.6};
     }},
    {OpId::fma, 4,
     [](Interval a, Interval b) {
       return Interval{-a.size() * b.size() - b.size(), a.size() * b.size() + b.size()};
     }},
    {OpId::clip, 4, [](Interval a, Interval) { return a; }},
    {OpId::where, 8,
     [](Interval a, Interval b) {
       return Interval{std::min(a.low, b.low), std::max(a.high, b.high)};
     }},
};

const Choice integers[] = {
    {OpId::add, 12, sum},
    {OpId::subtract, 10, difference},
    {OpId::multiply, 10, [](Interval a, Interval b) { return product(a, b); }},
    {OpId::maximum, 5, larger},
    {OpId::minimum, 5, smaller},
    {OpId::abs, 4, magnitude},
    {OpId::negate, 4,
     [](Interval a, Interval) {
       return Interval{-a.high, -a.low};
     }},
    {OpId::square, 3,
     [](Interval a, Interval) {
       return Interval{0, a.size() * a.size()};
     }},
    {OpId::relu, 3, positive_part},
    {OpId::sign, 1,
     [](Interval, Interval) {
       return Interval{-1, 1};
     }},
    {OpId::bitwise_and, 4,
     [](Interval, Interval b) {
       return Interval{b.low < 0 ? -whole_bound : 0, b.low < 0 ? whole_bound : b.high};
     }},
    {OpId::bitwise_or, 4,
     [](Interval, Interval) {
       return Interval{-whole_bound, whole_bound};
     }},
    {OpId::bitwise_xor, 4,
     [](Interval, Interval) {
       return Interval{-whole_bound, whole_bound};
     }},
    {OpId::left_shift, 2,
     [](Interval, Interval) {
       return Interval{-whole_bound, whole_bound};
     }},
    {OpId::right_shift, 3, [](Interval a, Interval) { return a; }},
    {OpId::floor_divide, 2,
     [](Interval a, Interval) {
       return Interval{-a.size(), a.size()};
     }},
    {OpId::remainder, 2,
     [](Interval, Interval b) {
       return Interval{-b.size(), b.size()};
     }},
    {OpId::fma, 3,
     [](Interval, Interval) {
       return Interval{-whole_bound, whole_bound};
     }},
    {OpId::clip, 3, [](Interval a, Interval) { return a; }},
    {OpId::where, 8,
     [](Interval a, Interval b) {
       return Interval{std::min(a.low, b.low), std::max(a.high, b.high)};
     }},
};

}  // namespace

std::span<const Choice> floating_choices() { return floating; }
std::span<const Choice> integer_choices() { return integers; }

}  // namespace tyto::bench
