// SPDX-License-Identifier: MIT
// Labels name the layer or NameScope that recorded a node or raised an error, such as "encoder.linear5".
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tyto::core {

using Label = std::shared_ptr<const std::string>;

/// While alive, nodes made on this thread carry this label, and errors that their operators throw end with it.
class LabelScope {
 public:
  /// The name, joined with "/" to the enclosing label.
  explicit LabelScope(std::string_view name);
  /// A whole label, which may be null.
  explicit LabelScope(Label label);
  ~LabelScope();
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

  /// The label of the innermost scope on this thread; null where there is none.
  static const Label& current();
  /// `outer` and `name` with "/" between them; `name` where `outer` is null.
  static Label joined(const Label& outer, std::string_view name);

 private:
  const LabelScope* outer_;
  Label label_;
};

/// Throws the exception that is being handled again: an error of Tyto's as one of the same type and "MESSAGE (in
/// LABEL)", unless its message names a place already; any other, and where the label is null, as it is.
[[noreturn]] void rethrow_with_label(const Label& label);

/// Throws the exception that is being handled again, with another message, which names a place, where it is an error of
/// Tyto's.
[[noreturn]] void rethrow_with_message(const std::string& message);

}  // namespace tyto::core
