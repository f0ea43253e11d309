// What the command line may say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct Options {
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string data;  // folder of the real data set; empty: drawn digits
  std::string checkpoint;
  std::string losses;
  std::int64_t epochs = 2;
  std::int64_t steps = -1;  // at most so many in this run; negative: no limit
  std::int64_t batch = 100;
  std::int64_t save_every = 100;
  std::int64_t samples = 20000;  // of drawn digits
  std::uint64_t seed = 42;
  double rate = 0.005;
};

/// Nothing when the help was asked for, which is then printed. Throws std::invalid_argument for what makes no sense.
std::optional<Options> parse_options(int count, char** words);
