// SPDX-License-Identifier: MIT
// One page of curves: a drawing for each metric of a history, and all rows as a table.
#pragma once

#include <string>
#include <vector>

#include "tyto/nn/history.hpp"

namespace tyto::nn {

std::string curves_page(const std::string& title, const std::vector<TrainingHistory::Row>& rows);

}  // namespace tyto::nn
