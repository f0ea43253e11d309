// Which rule of gradient descent a fused group carries out, told from what it does to the states that it updates.
#pragma once

#include <span>
#include <string_view>

#include "core/loop_program.hpp"

namespace tyto::optimiser {

/// A state that the group reads and gives its next value: two values of the program.
struct StateChange {
  std::uint16_t before;
  std::uint16_t after;
};

/// "adagrad", "rmsprop", "adam" or "momentum"; empty for anything else.
std::string_view update_rule(const core::LoopProgram& program, std::span<const StateChange> changes);

}  // namespace tyto::optimiser
