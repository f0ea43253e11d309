// Bands of an image: what one item lays out at a time, with the zeros that windows see around it.
#pragma once

#include <cstdint>
#include <string>

#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/matrix_product.hpp"

namespace tyto::opencl {

/// Whether a band of the least size is small enough for every item to have one.
bool has_small_bands(const BandedImage& image, std::size_t element_bytes);

/// Bands of so many whole images, or, of one image, so many positions along the first spatial axis.
class ImageBands {
 public:
  /// Of about so many positions, elements of the layout being of so many bytes.
  ImageBands(const ProductOperand& operand, std::int64_t positions, std::size_t element_bytes);

  /// Elements of a laid-out band.
  std::int64_t elements() const { return images_ * height_ * plane_; }
  /// The most positions of a band.
  std::int64_t positions() const { return images_ * rows_ * across_; }
  /// Bands of all images.
  std::int64_t count() const;

  /// Declares sizes, and the image's memory, `image` in the text.
  void declare(KernelText& kernel) const;
  /// Statements that say of band number `band` where it begins, in images and rows of positions, and how many it has.
  void locate_by_number(KernelText& kernel, std::string_view band) const;
  /// The same for the band that begins with a position.
  void locate_by_position(KernelText& kernel, std::string_view position) const;
  /// The first position of the band, and how many there are.
  static constexpr std::string_view first = "(band_image * positions0 + band_row) * across";
  static constexpr std::string_view size = "band_images * band_rows * across";
  /// Statements that lay the band out at `to`, elements of `type`. `start` is where the first image lies.
  void lay_out(KernelText& kernel, std::string_view to, std::string_view type, std::string_view start) const;

 private:
  std::int64_t height(std::int64_t rows) const { return (rows - 1) * image_.step + reach_; }

  bool is_contiguous_across() const;
  void measure(KernelText& kernel) const;

  const ProductOperand& operand_;
  const BandedImage& image_;
  std::int64_t reach_;   // laid-out elements that one position sees along the first axis
  std::int64_t across_;  // positions for each along the first axis
  std::int64_t plane_;   // laid-out elements for each along the first axis
  std::int64_t images_ = 1, rows_ = 1, height_ = 1;
};

}  // namespace tyto::opencl
