// SPDX-License-Identifier: MIT
// The OpenCL device itself: discovery, memory, program cache, and errors.
#if defined(TYTO_HAVE_OPENCL)

#include "devices/opencl/device/opencl_device.hpp"
#include "core/graph/op_ids.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>

#include "devices/opencl/device/device.hpp"
#include "tests/devices/opencl_rig.hpp"
#include "tests/support/message.hpp"

namespace opencl_device_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::OpId;
using tyto_test::contains;
using tyto_test::message_of;

namespace {

// A step of its own for each number, so that nothing but this test has compiled it.
std::vector<HostTensor> times(OpenClDevice& device, const std::string& name) {
  const HostTensor x = HostTensor::of(DType::f32, {4}, {1, 2, 3, 4});
  NamedLoop loop;
  core::LoopProgram& program = loop.bound.loop.program;
  loop.name = name;
  program.instructions.push_back({OpId::square, DType::f32, {0}});
  program.instructions.push_back({OpId::add, DType::f32, {1, 0}});
  program.outputs = {2};
  loop.bound.outputs = {{DType::f32, core::View::dense({4})}};
  return run_program(device, loop, {&x, 1});
}

const std::vector<double> times_result = {2, 6, 12, 20};

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::exists(folder)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path());
  return found;
}

}  // namespace

TEST_CASE("devices are numbered and say what they are") {
  if (device(Style::cpu) == nullptr) return;
  REQUIRE(!devices().empty());
  const core::DeviceProperties& properties = devices()[0]->properties();
  CHECK(properties.name == "opencl:0");
  CHECK(!properties.description.empty());
  CHECK(properties.alignment >= 8);
  CHECK(properties.max_buffer >= std::size_t{1} << 20);
  CHECK(!properties.host_memory);
  CHECK(devices().data() == devices().data());
}

TEST_CASE("memory is counted, copied and given back") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  const std::size_t before = cl->allocated();
  {
    const core::BufferRef a = cl->allocate(64);
    const core::BufferRef b = cl->allocate(16);
    const core::BufferRef nothing = cl->allocate(0);
    CHECK(cl->allocated() == before + 80);
    CHECK(nothing->memory() != nullptr);
    const std::vector<std::int32_t> values = {1, 2, 3, 4};
    cl->copy_in(a->at(8), values.data(), 16);
    cl->copy(b->at(4), a->at(12), 12);
    std::vector<std::int32_t> back(3);
    cl->copy_out(back.data(), b->at(4), 12);
    CHECK(back == std::vector<std::int32_t>{2, 3, 4});
    const std::int64_t pattern = 7;
    cl->fill(a->at(16), std::as_bytes(std::span(&pattern, 1)), 24);
    std::vector<std::int64_t> filled(3);
    cl->copy_out(filled.data(), a->at(16), 24);
    CHECK(filled == std::vector<std::int64_t>{7, 7, 7});
    cl->synchronise();
  }
  CHECK(cl->allocated() == before);
}

TEST_CASE("a large buffer is made while work is enqueued that has not begun") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  cl_int status = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(cl->context().context.get(), &status);
  REQUIRE(status == CL_SUCCESS);
  cl->context().queue.enqueue("clEnqueueMarkerWithWaitList", "a gate", [&](cl_command_queue queue, cl_event* event) {
    return clEnqueueMarkerWithWaitList(queue, 1, &gate, event);
  });
  auto made = std::async(std::launch::async, [cl] { return cl->allocate(std::size_t{16} << 20); });
  CHECK(made.wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  clSetUserEventStatus(gate, CL_COMPLETE);
  cl->synchronise();
  clReleaseEvent(gate);
}

TEST_CASE("what cannot be done is refused with the numbers that matter") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  const std::string most = std::to_string(cl->properties().max_buffer);
  const std::string too_much = message_of<DeviceError>([&] { cl->allocate(cl->properties().max_buffer + 1); });
  CHECK(contains(too_much, "opencl:0: cannot allocate"));
  CHECK(contains(too_much, most));

  const core::BufferRef small = cl->allocate(16);
  std::byte host[32];
  CHECK(contains(message_of<DeviceError>([&] { cl->copy_in(small->at(8), host, 16); }),
                 "copy in of 16 bytes at 8 leaves a buffer of 16 bytes"));
  CHECK(contains(message_of<DeviceError>([&] { cl->copy_out(host, small->at(17), 1); }), "copy out of 1 bytes at 17"));
  CHECK(contains(message_of<DeviceError>([&] { cl->copy(small->at(0), small->at(8), 9); }), "copy of 9 bytes at 8"));
  const std::byte zero[8] = {};
  CHECK(contains(message_of<DeviceError>([&] { cl->fill(small->at(8), zero, 16); }), "fill of 16 bytes at 8"));

  const core::Operand operand{DType::f32, core::View::dense({4})};
  const core::Attributes none;
  CHECK(!cl->supports(OpId::partition, {}, {}));
  CHECK(message_of<DeviceError>([&] {
          cl->prepare({OpId::partition, &none, {&operand, 1}, {&operand, 1}});
        }) == "opencl:0: no kernel for partition(f32)");
}

TEST_CASE("a kernel that does not compile is shown with the compiler's words") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  LaunchPlan plan;
  plan.name = "broken";
  plan.launches.push_back({"kernel void KERNEL(global float* x) { x[0] = no_such_thing; }\n", {}});
  const std::string message = message_of<DeviceError>([&] { cl->build({&plan, 1}); });
  CHECK(contains(message, "opencl:0: broken: clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"));
  CHECK(contains(message, "no_such_thing"));
}

TEST_CASE("a launch that the driver refuses names the operator and the error") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  LaunchPlan plan;
  plan.name = "crowd";
  plan.launches.push_back({"kernel void KERNEL(const long n) {}\n", {std::int64_t{1}}});
  plan.launches[0].global[0] = plan.launches[0].local[0] = std::size_t{1} << 30;
  const auto kernel = cl->build({&plan, 1}).front();
  // Drivers differ in which of its sizes they find fault with.
  const std::string message = message_of<DeviceError>([&] { kernel->launch({}, {}, {}); });
  CHECK((message == "opencl:0: crowd: clEnqueueNDRangeKernel: CL_INVALID_WORK_GROUP_SIZE (-54)" ||
         message == "opencl:0: crowd: clEnqueueNDRangeKernel: CL_INVALID_WORK_ITEM_SIZE (-55)"));
}

TEST_CASE("an equal kernel is compiled once, many kernels as one program") {
  if (device(Style::cpu) == nullptr) return;
  OpenClDevice cl("opencl:7", device(Style::cpu)->context().id, Style::cpu, {});
  const core::Operand small{DType::f32, core::View::dense({4})};
  const core::Operand large{DType::f32, core::View::dense({1000})};
  const core::Attributes none;
  const std::vector<core::Step> steps = {{OpId::negate, &none, {&small, 1}, {&small, 1}},
                                         {OpId::square, &none, {&small, 1}, {&small, 1}},
                                         {OpId::negate, &none, {&large, 1}, {&large, 1}}};
  CHECK(cl.prepare_all(steps).size() == 3);
  CHECK(cl.cache_counts().compiled == 1);
  cl.prepare(steps[2]);
  CHECK(cl.cache_counts().compiled == 1);
}

TEST_CASE("programs are found on disk again, and a damaged file is replaced") {
  if (device(Style::cpu) == nullptr) return;
  const cl_device_id id = device(Style::cpu)->context().id;
  const std::filesystem::path folder = scratch_folder() / "cache";
  std::filesystem::remove_all(folder);
  const auto use = [&] {
    OpenClDevice cl("opencl:0", id, Style::cpu, folder);
    CHECK(times(cl, "cached")[0].values == times_result);
    return cl.cache_counts();
  };
  CHECK(use().compiled == 1);
  REQUIRE(files_in(folder).size() == 1);
  const std::filesystem::path file = files_in(folder)[0];
  const auto whole = std::filesystem::file_size(file);

  ProgramCache::Counts again = use();
  CHECK(again.compiled == 0);
  CHECK(again.from_disk == 1);

  SUBCASE("cut short") { std::filesystem::resize_file(file, whole / 2); }
  SUBCASE("emptied") { std::filesystem::resize_file(file, 0); }
  SUBCASE("one byte of the binary changed") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(whole) - 10);
    stream.put('!').put('?').put('!');
  }
  SUBCASE("lengths that would overflow") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(16);
    stream.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
  }
  CHECK(use().compiled == 1);
  CHECK(std::filesystem::file_size(file) == whole);
  CHECK(use().from_disk == 1);
  CHECK(files_in(folder).size() == 1);
}

TEST_CASE("the style is the device's, and llvmpipe is no processor of long vectors") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  const cl_device_id id = cl->context().id;
  const bool is_rusticl = cl->properties().description.find("(rusticl)") != std::string::npos;
  const bool is_cpu = (value_of<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  CHECK(natural_style(id) == (is_cpu && !is_rusticl ? Style::cpu : Style::gpu));
}

TEST_CASE("a program of equal source is built once, of other options again") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  ProgramCache cache(cl->context().context.get(), cl->context().id, "test", {});
  const std::string source = "kernel void twice(global float* x) { x[0] *= 2; }\n";
  const ProgramSource list[] = {{source, "twice"}, {"kernel void thrice(global float* x) { x[0] *= 3; }\n", "thrice"}};
  const cl_program first = cache.get({list, 1}, "").front();
  CHECK(cache.get({list, 1}, "").front() == first);
  CHECK(cache.get({list, 1}, "-DOTHER").front() != first);
  CHECK(cache.counts().compiled == 2);
  CHECK(cache.counts().from_memory == 1);
  const std::vector<cl_program> both = cache.get(list, "");
  CHECK(both[0] == first);
  CHECK(both[1] != first);
  CHECK(cache.counts().compiled == 3);
}

TEST_CASE("of programs that are compiled side by side the first that is refused is told") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  ProgramCache cache(cl->context().context.get(), cl->context().id, "test", {});
  const ProgramSource list[] = {{"kernel void fine(global float* x) { x[0] *= 2; }\n", "fine"},
                                {"kernel void first(global float* x) { nonsense }\n", "first"},
                                {"kernel void second(global float* x) { nonsense }\n", "second"}};
  try {
    (void)cache.get(list, "");
    FAIL("nothing was thrown");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).starts_with("first: clBuildProgram: "));
  }
  CHECK(cache.get({list, 1}, "").size() == 1);
}

namespace {

/// Checks something while a variable of the environment has a value, or none.
template <class Check>
void with(const char* variable, const char* value, const Check& check) {
  const char* const before = std::getenv(variable);
  const std::string kept = before == nullptr ? "" : before;
  value == nullptr ? ::unsetenv(variable) : ::setenv(variable, value, 1);
  check();
  before == nullptr ? ::unsetenv(variable) : ::setenv(variable, kept.c_str(), 1);
}

}  // namespace

TEST_CASE("further options of the environment reach the driver's compiler") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  const auto use_macro = [&] {
    const Context context("opencl:7", cl->context().id, Style::cpu, {});
    ProgramCache cache(context.context.get(), context.id, "test", {});
    const ProgramSource source{"kernel void answer(global float* x) { x[0] = ANSWER; }\n", "answer"};
    (void)cache.get({&source, 1}, context.options);
  };
  with("TYTO_OPENCL_OPTIONS", "-DANSWER=42", [&] { CHECK_NOTHROW(use_macro()); });
  with("TYTO_OPENCL_OPTIONS", nullptr, [&] { CHECK_THROWS_AS(use_macro(), DeviceError); });
}

TEST_CASE("the cache folder follows the environment, and is left to drivers that have their own") {
  OpenClDevice* const cl = device(Style::cpu);
  if (cl == nullptr) return;
  const cl_device_id id = cl->context().id;
  with("TYTO_CACHE_DIR", "/some/where", [&] { CHECK(default_cache_directory(id) == "/some/where/opencl"); });
  with("TYTO_CACHE_DIR", "", [&] { CHECK(default_cache_directory(id).empty()); });
  const bool is_pocl = cl->properties().description.find("Portable Computing Language") != std::string::npos;
  with("TYTO_CACHE_DIR", nullptr, [&] {
    with("POCL_KERNEL_CACHE", "0", [&] { CHECK(default_cache_directory(id).filename() == "opencl"); });
    with("POCL_KERNEL_CACHE", nullptr, [&] { CHECK(default_cache_directory(id).empty() == is_pocl); });
  });
}

TEST_CASE("a cache folder that cannot be written stops nothing") {
  if (device(Style::cpu) == nullptr) return;
  const std::filesystem::path file = scratch_folder() / "a-file";
  std::ofstream(file) << "in the way";
  OpenClDevice cl("opencl:0", device(Style::cpu)->context().id, Style::cpu, file / "below");
  CHECK(times(cl, "uncached")[0].values == times_result);
  CHECK(cl.cache_counts().compiled == 1);
}

}  // namespace opencl_device_test

#endif
