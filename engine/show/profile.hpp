// SPDX-License-Identifier: MIT
// From times of steps to a profile with what each step moved and computed.
#pragma once

#include <span>

#include "engine/run/executable.hpp"
#include "tyto/profile.hpp"

namespace tyto::run {

GraphProfile profile_of(const Executable& executable, std::span<const double> milliseconds, double whole);

}  // namespace tyto::run
