// SPDX-License-Identifier: MIT
// Training as a whole: both modes learn alike, and a run that is resumed goes on as if it had not stopped.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <tyto/autodiff.hpp>
#include <tyto/elementwise.hpp>
#include <tyto/graph.hpp>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/reduce.hpp>
#include <tyto/shaping.hpp>

#include "tests/support/temporary_folder.hpp"

namespace tyto::nn {
namespace {

using Host = Tensor<Eager>;

/// A small network with dropout that learns the sine, everything that a run consists of.
template <class M>
struct Run {
  using T = Tensor<M>;

  Sequential model;
  Descent descent = adam({.rate = 0.02});
  Batches<T> batches;
  Checkpoint checkpoint;
  std::int64_t finished = 0;

  static Sequential make_model() {
    seed(11);
    return {Linear({.in = 1, .out = 16}), tyto::tanh, Dropout(0.1), Linear({.in = 16, .out = 1})};
  }
  static Host inputs() { return Host::linspace(-3, 3, 50).reshape({50, 1}); }

  Run() : model(make_model()), batches(inputs(), sin(inputs()), {.size = 16, .seed = 2}) {
    checkpoint.add("model", model.named_parameters());
    checkpoint.add("descent", descent.state(model.named_parameters()));
    checkpoint.add("batches", batches).add("finished", finished);
  }

  std::vector<double> steps(std::int64_t count) {
    auto step = compile([this](T x, T t) {
      auto objective = [this](const T& a, const T& b) { return mean_squared_error(model(a, training), b); };
      auto [loss, gradients] = value_and_grad(objective, model.parameters())(x, t);
      descent.update(model.parameters(), gradients);
      return loss;
    });
    std::vector<double> losses;
    const auto note = [&](const StepReport& report) {
      losses.push_back(report.loss);
      return true;
    };
    train(step, batches, {.epochs = 1000, .steps = count, .after_step = note});
    finished += count;
    return losses;
  }
};

}  // namespace

TEST_CASE("both modes learn the sine with equal losses") {
  const std::vector<double> eager = Run<Eager>().steps(120);
  const std::vector<double> lazy = Run<Lazy>().steps(120);
  REQUIRE(eager.size() == 120);
  REQUIRE(lazy.size() == 120);
  for (std::size_t i = 0; i < eager.size(); ++i) {
    CAPTURE(i);
    CHECK(lazy[i] == doctest::Approx(eager[i]).epsilon(1e-4));
  }
  CHECK(eager.front() > 0.2);
  CHECK((eager[117] + eager[118] + eager[119]) / 3 < 0.1);
}

TEST_CASE_TEMPLATE("a run that is resumed from a checkpoint goes on exactly", M, Eager, Lazy) {
  const testing::TemporaryFolder folder;
  Run<M> whole;
  (void)whole.steps(7);
  whole.checkpoint.save(folder / "run.npz");
  const std::vector<double> rest = whole.steps(9);

  Run<M> resumed;
  (void)resumed.steps(2);
  seed(99);
  CHECK(resumed.checkpoint.load_if_present(folder / "run.npz"));
  CHECK(resumed.finished == 7);
  CHECK(resumed.descent.count() == 7);
  CHECK(resumed.steps(9) == rest);
  CHECK(resumed.model.parameters()[2].template to_vector<float>() ==
        whole.model.parameters()[2].template to_vector<float>());
}

TEST_CASE_TEMPLATE("train saves every so many steps and at its end, and nothing after an exception", M, Eager, Lazy) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "run.npz";
  Batches<Tensor<M>> batches(Host::zeros({100, 1}), Host::zeros({100, 1}), {.size = 1, .shuffle = false});
  std::int64_t made = 0, found = 0;
  Checkpoint checkpoint, reader;
  checkpoint.add("steps", made);
  reader.add("steps", found);
  const auto step = [&](const Tensor<M>&, const Tensor<M>&) {
    return Tensor<M>(++made == 8 ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  };
  const auto saved = [&] {
    reader.load(path);
    return found;
  };
  TrainingOptions options{.steps = 5, .progress = false, .save = {&checkpoint, path, 3}};
  options.after_step = [&](const StepReport& now) {
    if (now.steps == 4) CHECK(saved() == 3);
    return true;
  };
  CHECK(train(step, batches, options).steps == 5);
  CHECK(saved() == 5);
  options.after_step = {};
  options.save.every = 1;
  CHECK_THROWS_AS(train(step, batches, options), ValueError);  // in the eighth step
  CHECK(saved() == 7);
  options.save.checkpoint = nullptr;
  CHECK_THROWS_WITH_AS(train(step, batches, options), doctest::Contains("but no checkpoint"), ValueError);
  options.stop_on_nan = false;
  options.save.file.clear();
  CHECK(train(step, batches, options).steps == 5);
  CHECK(saved() == 7);
}

TEST_CASE("the steps between two savings are those of the run, of which a call makes some") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "run.npz";
  Batches<Host> batches(Host::zeros({5, 1}), Host::zeros({5, 1}), {.size = 1, .shuffle = false});
  const auto step = [](const Host&, const Host&) { return Host(1.0); };
  Checkpoint checkpoint;
  checkpoint.add("batches", batches);
  std::vector<std::int64_t> saved;  // steps of the run when the file was last written
  std::int64_t done = 0;
  TrainingOptions options{.epochs = 4, .steps = 4, .progress = false, .save = {&checkpoint, path, 3}};
  options.after_step = [&](const StepReport&) {
    if (std::filesystem::remove(path)) saved.push_back(done);
    ++done;
    return true;
  };
  for (int call = 0; call < 3; ++call) {
    train(step, batches, options);
    CHECK(std::filesystem::remove(path));  // that of its end
  }
  CHECK(saved == std::vector<std::int64_t>{3, 6, 9});
}

TEST_CASE("the checkpoint at the end has the row of the last epoch") {
  const testing::TemporaryFolder folder;
  for (const std::int64_t every : {0, 2, 5}) {
    TrainingHistory history, found;
    Checkpoint checkpoint, reader;
    checkpoint.add("history", history);
    reader.add("history", found);
    Batches<Host> batches(Host::zeros({5, 1}), Host::zeros({5, 1}), {.size = 1, .shuffle = false});
    const auto step = [](const Host&, const Host&) { return Host(1.0); };
    const auto validate = [] { return Figures{{"accuracy", 0.5}}; };
    train(step, batches,
          {.epochs = 2,
           .progress = false,
           .validate = validate,
           .history = &history,
           .save = {&checkpoint, folder / "run.npz", every}});
    reader.load(folder / "run.npz");
    CHECK(history.rows().size() == 2);
    CHECK(found.rows().size() == 2);
  }
}

TEST_CASE_TEMPLATE("every rule of descent goes on from a checkpoint bit for bit", M, Eager, Lazy) {
  using T = Tensor<M>;
  const LearningRate rate = cosine_decay(0.1, 0.01, 8);
  const std::vector<std::function<Descent()>> rules{
      [&] { return sgd({.rate = rate, .momentum = 0.9, .nesterov = true}); },
      [&] { return sgd({.rate = rate, .momentum = 0.9, .dampening = 0.5}); },
      [&] { return adagrad({.rate = rate, .first_squares = 0.1}); },
      [&] { return rmsprop({.rate = rate, .momentum = 0.5, .centred = true}); },
      [&] { return adam({.rate = rate, .amsgrad = true}); },
      [&] { return adamw({.rate = rate}); },
      [&] { return adamax({.rate = rate}); },
      [&] { return nadam({.rate = rate}); },
      [&] { return radam({.rate = rate, .beta2 = 0.9}); },
      [&] { return adadelta({.rate = rate}); },
      [&] { return lion({.rate = rate}); },
      [&] { return lamb({.rate = rate, .weight_decay = 0.1}); },
      [&] { return rprop({.rate = rate}); },
      [&] { return asgd({.rate = rate, .average_from = 2}); },
      [&] { return adafactor({.rate = rate}); },
      [&] { return muon({.rate = rate}); },
      [&] { return lbfgs({.rate = rate, .history = 3}); },
  };
  const testing::TemporaryFolder folder;
  const std::string path = folder / "rule.npz";
  for (const std::function<Descent()>& make : rules) {
    struct One {
      T w = T::variable(T::linspace(-1, 1, 12).reshape({3, 4}), "w");
      Descent descent;
      Checkpoint checkpoint;

      explicit One(Descent given) : descent(std::move(given)) {
        const NamedList<Tensor<Any>> named{{"w", Tensor<Any>(w.value())}};
        checkpoint.add("w", named).add("descent", descent.state(named));
      }
      void steps(int count) {
        auto step = compile([&](T t) {
          auto objective = [&](const T& in) { return mean(square(sin(w * in) - in)); };
          auto [loss, gradients] = value_and_grad(objective, std::vector{w})(t);
          descent.update(std::vector{w}, gradients);
          return loss;
        });
        for (int i = 0; i < count; ++i) (void)step(T::linspace(0, 2, 4)).template item<float>();
      }
    };
    One whole(make());
    CAPTURE(whole.descent.name());
    whole.steps(7);
    One first(make());
    first.steps(3);
    first.checkpoint.save(path);
    One second(make());
    second.checkpoint.load(path);
    second.steps(4);
    CHECK(second.descent.count() == 7);
    CHECK(second.w.template to_vector<float>() == whole.w.template to_vector<float>());
  }
}

TEST_CASE("what a rule's states begin with is in its checkpoint") {
  using T = Tensor<Eager>;
  const testing::TemporaryFolder folder;
  const std::string path = folder / "rule.npz";
  const T gradient{0.5, -3.0};
  const auto make = [](const AdagradOptions& options) {
    return std::pair(T::variable(T::ones({2}), "w"), adagrad(options));
  };
  const auto states = [](auto& run) { return run.second.state({{"w", Tensor<Any>(run.first.value())}}); };
  auto begun = make({.first_squares = 0.25});
  CHECK(states(begun)["w.squares"].template to_vector<float>() == std::vector<float>{0.25, 0.25});
  begun.second.update(std::vector{begun.first}, std::vector{gradient});
  CHECK(states(begun)["w.squares"].template to_vector<float>() == std::vector<float>{0.5, 9.25});
  Checkpoint().add("descent", states(begun)).save(path);
  // One that is made without them goes on from them too.
  auto other = make({});
  assign(other.first, begun.first);
  Checkpoint().add("descent", states(other)).load(path);
  for (auto* run : {&begun, &other}) run->second.update(std::vector{run->first}, std::vector{gradient});
  CHECK(other.first.to_vector<float>() == begun.first.to_vector<float>());
}

TEST_CASE("a checkpoint written in one mode is read in the other") {
  const testing::TemporaryFolder folder;
  Run<Eager> eager;
  (void)eager.steps(3);
  eager.checkpoint.save(folder / "run.npz");
  Run<Lazy> lazy;
  lazy.checkpoint.load(folder / "run.npz");
  CHECK(lazy.model.parameters()[0].to_vector<float>() == eager.model.parameters()[0].to_vector<float>());
}

TEST_CASE("a checkpoint of something else is refused and changes nothing") {
  const testing::TemporaryFolder folder;
  Run<Eager> run;
  (void)run.steps(1);
  const auto before = run.model.parameters()[0].to_vector<float>();
  const auto refused = [&](Checkpoint& checkpoint, const char* message) {
    checkpoint.save(folder / "other.npz");
    CHECK_THROWS_WITH_AS(run.checkpoint.load(folder / "other.npz"), doctest::Contains(message), IoError);
    CHECK(run.model.parameters()[0].to_vector<float>() == before);
    CHECK(run.finished == 1);
  };
  Checkpoint empty;
  refused(empty, "other.npz: the checkpoint lacks 'model/0.weight'");

  Checkpoint wrong;
  NamedList<Tensor<Any>> shapes = run.model.named_parameters();
  for (auto& parameter : shapes) parameter.value = Tensor<Any>::variable(Tensor<Any>::zeros({5, 5}));
  wrong.add("model", shapes);
  refused(wrong, "'model/0.weight' is f32 of shape (5,5), expected f32 of shape (1,16)");

  Run<Eager> other;
  std::int64_t more = 3;
  other.checkpoint.add("more", more);
  refused(other.checkpoint, "holds 'more', which is not part of this run");
  CHECK(!run.checkpoint.load_if_present(folder / "none.npz"));
  CHECK_THROWS_WITH_AS(run.checkpoint.load(folder / "none.npz"), doctest::Contains("cannot be opened"), IoError);
}

TEST_CASE("a checkpoint whose position is not in the data set is refused and changes nothing") {
  const testing::TemporaryFolder folder;
  const Host few = Host::zeros({5, 1}), many = Host::zeros({50, 1});
  std::int64_t number = 7;
  Batches<Host> long_batches(many, many, {.size = 10});
  (void)long_batches.next();
  Checkpoint written;
  written.add("number", number).add("batches", long_batches).save(folder / "long.npz");

  std::int64_t own_number = 1;
  Batches<Host> short_batches(few, few, {.size = 2});
  (void)short_batches.next();
  Checkpoint checkpoint;
  checkpoint.add("number", own_number).add("batches", short_batches);
  seed(5);
  (void)Host::uniform({1});
  CHECK_THROWS_WITH_AS(checkpoint.load(folder / "long.npz"),
                       doctest::Contains("long.npz: 'batches' does not fit this run: Batches: there is no sample 10"),
                       IoError);
  CHECK(own_number == 1);
  CHECK(short_batches.position().sample == 2);
  CHECK(random_state().seed == 5);
  CHECK(random_state().draws == 1);
}

TEST_CASE("epochs without end leave the end to the steps") {
  const auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(detail::steps_left(0, 100, 100, {.epochs = most, .steps = 7}) == 7);
  CHECK(detail::steps_left(3, 50, 100, {.epochs = most}) == most);
  CHECK(detail::steps_left(1, 50, 100, {.epochs = 3}) == 150);
  CHECK(detail::steps_left(2, 0, 100, {.epochs = 3}) == 0);
  CHECK(detail::steps_left(3, 100, 100, {.epochs = 3}) == 0);
}

TEST_CASE("training ends with its epochs, its steps, or when it is told to") {
  using T = Host;
  Batches<T> batches(T::zeros({10}), T::zeros({10}), {.size = 4});
  int calls = 0;
  const auto step = [&](const T& x, const T&) {
    ++calls;
    return mean(x) + calls;
  };
  const TrainingReport report = train(step, batches, {.epochs = 2});
  CHECK(report.steps == 6);
  CHECK(report.loss == 6);
  CHECK(batches.position().epoch == 2);
  CHECK(train(step, batches, {.epochs = 2}).steps == 0);
  CHECK(train(step, batches, {.epochs = 9, .steps = 4}).steps == 4);
  std::vector<std::int64_t> epochs;
  const auto stop = [&](const StepReport& now) {
    epochs.push_back(now.epoch);
    return now.steps < 3;
  };
  CHECK(train(step, batches, {.epochs = 9, .after_step = stop}).steps == 3);
  CHECK(epochs == std::vector<std::int64_t>{3, 3, 4});
}

TEST_CASE("a loss that is no single number is refused") {
  Batches<Host> batches(Host::zeros({2}), Host::zeros({2}));
  const auto step = [](const Host& x, const Host&) { return x; };
  CHECK_THROWS_WITH_AS(train(step, batches, {}), "train: the loss must be one number, not of shape (2,)", ShapeError);
}

}  // namespace tyto::nn
