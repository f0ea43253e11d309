// SPDX-License-Identifier: MIT
// PNG through libpng. Its errors jump; what they jump over is plain data, and they become exceptions behind the jump.
#include "io/image_file.hpp"
#include "io/refuse.hpp"

#if TYTO_HAVE_PNG

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <exception>

#include "io/atomic_file.hpp"
#include "io/stream.hpp"

namespace tyto::io {

namespace {

class PngReader {
 public:
  PngReader(const std::string& file, std::span<const std::byte> bytes) : file_(file), left_(bytes), all_(bytes.size()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      refuse(file_, "cannot be read: libpng does not start");
    }
    png_set_chunk_cache_max(png_, 1);  // keeps no texts, which may be compressed ones of any length
    png_set_read_fn(png_, this, give);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  HostArray read(std::int64_t largest) {
    if (!read_header()) refuse_message();
    const auto height = static_cast<std::int64_t>(png_get_image_height(png_, info_));
    const auto width = static_cast<std::int64_t>(png_get_image_width(png_, info_));
    check_size(file_, height, width, largest);
    HostArray picture{DType::u8, {height, width, png_get_channels(png_, info_)}, {}};
    const std::size_t row_size = png_get_rowbytes(png_, info_);
    const std::uint64_t size = row_size * static_cast<std::uint64_t>(height);
    // A pixel has at least a bit in the file; so memory is asked for only where the file can fill it.
    if (size / 32 > all_ * deflate_ratio) {
      refuse(file_, "is a picture of ", height, " x ", width, " pixels, which its ", all_, " bytes cannot hold");
    }
    std::vector<png_bytep> rows;
    within_memory(file_, "the picture", size, [&] {
      picture.bytes.resize(size);
      rows.resize(static_cast<std::size_t>(height));
    });
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row] = reinterpret_cast<png_bytep>(picture.bytes.data() + row * row_size);
    }
    if (!read_rows(rows.data())) refuse_message();
    return picture;
  }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    png_longjmp(png, 1);
  }
  static void give(png_structp png, png_bytep target, std::size_t size) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > self->left_.size()) png_error(png, "the file ends before the picture does");
    std::memcpy(target, self->left_.data(), size);
    self->left_ = self->left_.subspan(size);
  }
  [[noreturn]] void refuse_message() const { refuse(file_, "is a damaged PNG file: ", message_); }

  // The functions that libpng jumps back to; nothing in them has a destructor.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    const int colours = png_get_color_type(png_, info_);
    if (colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (colours == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    if (png_get_valid(png_, info_, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(png_);
    png_set_scale_16(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  const std::string& file_;
  std::span<const std::byte> left_;
  std::size_t all_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[160] = {};
};

class PngWriter {
 public:
  explicit PngWriter(const std::string& path) : path_(path), file_(path) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      refuse(path_, "cannot be written: libpng does not start");
    }
    png_set_write_fn(png_, this, take, [](png_structp) {});
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  void write(const PictureRows& picture) {
    const bool written = write_rows(picture);
    if (failure_) std::rethrow_exception(failure_);
    if (!written) refuse(path_, "cannot be written: ", message_);
    file_.commit();
  }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngWriter*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    png_longjmp(png, 1);
  }
  static void take(png_structp png, png_bytep bytes, std::size_t size) {
    auto* self = static_cast<PngWriter*>(png_get_io_ptr(png));
    try {
      self->file_.write(std::as_bytes(std::span(bytes, size)));
    } catch (...) {
      self->failure_ = std::current_exception();
    }
    if (self->failure_) png_error(png, "the file cannot be written");
  }

  // The function that libpng jumps back to; nothing in it has a destructor.
  bool write_rows(const PictureRows& picture) {
    constexpr int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                               PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_IHDR(png_, info_, picture.width, picture.height, 8, colours[picture.channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (std::uint32_t i = 0; i < picture.height; ++i) png_write_row(png_, picture.row(i));
    png_write_end(png_, info_);
    return true;
  }

  const std::string& path_;
  AtomicFile file_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::exception_ptr failure_;
  char message_[160] = {};
};

}  // namespace

HostArray read_png(const std::string& file, std::span<const std::byte> bytes, std::int64_t largest) {
  return PngReader(file, bytes).read(largest);
}

void write_png(const std::string& path, const PictureRows& picture) { PngWriter(path).write(picture); }

}  // namespace tyto::io

#else

namespace tyto::io {

HostArray read_png(const std::string& file, std::span<const std::byte>, std::int64_t) {
  refuse(file, "is a PNG file, and this copy of Tyto was built without libpng");
}

void write_png(const std::string& path, const PictureRows&) {
  refuse(path, "cannot be written: this copy of Tyto was built without libpng");
}

}  // namespace tyto::io

#endif
