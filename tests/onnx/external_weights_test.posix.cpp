// SPDX-License-Identifier: MIT
// Weights in files beside the model: found in its folder, through links that stay there, and nowhere else.
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests::external_weights_test {
namespace {

namespace fs = std::filesystem;
using E = Tensor<Eager>;

/// Two numbers, 1 and 2.
void write_weights(const std::string& path) { write(path, std::string("\0\0\x80\x3f\0\0\0\x40", 8)); }

void write_model(const std::string& path, std::string_view location) {
  write(path, model(adding(external_tensor("w", {2}, location))));
}

std::vector<float> sum_of(const std::string& path) {
  OnnxModel<E> read_model = read_onnx<E>(path);
  return read_model({{"x", E{10.0, 20.0}}})["y"].to_vector<float>();
}

}  // namespace

TEST_CASE("weights in other files come from the model's folder and from nowhere else") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "m.onnx";
  const auto with = [&](const Message& weights) {
    write(path, model(adding(weights)));
    return refused_file(path);
  };
  const std::string where = path + ": 'w': ";
  write(folder / "w.bin", std::string("????\0\0\x80\x3f\0\0\0\x40", 12));
  write(path, model(adding(external_tensor("w", {2}, "w.bin", {{"offset", "4"}, {"length", "8"}}))));
  OnnxModel<E> read_model = read_onnx<E>(path);
  CHECK(read_model({{"x", E{10.0, 20.0}}})["y"].to_vector<float>() == std::vector<float>{11, 22});

  const std::string outside = "; only paths below the model's folder are read";
  CHECK(with(external_tensor("w", {2}, "/etc/passwd")) == where + "is in '/etc/passwd'" + outside);
  CHECK(with(external_tensor("w", {2}, "a/../../w.bin")) == where + "is in 'a/../../w.bin'" + outside);
  CHECK(with(external_tensor("w", {2}, "w.bin", {{"offset", "8"}})) ==
        where + "needs bytes 8 to 8 + 8 of 'w.bin', which has 12");
  CHECK(with(external_tensor("w", {2}, "w.bin", {{"offset", "18446744073709551615"}})) ==
        where + "needs bytes 18446744073709551615 to 18446744073709551615 + 8 of 'w.bin', which has 12");
  CHECK(with(external_tensor("w", {2}, "w.bin", {{"length", "4"}})) ==
        where + "has 4 bytes of external data, its shape needs 8");
  CHECK(with(external_tensor("w", {2}, "w.bin", {{"offset", "-4"}})) ==
        where + "says '-4' of its external data, expected an integer from 0 on");
  REQUIRE(::link((folder / "w.bin").c_str(), (folder / "twin.bin").c_str()) == 0);
  CHECK(with(external_tensor("w", {2}, "twin.bin")) ==
        folder / "twin.bin" + ": has several names (hard links), which could stand for any file");
  CHECK_THROWS_WITH_AS(read<E>(model(adding(external_tensor("w", {2}, "w.bin")))),
                       "m.onnx: 'w': is in the file 'w.bin', and a model in memory has no folder", IoError);
}

TEST_CASE("weights are read through links whose ends lie in the model's folder") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "m.onnx";
  fs::create_directories(folder / "blobs/deep");
  write_weights(folder / "blobs/deep/w.bin");
  fs::create_symlink("blobs/deep/w.bin", folder / "file.bin");
  fs::create_symlink("file.bin", folder / "again.bin");
  fs::create_directory_symlink("blobs", folder / "linked");
  fs::create_symlink(fs::absolute(folder / "blobs/deep/w.bin"), folder / "absolute.bin");
  // Out of the folder and back into it.
  fs::create_symlink("../" + folder.path().filename().string() + "/file.bin", folder / "around.bin");
  for (const char* location : {"file.bin", "again.bin", "linked/deep/w.bin", "absolute.bin", "around.bin"}) {
    CAPTURE(location);
    write_model(path, location);
    CHECK(sum_of(path) == std::vector<float>{11, 22});
  }
  // The model's folder may itself be reached through a link.
  const testing::TemporaryFolder other;
  fs::create_directory_symlink(folder.path(), other / "models");
  CHECK(sum_of(other / "models/m.onnx") == std::vector<float>{11, 22});
}

TEST_CASE("a cache of links is read where model and weights end in one folder") {
  // snapshots/1 holds links of readable names into blobs, where the files lie, as hub caches have it.
  const testing::TemporaryFolder folder;
  fs::create_directories(folder / "blobs");
  fs::create_directories(folder / "snapshots/1");
  write_weights(folder / "blobs/77aa");
  write_model(folder / "blobs/12ab", "w.bin");
  fs::create_symlink("../../blobs/12ab", folder / "snapshots/1/m.onnx");
  fs::create_symlink("../../blobs/77aa", folder / "snapshots/1/w.bin");
  CHECK(sum_of(folder / "snapshots/1/m.onnx") == std::vector<float>{11, 22});
}

TEST_CASE("links out of the model's folder are refused, whichever part of the path is one") {
  const testing::TemporaryFolder folder, outside;
  const std::string path = folder / "m.onnx", where = path + ": 'w': is in '";
  write_weights(outside / "w.bin");
  // Its name begins as the model's folder does.
  const std::string neighbour = folder.path().string() + "_beside";
  fs::create_directory(neighbour);
  write_weights(neighbour + "/w.bin");
  fs::create_symlink(outside / "w.bin", folder / "file.bin");
  fs::create_symlink("file.bin", folder / "again.bin");
  fs::create_directory_symlink(outside.path(), folder / "linked");
  fs::create_symlink(neighbour + "/w.bin", folder / "beside.bin");
  for (const std::string location : {"file.bin", "again.bin", "linked/w.bin", "beside.bin"}) {
    CAPTURE(location);
    write_model(path, location);
    const std::string refused = refused_file(path);
    CHECK_MESSAGE(refused.starts_with(where + location + "', which a link leads to '"), refused);
    CHECK(refused.ends_with("w.bin', outside of the model's folder"));
  }
  fs::remove_all(neighbour);
  fs::create_symlink("round.bin", folder / "round.bin");
  write_model(path, "round.bin");
  CHECK(refused_file(path).starts_with(where + "round.bin', which cannot be opened: "));
  fs::create_symlink("none.bin", folder / "broken.bin");
  write_model(path, "broken.bin");
  CHECK(refused_file(path) == where + "broken.bin', which cannot be opened: No such file or directory");
  fs::create_directory(folder / "inner");
  write_weights(folder / "w.bin");
  fs::create_directory_symlink("..", folder / "inner/up");
  write_model(folder / "inner/m.onnx", "up/w.bin");
  CHECK(refused_file(folder / "inner/m.onnx").ends_with("outside of the model's folder"));
}

}  // namespace tyto::onnx_tests::external_weights_test
