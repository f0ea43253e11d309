// SPDX-License-Identifier: MIT
// Saves and restores a training run through one .npz file.
#include "tyto/nn/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <system_error>

#include "core/device/process_group.hpp"
#include "core/graph/label.hpp"
#include "core/value/text.hpp"
#include "nn/parts.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/distributed.hpp"
#include "tyto/io.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

// Names of the project's own arrays hold a space, which names of parameters need not avoid but rarely have.
constexpr const char* random_name = "random sequence";

/// The bytes of one process, on all.
std::vector<std::byte> bytes_of(int rank, std::span<const std::byte> own) {
  const Tensor<Any> length = distributed::broadcast(Tensor<Any>(static_cast<std::int64_t>(own.size())), rank);
  std::vector<std::byte> bytes(own.begin(), own.end());
  bytes.resize(static_cast<std::size_t>(length.item<std::int64_t>()));
  const auto count = static_cast<std::int64_t>(bytes.size());
  const Tensor<Any> sent =
      distributed::broadcast(Tensor<Any>::from_bytes(bytes.data(), count, {count}, DType::u8), rank);
  return {sent.bytes().begin(), sent.bytes().end()};
}

/// Describes a load in words that processes compare and a difference quotes.
std::string loading(const std::string& name, const Tensor<Any>& now, bool any_length) {
  const std::string type =
      any_length ? core::text(now.dtype(), " of any length") : core::text(now.dtype(), now.shape());
  return core::text("Checkpoint::load of ", type, " '", name, "'");
}

/// Never empty.
std::string reason_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    if (*error.what() != 0) return error.what();
  } catch (...) {
  }
  return "Checkpoint::load: a process threw an exception that says nothing";
}

/// Calls `part` on each process, then on all, when one of them threw, `undo` where it did not: whatever it is goes on
/// there, and is told to the others, who wait.
template <class Part, class Undo>
void all_or_none(const Part& part, const Undo& undo) {
  std::exception_ptr thrown;
  std::string reason;
  try {
    part();
  } catch (...) {
    thrown = std::current_exception();
    reason = reason_of(thrown);
  }
  const auto length = static_cast<std::int64_t>(reason.size());
  const std::vector<std::int64_t> lengths = distributed::all_gather(Tensor<Any>{length}).to_vector<std::int64_t>();
  const auto first = std::ranges::find_if(lengths, [](std::int64_t each) { return each != 0; });
  if (first == lengths.end()) return;
  const std::vector<std::byte> told =
      bytes_of(static_cast<int>(first - lengths.begin()), std::as_bytes(std::span(reason)));
  if (thrown) std::rethrow_exception(thrown);
  undo();
  throw IoError(std::string(reinterpret_cast<const char*>(told.data()), told.size()));
}

HostArray array_of(const Tensor<Any>& now) {
  const std::span<const std::byte> bytes = now.bytes();
  return {now.dtype(), now.shape(), {bytes.begin(), bytes.end()}};
}

}  // namespace

Checkpoint& Checkpoint::add(const std::string& name, const NamedList<Tensor<Any>>& states) {
  for (const Named<Tensor<Any>>& state : states) states_.push_back({name + "/" + state.name, state.value});
  return *this;
}

Checkpoint& Checkpoint::add(const std::string& name, std::int64_t& number) {
  return add_numbers(
      name, [&number] { return std::vector<std::int64_t>{number}; },
      [&number](std::span<const std::int64_t> values) { number = values[0]; });
}

Checkpoint& Checkpoint::add(const std::string& name, TrainingHistory& history) {
  const auto get = [&history] {
    const std::string state = history.state();
    return Tensor<Any>::from_bytes(state.data(), static_cast<std::int64_t>(state.size()),
                                   {static_cast<std::int64_t>(state.size())}, DType::u8);
  };
  const auto set = [&history](const HostArray& array) {
    history.restore({reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()});
  };
  items_.push_back({name, get, set, true});
  return *this;
}

Checkpoint& Checkpoint::add_numbers(const std::string& name, std::function<std::vector<std::int64_t>()> get,
                                    std::function<void(std::span<const std::int64_t>)> set) {
  const auto read = [get = std::move(get)] { return Tensor<Any>(get()); };
  const auto write = [set = std::move(set)](const HostArray& array) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(element_count(array.shape)));
    std::memcpy(numbers.data(), array.bytes.data(), array.bytes.size());
    set(numbers);
  };
  items_.push_back({name, read, write});
  return *this;
}

Checkpoint& Checkpoint::add_position(const std::string& name, std::function<BatchPosition()> get,
                                     std::function<void(const BatchPosition&)> set) {
  return add_numbers(
      name,
      [get = std::move(get)] {
        const BatchPosition position = get();
        return std::vector<std::int64_t>{position.epoch, position.sample};
      },
      [set = std::move(set)](std::span<const std::int64_t> values) {
        set({values[0], values[1]});
      });
}

std::vector<Checkpoint::Item> Checkpoint::with_random_state() const {
  Checkpoint all = *this;
  all.add_numbers(
      random_name,
      [] {
        const RandomState position = random_state();
        return std::vector<std::int64_t>{static_cast<std::int64_t>(position.seed),
                                         static_cast<std::int64_t>(position.draws)};
      },
      [](std::span<const std::int64_t> values) {
        random_state({static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1])});
      });
  return all.items_;
}

Checkpoint& Checkpoint::add(const std::string& name, Descent& descent, const NamedList<Tensor<Any>>& parameters) {
  for (const Named<Descent::KeptState>& each : descent.kept_states(parameters)) {
    const std::string own_name = name + "/" + each.name;
    const Tensor<Any> state = each.value.value;
    if (!each.value.whole) {
      states_.push_back({own_name, state});
      continue;
    }
    has_parts_ = true;
    const auto get = [state, shape = *each.value.whole] {
      const Tensor<Any> whole = joined_parts(stop_gradient(state), shape);
      eval({whole});  // all processes do, whether they read it or not
      return whole;
    };
    const auto set = [state](const HostArray& whole) {
      assign(state, own_part(to_tensor<Tensor<Any>>(whole), state.size()));
      eval({state});
    };
    items_.push_back({own_name, get, set});
  }
  return *this;
}

NamedList<Tensor<Any>> Checkpoint::arrays() const {
  NamedList<Tensor<Any>> arrays = states_;
  for (const Item& item : with_random_state()) arrays.push_back({item.name, item.get()});
  return arrays;
}

void Checkpoint::save(const std::string& path) const {
  if (has_parts_ && core::process_group().size() > 1) {
    throw GraphError("Checkpoint::save: each process keeps a part of it; all of them call save_together");
  }
  write_npz(path, arrays());
}

void Checkpoint::save_together(const std::string& path) const {
  if (core::processes_of_call("Checkpoint::save_together") == 1) return save(path);
  const core::LabelScope called("Checkpoint::save_together");
  const NamedList<Tensor<Any>> all = arrays();
  all_or_none(
      [&] {
        if (core::process_group().rank() == 0) write_npz(path, all);
      },
      [] {});
}

void Checkpoint::load(const std::string& path) {
  if (core::processes_of_call("Checkpoint::load") > 1) return load_together(path);
  const std::vector<Item> items = with_random_state();
  std::vector<HostArray> before;
  for (const Item& item : items) before.push_back(array_of(item.get()));
  const Contents found = read(path, items, before);
  set_all(path, items, found.items, before);
  for (std::size_t i = 0; i < states_.size(); ++i) assign(states_[i].value, to_tensor<Tensor<Any>>(found.states[i]));
}

// File systems need not be shared, and other machines may hold older files.
void Checkpoint::load_together(const std::string& path) {
  const core::LabelScope called("Checkpoint::load");
  const std::vector<Item> items = with_random_state();
  std::vector<HostArray> before;
  core::CollectiveCalls kept;
  const core::Party together{core::process_group_number()};
  const auto nothing = [] {};
  all_or_none(
      [&] {
        for (const Named<Tensor<Any>>& state : states_) kept.add(loading(state.name, state.value, false), together);
        for (const Item& item : items) {
          const Tensor<Any> now = item.get();
          kept.add(loading(item.name, now, item.any_length), together);
          before.push_back(array_of(now));
        }
      },
      nothing);
  core::agree(kept);
  const bool is_first = core::process_group().rank() == 0;
  Contents found;
  all_or_none(
      [&] {
        if (is_first) found = read(path, items, before);
      },
      nothing);
  if (!is_first) found.items = before;
  for (std::size_t i = 0; i < items.size(); ++i) {
    HostArray& value = found.items[i];
    value.bytes = bytes_of(0, value.bytes);
    if (items[i].any_length) value.shape = {static_cast<std::int64_t>(value.bytes.size())};
  }
  all_or_none([&] { set_all(path, items, found.items, before); }, [&] { set_all(path, items, before, before); });
  std::vector<Tensor<Any>> states;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states.push_back(states_[i].value);
    if (is_first) assign(states.back(), to_tensor<Tensor<Any>>(found.states[i]));
  }
  distributed::broadcast_states(states);
}

/// Everything is looked at before anything is changed.
Checkpoint::Contents Checkpoint::read(const std::string& path, const std::vector<Item>& items,
                                      const std::vector<HostArray>& now) const {
  std::map<std::string, HostArray> found;
  for (Named<HostArray>& array : tyto::detail::read_npz_file(path)) found[array.name] = std::move(array.value);
  const auto take = [&](const std::string& name, DType dtype, const Shape& shape, bool any_length) {
    const auto place = found.find(name);
    if (place == found.end()) core::throw_error<IoError>(path, ": the checkpoint lacks '", name, "'");
    const HostArray& array = place->second;
    const bool fits = any_length ? array.shape.rank() == 1 : array.shape == shape;
    if (array.dtype != dtype || !fits) {
      core::throw_error<IoError>(path, ": '", name, "' is ", name_of(array.dtype), " of shape ", array.shape,
                                 ", expected ", name_of(dtype), " of shape ", shape);
    }
    HostArray taken = std::move(place->second);
    found.erase(place);
    return taken;
  };
  Contents contents;
  for (const Named<Tensor<Any>>& state : states_) {
    contents.states.push_back(take(state.name, state.value.dtype(), state.value.shape(), false));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    contents.items.push_back(take(items[i].name, now[i].dtype, now[i].shape, items[i].any_length));
  }
  if (!found.empty()) {
    core::throw_error<IoError>(path, ": the checkpoint holds '", found.begin()->first,
                               "', which is not part of this run");
  }
  return contents;
}

/// Sets all items; where one throws, those set already are restored.
void Checkpoint::set_all(const std::string& path, const std::vector<Item>& items, const std::vector<HostArray>& values,
                         const std::vector<HostArray>& before) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    try {
      items[i].set(values[i]);
    } catch (...) {
      // A position of another data set, say, which only the batches themselves know not to have.
      for (std::size_t k = 0; k < i; ++k) items[k].set(before[k]);
      try {
        throw;
      } catch (const Error& error) {
        core::throw_error<IoError>(path, ": '", items[i].name, "' does not fit this run: ", error.what());
      }
    }
  }
}

bool Checkpoint::load_if_present(const std::string& path) {
  (void)core::processes_of_call("Checkpoint::load_if_present");
  const core::LabelScope called("Checkpoint::load_if_present");
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(path, unknown);
  if (!distributed::broadcast(Tensor<Any>(is_there)).item<bool>()) return false;
  load(path);
  return true;
}

}  // namespace nn
}  // namespace TYTO_API
