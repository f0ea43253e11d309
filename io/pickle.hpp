// SPDX-License-Identifier: MIT
// Python's pickles, as far as PyTorch's checkpoints need them: the values are built, and nothing in them is ever
// called.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tyto::io {

/// One value of a pickle. Values refer to each other by number, so a pickle whose values contain themselves is none the
/// worse.
struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    integer,  // bool too
    number,
    text,
    list,        // tuples too
    dictionary,  // keys and values in turn
    global,      // the name of something in a Python module
    reference,   // what the pickler left to its file: `items` say what
    call,        // items[0] applied to items[1]: said, not done
    mark,
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double number = 0;
  std::string text = {};
  std::vector<std::uint32_t> items = {};
};

struct Pickle {
  std::vector<PickleValue> values;
  std::uint32_t root = 0;

  const PickleValue& operator[](std::uint32_t value) const { return values[value]; }
};

/// Throws IoError, naming `file`, for what is no pickle of protocol 2 to 5 or uses more of them than is read. Memory is
/// in proportion to the bytes.
Pickle read_pickle(const std::string& file, std::span<const std::byte> bytes);

}  // namespace tyto::io
