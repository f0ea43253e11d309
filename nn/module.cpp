// SPDX-License-Identifier: MIT
// The tree of modules and the lists of states that are read off it.
#include "tyto/nn/module.hpp"

#include "core/graph/tape.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"
#include "nn/distinct_states.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

std::string path_of(const std::string& outer, const std::string& name) {
  return outer.empty() ? name : outer + "." + name;
}

using ModuleVisitor = std::function<void(const std::string& path, const Module& module)>;

void visit_modules(const std::string& path, const Module& module, const ModuleVisitor& seen) {
  seen(path, module);
  for (const Member& member : module.members()) {
    const std::string inner = path_of(path, member.name());
    for (std::size_t i = 0; i < member.modules().size(); ++i) {
      visit_modules(member.is_list() ? core::text(inner, ".", i) : inner, *member.modules()[i], seen);
    }
  }
}

using StateVisitor = std::function<void(const std::string& path, const Module& owner, const Member& state)>;

void visit_each_state(const std::string& path, const Module& module, const StateVisitor& seen) {
  for (const Member& member : module.members()) {
    const std::string inner = path_of(path, member.name());
    if (member.state().defined()) seen(inner, module, member);
    for (std::size_t i = 0; i < member.modules().size(); ++i) {
      visit_each_state(member.is_list() ? core::text(inner, ".", i) : inner, *member.modules()[i], seen);
    }
  }
}

/// "a" is part of "a" and of "a.b", not of "ab".
bool within(const std::string& path, std::string_view part) {
  if (part.empty() || path == part) return true;
  return path.size() > part.size() && path.compare(0, part.size(), part) == 0 && path[part.size()] == '.';
}

}  // namespace

Member::Member(std::string name) : name_(std::move(name)) {}
Member::Member(std::string name, const Tensor<Any>& state, StateKind kind, IntList pytorch_axes)
    : name_(std::move(name)), state_(state), place_(&state), kind_(kind), pytorch_axes_(std::move(pytorch_axes)) {}
Member::Member(std::string name, const Tensor<Any>&& state, StateKind kind, IntList pytorch_axes)
    : name_(std::move(name)), state_(state), kind_(kind), pytorch_axes_(std::move(pytorch_axes)) {}
Member::Member(std::string name, const Module& module) : name_(std::move(name)), modules_{&module} {}

Module::~Module() = default;

Members Module::members() const { return {}; }

void Module::copy_pointed_to() {}

NamedList<Tensor<Any>> Module::named_parameters() const {
  core::parameters_were_listed = true;
  DistinctStates passed_over;
  visit_states([&](const std::string&, const Module& owner, const Member& state) {
    if (owner.is_frozen(state.name())) passed_over.add(state.state());
  });
  NamedList<Tensor<Any>> list;
  visit_states([&](const std::string& path, const Module&, const Member& state) {
    if (state.kind() == StateKind::parameter && passed_over.add(state.state())) list.push_back({path, state.state()});
  });
  return list;
}

NamedList<Tensor<Any>> Module::named_buffers() const {
  NamedList<Tensor<Any>> list;
  DistinctStates listed;
  visit_states([&](const std::string& path, const Module&, const Member& state) {
    if (state.kind() == StateKind::buffer && listed.add(state.state())) list.push_back({path, state.state()});
  });
  return list;
}

NamedList<Tensor<Any>> Module::named_states() const {
  NamedList<Tensor<Any>> list;
  visit_states([&](const std::string& path, const Module&, const Member& state) {
    list.push_back({path, state.state()});
  });
  return list;
}

std::vector<Tensor<Any>> Module::parameters() const {
  std::vector<Tensor<Any>> list;
  for (Named<Tensor<Any>>& parameter : named_parameters()) list.push_back(std::move(parameter.value));
  return list;
}

void Module::freeze(std::string_view part) const { set_frozen("freeze", part, true); }
void Module::unfreeze(std::string_view part) const { set_frozen("unfreeze", part, false); }

void Module::set_frozen(const char* function, std::string_view part, bool frozen) const {
  DistinctStates meant;
  bool found = false;
  std::string names;
  visit_states([&](const std::string& path, const Module&, const Member& state) {
    if (state.kind() != StateKind::parameter) return;
    names += (names.empty() ? "" : ", ") + path;
    if (!within(path, part)) return;
    found = true;
    meant.add(state.state());
  });
  if (!found && !part.empty()) {
    core::throw_error<ValueError>(function, ": there is no parameter '", part, "'; there are: ", names);
  }
  visit_states([&](const std::string&, const Module& owner, const Member& state) {
    if (!meant.contains(state.state())) return;
    std::set<std::string>& names_of_owner = owner.common_->frozen;
    const bool changes = frozen ? names_of_owner.insert(state.name()).second : names_of_owner.erase(state.name()) != 0;
    if (!changes) return;
    const auto module = reinterpret_cast<std::uintptr_t>(owner.common_.get());
    core::frozen_parameters ^= core::mixed_hash(module, std::hash<std::string>()(state.name()));
  });
}

void Module::visit(const std::function<void(const std::string&, const Module&)>& seen) const {
  visit_modules({}, *this, seen);
}

void Module::visit_states(const std::function<void(const std::string&, const Module&, const Member&)>& seen) const {
  visit_each_state({}, *this, seen);
}

std::int64_t parameter_count(const Module& module) {
  std::int64_t count = 0;
  DistinctStates counted;
  module.visit_states([&](const std::string&, const Module&, const Member& state) {
    if (state.kind() == StateKind::parameter && counted.add(state.state())) count += state.state().size();
  });
  return count;
}

}  // namespace nn
}  // namespace TYTO_API
