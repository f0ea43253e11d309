// SPDX-License-Identifier: MIT
// Backtraces of the C library, where it has them.
#include "core/system/backtrace.hpp"

#include <cxxabi.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

#include <array>
#include <cstdlib>
#include <memory>

namespace tyto::core {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(plain.get()) : symbol;
}

#if __has_include(<execinfo.h>)

namespace {

constexpr int deepest = 48;  // frames of the library and of the program above it

}  // namespace

std::vector<void*> backtrace() {
  std::array<void*, deepest> frames;
  const int count = ::backtrace(frames.data(), deepest);
  return std::vector<void*>(frames.begin(), frames.begin() + count);  // braces would make a list of two
}

std::vector<Call> calls_of(std::span<void* const> frames) {
  const std::unique_ptr<char*, decltype(&std::free)> symbols(
      ::backtrace_symbols(frames.data(), static_cast<int>(frames.size())), &std::free);
  std::vector<Call> calls;
  if (symbols == nullptr) return calls;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    // "FILE(SYMBOL+OFFSET) [ADDRESS]", without a symbol where it is not exported.
    const std::string line = symbols.get()[i];
    const std::size_t open = line.find('('), plus = line.find('+', open), close = line.find(')', open);
    if (open == std::string::npos || close == std::string::npos) continue;
    Call call{line.substr(0, open), "", ""};
    if (plus < close) {
      call.symbol = line.substr(open + 1, plus - open - 1);
      call.offset = line.substr(plus, close - plus);
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

#else

std::vector<void*> backtrace() { return {}; }
std::vector<Call> calls_of(std::span<void* const>) { return {}; }

#endif

}  // namespace tyto::core
