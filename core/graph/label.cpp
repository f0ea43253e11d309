// SPDX-License-Identifier: MIT
// The scopes of a thread, and errors given a label.
#include "core/graph/label.hpp"

#include <typeinfo>
#include <utility>

#include <tyto/error.hpp>

#include "core/value/text.hpp"

namespace tyto::core {

namespace {

// A plain pointer: anything with a destructor would cost a test at each operator.
[[gnu::tls_model("initial-exec")]] thread_local constinit const LabelScope* innermost = nullptr;

const Label none;

template <class E>
void throw_if_same(const Error& error, const std::string& message) {
  // A user's own type derived from E stays what it is: nobody here can make another one.
  if (typeid(error) == typeid(E)) throw E(message);
}

template <class... E>
void throw_same(const Error& error, const std::string& message) {
  (throw_if_same<E>(error, message), ...);
}

/// Whether the message says "LABEL: ", at its beginning or behind a file, or ends with "(in ...)", in which parentheses
/// are paired.
bool has_label(std::string_view message, const std::string& label) {
  const std::string named = label + ": ";
  if (message.starts_with(named) || message.find(": " + named) != message.npos) return true;
  if (!message.ends_with(')')) return false;
  int depth = 0;
  std::size_t begin = message.size();
  do {
    const char last = message[--begin];
    depth += last == ')' ? 1 : last == '(' ? -1 : 0;
  } while (depth != 0 && begin != 0);
  return message.substr(begin).starts_with("(in ");
}

}  // namespace

LabelScope::LabelScope(std::string_view name) : LabelScope(joined(current(), name)) {}

LabelScope::LabelScope(Label label) : outer_(innermost), label_(std::move(label)) { innermost = this; }

LabelScope::~LabelScope() { innermost = outer_; }

const Label& LabelScope::current() { return innermost == nullptr ? none : innermost->label_; }

Label LabelScope::joined(const Label& outer, std::string_view name) {
  if (outer == nullptr) return std::make_shared<const std::string>(name);
  std::string whole;
  whole.reserve(outer->size() + 1 + name.size());
  return std::make_shared<const std::string>(whole.append(*outer).append(1, '/').append(name));
}

std::string with_label(const std::string& message, const Label& label) {
  return label == nullptr || has_label(message, *label) ? message : text(message, " (in ", *label, ")");
}

void rethrow_with_label(const Label& label) {
  try {
    throw;
  } catch (const Error& error) {
    rethrow_with_message(with_label(error.what(), label));
  }
}

void rethrow_with_message(const std::string& message) {
  try {
    throw;
  } catch (const Error& error) {
    throw_same<Error, ShapeError, TypeError, IndexError, ValueError, DeviceError, GraphError, IoError>(error, message);
    throw;
  }
}

}  // namespace tyto::core
