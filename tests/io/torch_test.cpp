// SPDX-License-Identifier: MIT
// Checkpoints that PyTorch wrote are read; unsafe or damaged ones are refused.
#include <doctest/doctest.h>

#include <random>

#include "io/atomic_file.hpp"
#include "io/pickle.hpp"
#include "io/torch.hpp"
#include "io/zip.hpp"
#include "tests/io/bytes.hpp"

namespace tyto::io_tests {

TEST_CASE("tensors of every type are read from a checkpoint of PyTorch") {
  const NamedList<HostArray> arrays = detail::read_torch_file(data("checkpoint.pt"));
  CHECK(elements<std::uint8_t>(arrays["types.bool"]) == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(elements<std::uint8_t>(arrays["types.u8"]) == std::vector<std::uint8_t>{0, 1, 255});
  CHECK(elements<std::int8_t>(arrays["types.i8"]) == std::vector<std::int8_t>{-128, 0, 127});
  CHECK(elements<std::int16_t>(arrays["types.i16"]) == std::vector<std::int16_t>{-32768, 0, 32767});
  CHECK(elements<std::int32_t>(arrays["types.i32"]) == std::vector<std::int32_t>{INT32_MIN, 0, INT32_MAX});
  CHECK(elements<std::int64_t>(arrays["types.i64"]) == std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX});
  CHECK(elements<std::uint16_t>(arrays["types.f16"]) == std::vector<std::uint16_t>{0xbe00, 0, 0x7bff});
  CHECK(elements<std::uint16_t>(arrays["types.bf16"]) == std::vector<std::uint16_t>{0xbfc0, 0, 0x4040});
  CHECK(elements<float>(arrays["types.f32"]) == std::vector<float>{-1.5f, 0, 3.25f});
  CHECK(elements<double>(arrays["types.f64"]) == std::vector<double>{-1.5, 0, 0.1});
}

TEST_CASE("views, parameters and nested dictionaries of a checkpoint are read as what they show") {
  const NamedList<HostArray> arrays = detail::read_torch_file(data("checkpoint.pt"));
  CHECK(arrays["views.0"].shape == Shape{4, 3});
  CHECK(elements<float>(arrays["views.0"]) == std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(elements<float>(arrays["views.1"]) == std::vector<float>{6, 10});
  CHECK(arrays["views.2"].shape == Shape{});
  CHECK(arrays["model.0.weight"].shape == Shape{2, 1, 2, 2});
  CHECK(elements<std::int64_t>(arrays["model.1.num_batches_tracked"]) == std::vector<std::int64_t>{1});
  CHECK(elements<float>(arrays["parameter"]) == std::vector<float>{1, 1});
  CHECK(arrays["optimiser.state.0.exp_avg"].shape == Shape{2, 1, 2, 2});
  CHECK(arrays["empty"].shape == Shape{0, 3});
  CHECK(elements<std::int64_t>(arrays["ordered.a"]) == std::vector<std::int64_t>{5});
  CHECK(!arrays.contains("epoch"));
}

TEST_CASE("complex tensors of PyTorch are read, and views that it has yet to negate or conjugate refused") {
  const auto read = [](const std::string& metadata) {
    const Folder folder;
    const std::string pickle =
        "}U\x01tctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nComplexFloatStorage\n"
        "U\x01"
        "0U\x03"
        "cpuK\x02tQK\x01K\x01\x85K\x01\x85\x89N}" +
        metadata + "tRs.";
    const float numbers[] = {1, 2, 3, 4};
    io::AtomicFile file(folder / "t.pt");
    io::ZipWriter zip(file);
    zip.add("t/data.pkl", bytes_of(pickle), {}, Compression::stored);
    zip.add("t/data/0", {}, std::as_bytes(std::span(numbers)), Compression::stored);
    zip.finish();
    file.commit();
    return detail::read_torch_file(folder / "t.pt")["t"];
  };
  CHECK(read("").dtype == DType::c64);
  CHECK(elements<float>(read("")) == std::vector<float>{3, 4});
  CHECK_THROWS_WITH_AS(read("U\x04"
                            "conj\x88s"),
                       doctest::Contains("negated or conjugated"), IoError);
}

TEST_CASE("a tensor looks at its storage up to the last element, and no further") {
  const auto number = [](int value) { return std::string("K") + static_cast<char>(value); };
  // A dictionary of the vector `t`, so long, over a storage of the numbers 1 to 4.
  const auto read = [&](int offset, int length, int stride) {
    const Folder folder;
    const std::string pickle =
        "}U\x01tctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\n"
        "U\x01"
        "0U\x03"
        "cpuK\x04tQ" +
        number(offset) + number(length) + "\x85" + number(stride) + "\x85tRs.";
    const float numbers[] = {1, 2, 3, 4};
    io::AtomicFile file(folder / "t.pt");
    io::ZipWriter zip(file);
    zip.add("t/data.pkl", bytes_of(pickle), {}, Compression::stored);
    zip.add("t/data/0", {}, std::as_bytes(std::span(numbers)), Compression::stored);
    zip.finish();
    file.commit();
    return elements<float>(detail::read_torch_file(folder / "t.pt")["t"]);
  };
  CHECK(read(0, 4, 1) == std::vector<float>{1, 2, 3, 4});
  CHECK(read(1, 3, 1) == std::vector<float>{2, 3, 4});
  CHECK(read(0, 2, 3) == std::vector<float>{1, 4});
  CHECK(read(3, 5, 0) == std::vector<float>{4, 4, 4, 4, 4});
  CHECK(read(4, 0, 1).empty());
  struct Look {
    int offset, length, stride;
  };
  for (const auto& [offset, length, stride] :
       {Look{0, 5, 1}, Look{1, 4, 1}, Look{0, 2, 4}, Look{4, 1, 0}, Look{5, 0, 1}}) {
    CAPTURE(offset);
    CAPTURE(length);
    CHECK_THROWS_WITH_AS(read(offset, length, stride), doctest::Contains("of a storage of 4"), IoError);
  }
}

TEST_CASE("objects that only their own code could make are refused by name") {
  CHECK_THROWS_WITH_AS(
      detail::read_torch_file(data("module.pt")),
      (data("module.pt") + ": '' is an object of torch.nn.modules.container.Sequential; only tensors in "
                           "dictionaries and lists are read, and no code is run: save the model's "
                           "state_dict()")
          .c_str(),
      IoError);
}

TEST_CASE("a checkpoint that is refused after tensors were found in it is closed") {
  if (!std::filesystem::exists("/proc/self/fd")) return;
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  // The archive's list of contents names the storage of the last tensor otherwise.
  std::string text = text_of_file(data("checkpoint.pt"));
  text[text.rfind("/data/") + 6] = 'x';
  const tyto::testing::TemporaryFolder folder;
  const std::string path = folder / "refused.pt";
  std::ofstream(path, std::ios::binary) << text;
  const auto before = open_files();
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH_AS(detail::open_torch_file(path), doctest::Contains("holds no storage"), IoError);
  }
  CHECK(open_files() == before);
}

TEST_CASE("a pickle that calls what it likes is read as words, and refused") {
  using namespace std::string_literals;
  const auto refusal = [](std::string_view text) -> std::string {
    const Bytes bytes = bytes_of(text);
    try {
      io::read_pickle("p", bytes);
    } catch (const IoError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal("\x80\x02"
                "cos\nsystem\nX\x02"
                "ls.") == "p: ends in the middle of a pickle");
  CHECK(refusal("i.") == "p: uses operation 105 of Python's pickles, which is not read");
  CHECK(refusal(".") == "p: is no pickle: a value is missing");
  CHECK(refusal("t.") == "p: is no pickle: a mark is missing");
  CHECK(refusal("h\x01.") == "p: is no pickle: value 1 was never remembered");
  CHECK(refusal("]K\x01s.") == "p: is no pickle: there is nothing to put into");
  CHECK(refusal("]K\x01K\x02s.") == "p: is no pickle: a value is put into what holds none of its kind");
  CHECK(refusal("]q") == "p: ends in the middle of a pickle");
  // A mark that was remembered, and a key that has no value.
  CHECK(refusal("(q\x01h\x01.") == "p: is no pickle: value 1 was never remembered");
  CHECK(refusal("](q\x01K\x05j\x01\x00\x00\x00te."s) == "p: is no pickle: value 1 was never remembered");
  CHECK(refusal("}(K\x01K\x02K\x03u.") == "p: is no pickle: a value is put into what holds none of its kind");
}

TEST_CASE("damaged checkpoints are refused, whatever was done to them") {
  const std::string whole = text_of_file(data("checkpoint.pt"));
  std::mt19937 draw(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int changes = 1 + static_cast<int>(draw() % 4); changes > 0; --changes) {
      text[draw() % text.size()] = static_cast<char>(draw());
    }
    const Bytes bytes = bytes_of(text);
    try {
      io::read_torch(io::MemorySource("c.pt", bytes));
    } catch (const IoError&) {
    }
  }
  // The pickle alone, whose checksum the archive would refuse first.
  std::string pickle;
  {
    const std::size_t at = whole.find("\x80\x02}");
    REQUIRE(at != std::string::npos);
    pickle = whole.substr(at, whole.find("PK", at) - at);
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string text = pickle;
    for (int changes = 1 + static_cast<int>(draw() % 4); changes > 0; --changes) {
      text[draw() % text.size()] = static_cast<char>(draw());
    }
    const Bytes bytes = bytes_of(text);
    try {
      io::read_pickle("p", bytes);
    } catch (const IoError&) {
    }
  }
}

}  // namespace tyto::io_tests
