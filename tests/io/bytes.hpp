// SPDX-License-Identifier: MIT
// Shared by the file tests: bytes from text, whole files, arrays as numbers.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "tyto/io.hpp"

namespace tyto::io_tests {

using Bytes = std::vector<std::byte>;
using Folder = testing::TemporaryFolder;

inline Bytes bytes_of(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

template <class T>
std::vector<T> elements(const HostArray& array) {
  std::vector<T> out(array.bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), array.bytes.data(), array.bytes.size());
  return out;
}

/// Files that NumPy wrote, committed next to the tests, which run from the root of the repository.
inline std::string data(const std::string& name) { return "tests/io/data/" + name; }

}  // namespace tyto::io_tests
