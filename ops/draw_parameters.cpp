// SPDX-License-Identifier: MIT
// What each draw with plain numbers as parameters asks of them.
#include "ops/draw_parameters.hpp"

#include <string_view>

#include "core/graph/op_ids.hpp"
#include "core/value/limits.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

namespace {

double first(const RandomAttributes& draw) { return draw.first; }
double second(const RandomAttributes& draw) { return draw.second; }
double width(const RandomAttributes& draw) { return draw.second - draw.first; }

struct Need {
  OpId op;
  std::string_view function, parameter;
  double (*value)(const RandomAttributes&);
  Limits allowed;
};
constexpr Need needs[] = {
    {OpId::random_uniform, "uniform", "high - low", width, limits::length},
    {OpId::random_normal, "normal", "stddev", second, limits::not_negative},
    {OpId::random_truncated_normal, "truncated_normal", "stddev", second, limits::not_negative},
    {OpId::random_bernoulli, "bernoulli", "probability", first, limits::probability},
    {OpId::random_integers, "integers", "high - low", width, limits::positive},
    {OpId::random_gamma, "gamma", "shape", first, limits::length},
    {OpId::random_gamma, "gamma", "scale", second, limits::not_negative},
    {OpId::random_exponential, "exponential", "rate", first, limits::positive},
};

}  // namespace

void check_parameters(OpId op, const RandomAttributes& draw) {
  for (const Need& need : needs) {
    if (need.op != op || need.allowed.hold(need.value(draw))) continue;
    throw ValueError(
        text(need.function, ": ", need.parameter, " must be ", need.allowed.text, ", not ", need.value(draw)));
  }
}

}  // namespace tyto::core
