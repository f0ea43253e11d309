// SPDX-License-Identifier: MIT
// Tensors as OpenCV matrices and back: images of (rows, columns, channels) and arrays of any rank. Include it where
// opencv2/core.hpp is on the include path; the library itself needs no OpenCV.
#pragma once

#include <climits>
#include <cstddef>
#include <opencv2/core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto::opencv {

namespace detail {

/// Element types by OpenCV's depths CV_8U, CV_8S, CV_16U, CV_16S, CV_32S, CV_32F, CV_64F, CV_16F.
inline constexpr DType dtypes[] = {DType::u8,  DType::i8,  DType::u16, DType::i16,
                                   DType::i32, DType::f32, DType::f64, DType::f16};

inline int depth_of(DType dtype) {
  for (int depth = 0; depth < 8; ++depth) {
    if (dtypes[depth] == dtype) return depth;
  }
  if (dtype == DType::boolean) return CV_8U;
  throw TypeError("opencv::view: OpenCV has no elements of " + std::string(name_of(dtype)) +
                  "; it has u8, i8, u16, i16, i32, f16, f32 and f64: write x.astype(...)");
}

}  // namespace detail

/// A matrix over the elements of a tensor, evaluated first, where they lie: no copy, but of tensors that are views of
/// others. It must only be read; for how long, see Tensor::data(). Two axes are one channel, three with at most four
/// elements along the last one are an image, anything else is a matrix of as many dimensions.
///
///     const cv::Mat m = opencv::view(image);
template <class M>
const cv::Mat view(const Tensor<M>& x) {
  const Shape& shape = x.shape();
  const bool image = shape.rank() == 3 && shape[2] >= 1 && shape[2] <= 4;
  const int type = CV_MAKETYPE(detail::depth_of(x.dtype()), image ? static_cast<int>(shape[2]) : 1);
  std::vector<int> sizes;
  for (std::int64_t axis = 0; axis < (image ? 2 : shape.rank()); ++axis) {
    const std::int64_t length = shape[static_cast<std::size_t>(axis)];
    if (length > INT_MAX) throw ShapeError("opencv::view: an axis is longer than an int of OpenCV counts");
    sizes.push_back(static_cast<int>(length));
  }
  while (sizes.size() < 2) sizes.push_back(1);  // a number, and a vector as a column
  if (x.size() == 0) return cv::Mat(static_cast<int>(sizes.size()), sizes.data(), type);
  return cv::Mat(static_cast<int>(sizes.size()), sizes.data(), type, const_cast<std::byte*>(x.bytes().data()));
}
/// A temporary would be gone before the matrix is read: give it a name.
template <class M>
void view(const Tensor<M>&& x) = delete;

/// A tensor over the memory of a matrix, which it keeps: no copy, whatever the matrix is a part of. An image of several
/// channels gets an axis for them, the last one. The memory must hold still as long as the tensor lives.
///
///     const Tensor frame = opencv::borrow<Tensor>(cv::Mat(480, 640, CV_8UC3));
template <class T = Tensor<Eager>>
T borrow(const cv::Mat& m) {
  Shape shape;
  IntList strides;
  const std::size_t element = m.elemSize1();
  if (m.depth() >= 8)
    throw TypeError("opencv::borrow: elements of depth " + std::to_string(m.depth()) + " are unknown");
  for (int axis = 0; axis < m.dims; ++axis) {
    if (m.step[axis] % element != 0) {
      throw ShapeError("opencv::borrow: the distance between rows is no multiple of an element; clone() the matrix");
    }
    shape.push_back(m.size[axis]);
    strides.push_back(static_cast<std::int64_t>(m.step[axis] / element));
  }
  if (m.channels() > 1) {
    shape.push_back(m.channels());
    strides.push_back(1);
  }
  return T::borrow_bytes(m.data, shape, strides, detail::dtypes[m.depth()], [m] {});
}

}  // namespace tyto::opencv
