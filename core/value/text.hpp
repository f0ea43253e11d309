// SPDX-License-Identifier: MIT
// Building messages: `text("matmul: ", a, " x ", b)` strings together anything printable.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <type_traits>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto::core {

/// A reference to something printable, of whatever type, so that messages are put together in one place and not anew
/// for each list of types.
class Printable {
 public:
  template <class T>
  Printable(const T& part)  // NOLINT(google-explicit-constructor)
      : part_(&part), print_([](std::ostream& out, const void* what) { out << *static_cast<const T*>(what); }) {}
  template <std::size_t N>
  Printable(const char (&part)[N])  // NOLINT(google-explicit-constructor)
      : part_(part), print_([](std::ostream& out, const void* what) { out << static_cast<const char*>(what); }) {}

  friend std::ostream& operator<<(std::ostream& out, const Printable& one) {
    one.print_(out, one.part_);
    return out;
  }

 private:
  const void* part_;
  void (*print_)(std::ostream&, const void*);
};

std::string joined(std::initializer_list<Printable> parts);

template <class... Parts>
std::string text(const Parts&... parts) {
  return joined({Printable(parts)...});
}

template <class Error>
[[noreturn, gnu::noinline, gnu::cold]] void throw_joined(std::initializer_list<Printable> parts) {
  throw Error(joined(parts));
}

/// Throws an error that consists of its message: `throw_error<ValueError>("matmul: ", a, " x ", b)`.
template <class Error, class... Parts>
[[noreturn]] void throw_error(const Parts&... parts) {
  throw_joined<Error>({Printable(parts)...});
}

/// "12 B", "3.50 KiB", "1.25 MiB": powers of 1024, as all of Tyto states sizes of memory.
std::string bytes_in_words(std::uint64_t bytes);

}  // namespace tyto::core
