// SPDX-License-Identifier: MIT
// live_tensors() lists the tensors that hold memory in a process that was started with TYTO_TRACE=1.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <tyto/tyto.hpp>

#include "tests/support/child.hpp"
#include "tests/support/environment_setting.hpp"
#include "tests/support/message.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tyto;
using tyto_test::contains;
using Host = Tensor<Eager>;

// Made before main(), and before Tyto's own variables of static lifetime where it is linked in.
const Host early = Host::from(std::vector<double>(333, 1.0), {333});

TEST_CASE("a process traced by live_tensors" * doctest::skip()) {
  const auto count = [](std::size_t bytes) {
    std::size_t found = 0;
    for (const LiveTensor& each : live_tensors()) found += each.bytes == bytes ? 1 : 0;
    return found;
  };
  constexpr std::size_t large = 64 * 64 * 8;
  CHECK(count(early.size() * sizeof(double)) == 1);
  CHECK(count(large) == 0);
  const Host data = Host::from(std::vector<double>(4096, 1.0), {64, 64});
  {
    const NameScope scope("encoder");
    const Host product = matmul(data, data), view = transpose(product);
    CHECK(count(large) == 2);  // a view has no memory of its own
    const std::vector<LiveTensor> alive = live_tensors();
    CHECK(alive[0].bytes >= alive[1].bytes);
    const auto made =
        std::find_if(alive.begin(), alive.end(), [](const auto& each) { return each.made_by == "matmul"; });
    REQUIRE(made != alive.end());
    CHECK(made->shape == Shape{64, 64});
    CHECK(made->dtype == DType::f64);
    CHECK(made->label == "encoder");
    CHECK(contains(made->where, "/proc/self/exe("));
    std::ostringstream text;
    text << *made;
    CHECK(text.str().starts_with("32.00 KiB f64(64,64) of matmul in encoder, "));
    std::ostringstream all;
    all << alive;
    const std::string lines = all.str();
    CHECK(std::count(lines.begin(), lines.end(), '\n') == std::ssize(alive));
    CHECK(contains(lines, text.str() + '\n'));
  }
  CHECK(count(large) == 1);
  {
    using Lazy = Tensor<tyto::Lazy>;
    constexpr std::size_t vector = 71 * 8, matrix = 71 * 71 * 8;
    const Lazy w = Lazy::variable(Lazy::zeros({71}, DType::f64), "w");
    CHECK(count(vector) == 1);
    auto f = compile([&](Lazy x) {
      assign(w, w + x);
      return outer(x, w);
    });
    const Lazy x = Lazy::from(std::vector<double>(71, 1.0), {71});
    const Lazy product = f(x);
    CHECK(count(vector) == 2);
    CHECK(count(matrix) == 1);  // what a call gives
    const Lazy sum = product + product;
    CHECK(count(matrix) == 1);
    eval({sum});
    CHECK(count(matrix) == 2);
  }
  CHECK(count(71 * 8) + count(71 * 71 * 8) == 0);
  MESSAGE("traced to the end");
}

TEST_CASE("live_tensors lists what is alive, with operator, label and place") {
  if (std::getenv("TYTO_TRACE") == nullptr) {
    CHECK(contains(tyto_test::message_of<ValueError>([] { live_tensors(); }), "TYTO_TRACE=1"));
  }
  const testing::TemporaryFolder folder;
  const testing::EnvironmentSetting setting("TYTO_TRACE", "1");
  const auto ran = testing::run_to_end({"/proc/self/exe", "--no-skip", "--test-case=a process traced by live_tensors"},
                                       folder.path() / "output");
  INFO(ran.output);
  CHECK(ran.succeeded);
  CHECK(contains(ran.output, "traced to the end"));
}
