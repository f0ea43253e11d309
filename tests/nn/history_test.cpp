// SPDX-License-Identifier: MIT
// The history of a run: its rows, its files, when it ends early, and that a resumed run has the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/elementwise.hpp>
#include <tyto/nn.hpp>
#include <tyto/reduce.hpp>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::nn {
namespace {

using Host = Tensor<Eager>;
using testing::text_of;

/// A step whose losses are 1, 2, 3, ...
struct CountingStep {
  std::int64_t& calls;
  Host operator()(const Host&, const Host&) const { return Host(static_cast<double>(++calls)); }
};

Batches<Host> six() { return {Host::zeros({6}), Host::zeros({6}), {.size = 2}}; }

/// CRC-32C by the table of its polynomial's multiples.
std::uint32_t castagnoli(std::string_view bytes) {
  std::uint32_t table[256];
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? (value >> 1) ^ 0x82f63b78u : value >> 1;
    table[i] = value;
  }
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return crc ^ 0xffffffffu;
}

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The events of a file, their checksums seen to.
std::vector<std::string> events_of(std::string_view file) {
  const auto check = [](std::string_view bytes, std::uint32_t found) {
    const std::uint32_t crc = castagnoli(bytes);
    CHECK(found == ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
  };
  std::vector<std::string> events;
  for (std::size_t at = 0; at < file.size();) {
    REQUIRE(at + 16 <= file.size());
    const auto length = number_at<std::uint64_t>(file, at);
    REQUIRE(at + 16 + length <= file.size());
    check(file.substr(at, 8), number_at<std::uint32_t>(file, at + 8));
    events.emplace_back(file.substr(at + 12, length));
    check(events.back(), number_at<std::uint32_t>(file, at + 12 + length));
    at += 16 + length;
  }
  return events;
}

}  // namespace

TEST_CASE("a row is an event of TensorBoard, and a run that goes on begins another file in its folder") {
  REQUIRE(castagnoli("123456789") == 0xe3069283u);  // RFC 3720
  const testing::TemporaryFolder folder;
  const std::string at = folder / "events";
  const auto before = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string state;
  for (int run = 0; run < 2; ++run) {
    TrainingHistory history({.tensorboard = at});
    if (run != 0) history.restore(state);
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (int i = 0; i < 200; ++i) history.add_loss(0.5);
      history.add_row(2 * run + epoch, {{"accuracy", 0.25}});
    }
    state = history.state();
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(at)) files.push_back(entry.path());
  // By the time of the first event: both may be written within one tick of a file system's clock.
  std::ranges::sort(files, {}, [](const auto& file) {
    const std::vector<std::string> events = events_of(text_of(file.string()));
    return events.empty() || events[0].size() < 9 ? 0.0 : number_at<double>(events[0], 1);
  });
  REQUIRE(files.size() == 2);
  for (std::size_t run = 0; run < 2; ++run) {
    CHECK(files[run].filename().string().starts_with("events.out.tfevents."));
    const std::vector<std::string> events = events_of(text_of(files[run].string()));
    REQUIRE(events.size() == 3);
    for (const std::string& event : events) {
      CHECK(event[0] == 0x09);  // field 1, eight bytes: the time
      CHECK(number_at<double>(event, 1) >= before);
      CHECK(number_at<double>(event, 1) < before + 1e6);
    }
    CHECK(events[0].substr(9) ==
          "\x1a\x0d"
          "brain.Event:2");
    // Field 2, the step 200, 400, 600 or 800 in seven bits a byte; field 5, a summary of two values, each of them field
    // 1 with a tag (1) and a number (2).
    const char* steps[] = {"\x10\xc8\x01", "\x10\x90\x03", "\x10\xd8\x04", "\x10\xa0\x06"};
    using namespace std::string_literals;
    const std::string summary =
        "\x2a\x1e"
        "\x0a\x0b\x0a\x04loss\x15\0\0\0\x3f"
        "\x0a\x0f\x0a\x08"
        "accuracy\x15\0\0\x80\x3e"s;
    CHECK(events[1].substr(9) == steps[2 * run] + summary);
    CHECK(events[2].substr(9) == steps[2 * run + 1] + summary);
  }
}

TEST_CASE("a folder of events that cannot be made is named") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  TrainingHistory history({.tensorboard = folder / "file/events"});
  history.add_loss(1);
  try {
    history.add_row(0, {});
    CHECK(false);
  } catch (const IoError& error) {
    CHECK(std::string(error.what()).starts_with((folder / "file/events") + ": cannot be made: "));
  }
}

TEST_CASE("each epoch gives a row of its mean loss and of what validation yields") {
  TrainingHistory history;
  Batches<Host> batches = six();
  std::int64_t calls = 0;
  train(CountingStep{calls}, batches,
        {.epochs = 2,
         .progress = false,
         .validate =
             [&] {
               return Figures{{"calls", double(calls)}};
             },
         .history = &history});
  CHECK(history.csv() == "epoch,step,loss,calls\n1,3,2,3\n2,6,5,6\n");
  CHECK(history.last_row() == "epoch 2  step 6  loss 5  calls 6");
  CHECK(history.steps() == 6);
}

TEST_CASE("rows can come every so many steps, across the ends of epochs") {
  TrainingHistory history({.every = 4});
  Batches<Host> batches = six();
  std::int64_t calls = 0;
  train(CountingStep{calls}, batches, {.epochs = 3, .progress = false, .history = &history});
  CHECK(history.csv() == "epoch,step,loss\n2,4,2.5\n3,8,6.5\n");
}

TEST_CASE("training ends early once a figure has not improved for a while") {
  Batches<Host> batches = six();
  std::int64_t calls = 0;
  const std::vector<double> accuracies{0.1, 0.5, 0.4, 0.5, 0.3, 0.9};
  std::size_t next = 0;
  TrainingHistory history;
  const TrainingReport report =
      train(CountingStep{calls}, batches,
            {.epochs = 9,
             .progress = false,
             .validate =
                 [&] {
                   return Figures{{"accuracy", accuracies[next++]}};
                 },
             .history = &history,
             .stop_early = EarlyStop{.figure = "accuracy", .patience = 3, .larger_is_better = true}});
  CHECK(report.stopped_early);
  CHECK(history.rows().size() == 5);
  CHECK(history.rows_since_best("accuracy", true) == 3);
  CHECK(history.rows_since_best("accuracy", false) == 4);
  // The loss, which only grows here, ends it as well; no history of one's own is needed.
  batches.seek({0, 0});
  CHECK(train(CountingStep{calls}, batches, {.epochs = 9, .progress = false, .stop_early = EarlyStop{.patience = 2}})
            .steps == 9);
}

TEST_CASE("a figure that is no number is no improvement, and any number is one on it") {
  TrainingHistory history;
  for (const double figure : {std::nan(""), 3.0, std::nan("")}) history.add_row(0, {{"figure", figure}});
  CHECK(history.rows_since_best("figure", false) == 1);
}

TEST_CASE("a run in pieces has the history of a run in one") {
  const testing::TemporaryFolder folder;
  const auto run = [&](std::int64_t steps, const std::string& name) {
    TrainingHistory history({.csv = folder / (name + ".csv"), .page = folder / (name + ".html"), .title = "a < b"});
    Batches<Host> batches = six();
    std::int64_t calls = 0;
    Checkpoint checkpoint;
    checkpoint.add("batches", batches).add("history", history).add("calls", calls);
    checkpoint.load_if_present(folder / (name + ".npz"));
    train(CountingStep{calls}, batches,
          {.epochs = 3,
           .steps = steps,
           .progress = false,
           .validate =
               [&] {
                 return Figures{{"a, \"b\"", 1.0 / double(calls)}};
               },
           .history = &history});
    checkpoint.save(folder / (name + ".npz"));
  };
  run(100, "whole");
  for (const int steps : {1, 2, 1, 100}) run(steps, "parts");
  CHECK(text_of(folder / "whole.csv") ==
        "epoch,step,loss,\"a, "
        "\"\"b\"\"\"\n1,3,2,0.3333333333333333\n2,6,5,0.16666666666666666\n3,9,8,0.1111111111111111\n");
  CHECK(text_of(folder / "parts.csv") == text_of(folder / "whole.csv"));
  CHECK(text_of(folder / "parts.npz") == text_of(folder / "whole.npz"));
  const std::string page = text_of(folder / "whole.html");
  CHECK(text_of(folder / "parts.html") == page);
  CHECK(page.find("<title>a &lt; b</title>") != std::string::npos);
  CHECK(page.find("<td>0.11111</td>") != std::string::npos);
  for (const char* from_elsewhere : {"http", "<script", "src=", "url("})
    CHECK(page.find(from_elsewhere) == std::string::npos);
}

TEST_CASE("histories that make no sense are refused") {
  CHECK_THROWS_WITH_AS(TrainingHistory({.every = -1}), "TrainingHistory: every = -1 must be at least 0", ValueError);
  TrainingHistory history;
  history.add_row(0, {{"accuracy", 1}});
  CHECK_THROWS_WITH_AS(history.rows_since_best("speed", true),
                       "TrainingHistory: no figure is called 'speed' among loss, accuracy", ValueError);
  CHECK_THROWS_WITH_AS(history.add_row(1, {{"speed", 1}}),
                       "TrainingHistory: the figures of epoch 2 have other names than those before", ValueError);
  const std::string state = history.state();
  for (std::size_t length = 0; length < state.size(); ++length) {
    CHECK_THROWS_AS(history.restore(state.substr(0, length)), ValueError);
  }
  CHECK_THROWS_AS(history.restore(state + " "), ValueError);
  CHECK_THROWS_AS(history.restore("1 0 0 999999999999 "), ValueError);
  CHECK(history.state() == state);
  TrainingHistory unwritable({.csv = "/nowhere/run.csv"});
  CHECK_THROWS_WITH_AS(unwritable.add_row(0, {}), "/nowhere/run.csv: cannot be written", IoError);
}

}  // namespace tyto::nn
