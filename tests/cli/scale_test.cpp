// SPDX-License-Identifier: MIT
// tyto scale: step times by hand, and what it refuses.
#include "tests/cli/program.hpp"

namespace tyto::cli_tests {

TEST_CASE("scale adds the messages of a report to a step, as by hand") {
  const Workplace place;
  // A message of 1 MiB takes 10 us + 1048.576 us. Of two processes: one each way, and 10.008 us to compare 8 bytes. Of
  // four: twice two halvings, 2 * (20 us + 3/4 * 1048.576 us), less than two messages of all; 20.024 us to compare.
  const std::string report =
      place.write("report", "3 nodes\n  with other processes: all_reduce(sum) of f32(512, 512) in 'dense'\n");
  const Ran ran = run("scale " + report + " --step 10 --latency 10 --bandwidth 1 --ranks 1,2,4");
  CHECK(ran.status == 0);
  CHECK(ran.output ==
        " ranks      step ms   efficiency   communication     MiB sent\n"
        "     1       10.000      100.0 %           0.0 %         0.00\n"
        "     2       11.069       90.3 %           9.7 %         1.00\n"
        "     4       11.633       86.0 %          14.0 %         1.50\n");
  // A message of a few bytes is a latency each, whatever carries it: 2 of 3 us, and 2 to compare for the group.
  const std::string small = place.write("small",
                                        "  with other processes: send of f64() to 1\n"
                                        "  with other processes: all_reduce(max) of i8(3,)\n");
  CHECK(contains(run("scale " + small + " --step 1 --latency 3 --bandwidth 1000 --ranks 2").output, "  1.009 "));
  // Gradients of 2 MiB are two buckets.
  CHECK(contains(run("scale --gradients 2M --step 10 --latency 10 --bandwidth 1 --ranks 4").output, " 13.246 "));
  // Up to 1,024 processes, if nobody says for how many.
  CHECK(contains(run("scale --gradients 2M --step 10 --latency 10 --bandwidth 1").output, "\n  1024 "));
}

TEST_CASE("scale says what it lacks") {
  const Workplace place;
  const std::string empty = place.write("empty", "3 nodes\n");
  const std::string odd = place.write("odd", "  with other processes: all_reduce(sum) of f33(2,)\n");
  const auto refused = [](const std::string& arguments, const std::string& why) {
    const Ran ran = run("scale " + arguments);
    CHECK(ran.status != 0);
    CHECK_MESSAGE(contains(ran.output, why), ran.output);
  };
  refused("", "scale takes one report, or --gradients");
  refused(empty + " --step 1 --latency 1 --bandwidth 1", "no line says 'with other processes: '");
  refused(odd + " --step 1 --latency 1 --bandwidth 1", "names no element type");
  refused("--gradients 1M --latency 1 --bandwidth 1", "scale needs --step, a number above 0");
  refused("--gradients 1M --step 1 --latency 0 --bandwidth 1", "scale needs --latency, a number above 0");
  refused("--gradients 1M --step 1 --latency 1 --bandwidth 1 --ranks 2,x", "--ranks takes numbers of processes");
  refused("--probe", "--probe measures between two processes: tyto launch -n 2 tyto scale --probe");
}

}  // namespace tyto::cli_tests
