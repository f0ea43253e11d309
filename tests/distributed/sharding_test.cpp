// SPDX-License-Identifier: MIT
// States of an optimizer in parts: the same losses, less memory, and checkpoints that any number of processes goes on
// from.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <type_traits>
#include <tyto/distributed.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/distributed/launched.hpp"
#include "tests/distributed/training_series.hpp"
#include "tests/support/temporary_folder.hpp"

namespace distributed_tests {
namespace sharding_test {

namespace d = tyto::distributed;
namespace nn = tyto::nn;
using tyto::DType;
using Any = tyto::Tensor<tyto::Any>;
using Eager = tyto::Tensor<tyto::Eager>;
using Lazy = tyto::Tensor<tyto::Lazy>;

/// How gradients become an update: `joint` is of whole states, by what sums to gradients all the same.
enum class How { plain, joint, clipped, scaled };

/// Parameters of 55, 11 and 11 elements, which no number of processes divides; those of `least` elements are sharded.
template <class T>
class Training {
 public:
  Training(const d::Group& group, nn::Descent descent, std::int64_t least, How how = How::plain,
           DType dtype = DType::f64)
      : descent_(least == 0 ? std::move(descent) : std::move(descent).shard(least)),
        is_sharded_(least != 0),
        how_(how),
        batches_(drawn_data<T>(5, dtype), drawn_data<T>(1, dtype),
                 {.size = 24, .seed = 4, .part = group.rank(), .parts = group.size()}) {
    const auto draw = [&](const tyto::Shape& shape, std::uint64_t number) {
      parameters_.push_back(T::variable(T::normal(shape, {.dtype = dtype, .key = tyto::Key{7, 0}.split(number)}), "p"));
      named_.push_back({"p" + std::to_string(number), Any(parameters_.back())});
    };
    draw({5, 11}, 1);
    draw({11}, 2);
    draw({11, 1}, 3);
    checkpoint_.add("descent", descent_, named_).add("batches", batches_).add("model", named_);
  }

  double step() {
    auto batch = batches_.next();
    if (!batch) batch = batches_.next();
    return step_(batch->first, batch->second).template item<double>();
  }
  nn::Checkpoint& checkpoint() { return checkpoint_; }
  auto report() const { return step_.report(); }
  std::vector<double> values() const { return values_of(parameters_); }
  auto state() { return descent_.state(named_); }
  std::int64_t kept_elements() {
    std::int64_t count = 0;
    for (const auto& state : descent_.kept_states(named_)) count += state.value.value.size();
    return count;
  }

 private:
  nn::Descent descent_;
  bool is_sharded_;
  How how_;
  nn::LossScale scale_;
  std::vector<T> parameters_;
  tyto::NamedList<Any> named_;
  nn::Batches<T> batches_;
  nn::Checkpoint checkpoint_;
  template <class Gradients>
  void update(const Gradients& gradients) {
    // Less than the norms are.
    const auto clipped = [](const auto& each) { return nn::clip_by_global_norm(each, 0.5); };
    if (how_ == How::clipped) descent_.update(parameters_, clipped(gradients));
    else if (how_ == How::scaled) scale_.step(descent_, parameters_, gradients, clipped);
    else descent_.update(parameters_, gradients);
  }
  struct Step {
    Training* training;
    T operator()(T x, T t) const {
      std::vector<T>& parameters = training->parameters_;
      const auto objective = [&](T inputs, T targets) {
        const T loss =
            mean(square(matmul(tanh(matmul(inputs, parameters[0]) + parameters[1]), parameters[2]) - targets));
        return training->how_ == How::scaled ? training->scale_.scaled(loss) : loss;
      };
      auto [loss, gradients] = tyto::value_and_grad(objective, parameters)(x, t);
      const std::int64_t samples = x.shape()[0];
      if (training->is_sharded_ || training->how_ == How::joint) training->update(d::weighted(gradients, samples));
      else training->update(d::average(gradients, samples));
      return d::average(training->how_ == How::scaled ? training->scale_.unscaled(loss) : loss, samples);
    }
  };
  decltype(tyto::compile(Step{})) step_ = tyto::compile(Step{this});
};

/// Of an elementwise rule with a number among its states, and of one that looks at whole parameters.
nn::Descent rule(const std::string& name) {
  return name == "nadam"   ? nn::nadam({.rate = 0.01})
         : name == "lamb"  ? nn::lamb({.rate = 0.01})
         : name == "sgd"   ? nn::sgd({.rate = 0.01, .momentum = 0.9})
         : name == "joint" ? nn::lbfgs({.rate = 0.1})
                           : nn::adam({.rate = 0.01});
}

How how(const std::string& name) {
  return name == "joint" ? How::joint : name == "sgd" ? How::clipped : name == "scaled" ? How::scaled : How::plain;
}

template <class T>
std::vector<double> trained(const d::Group& group, const std::string& name, std::int64_t least) {
  Training<T> training(group, rule(name), least, how(name));
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(training.step());
  for (const double value : training.values()) values.push_back(value);
  return values;
}

template <class T>
void check_losses(const d::Group& group, const std::string& name, std::int64_t least) {
  CAPTURE(name);
  CAPTURE(least);
  const std::vector<double> values = trained<T>(group, name, least);
  CHECK(difference(read(given("FOLDER") + "/" + name), values) < 1e-12);
  // The same bits everywhere.
  const T own(values);
  CHECK(tyto::array_equal(d::broadcast(own), own));
}

TEST_CASE("rank: sharded" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const int n = group.size();
  check_losses<Lazy>(group, "adam", 1);
  check_losses<Lazy>(group, "adam", 12);
  if (n == 2) {
    check_losses<Eager>(group, "adam", 1);
    check_losses<Lazy>(group, "nadam", 1);
    check_losses<Lazy>(group, "lamb", 1);
    check_losses<Eager>(group, "sgd", 12);
    check_losses<Eager>(group, "scaled", 1);
  }
  // Limits of the norm of gradients that are sums, in parts and whole ones; steps and shapes of SGD follow the factor.
  check_losses<Lazy>(group, "sgd", 1);
  check_losses<Lazy>(group, "sgd", 12);
  check_losses<Lazy>(group, "scaled", 12);
  check_losses<Lazy>(group, "joint", 0);
  // Two states of all 77 elements, three counts, and that of all updates; or of a part of each parameter.
  Training<Lazy> whole(group, rule("adam"), 0), sharded(group, rule("adam"), 1), large(group, rule("adam"), 12);
  const auto part = [n](std::int64_t size) { return (size + n - 1) / n; };
  CHECK(whole.kept_elements() == 2 * 77 + 4);
  CHECK(sharded.kept_elements() == 2 * (part(55) + 2 * part(11)) + 4);
  CHECK(large.kept_elements() == 2 * (part(55) + 22) + 4);
  (void)whole.step();
  (void)sharded.step();
  const auto elements = static_cast<std::size_t>(whole.kept_elements() - sharded.kept_elements());
  CHECK(whole.report().state_bytes - sharded.report().state_bytes == elements * sizeof(double));
  CHECK(sharded.report().unplanned_allocations == 0);
  CHECK_THROWS_AS((void)sharded.state(), tyto::GraphError);
  CHECK_THROWS_WITH_AS(sharded.checkpoint().save(given("FOLDER") + "/no"),
                       "Checkpoint::save: each process keeps a part of it; all of them call save_together",
                       tyto::GraphError);
  group.barrier();
}

TEST_CASE("states in parts take a share of the memory, and losses are as with whole ones") {
  const tyto::testing::TemporaryFolder folder;
  for (const std::string name : {"adam", "nadam", "lamb", "sgd", "scaled", "joint"}) {
    {
      std::ofstream out(folder / name);
      out.precision(17);
      for (const double value : trained<Lazy>(d::start(), name, 0)) out << value << '\n';
    }
    // In a group of one nothing is cut.
    if (name != "joint") CHECK(difference(read(folder / name), trained<Lazy>(d::start(), name, 1)) == 0);
  }
  // The limit of the norm is one.
  Training<Lazy> free(d::start(), rule("sgd"), 0, How::plain), limited(d::start(), rule("sgd"), 0, How::clipped);
  CHECK(free.step() == limited.step());
  CHECK(difference(free.values(), limited.values()) > 1e-3);
  with_each_mpi([&](const std::string& mpi) {
    for (const int processes : {2, 3, 4}) {
      CAPTURE(processes);
      const Ran ran = run_case(mpi, processes, "rank: sharded", "FOLDER='" + std::string(folder / "") + "'");
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
  });
}

TEST_CASE("rank: resumed in parts" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  Training<Lazy> training(group, rule("adam"), 1);
  const std::string file = given("FOLDER") + "/checkpoint";
  training.checkpoint().load_if_present(file);
  std::ofstream out(given("FOLDER") + "/losses" + std::to_string(group.rank()), std::ios::app);
  out.precision(17);
  for (int i = 0; i < 5; ++i) out << training.step() << '\n';
  training.checkpoint().save_together(file);
  // An error of rank 0 in writing is thrown on all ranks.
  CHECK_THROWS_AS(training.checkpoint().save_together(given("FOLDER") + "/no folder/file"), tyto::IoError);
  // Loading what was just written changes nothing.
  const std::vector<double> before = training.values();
  training.checkpoint().load(file);
  CHECK(training.values() == before);
  group.barrier();
}

TEST_CASE("a checkpoint of states in parts goes on with any number of processes") {
  const tyto::testing::TemporaryFolder alone;
  std::vector<double> expected;
  Training<Lazy> training(d::start(), rule("adam"), 0);
  for (int i = 0; i < 20; ++i) expected.push_back(training.step());
  with_each_mpi([&](const std::string& mpi) {
    const tyto::testing::TemporaryFolder folder;
    for (const int processes : {2, 1, 3, 4}) {
      CAPTURE(processes);
      const Ran ran = run_case(mpi, processes, "rank: resumed in parts", "FOLDER='" + std::string(folder / "") + "'");
      CHECK_MESSAGE(ran.status == 0, ran.output);
    }
    CHECK(difference(expected, read(folder / "losses0")) < 1e-12);
  });
}

TEST_CASE("rank: not finite" * doctest::skip(true)) {
  const d::Group group = d::start({.timeout_seconds = 60});
  const Eager w = Eager::variable(Eager{1.0, 2.0, 3.0}, "w");
  nn::Descent descent = nn::sgd({.rate = 1.0}).shard(1);
  nn::LossScale scale({.first = 4});
  const auto step = [&](double gradient) {
    scale.step(descent, std::vector<Eager>{w}, d::weighted(std::vector<Eager>{Eager::full({3}, gradient)}, 1));
  };
  // One process alone has a gradient that is not finite: none updates, and all have the same scale.
  step(group.rank() == 1 ? std::numeric_limits<double>::infinity() : 4.0);
  CHECK(w.to_vector<float>() == std::vector<float>{1, 2, 3});
  CHECK(descent.count() == 0);
  CHECK(scale.current() == 2);
  step(2.0 * (1 + group.rank()));  // over the scale, of both processes
  CHECK(w.to_vector<float>() == std::vector<float>{-0.5, 0.5, 1.5});
  CHECK(descent.count() == 1);
  group.barrier();
}

TEST_CASE("where one process has gradients that are not finite none updates") {
  with_each_mpi([](const std::string& mpi) {
    const Ran ran = run_case(mpi, 2, "rank: not finite");
    CHECK_MESSAGE(ran.status == 0, ran.output);
  });
}

/// Whether elements or single norms of the gradients can be clipped.
template <class G>
concept Clipped = requires(const G& g) {
  nn::clip_by_value(g, 1.0);
}
|| requires(const G& g) { nn::clip_by_norm(g, 1.0); };
static_assert(Clipped<std::vector<Eager>> && !Clipped<d::Weighted<Eager>>);

TEST_CASE("gradients that were summed already are refused where states are in parts") {
  nn::Descent descent = nn::sgd({.rate = 0.1}).shard();
  const std::vector<Eager> w{Eager::variable(Eager{1.0, 2.0}, "w")}, g{Eager{1.0, 1.0}};
  const char* const told =
      "sgd: processes keep parts of its states (shard), for which update() sums gradients itself: give it "
      "distributed::weighted(gradients, samples), not average(...)";
  CHECK_THROWS_WITH_AS(descent.update(w, d::average(g, 1)), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(descent.update(w, nn::clip_by_global_norm(g, 1.0)), told, tyto::GraphError);
  nn::LossScale scale;
  CHECK_THROWS_WITH_AS(scale.step(descent, w, g), told, tyto::GraphError);
  CHECK_THROWS_AS((void)nn::clip_by_global_norm(d::weighted(g, 1), 0), tyto::ValueError);
  descent.update(w, d::weighted(g, 1));
  CHECK(w[0].to_vector<float>() == std::vector<float>{0.9F, 1.9F});
  // `auto sharded = sgd.shard()` of a name is none, and one that is thrown away a warning.
  static_assert(!std::is_constructible_v<nn::Descent, nn::Descent&>);
}

TEST_CASE("what cannot be sharded is refused") {
  const auto refused = [](nn::Descent descent, const char* why) {
    CHECK_THROWS_WITH_AS(descent.shard(), why, tyto::ValueError);
  };
  refused(nn::lbfgs({}), "lbfgs: is of all parameters together, and cannot be sharded");
  nn::Descent begun = nn::sgd({.rate = 0.1});
  const Eager w = Eager::variable(Eager{1.0, 2.0}, "w");
  begun.update(std::vector<Eager>{w}, std::vector<Eager>{Eager{1.0, 1.0}});
  refused(std::move(begun), "sgd: shard() comes before the first update");
}

}  // namespace sharding_test
}  // namespace distributed_tests
