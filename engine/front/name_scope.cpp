// SPDX-License-Identifier: MIT
// NameScope: labels what is recorded in a stretch of code.
#include "core/graph/label.hpp"
#include "tyto/graph.hpp"

namespace tyto TYTO_API {

NameScope::NameScope(std::string name) : state_(new core::LabelScope(name)) {}
NameScope::~NameScope() { delete static_cast<core::LabelScope*>(state_); }

}  // namespace TYTO_API
