// SPDX-License-Identifier: MIT
// Files that are missing, cut short or of another kind: an IoError that names the file and what was expected of it.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

/// A file with these bytes, removed in the end.
class File {
 public:
  explicit File(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  const std::string& path() const { return path_; }

 private:
  tyto::testing::TemporaryFolder folder_;
  std::string path_ = folder_ / "file";
};

/// The message of the error that `read` throws for the file, without the path that it begins with.
template <class F>
std::string complaint(const std::string& path, const F& read) {
  try {
    read(path);
  } catch (const tyto::IoError& error) {
    const std::string message = error.what();
    REQUIRE(message.substr(0, path.size() + 2) == path + ": ");
    return message.substr(path.size() + 2);
  }
  return "nothing is thrown";
}

const auto npy = [](const std::string& path) { (void)tyto::read_npy<>(path); };
const auto npz = [](const std::string& path) { (void)tyto::read_npz<>(path); };
const auto safetensors = [](const std::string& path) { (void)tyto::read_safetensors<>(path); };
const auto idx = [](const std::string& path) { (void)tyto::read_idx<>(path); };

}  // namespace

TEST_CASE("missing files are refused by name") {
  const std::string nowhere = "/nowhere/at/all";
  const std::string expected = "cannot be opened: No such file or directory";
  CHECK(complaint(nowhere, npy) == expected);
  CHECK(complaint(nowhere, npz) == expected);
  CHECK(complaint(nowhere, safetensors) == expected);
  CHECK(complaint(nowhere, idx) == expected);
}

TEST_CASE("files of another kind are refused by name") {
  const File text("this is a text, and no array at all");
  CHECK(complaint(text.path(), npy) == "is no npy file: it lacks the magic \\x93NUMPY");
  CHECK(complaint(text.path(), npz) == "is no zip archive (npz), or its end is missing");
  CHECK(complaint(text.path(), safetensors) ==
        "is no safetensors file: its header would have 2338328219631577204 bytes; 100000000 are allowed");
  CHECK(complaint(text.path(), idx) == "is no IDX file: it must begin with two bytes of zero");
}

TEST_CASE("truncated files are refused by name") {
  const tyto::Tensor<tyto::Eager> x{1.0, 2.0, 3.0};
  const File whole("");
  write_npy(whole.path(), x);
  const File npy_part(tyto::testing::text_of(whole.path()).substr(0, 136));
  CHECK(complaint(npy_part.path(), npy) ==
        "ends too early: the array of shape (3,) needs 12 bytes, there are no more than 8");
  tyto::write_npz<tyto::Eager>(whole.path(), {{"x", x}});
  const File npz_part(tyto::testing::text_of(whole.path()).substr(0, 100));
  CHECK(complaint(npz_part.path(), npz) == "is no zip archive (npz), or its end is missing");
  tyto::write_safetensors<tyto::Eager>(whole.path(), {{"x", x}});
  const std::string bytes = tyto::testing::text_of(whole.path());
  const File safetensors_part(bytes.substr(0, bytes.size() - 4));
  CHECK(complaint(safetensors_part.path(), safetensors) ==
        "ends too early: x needs 12 bytes, there are no more than 8");
  const File idx_part(std::string("\0\0\x08\x01\0\0\0\x05\x01\x02", 10));
  CHECK(complaint(idx_part.path(), idx) ==
        "ends too early: the array of shape (5,) needs 5 bytes, there are no more than 2");
}
