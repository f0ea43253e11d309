// SPDX-License-Identifier: MIT
// tyto scale: estimates the time of a training step on more processes by a model of the messages that its report lists.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>

#include "cli/commands.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow scale_options[] = {
    {"--step", "MS", "milliseconds of a step on one process, at the batch that each process will have"},
    {"--latency", "US", "microseconds until another process has a message of a few bytes"},
    {"--bandwidth", "GB/S", "bytes of long messages, in gigabytes (10^9) a second"},
    {"--ranks", "N,N,...", "of how many processes; 1,2,4, ... 1024 if it is left out"},
    {"--gradients", "BYTES", "without a report: so many bytes are summed in each step, in buckets of 1 MiB"},
    {"--probe", "", "measure latency and bandwidth: tyto launch -n 2 tyto scale --probe"},
};

/// Bytes of a message (distributed/mpi/table.hpp).
constexpr double piece_bytes = 1 << 20;

struct Machine {
  double latency;          // seconds
  double seconds_of_byte;  // of long messages
};

/// A collective call, and the bytes of each process.
struct Call {
  std::string name;
  double bytes;
};

// Hockney's model: a message takes a latency and a time for each byte. Sums are those of MPI's implementations: by
// recursive doubling, where messages are short, and round a ring, or by halves, where they are long.
double seconds_of_piece(const std::string& name, double bytes, double n, const Machine& machine) {
  const double rounds = std::ceil(std::log2(n));
  const double message = machine.latency + bytes * machine.seconds_of_byte;
  const double others = (n - 1) / n * bytes * machine.seconds_of_byte;  // all parts of a tensor but the own one
  if (name == "all_reduce") return std::min(rounds * message, 2 * (rounds * machine.latency + others));
  if (name == "reduce_scatter") return rounds * machine.latency + others;
  if (name == "all_gather") return rounds * machine.latency + n * others;
  if (name == "broadcast") return rounds * message;
  if (name == "barrier") return rounds * machine.latency;
  return message;  // to one process
}

double seconds_of(const Call& call, double n, const Machine& machine) {
  const bool whole = call.name == "all_gather";  // which alone is not sent in pieces
  const double pieces = whole ? 1 : std::max(1.0, std::ceil(call.bytes / piece_bytes));
  return pieces * seconds_of_piece(call.name, call.bytes / pieces, n, machine);
}

/// Seconds that a step spends in communication, beginning with the comparison of the collective calls of all processes.
double communication(const std::vector<Call>& calls, double n, const Machine& machine) {
  if (n == 1 || calls.empty()) return 0;
  double seconds = seconds_of({"all_gather", sizeof(std::uint64_t)}, n, machine);
  for (const Call& call : calls) seconds += seconds_of(call, n, machine);
  return seconds;
}

double element_bytes(const std::string& type, const std::string& line) {
  for (int i = 0; i < dtype_count; ++i) {
    if (type == name_of(static_cast<DType>(i))) return static_cast<double>(size_of(static_cast<DType>(i)));
  }
  throw_error<ValueError>("'", line, "' names no element type");
}

/// A call in the words of a report: "all_reduce(sum) of f32(208, 4) in 'layer'".
Call call_of(const std::string& line) {
  const std::size_t of = line.find(" of "), open = line.find('(', of), close = line.find(')', open);
  if (close == std::string::npos) throw_error<ValueError>("'", line, "' is no call as reports have them");
  double bytes = element_bytes(line.substr(of + 4, open - of - 4), line);
  for (std::size_t begin = open + 1; begin < close;) {
    const std::size_t end = std::min(line.find(',', begin), close);
    const std::optional<double> length = finite_number(line.substr(begin, end - begin));
    if (!length) throw_error<ValueError>("'", line, "' is no call as reports have them");
    bytes *= *length;
    begin = line.find_first_not_of(" ,", end);
  }
  return {line.substr(0, line.find_first_of("( ")), bytes};
}

std::vector<Call> calls_in(const std::string& path) {
  require_file(path);
  std::ifstream in(path);
  if (!in) throw_error<IoError>(path, ": cannot be opened for reading");
  constexpr std::string_view mark = "with other processes: ";
  std::vector<Call> calls;
  for (std::string line; std::getline(in, line);) {
    if (const std::size_t at = line.find(mark); at != std::string::npos) {
      calls.push_back(call_of(line.substr(at + mark.size())));
    }
  }
  if (calls.empty()) {
    throw_error<ValueError>(path, ": no line says '", mark,
                            "', as those of report() do for a step that was compiled in a group of several");
  }
  return calls;
}

std::vector<double> ranks_of(const Arguments& arguments) {
  const std::string words = arguments.text("--ranks").value_or("1,2,4,8,16,32,64,128,256,512,1024");
  std::vector<double> ranks;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::optional<double> number = finite_number(words.substr(begin, end - begin));
    if (!number || *number < 1 || *number != std::floor(*number)) {
      throw_error<UsageError>("option --ranks takes numbers of processes such as 2,4,8, not '", words, "'");
    }
    ranks.push_back(*number);
    begin = end + 1;
  }
  return ranks;
}

double positive(const Arguments& arguments, const char* name) {
  const double value = arguments.real(name).value_or(0);
  if (value == 0) throw_error<UsageError>("scale needs ", name, ", a number above 0");
  return value;
}

/// The shortest of several times of a compiled sum of so many f32, which other programs disturb least.
double seconds_of_sum(std::int64_t elements) {
  constexpr int sums = 4, rounds = 40;  // sums of one run share the comparison before it
  auto step = compile([](Tensor<Lazy> x) {
    for (int i = 0; i < sums; ++i) x = distributed::all_reduce(x) * 0.5;
    return x;
  });
  const Tensor<Lazy> given(std::vector<float>(static_cast<std::size_t>(elements), 1.0F));
  double best = 1e300;
  for (int i = 0; i < rounds; ++i) {  // as many on both processes
    const auto begin = std::chrono::steady_clock::now();
    eval({step(given)});
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / sums);
  }
  return best;
}

int probe() {
  const distributed::Group group = distributed::start();
  if (group.size() != 2) {
    throw UsageError("--probe measures between two processes: tyto launch -n 2 tyto scale --probe");
  }
  // Between two processes each sum takes one message each way.
  const double latency = seconds_of_sum(2);
  const double seconds_of_byte = (seconds_of_sum(static_cast<std::int64_t>(piece_bytes) / 4) - latency) / piece_bytes;
  if (seconds_of_byte <= 0)
    throw DeviceError("--probe: the machine is too busy; long messages take no longer than short ones");
  if (group.is_first()) std::printf("--latency %.2f --bandwidth %.3f\n", latency * 1e6, 1e-9 / seconds_of_byte);
  group.barrier();
  return done;
}

int scale(const Arguments& arguments) {
  if (arguments.has("--probe")) return probe();
  std::vector<Call> calls;
  if (const auto bytes = arguments.bytes("--gradients")) {
    if (!arguments.operands().empty()) throw UsageError("scale takes a report or --gradients, not both");
    calls.push_back({"all_reduce", static_cast<double>(*bytes)});
  } else {
    calls = calls_in(arguments.only_operand("scale takes one report, or --gradients"));
  }
  const double step = positive(arguments, "--step") * 1e-3;
  const Machine machine{positive(arguments, "--latency") * 1e-6, 1e-9 / positive(arguments, "--bandwidth")};
  constexpr Machine in_bytes{0, 1};
  std::printf("%6s %12s %12s %15s %12s\n", "ranks", "step ms", "efficiency", "communication", "MiB sent");
  for (const double ranks : ranks_of(arguments)) {
    const double told = communication(calls, ranks, machine);
    std::printf("%6.0f %12.3f %10.1f %% %13.1f %% %12.2f\n", ranks, (step + told) * 1e3, 100 * step / (step + told),
                100 * told / (step + told), communication(calls, ranks, in_bytes) / (1 << 20));
  }
  return done;
}

}  // namespace

const Command scale_command{"scale", "REPORT", "tells what a step of data-parallel training takes on more processes",
                            scale_options, scale};

}  // namespace tyto::cli
