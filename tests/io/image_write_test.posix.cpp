// SPDX-License-Identifier: MIT
// PNG and JPEG files written and read again; pictures that no file can hold are refused.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "tests/io/bytes.hpp"
#include "tests/io/memory_limit.hpp"
#include "tyto/images.hpp"
#include "tyto/tyto.hpp"

namespace tyto::io_tests {
namespace {

using Picture = Tensor<Eager>;

/// Whether this copy was built with the library that writes; where it was not, it must say so.
bool can_write(const std::function<void(const std::string&, const Picture&)>& write) {
  const Folder folder;
  const Picture pixel = Picture::zeros({1, 1}, DType::u8);
  try {
    write(folder / "pixel", pixel);
    return true;
  } catch (const IoError& error) {
    REQUIRE(std::string(error.what()).find("cannot be written: this copy of Tyto was built without lib") !=
            std::string::npos);
    CHECK(!std::filesystem::exists(folder / "pixel"));
    MESSAGE("skipped: ", error.what());
    return false;
  }
}

bool can_write_png() {
  return can_write([](const std::string& path, const Picture& x) { write_png(path, x); });
}
bool can_write_jpeg() {
  return can_write([](const std::string& path, const Picture& x) { write_jpeg(path, x); });
}

/// The bytes that stand in every PNG file: the mark, and a chunk of 13 bytes with width, height, depth and colours.
std::string png_begin(char height, char width, char colours) {
  const std::string zeros(3, '\0');
  return "\x89PNG\r\n\x1a\n" + zeros + "\x0dIHDR" + zeros + width + zeros + height + '\x08' + colours + zeros;
}

/// Bytes that do not compress.
Picture noise(const Shape& shape) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(element_count(shape)));
  std::uint32_t state = 1;
  for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return Picture::from_bytes(std::as_bytes(std::span(bytes)).data(), element_count(shape), shape, DType::u8);
}

/// While alive, no file of this process grows beyond `size` bytes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t size) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{size, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

int farthest(const Picture& a, const Picture& b) {
  const std::vector<std::uint8_t> left = a.to_vector<std::uint8_t>(), right = b.to_vector<std::uint8_t>();
  REQUIRE(left.size() == right.size());
  int most = 0;
  for (std::size_t i = 0; i < left.size(); ++i) most = std::max(most, std::abs(left[i] - right[i]));
  return most;
}

}  // namespace

TEST_CASE_TEMPLATE("a PNG file holds the picture exactly, whatever its channels", Mode, Eager, Lazy) {
  if (!can_write_png()) return;
  const Folder folder;
  const NamedList<Tensor<Mode>> pictures = read_npz<Tensor<Mode>>(data("images/expected.npz"));
  const auto writes = [&](const Tensor<Mode>& picture, const std::string& begin, const Shape& shape) {
    CAPTURE(shape);
    write_png(folder / "x.png", picture);
    CHECK(text_of_file(folder / "x.png").substr(0, begin.size()) == begin);
    const Tensor<Mode> read = read_image<Tensor<Mode>>(folder / "x.png", {.channels = 0});
    CHECK(read.shape() == shape);
    CHECK(read.template to_vector<std::uint8_t>() == picture.template to_vector<std::uint8_t>());
  };
  const Tensor<Mode> colours = pictures["colours.png"], opaque = pictures["opaque.png as 4"];
  writes(colours, png_begin(9, 7, 2), {9, 7, 3});
  writes(opaque, png_begin(9, 7, 6), {9, 7, 4});
  writes(pictures["bits.png as 1"], png_begin(9, 7, 0), {9, 7, 1});
  const Tensor<Mode> grey = colours(ellipsis, 2);
  writes(grey, png_begin(9, 7, 0), {9, 7, 1});
  writes(stack({grey, 255 - grey}, -1), png_begin(9, 7, 4), {9, 7, 2});
  // A view that lies backwards, one pixel, and one row and one column of pixels.
  writes(flip(colours, {0, 1}), png_begin(9, 7, 2), {9, 7, 3});
  writes(colours(slice(0, 1), slice(0, 1)), png_begin(1, 1, 2), {1, 1, 3});
  writes(colours(slice(4, 5)), png_begin(1, 7, 2), {1, 7, 3});
  writes(colours(all, slice(2, 3)), png_begin(9, 1, 2), {9, 1, 3});
}

TEST_CASE("a PNG file of many rows is written in parts and read again") {
  if (!can_write_png()) return;
  const Folder folder;
  // Remainders of squares: no filter and no compression finds much in them, so that the file is written in many parts.
  std::vector<std::uint8_t> levels(std::size_t{300} * 211 * 3);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(i * i % 251);
  write_png(folder / "x.png", reshape(Picture(levels), {300, 211, 3}));
  const Picture read = read_image(folder / "x.png");
  CHECK(read.shape() == Shape{300, 211, 3});
  CHECK(read.to_vector<std::uint8_t>() == levels);
  CHECK(!std::filesystem::exists(folder / "x.png.partial"));
}

TEST_CASE_TEMPLATE("a JPEG file holds the picture as nearly as Pillow's does", Mode, Eager, Lazy) {
  if (!can_write_jpeg()) return;
  const Folder folder;
  // The file that make_images.py saved with the same quality, and the pixels that Pillow read from it.
  std::vector<std::uint8_t> levels;
  for (int row = 0; row < 9; ++row) {
    for (int column = 0; column < 7; ++column) {
      for (const int level : {row * 20, column * 30, row * 5 + column * 9}) {
        levels.push_back(static_cast<std::uint8_t>(level));
      }
    }
  }
  const auto smooth = reshape(Tensor<Mode>(levels), {9, 7, 3});
  const NamedList<Picture> expected = read_npz(data("images/expected.npz"));
  write_jpeg(folder / "x.jpg", smooth);
  CHECK(farthest(read_image(folder / "x.jpg"), expected["colours.jpg"]) <= 2);
  const Tensor<Mode> grey = smooth(ellipsis, 2);
  write_jpeg(folder / "grey.jpg", grey);
  const Picture read = read_image(folder / "grey.jpg", {.channels = 0});
  CHECK(read.shape() == Shape{9, 7, 1});
  CHECK(farthest(read, expected["grey.jpg as 1"]) <= 2);
  write_jpeg(folder / "grey.jpg", expand_dims(grey, {2}));
  CHECK(farthest(read_image(folder / "grey.jpg", {.channels = 1}), read) == 0);
}

TEST_CASE("one colour comes back from a JPEG file, and less quality makes it smaller") {
  if (!can_write_jpeg()) return;
  const Folder folder;
  const Picture level = Picture::full({40, 56, 3}, 117, DType::u8);
  write_jpeg(folder / "level.jpg", level, {.quality = 100});
  CHECK(farthest(read_image(folder / "level.jpg"), level) <= 1);
  std::vector<std::uint8_t> levels(std::size_t{64} * 64);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::uint8_t>(i * i % 251);
  const Picture rough = reshape(Picture(levels), {64, 64});
  write_jpeg(folder / "coarse.jpg", rough, {.quality = 10});
  write_jpeg(folder / "fine.jpg", rough, {.quality = 100});
  CHECK(std::filesystem::file_size(folder / "coarse.jpg") * 2 < std::filesystem::file_size(folder / "fine.jpg"));
  CHECK(farthest(read_image(folder / "fine.jpg", {.channels = 1}), rough) <= 3);
}

TEST_CASE_TEMPLATE("tensors that are no pictures are refused before a file appears", Mode, Eager, Lazy) {
  using T = Tensor<Mode>;
  const Folder folder;
  const std::string path = folder / "x";
  const auto pixels = [](const Shape& shape) { return T::zeros(shape, DType::u8); };
  CHECK_THROWS_WITH_AS(write_png(path, T::zeros({2, 3})),
                       "write_png: the picture must be u8, not f32; of x from 0 to 1 it is cast(round(x * 255), "
                       "DType::u8)",
                       TypeError);
  CHECK_THROWS_WITH_AS(write_jpeg(path, T::zeros({2, 3}, DType::i64)),
                       doctest::Contains("write_jpeg: the picture must be u8, not i64"), TypeError);
  CHECK_THROWS_WITH_AS(write_png(path, pixels({2, 3, 5})),
                       "write_png: the picture must be (height, width) or (height, width, channels) with 1, 2, 3 or 4 "
                       "channels, not of shape (2,3,5)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(write_jpeg(path, pixels({2, 3, 4})), doctest::Contains("with 1 or 3 channels, not of shape"),
                       ShapeError);
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{1, 2, 3, 3}, Shape{2, 3, 0}}) {
    CHECK_THROWS_AS(write_png(path, pixels(shape)), ShapeError);
    CHECK_THROWS_AS(write_jpeg(path, pixels(shape)), ShapeError);
  }
  CHECK_THROWS_WITH_AS(write_png(path, pixels({0, 3})),
                       "write_png: height and width of the picture must be 1 to 1000000, not those of shape (0,3)",
                       ShapeError);
  CHECK_THROWS_AS(write_png(path, pixels({1, 1000001})), ShapeError);
  CHECK_THROWS_WITH_AS(write_jpeg(path, pixels({65501, 1, 3})),
                       doctest::Contains("write_jpeg: height and width of the picture must be 1 to 65500"), ShapeError);
  for (const int quality : {0, 101, -5}) {
    CHECK_THROWS_WITH_AS(write_jpeg(path, pixels({2, 3}), {.quality = quality}), doctest::Contains("must be 1 to 100"),
                         ValueError);
  }
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("a picture that cannot be written names the place") {
  if (!can_write_png() || !can_write_jpeg()) return;
  const Picture pixel = Picture::zeros({1, 1}, DType::u8);
  CHECK_THROWS_WITH_AS(write_png("/nowhere/x.png", pixel), doctest::Contains("/nowhere/x.png: cannot be written: "),
                       IoError);
  CHECK_THROWS_WITH_AS(write_jpeg("/nowhere/x.jpg", pixel), doctest::Contains("/nowhere/x.jpg: cannot be written: "),
                       IoError);
  CHECK_THROWS_WITH_AS(write_png("/dev/full", pixel), "/dev/full: cannot be written: it is no regular file", IoError);
}

TEST_CASE("a picture that cannot be written to its end is told, and the old file stays") {
  if (!can_write_png() || !can_write_jpeg()) return;
  const Folder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  const Picture picture = noise({400, 400, 3});
  {
    const FileSizeLimit limit(100000);
    CHECK_THROWS_WITH_AS(write_png(path, picture), doctest::Contains("x: cannot be written: File too large"), IoError);
    CHECK_THROWS_WITH_AS(write_jpeg(path, picture, {.quality = 100}),
                         doctest::Contains("x: cannot be written: File too large"), IoError);
  }
  CHECK(text_of_file(path) == "old");
  CHECK(!std::filesystem::exists(path + ".partial"));
}

#if TYTO_TEST_MEMORY_LIMIT
TEST_CASE("a JPEG file is written where there is no memory for a copy of it") {
  if (!can_write_jpeg()) return;
  const Folder folder;
  const std::string path = folder / "x.jpg";
  const Picture picture = noise({4000, 4000, 3});
  {
    const MemoryLimit limit(rlim_t{1} << 24);
    CHECK_NOTHROW(write_jpeg(path, picture, {.quality = 100}));
  }
  REQUIRE(std::filesystem::exists(path));
  CHECK(std::filesystem::file_size(path) > std::uintmax_t{1} << 24);
  CHECK(read_image(path).shape() == picture.shape());
}
#endif

}  // namespace tyto::io_tests
