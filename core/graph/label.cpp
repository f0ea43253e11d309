// SPDX-License-Identifier: MIT
// The stack of label scopes of a thread; rethrows errors with the label appended.
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

}  // namespace

/// Access to the flag of an error that tells whether its message names a place.
class PlacedError {
 public:
  static bool is(const Error& error) { return error.names_place_; }

  /// Throws an error of the same type with this message, where it is one of these types. A user's own type derived from
  /// one stays what it is: nobody here can make another one.
  template <class... E>
  static void throw_same(const Error& error, const std::string& message) {
    (throw_if<E>(typeid(error) == typeid(E), message), ...);
  }

 private:
  template <class E>
  static void throw_if(bool is_same, const std::string& message) {
    if (!is_same) return;
    E placed(message);
    placed.names_place_ = true;
    throw placed;
  }
};

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

void rethrow_with_label(const Label& label) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string message = error.what();
    // A layer that is called alone, whose label is its class, names itself; names of operators are small letters.
    const bool is_class = label != nullptr && !label->empty() && label->front() >= 'A' && label->front() <= 'Z';
    if (label == nullptr || PlacedError::is(error) || (is_class && message.starts_with(*label + ": "))) throw;
    rethrow_with_message(text(message, " (in ", *label, ")"));
  }
}

void rethrow_with_message(const std::string& message) {
  try {
    throw;
  } catch (const Error& error) {
    PlacedError::throw_same<Error, ShapeError, TypeError, IndexError, ValueError, DeviceError, GraphError, IoError>(
        error, message);
    throw;
  }
}

}  // namespace tyto::core
