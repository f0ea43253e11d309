// SPDX-License-Identifier: MIT
// Transforms of pictures on known pixels; random ones depend on seed, epoch and sample alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tyto/nn/batches.hpp>
#include <tyto/nn/pictures.hpp>

namespace tyto::nn {
namespace {

using Data = Tensor<Eager>;

/// A picture of one channel whose pixels are 0, 1, 2, ...
Picture counted(std::int64_t height, std::int64_t width) {
  Picture picture{height, width, 1, {}};
  for (std::int64_t i = 0; i < height * width; ++i) picture.values.push_back(static_cast<float>(i));
  return picture;
}

Picture after(const PictureTransform& transform, Picture picture, std::uint64_t seed = 1) {
  Draws draws(Key{seed, 0});
  transform(picture, draws);
  return picture;
}

void check_values(const Picture& picture, const std::vector<float>& expected) {
  REQUIRE(picture.values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(picture.values[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("a centre crop is the middle, a flip exchanges left and right of every channel") {
  check_values(after(centre_crop({2, 1}), counted(4, 3)), {4, 7});
  check_values(after(random_flip(1), counted(2, 3)), {2, 1, 0, 5, 4, 3});
  check_values(after(random_flip(0), counted(2, 3)), {0, 1, 2, 3, 4, 5});
  const Picture colours{1, 2, 3, {1, 2, 3, 4, 5, 6}};
  check_values(after(random_flip(1), colours), {4, 5, 6, 1, 2, 3});
}

TEST_CASE("random crops come from every place, with zeros around the picture where padding is asked for") {
  std::set<float> corners;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Picture part = after(random_crop({2, 2}), counted(3, 4), seed);
    REQUIRE(part.values.size() == 4);
    corners.insert(part.values[0]);
    CHECK(part.values[3] == part.values[0] + 5);  // one down, one right
  }
  CHECK(corners == std::set<float>{0, 1, 2, 4, 5, 6});
  int zeros = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Picture part = after(random_crop(1, 1), Picture{1, 1, 1, {7}}, seed);
    zeros += part.values[0] == 0 ? 1 : 0;
    CHECK((part.values[0] == 0 || part.values[0] == 7));
  }
  CHECK(zeros > 30);  // eight places of nine
}

TEST_CASE("pictures are resized as Pillow does it: bilinear, over all pixels that fall on one") {
  // PIL.Image.fromarray(x, 'F').resize((width, height), PIL.Image.BILINEAR)
  check_values(after(resize({1, 2}), Picture{1, 6, 1, {0, 10, 20, 30, 50, 90}}), {12.5F, 51.25F});
  check_values(after(resize({1, 4}), Picture{1, 2, 1, {0, 8}}), {0, 2, 6, 8});
  check_values(after(resize({2, 2}), counted(4, 4)), {3.5714288F, 5.1428571F, 9.8571434F, 11.428572F});
  const Picture wide = after(resize(2), counted(4, 6));
  CHECK(wide.height == 2);
  CHECK(wide.width == 3);
}

TEST_CASE("normalising takes each channel's mean away and divides by its deviation") {
  check_values(after(normalise({1, 2}, {0.5F, 4}), Picture{1, 2, 2, {1, 2, 2, 10}}), {0, 0, 2, 2});
  check_values(after(normalise({1}, {2}), Picture{1, 1, 2, {3, 5}}), {1, 2});
}

TEST_CASE("colours vary within the amounts, grey pixels keep their saturation") {
  const Picture grey{1, 2, 3, {0.25F, 0.25F, 0.25F, 0.75F, 0.75F, 0.75F}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    check_values(after(colour_jitter({.saturation = 0.5}), grey, seed), grey.values);
    const Picture brighter = after(colour_jitter({.brightness = 0.2}), grey, seed);
    CHECK(brighter.values[0] >= 0.25F * 0.8F - 1e-6F);
    CHECK(brighter.values[0] <= 0.25F * 1.2F + 1e-6F);
    CHECK(brighter.values[5] == doctest::Approx(3 * brighter.values[0]));
    // Contrast moves both away from the mean grey, 0.5, alike.
    const Picture contrast = after(colour_jitter({.contrast = 0.4}), grey, seed);
    CHECK(contrast.values[0] + contrast.values[3] == doctest::Approx(1.0));
    CHECK(contrast.values[0] >= 0.15F - 1e-6F);
    CHECK(contrast.values[0] <= 0.35F + 1e-6F);
    // The grey of a pixel, 0.299 R + 0.587 G + 0.114 B, is what saturation leaves.
    const Picture colour = after(colour_jitter({.saturation = 0.3}), Picture{1, 1, 3, {0.6F, 0.5F, 0.4F}}, seed);
    CHECK(0.299 * colour.values[0] + 0.587 * colour.values[1] + 0.114 * colour.values[2] ==
          doctest::Approx(0.299 * 0.6 + 0.587 * 0.5 + 0.114 * 0.4));
  }
}

TEST_CASE("transforms that make no sense are refused when they are made, pictures that do not fit when they come") {
  CHECK_THROWS_WITH_AS(random_crop(0), "random_crop: the size (0,) must be one number or two, at least 1", ValueError);
  CHECK_THROWS_WITH_AS(random_crop(2, -1), "random_crop: the padding -1 must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(random_flip(1.5), "random_flip: the probability 1.5 must be in [0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(normalise({1, 2}, {1}),
                       "normalise: 2 means and 1 deviations; as many of each, one or one a channel, are needed",
                       ValueError);
  CHECK_THROWS_WITH_AS(normalise({1}, {0}), "normalise: deviations must be above 0", ValueError);
  CHECK_THROWS_WITH_AS(colour_jitter({.contrast = -1}), "colour_jitter: the amount -1 must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(after(random_crop(4), counted(3, 5)), "random_crop: a picture of 3 x 5 has no part of 4 x 4",
                       ShapeError);
  CHECK_THROWS_WITH_AS(after(centre_crop({1, 6}), counted(3, 5)),
                       "centre_crop: a picture of 3 x 5 has no part of 1 x 6", ShapeError);
  CHECK_THROWS_WITH_AS(after(normalise({1, 2, 3}, {1, 1, 1}), counted(3, 5)),
                       "normalise: 3 means for a picture of 1 channels", ShapeError);
  CHECK_THROWS_WITH_AS(after(colour_jitter({}), Picture{1, 1, 2, {0, 0}}),
                       "colour_jitter: a picture of 2 channels; it must have 1 or 3", ShapeError);
}

namespace {

/// Twelve pictures of 6 x 6 x 3, each of one number everywhere but for its left column.
Pictures twelve() {
  std::vector<std::uint8_t> pixels, labels;
  for (std::uint8_t i = 0; i < 12; ++i) {
    for (int pixel = 0; pixel < 36; ++pixel) pixels.insert(pixels.end(), 3, pixel % 6 == 0 ? 255 : i);
    labels.push_back(i);
  }
  return {Data::from(pixels, {12, 6, 6, 3}),
          Data::from(labels, {12}),
          {random_crop(4, 1), random_flip(), colour_jitter({.brightness = 0.5})}};
}

using Pixels = std::vector<float>;

/// Two epochs of pictures by their labels, in each epoch by the label.
std::vector<std::map<std::int64_t, Pixels>> two_epochs(const BatchOptions& options) {
  Batches<Data> batches(twelve(), options);
  std::vector<std::map<std::int64_t, Pixels>> epochs(2);
  for (auto& epoch : epochs) {
    for (const auto& [pictures, labels] : batches) {
      const auto numbers = pictures.to_vector<float>();
      const auto names = labels.to_vector<std::int64_t>();
      REQUIRE(numbers.size() == names.size() * 48);
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(i * 48);
        epoch[names[i]] = Pixels(first, first + 48);
      }
    }
  }
  return epochs;
}

}  // namespace

TEST_CASE("what happens to a picture depends on seed, epoch and picture, not on batches, order or threads") {
  const auto expected = two_epochs({.size = 5, .seed = 3});
  CHECK(expected[0].size() == 12);
  CHECK(expected[0] != expected[1]);
  CHECK(two_epochs({.size = 5, .seed = 3, .ahead = 1}) == expected);
  CHECK(two_epochs({.size = 12, .seed = 3, .ahead = 4}) == expected);
  CHECK(two_epochs({.size = 1, .shuffle = false, .seed = 3}) == expected);
  CHECK(two_epochs({.size = 5, .seed = 4}) != expected);
}

TEST_CASE("bytes become numbers from 0 to 1, labels i64") {
  Batches<Data> batches(Pictures(Data{{{{0}, {51}}}, {{{255}, {102}}}}.astype(DType::u8), Data{4, 2}),
                        {.size = 2, .shuffle = false});
  const auto batch = batches.next();
  CHECK(batch->first.shape() == Shape{2, 1, 2, 1});
  CHECK(batch->first.to_vector<float>() == std::vector<float>{0.0F, 0.2F, 1.0F, 0.4F});
  CHECK(batch->second.dtype() == DType::i64);
  CHECK(batch->second.to_vector<std::int64_t>() == std::vector<std::int64_t>{4, 2});
}

TEST_CASE("pictures that are no pictures are refused") {
  CHECK_THROWS_WITH_AS(Pictures(Data::zeros({2, 3, 3, 1}), Data::zeros({2})),
                       "Pictures: images f32 (2,3,3,1) and labels (2,); expected u8 (count, height, width, channels) "
                       "and (count,)",
                       ShapeError);
  CHECK_THROWS_AS(Pictures(Data::zeros({2, 3, 3, 1}, DType::u8), Data::zeros({3})), ShapeError);
}

}  // namespace tyto::nn
