// SPDX-License-Identifier: MIT
// Improves an order locally, by exact windows round the peak.
#pragma once

#include "optimiser/schedule/problem.hpp"

namespace tyto::schedule {

/// An order whose peak is at most that of `order`. Stops at `enough` or after about `work` visits of tasks.
Order improve(const Problem& problem, Order order, std::int64_t enough, std::int64_t work);

}  // namespace tyto::schedule
