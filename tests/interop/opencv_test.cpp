// SPDX-License-Identifier: MIT
// <tyto/interop/opencv.hpp>: images and arrays shared both ways, in both modes.
#include <doctest/doctest.h>

#include <opencv2/core.hpp>
#include <tyto/interop/opencv.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("an image of OpenCV is a tensor of rows, columns and channels, without a copy, and lives as long") {
  using T = Tensor<Mode>;
  T x;
  {
    cv::Mat image(2, 3, CV_8UC3);
    for (int i = 0; i < 18; ++i) image.data[i] = static_cast<unsigned char>(i);
    x = opencv::borrow<T>(image);
    CHECK(x.template data<std::uint8_t>().data() == image.data);
  }
  CHECK(x.shape() == Shape{2, 3, 3});
  CHECK(x.dtype() == DType::u8);
  const T red = x(1, 0);
  CHECK(numbers(red) == Numbers{9, 10, 11});
  CHECK(numbers(mean(x.astype(DType::f32))) == Numbers{8.5});
}

BOTH_MODES("a part of an image, whose rows have gaps, is no copy either") {
  using T = Tensor<Mode>;
  cv::Mat image(3, 4, CV_32F);
  for (int i = 0; i < 12; ++i) image.ptr<float>()[i] = static_cast<float>(i);
  const T part = opencv::borrow<T>(image(cv::Rect(1, 1, 2, 2)));
  image.at<float>(1, 1) = 50;
  CHECK(numbers(part) == Numbers{50, 6, 9, 10});
  CHECK(numbers(opencv::borrow<T>(image.col(3))) == Numbers{3, 7, 11});
}

BOTH_MODES("OpenCV reads a tensor's elements where they lie") {
  using T = Tensor<Mode>;
  const T matrix = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}} + 0.0;
  const cv::Mat m = opencv::view(matrix);
  CHECK(m.data == reinterpret_cast<const unsigned char*>(matrix.template data<float>().data()));
  CHECK(m.type() == CV_32FC1);
  CHECK(m.at<float>(1, 2) == 6);
  CHECK(cv::sum(m)[0] == 21);
  const T image = T::arange(24).reshape({2, 4, 3}).astype(DType::u8) + 0;
  const cv::Mat pixels = opencv::view(image);
  CHECK(pixels.type() == CV_8UC3);
  CHECK(pixels.at<cv::Vec3b>(1, 0) == cv::Vec3b(12, 13, 14));
  const T deep = T::zeros({2, 3, 4, 5}, DType::f64) + 0.0;
  CHECK(opencv::view(deep).dims == 4);
  const T truths = matrix > 2.0;
  CHECK(cv::countNonZero(opencv::view(truths)) == 4);
  const T numbers_64 = T::arange(3);
  CHECK_THROWS_WITH_AS(opencv::view(numbers_64), doctest::Contains("OpenCV has no elements of i64"), TypeError);
}
