// SPDX-License-Identifier: MIT
// Starting a group: launchers, calls that come too early, libraries and shared memory.
#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tyto/distributed.hpp>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
namespace fs = std::filesystem;
using E = tyto::Tensor<tyto::Eager>;
using T = tyto::Tensor<tyto::Lazy>;

/// A variable of the environment, as long as this lives.
class Set {
 public:
  Set(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Set() { unsetenv(name_); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  const char* name_;
};

/// Something that a program does together with others, before there are others.
void call_early(const std::string& call) {
  if (call == "average") {
    auto step = tyto::compile([](T x) { return d::average(x, 3); });
    CHECK(step(T{2.0}).item<double>() == 2);
  } else if (call == "all_reduce") {
    auto step = tyto::compile([](T x) { return d::all_reduce(x); });
    CHECK(step(T{2.0}).item<double>() == 2);
  } else if (call == "all_gather") {
    (void)d::all_gather(E{2.0});
  } else if (call == "broadcast_states") {
    const T state = T::variable(T{1.0}, "w");
    d::broadcast_states({tyto::Tensor<tyto::Any>(state)});
  } else if (call == "separate_draws") {
    d::separate_draws();
  } else if (call == "Checkpoint::load_if_present") {
    (void)tyto::nn::Checkpoint().load_if_present("no such file");
  }
}

}  // namespace

TEST_CASE("rank: early" * doctest::skip(true)) {
  const std::string call = given("CALL");
  call_early(call);
  const std::string told = "distributed: " + call +
                           " was called before start(), for this process alone, and what was "
                           "recorded or loaded then would go on alone; start() comes first";
  CHECK_THROWS_WITH_AS((void)d::start(), told.c_str(), tyto::GraphError);
}

TEST_CASE("rank: alone and early" * doctest::skip(true)) {
  call_early("average");
  CHECK(d::start().size() == 1);
}

TEST_CASE("a group cannot be started when something was already called for one process alone") {
  with_each_mpi([](const std::string& mpi) {
    for (const char* call :
         {"average", "all_reduce", "all_gather", "broadcast_states", "separate_draws", "Checkpoint::load_if_present"}) {
      const Ran ran = run_case(mpi, 2, "rank: early", "CALL=" + std::string(call));
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
    const Ran ran = run_case(mpi, 1, "rank: alone and early");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: saved alone" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  CHECK_THROWS_WITH_AS(tyto::load_graph(given("FOLDER") + "/sum.graph"),
                       doctest::Contains("recorded for a group of 1, but this group has 2 processes; record it again"),
                       tyto::IoError);
  group.barrier();
}

TEST_CASE("a graph that one process saved is refused in a larger group") {
  const tyto::testing::TemporaryFolder folder;
  const T x = T::placeholder({2}, tyto::DType::f32, "x");
  tyto::save_graph(folder / "sum.graph", tyto::Graph({.inputs = {x}, .outputs = {d::all_reduce(x)}}));
  with_each_mpi([&](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: saved alone", "FOLDER='" + std::string(folder / "") + "'");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("a launcher that is neither Open MPI's nor MPICH's is refused, unless each process is to be alone") {
  const auto told = [](const std::string& variable) {
    return "distributed: " + variable +
           " says that a launcher started several processes, but neither Open MPI's nor MPICH's did, so that each "
           "would be a group of one; start them by tyto launch, mpirun or mpiexec, or ask for Backend::single";
  };
  {
    const Set rank("SLURM_PROCID", "1"), tasks("SLURM_STEP_NUM_TASKS", "4");
    CHECK_THROWS_WITH_AS((void)d::start(), told("SLURM_STEP_NUM_TASKS").c_str(), tyto::DeviceError);
    CHECK(d::start({.backend = d::Backend::single}).size() == 1);
  }
  {
    const Set rank("SLURM_PROCID", "0"), tasks("SLURM_STEP_NUM_TASKS", "1");
    CHECK(d::start().size() == 1);
  }
  {
    // A batch script itself: the tasks are those that its steps may have.
    const Set rank("SLURM_PROCID", "0"), tasks("SLURM_NTASKS", "4");
    CHECK(d::start().size() == 1);
  }
  {
    const Set rank("PMIX_RANK", "0"), size("PMIX_SIZE", "2");
    CHECK_THROWS_WITH_AS((void)d::start(), told("PMIX_SIZE").c_str(), tyto::DeviceError);
  }
  {
    // Of how many, this does not say.
    const Set rank("PMIX_RANK", "0");
    CHECK(d::start().size() == 1);
  }
  CHECK(d::start().size() == 1);
}

TEST_CASE("rank: threads" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  auto step = tyto::compile([](T x) { return d::all_reduce(x * 2.0); });
  CHECK(step(T{1.0}).item<double>() == 4);
  std::thread([&] {
    const auto told = [](const std::string& call) {
      return "distributed: " + call +
             " is called on another thread than start(); MPI serves that one alone, so make "
             "all calls of a group there";
    };
    CHECK_THROWS_WITH_AS((void)d::broadcast(E(1.0)), told("broadcast from 0 of f32()").c_str(), tyto::GraphError);
    CHECK_THROWS_WITH_AS((void)step(T{1.0}).to_vector<float>(), told("all_reduce(sum) of f32(1,)").c_str(),
                         tyto::GraphError);
    CHECK_THROWS_WITH_AS(group.barrier(), told("Group::barrier").c_str(), tyto::GraphError);
  }).join();
  CHECK(step(T{1.0}).item<double>() == 4);
  group.barrier();
}

TEST_CASE("what processes do together is refused on another thread than the one that started the group") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: threads");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("rank: starts" * doctest::skip(true)) { d::start({.timeout_seconds = 60}).barrier(); }

TEST_CASE("of several libraries for an MPI the one beside Tyto's own is taken") {
  std::ifstream maps("/proc/self/maps");
  std::string library;
  for (std::string word; maps >> word;) {
    if (contains(word, "/libtyto.so")) library = word;
  }
  if (library.empty()) {
    MESSAGE("skipped: Tyto is linked into this program");
    return;
  }
  with_each_mpi([&](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    const fs::path here = folder.path() / "here", other = folder.path() / "lib";
    const std::string name = "libtyto-" + mpi + ".so";
    fs::create_directories(here);
    fs::create_directories(other);
    for (const fs::directory_entry& each : fs::directory_iterator(fs::path(library).parent_path())) {
      const std::string file = each.path().filename().string();
      if (contains(file, "libtyto.so")) fs::create_symlink(each.path(), here / file);
    }
    fs::create_symlink(fs::path(library).parent_path() / name, here / name);
    std::ofstream(other / name) << "no library";
    const Ran ran = run_case(mpi, 2, "rank: starts", "LD_LIBRARY_PATH='" + here.string() + "'");
    CHECK_MESSAGE(ran.status == 0, ran.output);
    fs::remove(here / name);
    const Ran without = run_case(mpi, 2, "rank: starts", "LD_LIBRARY_PATH='" + here.string() + "'");
    CHECK_MESSAGE(contains(without.output, " cannot be used: "), without.output);
  });
}

TEST_CASE("the watchdog needs no room in /dev/shm, and without shared memory it names no rank") {
  const auto in_place_of = [](const std::string& folder) {
    return "unshare -rm sh -c 'mount -t tmpfs -o size=4k tmpfs " + folder + " && exec \"$@\"' sh env";
  };
  if (std::system((in_place_of("/dev/shm") + " true 2>/dev/null").c_str()) != 0) {
    MESSAGE("skipped: this system makes no file system of its own for a test");
    return;
  }
  with_each_mpi([&](const std::string& mpi) {
    if (mpi != "openmpi") return;  // MPICH cannot start itself there, and says so
    const Ran little = run_case(mpi, 2, "rank: hangs", in_place_of("/dev/shm"));
    CHECK_MESSAGE(contains(little.output, ") for rank 1, which has not come to that call"), little.output);
    const Ran none = run_case(mpi, 2, "rank: hangs", in_place_of("/proc"));
    CHECK_MESSAGE(contains(none.output, "tyto: rank 0: the processes of this machine share no memory"), none.output);
    CHECK_MESSAGE(contains(none.output, " s in all_reduce(sum) of f64(2,) (call "), none.output);
    CHECK_MESSAGE(contains(none.output, ") for another process, which has not come to that call"), none.output);
  });
}

}  // namespace distributed_tests
