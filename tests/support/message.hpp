// SPDX-License-Identifier: MIT
// The message that a call throws; empty where it throws nothing.
#pragma once

#include <string>

#include <tyto/error.hpp>

namespace tyto_test {

template <class E = tyto::Error, class F>
std::string message_of(const F& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tyto_test
