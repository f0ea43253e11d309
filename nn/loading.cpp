// SPDX-License-Identifier: MIT
// Loading by name: everything is held against the model before anything in it is changed.
#include "tyto/nn/loading.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "core/system/path.hpp"
#include "core/value/text.hpp"
#include "nn/distinct_states.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/device.hpp"
#include "tyto/io.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

constexpr std::size_t trim_every = std::size_t{4} << 20;  // bytes read, after which freed memory is given back

/// A kind of file, by the end of its name: how it is opened, and whose layouts its weights have.
struct FileKind {
  std::string_view ending;
  NamedList<tyto::detail::StoredArray> (*open)(const std::string& path);
  WeightLayout layout;
};
constexpr FileKind file_kinds[] = {
    {".safetensors", tyto::detail::open_safetensors_file, WeightLayout::tyto},
    {".npz", tyto::detail::open_npz_file, WeightLayout::tyto},
    {".pt", tyto::detail::open_torch_file, WeightLayout::pytorch},
    {".pth", tyto::detail::open_torch_file, WeightLayout::pytorch},
    {".bin", tyto::detail::open_torch_file, WeightLayout::pytorch},
};

const FileKind& kind_of(const std::string& path) {
  for (const FileKind& kind : file_kinds) {
    if (std::string_view(path).ends_with(kind.ending)) return kind;
  }
  core::throw_error<IoError>("load: ", path,
                             " must end in .safetensors or .npz, or, of PyTorch's files, in .pt, .pth or .bin");
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) out += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() > most ? out + core::text(" and ", names.size() - most, " more") : out;
}

/// The shape under which the file has a state.
Shape shape_in_file(const Member& state, WeightLayout layout) {
  const Shape& own = state.state().shape();
  if (layout == WeightLayout::tyto || state.pytorch_axes().empty()) return own;
  Shape shape(own.size(), 0);
  for (std::size_t i = 0; i < own.size(); ++i) shape[static_cast<std::size_t>(state.pytorch_axes()[i])] = own[i];
  return shape;
}

/// Whether the file shows that another program wrote it: the archives of NumPy, whose names are not said to be UTF-8,
/// and what PyTorch's tools mark as theirs.
bool is_foreign(const std::string& path) {
  std::string head(4096, 0);
  std::ifstream(core::path_of(path), std::ios::binary).read(head.data(), 4096);
  if (path.ends_with(".npz")) return (head[7] & 8) == 0;
  return head.find("\"format\":\"pt\"") != std::string::npos;
}

bool castable(DType from, DType to) {
  return from == to || (is_floating(from) && is_floating(to)) || (is_integer(from) && is_integer(to));
}

}  // namespace

LoadReport load(const Module& model, const std::string& path, const LoadOptions& options) {
  const FileKind& kind = kind_of(path);
  const WeightLayout layout = options.layout.value_or(kind.layout);
  const auto arrays = kind.open(path);
  std::map<std::string, const tyto::detail::StoredArray*> by_name;
  for (const auto& array : arrays) {
    const std::string name = options.rename ? options.rename(array.name) : array.name;
    if (name.empty()) continue;
    if (!by_name.emplace(name, &array.value).second) {
      core::throw_error<IoError>(path, ": two tensors are called '", name, "', the second of them '", array.name, "'");
    }
  }
  LoadReport report;
  std::vector<std::pair<Member, const tyto::detail::StoredArray*>> pairs;
  NamedList<Tensor<Any>> absent;
  DistinctStates present;
  const WeightLayout other = layout == WeightLayout::tyto ? WeightLayout::pytorch : WeightLayout::tyto;
  const char* cure = layout == WeightLayout::tyto
                         ? "; its axes may be in PyTorch's order: {.layout = nn::WeightLayout::pytorch}"
                         : "; its axes are in Tyto's order: {.layout = nn::WeightLayout::tyto}";
  model.visit_states([&](const std::string& name, const Module&, const Member& state) {
    const auto place = by_name.find(name);
    if (place == by_name.end()) {
      absent.push_back({name, state.state()});
      return;
    }
    const tyto::detail::StoredArray& array = *place->second;
    const Shape expected = shape_in_file(state, layout);
    const DType type = state.state().dtype();
    if (array.shape != expected || !castable(array.dtype, type)) {
      core::throw_error<IoError>(path, ": '", name, "' is ", tyto::name_of(array.dtype), " of shape ", array.shape,
                                 ", expected ", tyto::name_of(type), " of shape ", expected,
                                 array.shape != expected && array.shape == shape_in_file(state, other) ? cure : "");
    }
    pairs.emplace_back(state, &array);
    present.add(state.state());
    report.loaded.push_back(name);
    by_name.erase(place);
  });
  // A state that modules share is in the file when one of its names is.
  for (const Named<Tensor<Any>>& each : absent) {
    if (!present.contains(each.value)) report.missing.push_back(each.name);
  }
  for (const auto& left : by_name) report.left_over.push_back(left.first);
  if (options.strict && !report.missing.empty()) {
    core::throw_error<IoError>(path, ": the file lacks ", some_of(report.missing),
                               report.left_over.empty()
                                   ? ""
                                   : core::text("; it has ", some_of(report.left_over),
                                                " instead, to which LoadOptions::rename may give other names"));
  }
  if (options.strict && !report.left_over.empty()) {
    core::throw_error<IoError>(path, ": the model has nothing called ", some_of(report.left_over));
  }
  // Only weights whose shapes differ between the layouts tell which one the file has.
  const auto tells = [&](const auto& pair) {
    return shape_in_file(pair.first, layout) != shape_in_file(pair.first, other);
  };
  const auto exchanged = std::ranges::find_if(
      pairs, [](const auto& pair) { return !pair.first.pytorch_axes().empty() && pair.first.state().size() > 1; });
  if (!options.layout && layout == WeightLayout::tyto && exchanged != pairs.end() &&
      std::ranges::none_of(pairs, tells) && is_foreign(path)) {
    core::throw_error<IoError>(path, ": another program wrote it, and '",
                               report.loaded[static_cast<std::size_t>(exchanged - pairs.begin())], "' of shape ",
                               exchanged->second->shape,
                               ", like all of its weights, fits with axes in PyTorch's order and in Tyto's; say which "
                               "by {.layout = nn::WeightLayout::pytorch} or {.layout = nn::WeightLayout::tyto}");
  }
  // One after the other, so that weights are not all held twice; a file that cannot be read changes nothing.
  std::vector<Tensor<Any>> values;
  std::size_t untrimmed = 0;
  for (const auto& [state, array] : pairs) {
    Tensor<Any> value = to_tensor<Tensor<Any>>(array->read());
    if (layout == WeightLayout::pytorch && !state.pytorch_axes().empty()) {
      value = copy(transpose(value, state.pytorch_axes()));
    }
    values.push_back(cast(value, state.state().dtype()));
    value = {};
    untrimmed += static_cast<std::size_t>(values.back().size()) * size_of(values.back().dtype());
    if (untrimmed < trim_every) continue;
    trim_memory();
    untrimmed = 0;
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) assign(pairs[i].first.state(), values[i]);
  return report;
}

void save(const Module& model, const std::string& path) {
  if (path.ends_with(".safetensors")) return write_safetensors(path, model.named_states());
  if (path.ends_with(".npz")) return write_npz(path, model.named_states());
  core::throw_error<IoError>("save: ", path, " must end in .safetensors or .npz");
}

}  // namespace nn
}  // namespace TYTO_API
