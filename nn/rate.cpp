// Learning rates that change with the count of updates.
#include <cmath>
#include <numbers>

#include "nn/complain.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/nn/descent.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

void check_rate(const char* what, double rate) {
  if (!(rate >= 0 && std::isfinite(rate))) {
    throw ValueError(text(what, ": a learning rate of ", rate, "; it must be finite and at least 0"));
  }
}

}  // namespace

Rate::Rate(double constant) : constant_(constant) { check_rate("Rate", constant); }

Tensor<Any> Rate::at(const Tensor<Any>& count) const { return schedule_ ? schedule_(count) : Tensor<Any>(constant_); }

Rate inverse_decay(double first, double decay) {
  check_rate("inverse_decay", first);
  return Rate([=](const Tensor<Any>& count) { return first / (1.0 + decay * count); });
}

Rate exponential_decay(double first, double decay) {
  check_rate("exponential_decay", first);
  return Rate([=](const Tensor<Any>& count) { return first * exp(-decay * count); });
}

Rate cosine_decay(double first, double last, std::int64_t steps) {
  check_rate("cosine_decay", first);
  check_rate("cosine_decay", last);
  if (steps < 1) throw ValueError(text("cosine_decay: ", steps, " steps; at least 1 is needed"));
  return Rate([=](const Tensor<Any>& count) {
    const Tensor<Any> part = minimum(count / static_cast<double>(steps), 1.0);
    return last + (0.5 * (first - last)) * (1.0 + cos(part * std::numbers::pi));
  });
}

Rate piecewise(std::vector<std::pair<std::int64_t, double>> entries) {
  if (entries.empty() || entries[0].first != 0) throw ValueError("piecewise: the first entry must be for count 0");
  for (const auto& entry : entries) check_rate("piecewise", entry.second);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].first <= entries[i - 1].first) {
      throw ValueError(
          text("piecewise: count ", entries[i].first, " follows ", entries[i - 1].first, "; counts must ascend"));
    }
  }
  return Rate([entries = std::move(entries)](const Tensor<Any>& count) {
    Tensor<Any> rate = 0.0 * count + entries[0].second;
    for (std::size_t i = 1; i < entries.size(); ++i) {
      rate = where(greater_equal(count, entries[i].first), entries[i].second, rate);
    }
    return rate;
  });
}

Rate warm_up(std::int64_t steps, Rate rate) {
  if (steps < 1) throw ValueError(text("warm_up: ", steps, " steps; at least 1 is needed"));
  return Rate([steps, rate = std::move(rate)](const Tensor<Any>& count) {
    return minimum(count / static_cast<double>(steps), 1.0) * rate.at(count);
  });
}

}  // namespace nn
}  // namespace TYTO_API
