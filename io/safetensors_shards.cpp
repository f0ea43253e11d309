// SPDX-License-Identifier: MIT
// Safetensors in several files: an index in JSON says which file holds which tensor, as large models are published.
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "io/atomic_file.hpp"
#include "io/refuse.hpp"
#include "io/safetensors.hpp"
#include "io/stream.hpp"

namespace tyto::io {

namespace {

using IndexJson = nlohmann::ordered_json;

constexpr std::uint64_t longest_index = 100'000'000;
constexpr std::string_view index_suffix = ".safetensors.index.json";

std::string folder_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return path.substr(0, path.size() - name.size());
}

/// File of each tensor, by name.
std::map<std::string, std::string> parse_index(const ByteSource& source) {
  if (source.size() > longest_index) refuse(source.name(), "is too long for an index: ", source.size(), " bytes");
  std::vector<std::byte> text(static_cast<std::size_t>(source.size()));
  source.read(0, text, "the index");
  const char* begin = reinterpret_cast<const char*>(text.data());
  // The parser recurses, so the depth is limited: names and files are the deepest that an index has.
  bool too_deep = false;
  const IndexJson index = IndexJson::parse(
      begin, begin + text.size(),
      [&](int depth, IndexJson::parse_event_t, IndexJson&) {
        too_deep = too_deep || depth > 3;
        return !too_deep;
      },
      false);
  if (too_deep || !index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    refuse(source.name(), "is no index of safetensors files: it holds no 'weight_map'");
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : index["weight_map"].items()) {
    if (!file.is_string()) refuse(source.name(), "'", name, "' is in no file");
    files[name] = file.get<std::string>();
    // On Windows a backslash and a drive lead elsewhere, too.
    if (std::filesystem::path(files[name]).filename() != files[name] || files[name].find('\0') != std::string::npos) {
      refuse(source.name(), "'", name, "' is in '", files[name], "'; only files beside the index are read");
    }
  }
  return files;
}

}  // namespace

StoredArrays list_safetensors_shards(const std::string& path) {
  const std::map<std::string, std::string> files = parse_index(FileSource(path));
  std::set<std::string> shards;
  for (const auto& [name, file] : files) shards.insert(file);
  StoredArrays arrays;
  for (const std::string& shard : shards) {
    for (auto& array : list_safetensors(std::make_shared<const FileSource>(folder_of(path) + shard))) {
      const auto expected = files.find(array.name);
      if (expected == files.end() || expected->second != shard) {
        refuse(path, "does not say that '", array.name, "' is in '", shard, "'");
      }
      arrays.push_back(std::move(array));
    }
  }
  if (arrays.size() != files.size()) {
    for (const auto& [name, file] : files) {
      if (!arrays.contains(name)) refuse(path, "says that '", name, "' is in '", file, "', where it is not");
    }
  }
  return arrays;
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

void write_safetensors_shards(const std::string& path, const NamedList<HostArrayView>& arrays,
                              std::uint64_t shard_bytes) {
  if (!path.ends_with(io::index_suffix)) {
    io::refuse(path, "an index of safetensors files is called NAME", io::index_suffix);
  }
  std::vector<NamedList<HostArrayView>> shards;
  std::uint64_t size = 0, total = 0;
  for (const Named<HostArrayView>& array : arrays) {
    const std::uint64_t bytes = array.value.bytes.size();
    if (shards.empty() || size + bytes > shard_bytes) {
      shards.emplace_back();
      size = 0;
    }
    size += bytes;
    total += bytes;
    shards.back().push_back(array);
  }
  const std::string folder = io::folder_of(path);
  const std::string stem = path.substr(folder.size(), path.size() - folder.size() - io::index_suffix.size());
  io::IndexJson index;
  index["metadata"]["total_size"] = total;
  index["weight_map"] = io::IndexJson::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    char number[64];
    std::snprintf(number, sizeof number, "-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    for (const Named<HostArrayView>& array : shards[i]) {
      if (index["weight_map"].contains(array.name)) io::refuse(path, "two tensors are named '", array.name, "'");
      index["weight_map"][array.name] = stem + number;
    }
    write_safetensors_file(folder + stem + number, shards[i]);
  }
  // Last, so that whoever finds the index finds what it speaks of.
  const std::string text = index.dump(2) + "\n";
  io::AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace detail
}  // namespace TYTO_API
