// SPDX-License-Identifier: MIT
// JPEG through libjpeg(-turbo). Its errors jump; what they jump over is plain data, and they become exceptions behind
// it.
#include "io/image_file.hpp"
#include "io/refuse.hpp"

#if TYTO_HAVE_JPEG

#include <array>
#include <csetjmp>
#include <cstdio>
#include <exception>

#include <jpeglib.h>
//
#include <jerror.h>

#include "io/atomic_file.hpp"

namespace tyto::io {

namespace {

/// A progressive file may come in so many scans; each costs time for all pixels, however few bytes it has.
constexpr int most_scans = 200;

class JpegReader {
 public:
  JpegReader(const std::string& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {
    state_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr state) { self_of(state).leave(state); };
    errors_.emit_message = on_warning;
    errors_.output_message = [](j_common_ptr) {};
    state_.client_data = this;
    progress_.progress_monitor = on_progress;
  }
  ~JpegReader() { jpeg_destroy_decompress(&state_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  HostArray read(std::int64_t largest) {
    if (!read_header()) refuse_message();
    const std::int64_t height = state_.image_height, width = state_.image_width;
    check_size(file_, height, width, largest);
    // A block of 64 pixels takes a bit at least; so memory is asked for only where the file can fill it.
    if (height * width / 64 / 8 > static_cast<std::int64_t>(bytes_.size())) {
      refuse(file_, "is a picture of ", height, " x ", width, " pixels, which its ", bytes_.size(),
             " bytes cannot hold");
    }
    const int channels = state_.out_color_space == JCS_GRAYSCALE ? 1 : state_.out_color_space == JCS_RGB ? 3 : 4;
    HostArray picture{DType::u8, {height, width, channels}, {}};
    const auto row_size = static_cast<std::size_t>(width * channels);
    const auto size = row_size * static_cast<std::size_t>(height);
    within_memory(file_, "the picture", size, [&] { picture.bytes.resize(size); });
    if (!read_rows(reinterpret_cast<JSAMPROW>(picture.bytes.data()), row_size)) refuse_message();
    if (channels == 4) multiply_inks(picture);
    return picture;
  }

 private:
  static JpegReader& self_of(j_common_ptr state) { return *static_cast<JpegReader*>(state->client_data); }

  [[noreturn]] void leave(j_common_ptr state) {
    (*state->err->format_message)(state, message_);
    std::longjmp(back_, 1);
  }
  /// libjpeg goes on where data is missing or wrong, and paints what it does not know grey. Not so here.
  static void on_warning(j_common_ptr state, int level) {
    if (level >= 0) return;
    const int code = state->err->msg_code;
    if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
        code == JWRN_BOGUS_PROGRESSION) {
      self_of(state).leave(state);
    }
  }
  static void on_progress(j_common_ptr state) {
    JpegReader& self = self_of(state);
    if (self.state_.input_scan_number <= most_scans) return;
    std::snprintf(self.message_, sizeof self.message_, "it comes in more than %d scans", most_scans);
    std::longjmp(self.back_, 1);
  }
  [[noreturn]] void refuse_message() const { refuse(file_, "is a damaged JPEG file: ", message_); }

  // The functions that libjpeg jumps back to; nothing in them has a destructor.
  bool read_header() {
    if (setjmp(back_) != 0) return false;
    jpeg_create_decompress(&state_);
    state_.progress = &progress_;
    jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                 static_cast<unsigned long>(bytes_.size()));
    jpeg_read_header(&state_, TRUE);
    switch (state_.jpeg_color_space) {
      case JCS_GRAYSCALE: state_.out_color_space = JCS_GRAYSCALE; break;
      case JCS_CMYK:
      case JCS_YCCK: state_.out_color_space = JCS_CMYK; break;
      default: state_.out_color_space = JCS_RGB;
    }
    return true;
  }
  bool read_rows(JSAMPROW next, std::size_t row_size) {
    if (setjmp(back_) != 0) return false;
    jpeg_start_decompress(&state_);
    while (state_.output_scanline < state_.output_height) {
      JSAMPROW row = next + state_.output_scanline * row_size;
      jpeg_read_scanlines(&state_, &row, 1);
    }
    jpeg_finish_decompress(&state_);
    return true;
  }

  /// Four inks to three colours: each the light that its ink and the black let through. Adobe's files hold that light,
  /// others the ink.
  void multiply_inks(HostArray& picture) const {
    const std::uint32_t ink = state_.saw_Adobe_marker != 0 ? 0 : 255;
    std::byte* out = picture.bytes.data();
    for (std::size_t at = 0; at < picture.bytes.size(); at += 4) {
      const auto light = [&](std::size_t i) { return std::to_integer<std::uint32_t>(picture.bytes[at + i]) ^ ink; };
      const std::uint32_t black = light(3);
      for (std::size_t i = 0; i < 3; ++i) *out++ = static_cast<std::byte>((light(i) * black + 127) / 255);
    }
    picture.bytes.resize(picture.bytes.size() / 4 * 3);
    picture.shape[2] = 3;
  }

  const std::string& file_;
  std::span<const std::byte> bytes_;
  jpeg_decompress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf back_;
  char message_[JMSG_LENGTH_MAX] = {};
};

class JpegWriter {
 public:
  explicit JpegWriter(const std::string& path) : path_(path), file_(path) {
    state_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.output_message = [](j_common_ptr) {};
    state_.client_data = this;
    destination_.init_destination = [](j_compress_ptr state) { self_of(state).begin_block(); };
    destination_.empty_output_buffer = [](j_compress_ptr state) -> boolean {
      self_of(state).write_block(block_size);  // the whole one, whatever free_in_buffer says
      return TRUE;
    };
    destination_.term_destination = [](j_compress_ptr state) {
      JpegWriter& self = self_of(state);
      self.write_block(block_size - self.destination_.free_in_buffer);
    };
  }
  ~JpegWriter() { jpeg_destroy_compress(&state_); }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  void write(const PictureRows& picture, int quality) {
    const bool encoded = encode(picture, quality);
    if (failure_) std::rethrow_exception(failure_);
    if (!encoded) refuse(path_, "cannot be written: ", message_);
    file_.commit();
  }

 private:
  static constexpr std::size_t block_size = std::size_t{1} << 16;

  static JpegWriter& self_of(j_compress_ptr state) { return *static_cast<JpegWriter*>(state->client_data); }

  static void on_error(j_common_ptr state) {
    auto* self = static_cast<JpegWriter*>(state->client_data);
    (*state->err->format_message)(state, self->message_);
    std::longjmp(self->back_, 1);
  }

  void begin_block() {
    destination_.next_output_byte = block_.data();
    destination_.free_in_buffer = block_size;
  }
  void write_block(std::size_t size) {
    try {
      file_.write(std::as_bytes(std::span(block_).first(size)));
    } catch (...) {
      failure_ = std::current_exception();
    }
    if (failure_) std::longjmp(back_, 1);
    begin_block();
  }

  // The function that libjpeg jumps back to; nothing in it has a destructor.
  bool encode(const PictureRows& picture, int quality) {
    if (setjmp(back_) != 0) return false;
    jpeg_create_compress(&state_);
    state_.dest = &destination_;
    state_.image_height = picture.height;
    state_.image_width = picture.width;
    state_.input_components = picture.channels;
    state_.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&state_);
    jpeg_set_quality(&state_, quality, TRUE);
    jpeg_start_compress(&state_, TRUE);
    for (std::uint32_t i = 0; i < picture.height; ++i) {
      JSAMPROW row = const_cast<JSAMPROW>(picture.row(i));  // libjpeg only reads it
      jpeg_write_scanlines(&state_, &row, 1);
    }
    jpeg_finish_compress(&state_);
    return true;
  }

  const std::string& path_;
  AtomicFile file_;
  jpeg_compress_struct state_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_destination_mgr destination_ = {};
  std::array<JOCTET, block_size> block_;
  std::exception_ptr failure_;
  std::jmp_buf back_;
  char message_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

HostArray read_jpeg(const std::string& file, std::span<const std::byte> bytes, std::int64_t largest) {
  return JpegReader(file, bytes).read(largest);
}

void write_jpeg(const std::string& path, const PictureRows& picture, int quality) {
  JpegWriter(path).write(picture, quality);
}

}  // namespace tyto::io

#else

namespace tyto::io {

HostArray read_jpeg(const std::string& file, std::span<const std::byte>, std::int64_t) {
  refuse(file, "is a JPEG file, and this copy of Tyto was built without libjpeg");
}

void write_jpeg(const std::string& path, const PictureRows&, int) {
  refuse(path, "cannot be written: this copy of Tyto was built without libjpeg");
}

}  // namespace tyto::io

#endif
