// Chooses the size of bands, and writes the loops that lay them out.
#include "devices/opencl/image_bands.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "devices/opencl/element_types.hpp"
#include "devices/opencl/product_kernels.hpp"

namespace tyto::opencl {

namespace {

using core::text;

// Bytes: a band stays in the second-level cache while it is multiplied.
constexpr std::int64_t most_of_band = std::int64_t{256} << 10;
constexpr std::int64_t most_of_least_band = std::int64_t{1} << 20;

std::int64_t positions_across(const BandedImage& image) {
  std::int64_t count = 1;
  for (std::size_t i = 1; i < image.positions.size(); ++i) count *= image.positions[i];
  return count;
}

std::int64_t elements_across(const BandedImage& image) {
  std::int64_t count = image.view.shape.back();
  for (std::size_t i = 1; i < image.extent.size(); ++i) count *= image.extent[i];
  return count;
}

std::int64_t reach_of(const BandedImage& image) { return image.extent[0] - (image.positions[0] - 1) * image.step; }

/// The largest even share of what is asked for, as long as there is one that takes at least half of what fits.
std::int64_t share_of(std::int64_t asked, std::int64_t fitting) {
  const std::int64_t most = std::clamp<std::int64_t>(fitting, 1, std::max<std::int64_t>(asked, 1));
  for (std::int64_t share = most; 2 * share > most; --share) {
    if (asked % share == 0) return share;
  }
  return most;
}

}  // namespace

bool has_small_bands(const BandedImage& image, std::size_t element_bytes) {
  return reach_of(image) * elements_across(image) * static_cast<std::int64_t>(element_bytes) <= most_of_least_band;
}

ImageBands::ImageBands(const ProductOperand& operand, std::int64_t positions, std::size_t element_bytes)
    : operand_(operand),
      image_(*operand.image),
      reach_(reach_of(image_)),
      across_(positions_across(image_)),
      plane_(elements_across(image_)) {
  const std::int64_t most = most_of_band / (plane_ * static_cast<std::int64_t>(element_bytes));  // along the first axis
  const std::int64_t an_image = image_.positions[0] * across_;
  rows_ = image_.positions[0];
  if (positions >= an_image && image_.extent[0] <= most) {
    images_ = share_of(std::min(positions / an_image, image_.view.shape[0]), most / image_.extent[0]);
  } else {
    const std::int64_t that_fit = (most - reach_) / image_.step + 1;
    rows_ = share_of(std::min(positions / across_, rows_), that_fit);
  }
  height_ = height(rows_);
}

std::int64_t ImageBands::count() const {
  return divided_up(image_.view.shape[0], images_) * divided_up(image_.positions[0], rows_);
}

void ImageBands::declare(KernelText& kernel) const {
  kernel.memory(operand_.role, operand_.index, storage_name(operand_.dtype), size_of(operand_.dtype), operand_.offset,
                "image");
  kernel.number("images", image_.view.shape[0]);
  kernel.number("positions0", image_.positions[0]);
  kernel.number("across", across_);
  kernel.number("most_images", images_);
  kernel.number("most_rows", rows_);
  kernel.number("step", image_.step);
  kernel.number("reach", reach_);
  kernel.number("channels", image_.view.shape.back());
  kernel.number("image_stride", image_.view.strides[0]);
  for (std::size_t i = 0; i < image_.extent.size(); ++i) {
    kernel.number(text("extent", i), image_.extent[i]);
    kernel.number(text("shift", i), image_.shift[i]);
    kernel.number(text("length", i), image_.view.shape[i + 1]);
    kernel.number(text("image_stride", i), image_.view.strides[i + 1]);
  }
  if (!is_contiguous_across()) kernel.number("channel_stride", image_.view.strides.back());
}

bool ImageBands::is_contiguous_across() const {
  const core::View& view = image_.view;
  return view.strides.back() == 1 && view.strides[view.strides.size() - 2] == view.shape.back();
}

void ImageBands::locate_by_number(KernelText& kernel, std::string_view band) const {
  kernel.line("  const long bands_of_image = (positions0 + most_rows - 1) / most_rows;");
  kernel.line(text("  const long band_image = (", band, ") / bands_of_image * most_images;"));
  kernel.line(text("  const long band_row = (", band, ") % bands_of_image * most_rows;"));
  measure(kernel);
}

void ImageBands::locate_by_position(KernelText& kernel, std::string_view position) const {
  kernel.line(text("  const long band_image = (", position, ") / (positions0 * across);"));
  kernel.line(text("  const long band_row = (", position, ") / across % positions0;"));
  measure(kernel);
}

void ImageBands::measure(KernelText& kernel) const {
  kernel.line("  const long band_images = min(most_images, images - band_image);");
  kernel.line("  const long band_rows = min(most_rows, positions0 - band_row);");
}

void ImageBands::lay_out(KernelText& kernel, std::string_view to, std::string_view type, std::string_view start) const {
  const std::size_t last = image_.extent.size() - 1;
  kernel.line("  for (long g = 0; g < band_images; ++g)");
  kernel.line("  for (long e0 = 0; e0 < (band_rows - 1) * step + reach; ++e0)");
  for (std::size_t i = 1; i < last; ++i)
    kernel.line(text("  for (long e", i, " = 0; e", i, " < extent", i, "; ++e", i, ")"));
  kernel.line("  {");
  kernel.line("    const long y0 = band_row * step + e0 + shift0;");
  std::string inside = "y0 >= 0 && y0 < length0",
              from = text(start, " + (band_image + g) * image_stride + y0 * image_stride0"), row = "(g * extent0 + e0)";
  for (std::size_t i = 1; i < last; ++i) {
    kernel.line(text("    const long y", i, " = e", i, " + shift", i, ";"));
    inside += text(" && y", i, " >= 0 && y", i, " < length", i);
    from += text(" + y", i, " * image_stride", i);
    row = text("(", row, " * extent", i, " + e", i, ")");
  }
  kernel.line(text("    global ", type, "* const line = ", to, " + ", row, " * extent", last, " * channels;"));
  kernel.line(text("    const long line_end = extent", last, " * channels;"));
  // Of the line, [low, high) is the image's.
  kernel.line(
      text("    const long low = ", inside, " ? min(max(-shift", last, ", 0L), extent", last, ") : extent", last, ";"));
  kernel.line(text("    const long high = max(min(length", last, " - shift", last, ", extent", last, "), low);"));
  kernel.line("    for (long j = 0; j < low * channels; ++j) line[j] = 0;");
  kernel.line(text("    const long from = ", from, " + shift", last, " * image_stride", last, ";"));
  const auto copy = [&](std::string_view at, std::string_view source) {
    return text("line[", at, "] = (", type, ")(", load(operand_.dtype, "image", source), ");");
  };
  if (is_contiguous_across()) {
    kernel.line(text("    for (long j = low * channels; j < high * channels; ++j) ", copy("j", "from + j")));
  } else {
    kernel.line(text("    for (long e = low; e < high; ++e) for (long c = 0; c < channels; ++c) ",
                     copy("e * channels + c", text("from + e * image_stride", last, " + c * channel_stride"))));
  }
  kernel.line("    for (long j = high * channels; j < line_end; ++j) line[j] = 0;");
  kernel.line("  }");
}

}  // namespace tyto::opencl
