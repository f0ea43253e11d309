// SPDX-License-Identifier: MIT
// Data-parallel training computes what one process does, keeps parameters equal, and goes on with any number of
// processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"
#include "tests/distributed/training_series.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {

namespace {

namespace d = tyto::distributed;
namespace nn = tyto::nn;
using tyto::DType;

constexpr std::int64_t steps = 20;

/// A perceptron on fixed data, of which each process takes its part; 46 samples make a batch of 24 and one of 22.
template <class T>
class Training {
 public:
  Training(const d::Group& group, DType dtype)
      : batches_(drawn_data<T>(3, dtype), drawn_data<T>(1, dtype),
                 {.size = 24, .seed = 4, .part = group.rank(), .parts = group.size()}) {
    // Other numbers everywhere, until rank 0 hands out its own.
    const auto draw = [&](const tyto::Shape& shape, std::uint64_t number) {
      const tyto::Key key = tyto::Key{7, 0}.split(number).split(static_cast<std::uint64_t>(group.rank()));
      parameters_.push_back(T::variable(T::normal(shape, {.dtype = dtype, .key = key}), "p" + std::to_string(number)));
    };
    draw({3, 16}, 1);
    draw({16}, 2);
    draw({16, 1}, 3);
    std::vector<tyto::Tensor<tyto::Any>> states(parameters_.begin(), parameters_.end());
    d::broadcast_states(states);
    checkpoint_.add("descent", descent_.state(named()));
    checkpoint_.add("batches", batches_);
    checkpoint_.add("model", named());
  }

  double step() {
    auto batch = batches_.next();
    if (!batch) batch = batches_.next();
    return step_(batch->first, batch->second).template item<double>();
  }
  std::size_t unplanned_allocations() const { return step_.report().unplanned_allocations; }
  nn::Checkpoint& checkpoint() { return checkpoint_; }

  std::vector<double> values() const { return values_of(parameters_); }

 private:
  tyto::NamedList<tyto::Tensor<tyto::Any>> named() const {
    tyto::NamedList<tyto::Tensor<tyto::Any>> list;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      list.push_back({"p" + std::to_string(i), tyto::Tensor<tyto::Any>(parameters_[i])});
    return list;
  }

  std::vector<T> parameters_;
  nn::Batches<T> batches_;
  nn::Descent descent_ = nn::sgd({.rate = 0.05, .momentum = 0.9});
  nn::Checkpoint checkpoint_;
  struct Step {
    Training* training;
    T operator()(T x, T t) const {
      std::vector<T>& parameters = training->parameters_;
      const auto objective = [&](T inputs, T targets) {
        const T hidden = tanh(matmul(inputs, parameters[0]) + parameters[1]);
        return mean(square(matmul(hidden, parameters[2]) - targets));
      };
      auto [loss, gradients] = tyto::value_and_grad(objective, parameters)(x, t);
      training->descent_.update(parameters, d::average(gradients, x.shape()[0]));
      return d::average(loss, x.shape()[0]);
    }
  };
  decltype(tyto::compile(Step{})) step_ = tyto::compile(Step{this});
};

std::string file_of(const std::string& kind, int rank) { return given("FOLDER") + "/" + kind + std::to_string(rank); }

/// The losses of each step and, after it, all parameters: one number a line, with all its digits.
template <class T>
void train_and_record(const d::Group& group, const std::string& kind, DType dtype) {
  Training<T> training(group, dtype);
  std::ofstream out(file_of(kind, group.rank()));
  out.precision(17);
  for (std::int64_t i = 0; i < steps; ++i) {
    out << training.step() << '\n';
    for (const double value : training.values()) out << value << '\n';
  }
  if constexpr (std::is_same_v<typename T::mode, tyto::Lazy>) CHECK(training.unplanned_allocations() == 0);
}

std::vector<double> read(const std::string& folder, const std::string& kind, int rank) {
  return distributed_tests::read(folder + "/" + kind + std::to_string(rank));
}

constexpr std::size_t recorded = steps * (1 + 48 + 16 + 16);

using Eager = tyto::Tensor<tyto::Eager>;
using Lazy = tyto::Tensor<tyto::Lazy>;

}  // namespace

TEST_CASE("rank: training" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  train_and_record<Lazy>(group, "lazy64.", DType::f64);
  train_and_record<Lazy>(group, "lazy32.", DType::f32);
  train_and_record<Eager>(group, "eager64.", DType::f64);
  group.barrier();
}

TEST_CASE("processes that train together compute what one computes, bit for bit the same everywhere and again") {
  const tyto::testing::TemporaryFolder alone;
  setenv("FOLDER", (alone / "").c_str(), 1);
  {
    const d::Group one = d::start();
    train_and_record<Lazy>(one, "lazy64.", DType::f64);
    train_and_record<Lazy>(one, "lazy32.", DType::f32);
    train_and_record<Eager>(one, "eager64.", DType::f64);
  }
  const struct {
    const char* kind;
    double tolerance;
  } kinds[] = {{"lazy64.", 1e-12}, {"lazy32.", 1e-5}, {"eager64.", 1e-12}};
  with_each_mpi([&](const std::string& mpi) {
    for (const int processes : {1, 2, 4}) {
      CAPTURE(processes);
      const tyto::testing::TemporaryFolder first, second;
      for (const auto* folder : {&first, &second}) {
        const Ran ran = run_case(mpi, processes, "rank: training", "FOLDER='" + std::string(*folder / "") + "'");
        CHECK_MESSAGE(ran.status == 0, ran.output);
      }
      for (const auto& [kind, tolerance] : kinds) {
        CAPTURE(kind);
        const std::vector<double> values = read(first / "", kind, 0);
        REQUIRE(values.size() == recorded);
        CHECK(difference(read(alone / "", kind, 0), values) < tolerance);
        for (int rank = 1; rank < processes; ++rank) CHECK(read(first / "", kind, rank) == values);
        CHECK(read(second / "", kind, processes - 1) == values);
      }
    }
  });
}

TEST_CASE("rank: resumed" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  Training<Lazy> training(group, DType::f64);
  const std::string file = given("FOLDER") + "/checkpoint";
  training.checkpoint().load_if_present(file);
  std::ofstream out(file_of("losses.", group.rank()), std::ios::app);
  out.precision(17);
  for (int i = 0; i < 5; ++i) out << training.step() << '\n';
  group.barrier();  // all have read what is about to be replaced
  if (group.is_first()) training.checkpoint().save(file);
  group.barrier();
}

TEST_CASE("a checkpoint that rank 0 wrote goes on with any number of processes") {
  const tyto::testing::TemporaryFolder alone;
  setenv("FOLDER", (alone / "").c_str(), 1);
  std::vector<double> expected;
  {
    const d::Group one = d::start();
    Training<Lazy> training(one, DType::f64);
    for (int i = 0; i < 20; ++i) expected.push_back(training.step());
  }
  with_each_mpi([&](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    for (const int processes : {2, 1, 3, 2}) {
      const Ran ran = run_case(mpi, processes, "rank: resumed", "FOLDER='" + std::string(folder / "") + "'");
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
    CHECK(difference(expected, read(folder / "", "losses.", 0)) < 1e-12);
  });
}

TEST_CASE("rank: killed" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 0});  // the launcher is to end it, not the watchdog
  Training<Lazy> training(group, DType::f32);
  const int victim = std::stoi(given("VICTIM"));
  std::thread killer;
  if (group.rank() == victim) {
    killer = std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(given("AFTER_MS"))));
      std::raise(SIGKILL);
    });
  }
  for (;;) training.step();
}

TEST_CASE("a killed process ends the others, with the status that its launcher has for the signal") {
  with_each_mpi([&](const std::string& mpi) {
    const int times = given("KILLS").empty() ? 3 : std::stoi(given("KILLS"));
    for (int i = 0; i < times; ++i) {
      const int processes = i % 2 == 0 ? 2 : 4;
      const std::string when = "VICTIM=" + std::to_string(i % processes) + " AFTER_MS=" + std::to_string(i * 37 % 400);
      CAPTURE(when);
      const Ran ran = run_case(mpi, processes, "rank: killed", when);
      CHECK_MESSAGE(ended_with(mpi, ran, mpi == "mpich" ? SIGKILL : 128 + SIGKILL), ran.output);
    }
  });
}

namespace {

/// Losses, then the running statistics, of a network with synchronised statistics on parts of equal size.
template <class T>
std::vector<double> train_with_statistics(const d::Group& group) {
  constexpr DType f64 = DType::f64;
  const T inputs = T::normal({48, 3}, {.dtype = f64, .key = tyto::Key{1, 0}}) * 2.0 + 1.0;
  const T targets = T::normal({48, 1}, {.dtype = f64, .key = tyto::Key{2, 0}});
  nn::Batches<T> batches(inputs, targets, {.size = 24, .seed = 4, .part = group.rank(), .parts = group.size()});
  const T first = T::variable(T::normal({3, 8}, {.dtype = f64, .key = tyto::Key{3, 0}}), "first");
  const T last = T::variable(T::normal({8, 1}, {.dtype = f64, .key = tyto::Key{4, 0}}), "last");
  const nn::BatchNorm1d norm({.channels = 8, .dtype = f64, .sync = true});
  const std::vector<T> parameters{first, last, T(norm.weight), T(norm.bias)};
  const auto objective = [&](T x, T t) {
    return mean(square(matmul(tanh(T(norm(matmul(x, first), nn::training))), last) - t));
  };
  auto step = tyto::compile([&](T x, T t) {
    auto [loss, gradients] = tyto::value_and_grad(objective, parameters)(x, t);
    const std::vector<T> averages = d::average(gradients, x.shape()[0]);
    for (std::size_t i = 0; i < parameters.size(); ++i) assign(parameters[i], parameters[i] - 0.05 * averages[i]);
    return d::average(loss, x.shape()[0]);
  });
  std::vector<double> values;
  while (values.size() < 20) {
    if (const auto batch = batches.next()) values.push_back(step(batch->first, batch->second).template item<double>());
  }
  for (const auto& statistic : {norm.running_mean, norm.running_var}) {
    const auto own = statistic.template to_vector<double>();
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

template <class T>
void record_statistics(const d::Group& group, const std::string& kind) {
  std::ofstream out(file_of(kind, group.rank()));
  out.precision(17);
  for (const double value : train_with_statistics<T>(group)) out << value << '\n';
}

}  // namespace

TEST_CASE("rank: statistics" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  record_statistics<Lazy>(group, "lazy.");
  record_statistics<Eager>(group, "eager.");
  group.barrier();
}

TEST_CASE("rank: unequal parts" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const nn::BatchNorm1d norm({.channels = 2, .sync = true});
  const auto x = [&](auto one) { return decltype(one)::ones({3 + group.rank(), 2}); };
  const doctest::Contains difference("BatchNorm1d over 3 numbers a channel' on rank 0");
  CHECK_THROWS_WITH_AS((void)norm(x(Eager()), nn::training).to_vector<float>(), difference, tyto::GraphError);
  auto step = tyto::compile([&](Lazy in) { return Lazy(norm(in, nn::training)); });
  CHECK_THROWS_WITH_AS((void)step(x(Lazy())).to_vector<float>(), difference, tyto::GraphError);
  group.barrier();
}

TEST_CASE("synchronised statistics of parts that differ in size are refused") {
  with_each_mpi([&](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: unequal parts");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

TEST_CASE("batch norm with synchronised statistics trains on parts as on whole batches") {
  const std::vector<double> alone = train_with_statistics<Lazy>(d::start());
  with_each_mpi([&](const std::string& mpi) {
    for (const int processes : {2, 4}) {
      CAPTURE(processes);
      const tyto::testing::TemporaryFolder folder;
      const Ran ran = run_case(mpi, processes, "rank: statistics", "FOLDER='" + std::string(folder / "") + "'");
      CHECK_MESSAGE(ran.status == 0, ran.output);
      for (const char* kind : {"lazy.", "eager."}) {
        CHECK(difference(alone, read(folder / "", kind, 0)) < 1e-12);
        CHECK(read(folder / "", kind, processes - 1) == read(folder / "", kind, 0));
      }
    }
  });
}

}  // namespace distributed_tests
