// SPDX-License-Identifier: MIT
// Makes a profile of the times of steps, with what each step moved and computed.
#pragma once

#include <span>

#include "engine/run/executable.hpp"
#include "tyto/profile.hpp"

namespace tyto::run {

GraphProfile profile_of(const Executable& executable, std::span<const double> milliseconds, double whole);

}  // namespace tyto::run
