// SPDX-License-Identifier: MIT
// `tyto devices` as a user runs it.
#include <tyto/tyto.hpp>

#include "tests/cli/program.hpp"

using namespace tyto::cli_tests;

TEST_CASE("tyto devices lists the CPU first, with its threads, and every other device") {
  const Ran ran = run("devices --list");
  CHECK(ran.status == 0);
  CHECK(ran.output.starts_with("cpu  "));
  CHECK(contains(ran.output, "\n  threads        "));
  CHECK(contains(ran.output, "\n  computes with  bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128 u16 u32 u64\n"));
  for (const tyto::DeviceInfo& device : tyto::devices())
    CHECK(contains(ran.output, device.name + "  " + device.description));
  CHECK_FALSE(contains(ran.output, "GB/s"));
}

TEST_CASE("tyto devices measures, and says where there is no driver of OpenCL") {
  const Ran ran = run("devices", "TYTO_OPENCL_DEVICE=none");
  CHECK(ran.status == 0);
  CHECK(contains(ran.output, " GB/s (64 MiB of f32, each read and written)\n"));
  CHECK(contains(ran.output, " GFLOP/s (1024 x 1024 matrices of f32)\n"));
  CHECK(contains(ran.output, "no OpenCL device: no driver is installed, or TYTO_OPENCL_DEVICE leaves none\n"));
  CHECK(run("devices what").status == 2);
}

TEST_CASE("tyto devices lists the devices of every platform, each with its number") {
  const Ran ran = run("devices --list", "TYTO_OPENCL_DEVICE= RUSTICL_ENABLE=llvmpipe");
  CHECK(ran.status == 0);
  if (!contains(ran.output, "(rusticl)") || !contains(ran.output, "(Portable Computing Language)")) {
    MESSAGE("PoCL or Mesa's rusticl is not installed: no two platforms are listed");
    return;
  }
  CHECK(contains(ran.output, "\nopencl:0  "));
  CHECK(contains(ran.output, "\nopencl:1  "));
  CHECK_FALSE(contains(ran.output, "no OpenCL device"));
  // Mesa's llvmpipe computes without f64.
  const std::string mesa = ran.output.substr(ran.output.find("(rusticl)"));
  CHECK(contains(mesa, "\n  lacks          f64 c128 (they are computed on the CPU)\n"));
  const Ran alone = run("devices", "TYTO_OPENCL_DEVICE=rusticl RUSTICL_ENABLE=llvmpipe");
  CHECK(alone.status == 0);
  const std::string measured = alone.output.substr(alone.output.find("opencl:0  "));
  CHECK(contains(measured, "(rusticl)\n"));
  CHECK(contains(measured, " GB/s (64 MiB of f32, each read and written)\n"));
  CHECK(contains(measured, " GFLOP/s (1024 x 1024 matrices of f32)\n"));
  CHECK_FALSE(contains(alone.output, "Portable Computing Language"));
}

TEST_CASE("without a platform, and with one that cannot be loaded, there is the CPU and no fault") {
  const Workplace place;
  for (const char* driver : {"", "libno-such-driver.so"}) {
    if (*driver != '\0') place.write("broken.icd", driver);
    const Ran ran = run("devices --list", "OCL_ICD_VENDORS='" + place.path("") + "'");
    CAPTURE(ran.output);
    CHECK(ran.status == 0);
    CHECK(ran.output.starts_with("cpu  "));
    CHECK(contains(ran.output, "no OpenCL device: no driver is installed, or TYTO_OPENCL_DEVICE leaves none\n"));
  }
}
