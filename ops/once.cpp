// SPDX-License-Identifier: MIT
// The name of the public function that was called, in messages of the operators that it is made of.
#include "ops/once.hpp"

#include <typeinfo>

#include "core/value/text.hpp"

namespace tyto::core {

namespace {

/// Whether the message begins with the name, or with its last part, without namespaces and classes.
bool begins_with_name(std::string_view message, std::string_view name) {
  if (const std::size_t qualifiers = name.rfind("::"); qualifiers != name.npos) name.remove_prefix(qualifiers + 2);
  if (!message.starts_with(name)) return false;
  const std::string_view rest = message.substr(name.size());
  return rest.empty() || std::string_view(": (").find(rest.front()) != std::string_view::npos;
}

/// Exceptions derived further may hold more than a message, and stay as they are, as do those of devices and files,
/// which are not about operands.
template <class E>
void rethrow_if(const Error& error, std::string_view name) {
  if (typeid(error) == typeid(E)) throw E(text(name, ": ", error.what()));
}

}  // namespace

void rethrow_named(std::string_view name) {
  try {
    throw;
  } catch (const Error& error) {
    if (!begins_with_name(error.what(), name)) {
      rethrow_if<ShapeError>(error, name);
      rethrow_if<TypeError>(error, name);
      rethrow_if<IndexError>(error, name);
      rethrow_if<ValueError>(error, name);
      rethrow_if<GraphError>(error, name);
    }
    throw;
  }
}

}  // namespace tyto::core
