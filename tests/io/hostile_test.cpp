// SPDX-License-Identifier: MIT
// Damaged archives, pictures and tensors are refused with a reason.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <random>

#include "io/images.hpp"
#include "io/npy.hpp"
#include "io/npz.hpp"
#include "io/safetensors.hpp"
#include "io/wav.hpp"
#include "tests/io/bytes.hpp"
#include "tests/io/memory_limit.hpp"

namespace tyto::io_tests {
namespace {

NamedList<HostArray> npz(const std::string& text) {
  const Bytes bytes = bytes_of(text);
  return io::read_npz(io::MemorySource("x.npz", bytes));
}

void put(std::string& text, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) text[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

// An archive of one stored member "a.npy" of 67 bytes, with the places of its records.
struct Archive {
  std::string text;
  std::size_t entry;
  std::size_t end;

  Archive() {
    const Folder folder;
    const Bytes body = bytes_of("abc");
    detail::write_npz_file(folder / "a.npz", {{"a", {DType::u8, {3}, body}}}, Compression::stored);
    text = text_of_file(folder / "a.npz");
    entry = text.find("PK\1\2");
    end = text.find("PK\5\6");
  }
};

void refused(const std::string& text, const char* message) {
  CHECK_THROWS_WITH_AS(npz(text), doctest::Contains(message), IoError);
}

}  // namespace

TEST_CASE("each way a zip archive can be wrong is told") {
  const Archive good;
  CHECK(elements<char>(npz(good.text)[0].value) == std::vector<char>{'a', 'b', 'c'});

  refused("", "is no zip archive (npz), or its end is missing");
  refused(good.text.substr(0, good.text.size() - 1), "is no zip archive");
  refused("PK\5\6", "is no zip archive");

  // Each field that is written over: where it lies in its record, what it becomes, how many bytes it has.
  struct Damage {
    std::size_t Archive::*record;
    std::size_t at;
    std::uint64_t value;
    std::size_t width;
    const char* message;
  };
  const Damage damages[] = {
      {&Archive::end, 4, 1, 2, "several parts"},
      {&Archive::end, 16, 0xfffffffe, 4, "states a directory of 1 members"},
      {&Archive::entry, 0, 0, 4, "has a damaged directory at member 0"},
      {&Archive::entry, 28, 0xffff, 2, "has a directory that ends within member 0"},
      {&Archive::entry, 8, 1, 2, "has the encrypted member 'a.npy'"},
      {&Archive::entry, 10, 12, 2, "packs member 'a.npy' by method 12; stored (0) and deflated (8) are read"},
      {&Archive::entry, 16, 1, 4, "x.npz: a.npy: has a wrong checksum: the file is damaged"},
      {&Archive::entry, 20, 0x7fffffff, 4, "ends within member 'a.npy' of 2147483647 bytes"},
      {&Archive::entry, 24, 1, 4, "states two sizes for the stored member 'a.npy'"},
      {&Archive::entry, 42, 5, 4, "has no local header at byte 5"},
  };
  for (const Damage& damage : damages) {
    std::string text = good.text;
    put(text, good.*damage.record + damage.at, damage.value, damage.width);
    refused(text, damage.message);
  }
  Archive bad = good;
  put(bad.text, bad.end + 8, 9, 2);
  put(bad.text, bad.end + 10, 9, 2);
  refused(bad.text, "states a directory of 9 members in");
  bad = good;
  bad.text[bad.entry + 46 + 1] = '_';
  refused(bad.text, "holds member 'a_npy', expected only arrays");
}

TEST_CASE("a zip64 field that ends before the numbers that it has to hold is refused") {
  // Both sizes are said to stand in the extra field, which holds one of them, half of one, or nothing.
  for (const std::size_t length : {std::size_t{8}, std::size_t{15}, std::size_t{4}, std::size_t{0}}) {
    CAPTURE(length);
    Archive bad;
    std::string extra(4 + length, '\0');
    put(extra, 0, 1, 2);
    put(extra, 2, length, 2);
    if (length >= 8) put(extra, 4, 67, 8);
    put(bad.text, bad.entry + 20, 0xffffffff, 4);
    put(bad.text, bad.entry + 24, 0xffffffff, 4);
    put(bad.text, bad.entry + 30, extra.size(), 2);
    put(bad.text, bad.end + 12, bad.end - bad.entry + extra.size(), 4);
    bad.text.insert(bad.end, extra);
    refused(bad.text, "has a zip64 field that is too short for member 'a.npy'");
  }
}

TEST_CASE("members that share bytes are refused, so that an archive cannot inflate without bound") {
  Archive bad;
  const std::string entry = bad.text.substr(bad.entry, bad.end - bad.entry);
  std::string twin = entry;
  twin[46] = 'b';
  bad.text.insert(bad.end, twin);
  put(bad.text, bad.end + twin.size() + 8, 2, 2);
  put(bad.text, bad.end + twin.size() + 10, 2, 2);
  put(bad.text, bad.end + twin.size() + 12, 2 * entry.size(), 4);
  refused(bad.text, "has members that overlap");
}

TEST_CASE("two members of one name are refused, as only one of them could be read by it") {
  const Archive one;
  // Two whole archives one behind the other, with one directory for both.
  const std::size_t length = one.entry;
  std::string entry = one.text.substr(one.entry, one.end - one.entry), twin = entry, end = one.text.substr(one.end);
  put(twin, 42, length, 4);
  put(end, 8, 2, 2);
  put(end, 10, 2, 2);
  put(end, 12, 2 * entry.size(), 4);
  put(end, 16, 2 * length, 4);
  const std::string members = one.text.substr(0, length);
  refused(members + members + entry + twin + end, "holds two members named 'a.npy'");
  twin[46] = 'b';
  std::string other = members;
  other[30] = 'b';
  CHECK(npz(members + other + entry + twin + end).size() == 2);
}

TEST_CASE("a deflated member that claims more than deflate can yield is refused before memory is asked for") {
  const Folder folder;
  const Bytes zeros(1 << 16);
  detail::write_npz_file(folder / "a.npz", {{"a", {DType::u8, {1 << 16}, zeros}}}, Compression::deflated);
  std::string text = text_of_file(folder / "a.npz");
  CHECK(npz(text)[0].value.bytes == zeros);
  const std::size_t entry = text.find("PK\1\2");
  put(text, entry + 24, 100, 4);
  refused(text, "there are no more than");
  put(text, entry + 24, 0x7fffffff, 4);
  refused(text, "before the size that the archive states");
}

TEST_CASE("each way an IDX file can be wrong is told") {
  const auto idx = [](std::string_view text) {
    const Bytes bytes = bytes_of(text);
    return io::read_idx(io::MemorySource("x.idx", bytes));
  };
  using namespace std::string_view_literals;
  const HostArray good = idx("\0\0\x0b\2\0\0\0\1\0\0\0\2\1\2\xff\xfe"sv);
  CHECK(good.dtype == DType::i16);
  CHECK(good.shape == Shape{1, 2});
  CHECK(elements<std::int16_t>(good) == std::vector<std::int16_t>{0x0102, -2});
  CHECK(elements<float>(idx("\0\0\x0d\1\0\0\0\1\x3f\x80\0\0"sv)) == std::vector<float>{1});

  const auto refused = [&](std::string_view text, const char* message) {
    CHECK_THROWS_WITH_AS(idx(text), doctest::Contains(message), IoError);
  };
  refused(""sv, "x.idx: ends too early: the IDX header needs 4 bytes, there are 0");
  refused("\1\0\x08\1"sv, "is no IDX file: it must begin with two bytes of zero");
  refused("\0\0\x0a\1\0\0\0\0"sv, "has the IDX element type 10");
  refused("\0\0\x08\3\0\0\0\1"sv, "list of lengths needs 12 bytes, there are no more than 4");
  refused("\0\0\x08\1\0\0\0\3ab"sv, "the array of shape (3,) needs 3 bytes, there are no more than 2");
  refused("\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff"sv, "more than memory can hold");
  refused("\0\0\x08\1\0\0\0\1ab"sv, "has bytes left over after the array");
}

TEST_CASE("each way a CIFAR file can be wrong is told") {
  std::string record(3073, '\7');
  const auto cifar = [](const std::string& text) {
    const Bytes bytes = bytes_of(text);
    return io::read_cifar10(io::MemorySource("x.bin", bytes));
  };
  for (std::size_t plane = 0; plane < 3; ++plane) record[1 + plane * 1024] = static_cast<char>(plane);
  const auto [images, labels] = cifar(record + record);
  CHECK(images.shape == Shape{2, 32, 32, 3});
  CHECK(elements<char>(labels) == std::vector<char>{7, 7});
  CHECK(elements<char>(images)[1] == 1);
  CHECK(elements<char>(images)[2] == 2);
  CHECK(elements<char>(images)[3] == 7);
  CHECK_THROWS_WITH_AS(cifar(record + "abc"), doctest::Contains("ends within image 1: 3 bytes of 3073 are there"),
                       IoError);
  CHECK_THROWS_WITH_AS(cifar(std::string(3073, '\12')), doctest::Contains("the label 10; labels are below 10"),
                       IoError);
}

TEST_CASE("each way a safetensors file can be wrong is told") {
  const auto tensors = [](const std::string& header, const std::string& elements) {
    std::string text(8, '\0');
    put(text, 0, header.size(), 8);
    const Bytes bytes = bytes_of(text + header + elements);
    return io::read_safetensors(io::MemorySource("x.safetensors", bytes));
  };
  const auto refused = [&](const std::string& header, const std::string& elements, const char* message) {
    CHECK_THROWS_WITH_AS(tensors(header, elements), doctest::Contains(message), IoError);
  };
  const std::string good =
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}})";
  const NamedList<HostArray> read = tensors(good, "abc");
  REQUIRE(read.size() == 2);
  CHECK(read[0].name == "a");
  CHECK(elements<char>(read[1].value) == std::vector<char>{'c'});

  const NamedList<HostArray> truths =
      tensors(R"({"t":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", std::string("\0\1\7", 3));
  CHECK(elements<char>(truths[0].value) == std::vector<char>{0, 1, 1});

  refused(good, "ab", "b needs 1 bytes, there are no more than 0");
  refused(good, "abcd", "has bytes left over after the last tensor");
  refused("[1]", "", "is no JSON object");
  refused("{", "", "is no JSON object");
  refused(std::string(1000, '[') + std::string(1000, ']'), "", "is no JSON object");
  refused(R"({"a":[]})", "", "a: is described without 'dtype'");
  refused(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", "a", "has the element type \"F8\"");
  refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "a", "'shape' holds -1, expected an integer");
  refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", "a",
          "occupies bytes 0 to 1, its shape (2,) needs 2");
  refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "a", "occupies bytes 1 to 0");
  refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "ab",
          "places 'a' at byte 1 of its data, expected 0");
}

TEST_CASE("ten thousand random mutations of every kind of file yield an array or an IoError, never anything else") {
  struct Kind {
    const char* name;
    std::string text;
    void (*read)(const io::ByteSource&);
  };
  const auto read_npy = [](const io::ByteSource& source) {
    io::RangeStream stream(source);
    (void)io::read_npy(stream);
  };
  const auto read_npz = [](const io::ByteSource& source) { (void)io::read_npz(source); };
  const auto read_idx = [](const io::ByteSource& source) { (void)io::read_idx(source); };
  const auto read_safetensors = [](const io::ByteSource& source) { (void)io::read_safetensors(source); };
  const auto read_wav = [](const io::ByteSource& source) { (void)io::read_wav(source); };
  std::string idx("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef", 18);
  std::string packed(256, '\0');
  {
    z_stream state{};
    REQUIRE(deflateInit2(&state, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    state.next_in = reinterpret_cast<Bytef*>(idx.data());
    state.avail_in = static_cast<uInt>(idx.size());
    state.next_out = reinterpret_cast<Bytef*>(packed.data());
    state.avail_out = static_cast<uInt>(packed.size());
    REQUIRE(deflate(&state, Z_FINISH) == Z_STREAM_END);
    packed.resize(state.total_out);
    deflateEnd(&state);
  }
  const Kind kinds[] = {{"npy", text_of_file(data("grid_fortran.npy")), read_npy},
                        {"stored npz", text_of_file(data("types.npz")), read_npz},
                        {"deflated npz", text_of_file(data("types_deflated.npz")), read_npz},
                        {"zip64 npz", text_of_file(data("zip64.npz")), read_npz},
                        {"safetensors", text_of_file(data("types.safetensors")), read_safetensors},
                        {"IDX", idx, read_idx},
                        {"gzipped IDX", packed, read_idx},
                        {"WAV", text_of_file(data("wavs/stereo_24.wav")), read_wav}};
  std::mt19937 random(20);
  for (const Kind& kind : kinds) {
    CAPTURE(kind.name);
    REQUIRE(!kind.text.empty());
    int refusals = 0;
    for (int round = 0; round < 10000; ++round) {
      std::string text = kind.text;
      for (std::uint32_t changes = 1 + random() % 4; changes-- > 0;) {
        const std::size_t at = random() % text.size();
        switch (random() % 5) {
          case 0: text[at] = static_cast<char>(random()); break;
          case 1: text[at] = static_cast<char>(text[at] ^ 1 << random() % 8); break;
          case 2: text.resize(std::max<std::size_t>(at, 1)); break;
          case 3: text.insert(at, 1 + random() % 9, static_cast<char>(random())); break;
          default: text[at] = random() % 2 == 0 ? '\xff' : '\0';
        }
      }
      const Bytes bytes = bytes_of(text);
      try {
        kind.read(io::MemorySource("x", bytes));
      } catch (const IoError&) {
        ++refusals;
      }
    }
    CHECK(refusals > 1000);
    CHECK(refusals < 10000);
  }
}

#if TYTO_TEST_MEMORY_LIMIT
TEST_CASE("an archive that inflates to more than there is memory for is refused by name") {
  const Folder folder;
  const std::int64_t size = std::int64_t{1} << 28;
  {
    const Bytes zeros(static_cast<std::size_t>(size));
    detail::write_npz_file(folder / "bomb.npz", {{"a", {DType::u8, {size}, zeros}}}, Compression::deflated);
  }
  const MemoryLimit limit(rlim_t{1} << 26);
  CHECK_THROWS_WITH_AS(detail::read_npz_file(folder / "bomb.npz"),
                       doctest::Contains("bomb.npz: a.npy: the array of shape (268435456,) needs 268435456 bytes, more "
                                         "than there is memory for"),
                       IoError);
}
#endif

}  // namespace tyto::io_tests
