// SPDX-License-Identifier: MIT
// PNG and JPEG files against what Pillow reads of them, damaged in every way, and folders of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "io/image_file.hpp"
#include "io/npz.hpp"
#include "tests/io/bytes.hpp"
#include "tyto/images.hpp"
#include "tyto/nn/batches.hpp"
#include "tyto/nn/pictures.hpp"

namespace tyto::io_tests {
namespace {

const std::string folder_of_images = "tests/io/data/images/";

HostArray decode(const std::string& text, const ImageOptions& options = {}) {
  const Bytes bytes = bytes_of(text);
  return io::read_image("x", bytes, options);
}

/// Whether this copy was built with the library for a file, told by its last letters.
bool can_read(const std::string& name) {
  try {
    (void)detail::read_image_file(folder_of_images + name, {});
    return true;
  } catch (const IoError& error) {
    const bool without = std::string(error.what()).find("was built without") != std::string::npos;
    if (without) MESSAGE("skipped: ", error.what());
    return !without;
  }
}

}  // namespace

TEST_CASE("pictures are what Pillow reads: PNG exactly, JPEG within a step of its decoder") {
  for (const Named<HostArray>& expected : detail::read_npz_file(folder_of_images + "expected.npz")) {
    CAPTURE(expected.name);
    const std::size_t as = expected.name.find(" as ");
    const std::string file = expected.name.substr(0, as);
    if (!can_read(file)) continue;
    const int channels = as == std::string::npos ? 3 : std::stoi(expected.name.substr(as + 4));
    const HostArray picture = detail::read_image_file(folder_of_images + file, {.channels = channels});
    REQUIRE(picture.shape == expected.value.shape);
    int farthest = 0;
    for (std::size_t i = 0; i < picture.bytes.size(); ++i) {
      farthest = std::max(
          farthest, std::abs(std::to_integer<int>(picture.bytes[i]) - std::to_integer<int>(expected.value.bytes[i])));
    }
    CHECK(farthest <= (file.find(".jpg") == std::string::npos ? 0 : 2));
  }
}

TEST_CASE("without a wish for channels a picture has those of its file") {
  const ImageOptions as_it_is{.channels = 0};
  const std::pair<const char*, std::int64_t> files[] = {{"colours.png", 3}, {"grey.png", 1},       {"opaque.png", 4},
                                                        {"palette.png", 3}, {"colours.jpg", 3},    {"grey.jpg", 1},
                                                        {"inks.jpg", 3},    {"grey_opaque.png", 2}};
  for (const auto& [name, channels] : files) {
    CAPTURE(name);
    if (can_read(name)) CHECK(read_image(folder_of_images + name, as_it_is).shape() == Shape{9, 7, channels});
  }
}

namespace {

/// A chunk of a PNG file: length, name, contents, and the checksum of name and contents.
std::string png_chunk(const std::string& name, const std::string& contents) {
  const auto big_endian = [](std::uint32_t number) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
    return text;
  };
  std::uint32_t sum = 0xffffffff;
  for (const char each : name + contents) {
    sum ^= static_cast<unsigned char>(each);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return big_endian(static_cast<std::uint32_t>(contents.size())) + name + contents + big_endian(~sum);
}

}  // namespace

TEST_CASE("pixels of the colour that a PNG file calls transparent are, and no others") {
  if (!can_read("colours.png")) return;
  std::string text = text_of_file(folder_of_images + "colours.png");
  const HostArray opaque = decode(text);
  const auto level = [&](std::size_t at) { return std::to_integer<int>(opaque.bytes[at]); };
  std::string colour;  // that of the first pixel, two bytes a channel
  for (std::size_t c = 0; c < 3; ++c) colour += {'\0', static_cast<char>(level(c))};
  constexpr std::size_t behind_header = 33;
  const HostArray keyed = decode(text.insert(behind_header, png_chunk("tRNS", colour)), {.channels = 0});
  REQUIRE(keyed.shape == Shape{9, 7, 4});
  int transparent = 0;
  for (std::size_t pixel = 0; pixel < 63; ++pixel) {
    bool same = true;
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(keyed.bytes[4 * pixel + c] == opaque.bytes[3 * pixel + c]);
      same = same && level(3 * pixel + c) == level(c);
    }
    CHECK(std::to_integer<int>(keyed.bytes[4 * pixel + 3]) == (same ? 0 : 255));
    transparent += same ? 1 : 0;
  }
  CHECK(transparent >= 1);
  CHECK(transparent < 63);
}

TEST_CASE("four channels of a JPEG file are light where it has Adobe's marker, and ink where it has none") {
  if (!can_read("inks.jpg")) return;
  // Of a picture without black ink, whose light is then taken for black ink everywhere.
  std::string text = text_of_file(folder_of_images + "inks.jpg");
  constexpr std::size_t at = 2, length = 16;
  REQUIRE(text.substr(at + 4, 5) == "Adobe");
  const HostArray light = decode(text), black = decode(text.erase(at, length));
  CHECK(black.shape == light.shape);
  const auto brightest = [](const HostArray& picture) {
    return std::to_integer<int>(*std::max_element(picture.bytes.begin(), picture.bytes.end()));
  };
  CHECK(brightest(light) > 100);
  CHECK(brightest(black) <= 2);
}

TEST_CASE("pictures that end too early are refused, wherever they end") {
  for (const char* name :
       {"colours.png", "interlaced.png", "palette.png", "colours.jpg", "progressive.jpg", "inks.jpg"}) {
    CAPTURE(name);
    if (!can_read(name)) continue;
    const std::string whole = text_of_file(folder_of_images + name);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      CHECK_THROWS_AS(decode(whole.substr(0, length)), IoError);
    }
  }
}

TEST_CASE("damaged pictures are read or refused, nothing else") {
  std::mt19937 random(3);
  for (const char* name :
       {"colours.png", "interlaced.png", "palette.png", "sixteen.png", "colours.jpg", "progressive.jpg", "inks.jpg"}) {
    CAPTURE(name);
    if (!can_read(name)) continue;
    const std::string whole = text_of_file(folder_of_images + name);
    for (int round = 0; round < 2000; ++round) {
      std::string damaged = whole;
      for (int i = 0; i < 1 + round % 4; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      try {
        const HostArray picture = decode(damaged, {.largest = 1 << 16});
        CHECK(picture.bytes.size() == static_cast<std::size_t>(element_count(picture.shape)));
      } catch (const IoError&) {
      }
    }
  }
}

TEST_CASE("pictures larger than allowed, or than their file can be, are refused before memory is asked for") {
  const std::string path = folder_of_images + "colours.png";
  if (!can_read("colours.png") || !can_read("colours.jpg")) return;
  CHECK_THROWS_WITH_AS(read_image(path, {.largest = 62}),
                       doctest::Contains("is a picture of 9 x 7 pixels; 1 to 62 are allowed"), IoError);
  CHECK(read_image(path, {.largest = 63}).shape() == Shape{9, 7, 3});
  // The header of a PNG file: width and height stand behind the mark, a length and a name, and a checksum follows.
  const auto with_size = [&](const std::string& size_and_checksum) {
    std::string text = text_of_file(path);
    text.replace(16, 8, size_and_checksum.substr(0, 8));
    text.replace(29, 4, size_and_checksum.substr(8));
    return text;
  };
  CHECK_THROWS_WITH_AS(decode(with_size(std::string("\x00\x00\x27\x10\x00\x00\x27\x10\x35\x2c\xf5\x70", 12))),
                       doctest::Contains("is a picture of 10000 x 10000 pixels, which its "), IoError);
  // That of a JPEG file: height and width behind the mark of its frame.
  std::string wide = text_of_file(folder_of_images + "colours.jpg");
  const std::size_t frame = wide.find("\xff\xc0");
  wide.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  CHECK_THROWS_WITH_AS(decode(wide), doctest::Contains("x: is a picture of 65500 x 65500 pixels; 1 to 134217728"),
                       IoError);
}

TEST_CASE("what is no picture is refused by name") {
  CHECK_THROWS_WITH_AS(decode("GIF89a"), "x: is neither a PNG nor a JPEG file", IoError);
  CHECK_THROWS_WITH_AS(decode(""), "x: is neither a PNG nor a JPEG file", IoError);
  CHECK_THROWS_WITH_AS(read_image("/nowhere.png"), doctest::Contains("/nowhere.png: cannot be opened"), IoError);
  CHECK_THROWS_WITH_AS(decode("", {.channels = 2}), "read_image: channels = 2 must be 0, 1, 3 or 4", ValueError);
  if (!can_read("colours.png")) return;
  std::string damaged = text_of_file(folder_of_images + "colours.png");
  damaged[20] = '\1';  // the height, whose checksum is wrong now
  CHECK_THROWS_WITH_AS(decode(damaged), "x: is a damaged PNG file: IHDR: CRC error", IoError);
}

TEST_CASE("a folder of folders is a list of files with classes, in the order of their names") {
  if (!can_read("colours.png") || !can_read("colours.jpg")) return;
  const Folder folder;
  const auto put = [&](const std::string& place, const char* name) {
    std::filesystem::create_directories(std::filesystem::path(folder / place).parent_path());
    std::filesystem::copy_file(folder_of_images + name, folder / place);
  };
  put("owl/b.JPG", "colours.jpg");
  put("owl/a.png", "colours.png");
  put("barn/c.jpeg", "grey.jpg");
  write_file(folder / "owl/notes.txt", "no picture");
  write_file(folder / "readme.png", "not in a folder of its own");
  std::filesystem::create_directory(folder / "empty");
  const ImageFolder list = list_image_folder(folder.path().string());
  CHECK(list.classes == std::vector<std::string>{"barn", "owl"});
  CHECK(list.labels == std::vector<std::int64_t>{0, 1, 1});
  CHECK(list.paths == std::vector<std::string>{folder / "barn/c.jpeg", folder / "owl/a.png", folder / "owl/b.JPG"});

  nn::Batches<Tensor<Eager>> batches(nn::Pictures(list, {nn::resize({4, 5})}),
                                     {.size = 3, .shuffle = false, .ahead = 1});
  const auto batch = batches.next();
  CHECK(batch->first.shape() == Shape{3, 4, 5, 3});
  CHECK(batch->second.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 1});
  write_file(folder / "owl/a.png", "GIF89a");
  CHECK_THROWS_WITH_AS((batches.seek({0, 0}), batches.next()),
                       doctest::Contains("owl/a.png: is neither a PNG nor a JPEG file"), IoError);
  CHECK_THROWS_WITH_AS(list_image_folder(folder / "owl"),
                       doctest::Contains("has no folder with .png, .jpg or .jpeg files"), IoError);
  CHECK_THROWS_WITH_AS(list_image_folder(folder / "none"), doctest::Contains("none: cannot be listed"), IoError);
}

}  // namespace tyto::io_tests
