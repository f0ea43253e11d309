// SPDX-License-Identifier: MIT
// Loading by name: round trips, PyTorch's layouts, renaming, reports, and refusals that change nothing.
#include <doctest/doctest.h>

#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/temporary_folder.hpp"

namespace tyto::nn {
namespace {

Sequential network() {
  return {Conv2d({.in = 2, .out = 3, .window = {2, 1}}), BatchNorm2d({.channels = 3}), Flatten(nchw),
          Linear({.in = 3, .out = 2, .bias = false})};
}

using Host = Tensor<Eager>;

std::vector<float> numbers_of(const Tensor<Any>& x) { return x.to_vector<float>(); }

/// The arrays that PyTorch would save of the network: OIHW and (out, in).
NamedList<Host> from_pytorch() {
  return {{"0.weight", Host::arange(12).reshape({3, 2, 2, 1}).astype(DType::f32)},
          {"0.bias", Host{1.0, 2.0, 3.0}},
          {"1.weight", Host::ones({3})},
          {"1.bias", Host::zeros({3})},
          {"1.running_mean", Host{4.0, 5.0, 6.0}},
          {"1.running_var", Host{7.0, 8.0, 9.0}},
          {"1.num_batches_tracked", Host::full({}, 12, DType::i64)},
          {"3.weight", Host{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}}};
}

}  // namespace

TEST_CASE("a file that has a shared tensor under one of its names lacks nothing") {
  const testing::TemporaryFolder folder;
  const Linear layer({.in = 2, .out = 2});
  const Sequential model{layer, tyto::tanh, layer};
  write_safetensors(folder / "one.safetensors",
                    NamedList<Host>{{"2.weight", Host{{1.0, 2.0}, {3.0, 4.0}}}, {"0.bias", Host{5.0, 6.0}}});
  const LoadReport report = load(model, folder / "one.safetensors", {.layout = WeightLayout::tyto, .strict = true});
  CHECK(report.missing.empty());
  CHECK(numbers_of(layer.weight) == std::vector<float>{1, 2, 3, 4});
  CHECK(numbers_of(layer.bias) == std::vector<float>{5, 6});
}

TEST_CASE("a model that is saved and loaded has all its states again, buffers among them") {
  const testing::TemporaryFolder folder;
  for (const char* file : {"model.safetensors", "model.npz"}) {
    const Sequential model = network(), other = network();
    (void)model(Host::normal({4, 2, 1, 2}), training);
    save(model, folder / file);
    const LoadReport report = load(other, folder / file);
    CHECK(report.loaded.size() == 8);
    CHECK(report.missing.empty());
    CHECK(report.left_over.empty());
    const NamedList<Tensor<Any>> a = model.named_states(), b = other.named_states();
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i].name);
      CHECK(array_equal(a[i].value, b[i].value));
    }
    CHECK(other.named_buffers()[2].value.item<std::int64_t>() == 1);
  }
}

TEST_CASE("weights of PyTorch are turned into Tyto's layouts, whatever their floating type") {
  const testing::TemporaryFolder folder;
  for (const DType type : {DType::f32, DType::f16, DType::f64}) {
    NamedList<Host> states = from_pytorch();
    for (Named<Host>& state : states) {
      if (is_floating(state.value.dtype())) state.value = state.value.astype(type);
    }
    write_safetensors(folder / "torch.safetensors", states);
    const Sequential model = network();
    load(model, folder / "torch.safetensors", {.layout = WeightLayout::pytorch});
    const NamedList<Tensor<Any>> own = model.named_states();
    // (2, 1, 2, 3) of (3, 2, 2, 1): element (h, 0, i, o) is 4 o + 2 i + h.
    CHECK(numbers_of(own[0].value) == std::vector<float>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11});
    CHECK(numbers_of(own[4].value) == std::vector<float>{4, 5, 6});
    CHECK(own[6].value.item<std::int64_t>() == 12);
    CHECK(numbers_of(own[7].value) == std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(own[0].value.dtype() == DType::f32);
  }
}

TEST_CASE("what torch.save wrote of a state_dict is loaded as it stands, or from inside of a checkpoint") {
  const Sequential plain = network(), inside = network();
  const LoadReport report = load(plain, "tests/nn/goldens/network.pt");
  CHECK(report.loaded.size() == 8);
  CHECK(report.left_over.empty());
  CHECK(plain.named_states()["1.num_batches_tracked"].item<std::int64_t>() == 1);
  const std::string run = "tests/nn/goldens/run.pt", prefix = "net.module.";
  const auto rename = [&](const std::string& name) {
    return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : std::string();
  };
  CHECK(load(inside, run, {.rename = rename}).loaded.size() == 8);
  // The checkpoint has an input and what PyTorch computed of it.
  const NamedList<Host> arrays = read_torch(run);
  CHECK(allclose(inside(arrays["x"]), arrays["y"], 1e-6, 1e-6));
  CHECK(!allclose(plain(arrays["x"]), arrays["y"], 1e-3, 1e-3));
}

TEST_CASE("names of a file are changed by a rule, which may pass tensors over") {
  const testing::TemporaryFolder folder;
  NamedList<Host> states = from_pytorch();
  for (Named<Host>& state : states) state.name = "module.net." + state.name;
  states.push_back({"optimizer.step", Host::zeros({1})});
  write_safetensors(folder / "torch.safetensors", states);
  const auto rename = [](const std::string& name) {
    return name.rfind("module.net.", 0) == 0 ? name.substr(11) : std::string();
  };
  const LoadReport report =
      load(network(), folder / "torch.safetensors", {.rename = rename, .layout = WeightLayout::pytorch});
  CHECK(report.loaded.size() == 8);
  CHECK(report.left_over.empty());
}

TEST_CASE("what is missing and what is left over is an error, or a report where that is asked for") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "torch.safetensors";
  NamedList<Host> states = from_pytorch();
  states[7].name = "fc.weight";
  write_safetensors(path, states);
  const Sequential model = network();
  const std::vector<float> before = numbers_of(model.named_states()[0].value);
  const std::string message =
      path + ": the file lacks '3.weight'; it has 'fc.weight' instead, to which LoadOptions::rename may give other " +
      "names";
  CHECK_THROWS_WITH_AS(load(model, path, {.layout = WeightLayout::pytorch}), message.c_str(), IoError);
  CHECK(numbers_of(model.named_states()[0].value) == before);
  const LoadReport report = load(model, path, {.layout = WeightLayout::pytorch, .strict = false});
  CHECK(report.missing == std::vector<std::string>{"3.weight"});
  CHECK(report.left_over == std::vector<std::string>{"fc.weight"});
  CHECK(report.loaded.size() == 7);
  CHECK(numbers_of(model.named_states()[0].value) != before);

  states = from_pytorch();
  states.push_back({"4.weight", Host::zeros({1})});
  write_safetensors(path, states);
  const std::string more = path + ": the model has nothing called '4.weight'";
  CHECK_THROWS_WITH_AS(load(model, path, {.layout = WeightLayout::pytorch}), more.c_str(), IoError);
}

TEST_CASE("shapes, types, endings and doubled names that do not fit are refused, and nothing is changed") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "model.npz";
  const Sequential model = network();
  const std::vector<float> before = numbers_of(model.named_states()[0].value);
  const auto refused = [&](NamedList<Host> states, const LoadOptions& options, const std::string& what) {
    write_npz(path, states);
    CHECK_THROWS_WITH_AS(load(model, path, options), (path + what).c_str(), IoError);
    CHECK(numbers_of(model.named_states()[0].value) == before);
  };
  refused(
      from_pytorch(), {},
      ": '0.weight' is f32 of shape (3,2,2,1), expected f32 of shape (2,1,2,3); its axes may be in PyTorch's order: "
      "{.layout = nn::WeightLayout::pytorch}");
  NamedList<Host> states = from_pytorch();
  states[7].value = states[7].value.T();
  refused(states, {.layout = WeightLayout::pytorch},
          ": '3.weight' is f32 of shape (3,2), expected f32 of shape (2,3); its axes are in Tyto's order: "
          "{.layout = nn::WeightLayout::tyto}");
  states = from_pytorch();
  states[4].value = Host{1, 2, 3};
  refused(states, {.layout = WeightLayout::pytorch},
          ": '1.running_mean' is i64 of shape (3,), expected f32 of shape (3,)");
  refused(from_pytorch(), {.rename = [](const std::string&) { return std::string("same"); }},
          ": two tensors are called 'same', the second of them '0.bias'");
  CHECK_THROWS_WITH_AS(load(model, "model.h5"),
                       "load: model.h5 must end in .safetensors or .npz, or, of PyTorch's files, in .pt, .pth or .bin",
                       IoError);
  CHECK_THROWS_WITH_AS(load(model, "tests/nn/goldens/network.pt", {.layout = WeightLayout::tyto}),
                       "tests/nn/goldens/network.pt: '0.weight' is f32 of shape (3,2,2,1), expected f32 of shape "
                       "(2,1,2,3); its axes may be in PyTorch's order: {.layout = nn::WeightLayout::pytorch}",
                       IoError);
  CHECK_THROWS_WITH_AS(save(model, "model.pt"), "save: model.pt must end in .safetensors or .npz", IoError);
  CHECK_THROWS_AS(load(model, folder / "absent.npz"), IoError);
}

}  // namespace tyto::nn
