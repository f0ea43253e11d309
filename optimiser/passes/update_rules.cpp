// A rule is known by its memories: sums or decaying means, of the gradient or of its square.
#include "optimiser/passes/update_rules.hpp"

#include <algorithm>
#include <vector>

#include "core/op_ids.hpp"

namespace tyto::optimiser {

namespace {

using core::LoopStep;
using core::OpId;

enum class Role { parameter, sum_of_squares, mean, mean_of_squares, other };

class StepRoles {
 public:
  explicit StepRoles(const core::LoopProgram& program) : program_(program), squares_(program.values(), false) {
    roots_ = squares_;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const LoopStep& step = program.steps[i];
      const std::size_t made = program.first_step() + i;
      const bool same = step.operands[0] == step.operands[1];
      squares_[made] = step.op == OpId::square || (step.op == OpId::multiply && same) ||
                       (step.op == OpId::fma && same) || any(squares_, step);
      roots_[made] = step.op == OpId::sqrt || any(roots_, step);
    }
  }

  Role role_of(StateChange change) const {
    const std::uint16_t made = uncast(change.after);
    const LoopStep* step = step_of(made);
    if (step == nullptr) return Role::other;
    const std::uint16_t a = uncast(step->operands[0]), b = uncast(step->operands[1]), c = uncast(step->operands[2]);
    const auto old = [&](std::uint16_t value) { return value == change.before; };
    const auto decayed = [&](std::uint16_t value) {
      const LoopStep* product = step_of(value);
      if (product == nullptr || product->op != OpId::multiply) return false;
      return old(uncast(product->operands[0])) || old(uncast(product->operands[1]));
    };
    const auto mean = [&](std::uint16_t news) { return squares_[news] ? Role::mean_of_squares : Role::mean; };
    switch (step->op) {
      case OpId::subtract: return old(a) ? Role::parameter : Role::other;
      case OpId::fma:
        if (old(c)) return a == b ? Role::sum_of_squares : Role::parameter;
        if (old(a) || old(b)) return mean(c);
        return decayed(c) ? (squares_[made] ? Role::mean_of_squares : Role::mean) : Role::other;
      case OpId::add:
        if (old(a) || old(b)) return is_square(old(a) ? b : a) ? Role::sum_of_squares : Role::parameter;
        if (decayed(a) || decayed(b)) return mean(decayed(a) ? b : a);
        return Role::other;
      default: return Role::other;
    }
  }

  bool has_root(std::uint16_t value) const { return roots_[value]; }

 private:
  bool any(const std::vector<bool>& marks, const LoopStep& step) const {
    for (int k = 0; k < core::definition(step.op).max_inputs; ++k) {
      if (marks[step.operands[static_cast<std::size_t>(k)]]) return true;
    }
    return false;
  }
  const LoopStep* step_of(std::uint16_t value) const {
    return value < program_.first_step() ? nullptr : &program_.steps[value - program_.first_step()];
  }
  bool is_square(std::uint16_t value) const {
    const LoopStep* step = step_of(value);
    return step != nullptr && (step->op == OpId::square ||
                               (step->op == OpId::multiply && uncast(step->operands[0]) == uncast(step->operands[1])));
  }
  /// What the value was before it was brought to another type: states of 16 bits are updated in 32.
  std::uint16_t uncast(std::uint16_t value) const {
    const LoopStep* step = step_of(value);
    return step != nullptr && step->op == OpId::cast ? uncast(step->operands[0]) : value;
  }

  const core::LoopProgram& program_;
  std::vector<bool> squares_;  // by value: whether a square went into it
  std::vector<bool> roots_;    // by value: whether a square root did
};

}  // namespace

std::string_view update_rule(const core::LoopProgram& program, std::span<const StateChange> changes) {
  if (changes.size() < 2) return {};
  const StepRoles roles(program);
  std::vector<Role> memories;
  const StateChange* parameter = nullptr;
  for (const StateChange& change : changes) {
    const Role role = roles.role_of(change);
    if (role == Role::other || (role == Role::parameter && parameter != nullptr)) return {};
    if (role == Role::parameter) parameter = &change;
    else memories.push_back(role);
  }
  if (parameter == nullptr) return {};
  std::ranges::sort(memories);
  const bool scaled = roles.has_root(parameter->after);
  if (memories == std::vector{Role::sum_of_squares}) return scaled ? "adagrad" : "";
  if (memories == std::vector{Role::mean_of_squares}) return scaled ? "rmsprop" : "";
  if (memories == std::vector{Role::mean, Role::mean_of_squares}) return scaled ? "adam" : "";
  if (memories == std::vector{Role::mean}) return scaled ? "" : "momentum";
  return {};
}

}  // namespace tyto::optimiser
