// Saving and restoring a training run through one .npz file.
#include "tyto/nn/checkpoint.hpp"

#include <unistd.h>

#include <cstring>
#include <map>

#include "core/text.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/io.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

// Names of the project's own arrays hold a space, which names of parameters need not avoid but rarely have.
constexpr const char* random_name = "random sequence";

}  // namespace

Checkpoint& Checkpoint::add(const std::string& name, const NamedList<Tensor<Any>>& states) {
  for (const Named<Tensor<Any>>& state : states) states_.push_back({name + "/" + state.name, state.value});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, std::int64_t& number) {
  numbers_.push_back({name, [&number] { return std::vector<std::int64_t>{number}; },
                      [&number](std::span<const std::int64_t> values) { number = values[0]; }});
  return *this;
}

Checkpoint& Checkpoint::add_position(const std::string& name, std::function<BatchPosition()> get,
                                     std::function<void(const BatchPosition&)> set) {
  const auto read = [get = std::move(get)] {
    const BatchPosition position = get();
    return std::vector<std::int64_t>{position.epoch, position.sample};
  };
  const auto write = [set = std::move(set)](std::span<const std::int64_t> values) { set({values[0], values[1]}); };
  numbers_.push_back({name, read, write});
  return *this;
}

std::vector<Checkpoint::Numbers> Checkpoint::all_numbers() const {
  std::vector<Numbers> all = numbers_;
  const auto read = [] {
    const RandomState position = random_state();
    return std::vector<std::int64_t>{static_cast<std::int64_t>(position.seed),
                                     static_cast<std::int64_t>(position.draws)};
  };
  const auto write = [](std::span<const std::int64_t> values) {
    random_state({static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1])});
  };
  all.push_back({random_name, read, write});
  return all;
}

void Checkpoint::save(const std::string& path) const {
  // Read through a tensor of its own each: what a state's handle was asked to show, it holds on to, and the next step
  // could not write in place.
  NamedList<Tensor<Any>> arrays;
  for (const Named<Tensor<Any>>& state : states_) arrays.push_back({state.name, stop_gradient(state.value)});
  for (const Numbers& numbers : all_numbers()) {
    const std::vector<std::int64_t> values = numbers.get();
    arrays.push_back({numbers.name, Tensor<Any>::from(values, {static_cast<std::int64_t>(values.size())})});
  }
  write_npz(path, arrays);
}

void Checkpoint::load(const std::string& path) {
  std::map<std::string, HostArray> found;
  for (Named<HostArray>& array : tyto::detail::read_npz_file(path)) found[array.name] = std::move(array.value);
  const auto take = [&](const std::string& name, DType dtype, const Shape& shape) -> const HostArray& {
    const auto place = found.find(name);
    if (place == found.end()) throw IoError(core::text(path, ": the checkpoint lacks '", name, "'"));
    const HostArray& array = place->second;
    if (array.dtype != dtype || array.shape != shape) {
      throw IoError(core::text(path, ": '", name, "' is ", name_of(array.dtype), " of shape ", array.shape,
                               ", expected ", name_of(dtype), " of shape ", shape));
    }
    return array;
  };
  // Everything is looked at before anything is changed.
  std::vector<const HostArray*> contents;
  for (const Named<Tensor<Any>>& state : states_) {
    contents.push_back(&take(state.name, state.value.dtype(), state.value.shape()));
  }
  const std::vector<Numbers> all = all_numbers();
  std::vector<std::vector<std::int64_t>> values;
  for (const Numbers& numbers : all) {
    const auto count = static_cast<std::int64_t>(numbers.get().size());
    const HostArray& array = take(numbers.name, DType::i64, {count});
    std::vector<std::int64_t>& row = values.emplace_back(static_cast<std::size_t>(count));
    std::memcpy(row.data(), array.bytes.data(), array.bytes.size());
  }
  if (found.size() != contents.size() + values.size()) {
    for (const Named<Tensor<Any>>& state : states_) found.erase(state.name);
    for (const Numbers& numbers : all) found.erase(numbers.name);
    throw IoError(
        core::text(path, ": the checkpoint holds '", found.begin()->first, "', which is not part of this run"));
  }
  std::vector<std::vector<std::int64_t>> before;
  for (const Numbers& numbers : all) before.push_back(numbers.get());
  for (std::size_t i = 0; i < all.size(); ++i) {
    try {
      all[i].set(values[i]);
    } catch (const Error& error) {
      // A position of another data set, which only the batches themselves know not to have.
      for (std::size_t k = 0; k < i; ++k) all[k].set(before[k]);
      throw IoError(core::text(path, ": '", all[i].name, "' does not fit this run: ", error.what()));
    }
  }
  for (std::size_t i = 0; i < contents.size(); ++i) assign(states_[i].value, to_tensor<Tensor<Any>>(*contents[i]));
}

bool Checkpoint::load_if_present(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return false;
  load(path);
  return true;
}

}  // namespace nn
}  // namespace TYTO_API
