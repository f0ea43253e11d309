// SPDX-License-Identifier: MIT
// Safetensors in several files beside an index.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/io/bytes.hpp"

namespace tyto::io_tests {
namespace {

using Array = Tensor<Eager>;

std::string refusal(const std::string& path) {
  try {
    read_safetensors(path);
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("tensors are written in several files, and read through their index") {
  const Folder folder;
  const std::string path = folder / "model.safetensors.index.json";
  const NamedList<Array> arrays{{"a", Array{1.0, 2.0}}, {"b", Array{3.0}}, {"c", Array::ones({5})}, {"d", Array{7}}};
  write_safetensors(path, arrays, 12);
  CHECK(read_safetensors(folder / "model-00001-of-00003.safetensors").size() == 2);
  CHECK(read_safetensors(folder / "model-00002-of-00003.safetensors")["c"].shape() == Shape{5});
  const NamedList<Array> read = read_safetensors(path);
  CHECK(read.size() == 4);
  CHECK(read["a"].to_vector<float>() == std::vector<float>{1, 2});
  CHECK(read["d"].to_vector<std::int64_t>() == std::vector<std::int64_t>{7});
  CHECK(text_of_file(path).starts_with(
      "{\n  \"metadata\": {\n    \"total_size\": 40\n  },\n  \"weight_map\": {\n    \"a\": "
      "\"model-00001-of-00003.safetensors\",\n"));
  CHECK_THROWS_WITH_AS(
      write_safetensors(folder / "x.json", arrays, 12),
      (folder / "x.json" + ": an index of safetensors files is called NAME.safetensors.index.json").c_str(), IoError);
}

TEST_CASE("an index that says what is not so is refused") {
  const Folder folder;
  const std::string path = folder / "m.safetensors.index.json";
  write_safetensors<Eager>(folder / "m.safetensors", {{"a", Array{1.0}}});
  const auto with = [&](const std::string& text) {
    write_file(path, text);
    return refusal(path);
  };
  CHECK(with(R"({"weight_map": {"a": "m.safetensors"}})") == "");
  CHECK(with("[]") == path + ": is no index of safetensors files: it holds no 'weight_map'");
  CHECK(with(R"({"weight_map": {"a": 3}})") == path + ": 'a' is in no file");
  CHECK(with(R"({"weight_map": {"a": "../m.safetensors"}})") ==
        path + ": 'a' is in '../m.safetensors'; only files beside the index are read");
  CHECK(with(R"({"weight_map": {"b": "m.safetensors"}})") == path + ": does not say that 'a' is in 'm.safetensors'");
  CHECK(with(R"({"weight_map": {"a": "m.safetensors", "b": "m.safetensors"}})") ==
        path + ": says that 'b' is in 'm.safetensors', where it is not");
  // Both files are named, each for what the other one holds.
  write_safetensors<Eager>(folder / "o.safetensors", {{"b", Array{2.0}}});
  CHECK(with(R"({"weight_map": {"a": "m.safetensors", "b": "o.safetensors"}})") == "");
  CHECK(with(R"({"weight_map": {"a": "o.safetensors", "b": "m.safetensors"}})") ==
        path + ": does not say that 'a' is in 'm.safetensors'");
  CHECK(with(R"({"weight_map": {"a": "n.safetensors"}})") ==
        folder / "n.safetensors" + ": cannot be opened: No such file or directory");
}

}  // namespace tyto::io_tests
