// Names given by the user to what is recorded in a stretch of code.
#include "core/builder.hpp"
#include "tyto/graph.hpp"

namespace tyto TYTO_API {

Scope::Scope(std::string name) : state_(new core::LabelScope(std::move(name))) {}
Scope::~Scope() { delete static_cast<core::LabelScope*>(state_); }

}  // namespace TYTO_API
