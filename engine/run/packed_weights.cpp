// SPDX-License-Identifier: MIT
// Packs weights when their state has changed, once for all who read that layout, and releases plain contents.
#include "engine/run/packed_weights.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/graph/builder.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/device.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/shared_arrays.hpp"

namespace tyto::run {

namespace {

/// Registers all packed weights, by the state that they pack and by the one that graphs read.
struct Registry {
  std::mutex mutex;
  std::unordered_multimap<const core::State*, std::weak_ptr<PackedWeights>> of_state;
};

// Never destroyed: states of static lifetime may go while the process ends.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

std::vector<std::shared_ptr<PackedWeights>> all_of(const core::State* state) {
  std::vector<std::shared_ptr<PackedWeights>> found;  // last references must not be dropped under the lock
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto [first, last] = all.of_state.equal_range(state);
  for (auto each = first; each != last; ++each) {
    if (auto packed = each->second.lock()) found.push_back(std::move(packed));
  }
  return found;
}

bool same_attributes(const std::shared_ptr<const core::Attributes>& a,
                     const std::shared_ptr<const core::Attributes>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool same_views(const PackingPath& a, const PackingPath& b) {
  const auto views = [](const PackingPath& path) { return std::span(path.operators).first(path.operators.size() - 1); };
  return a.type == b.type && std::ranges::equal(views(a), views(b), [](const auto& one, const auto& other) {
           return one.first == other.first && same_attributes(one.second, other.second);
         });
}

const core::ProductAttributes& product_of(const PackingPath& path) {
  return std::get<core::ProductAttributes>(*path.operators.back().second);
}

}  // namespace

struct PackedWeights::Contents {
  PackingPath path;
  core::Array array;
};

PackedWeights::PackedWeights(std::shared_ptr<core::State> weights, PackingPath path, core::TensorType type)
    : weights_(std::move(weights)),
      path_(std::move(path)),
      layout_(cpu::packed_layout(product_of(path_), path_.type.dtype)),
      input_(core::State::Kind::persistent, core::shown_name(*weights_) + ", packed", std::move(type)) {}

PackedWeights::~PackedWeights() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const core::State* state : {static_cast<const core::State*>(weights_.get()), &std::as_const(input_)}) {
    auto [each, last] = all.of_state.equal_range(state);
    while (each != last) each = each->second.expired() ? all.of_state.erase(each) : std::next(each);
  }
}

std::shared_ptr<PackedWeights> PackedWeights::of(const std::shared_ptr<core::State>& weights, const PackingPath& path,
                                                 const core::TensorType& type) {
  for (const std::shared_ptr<PackedWeights>& known : all_of(weights.get())) {
    if (same_views(known->path_, path) && product_of(known->path_) == product_of(path)) return known;
  }
  const auto made = std::make_shared<PackedWeights>(weights, path, type);
  const auto packs_alike = [&](const PackedWeights& other) {
    const core::ProductAttributes &one = product_of(path), &two = product_of(other.path_);
    const bool alike = !made->layout_.empty() && made->layout_ == other.layout_ && one.weights == two.weights &&
                       one.bytes == two.bytes && one.window.groups == two.window.groups;
    return same_views(path, other.path_) && (alike || one == two);
  };
  std::vector<std::shared_ptr<PackedWeights>> others;  // freed after the lock, as `made` is
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  // What other sizes read, or another thread was faster to make.
  const auto [first, last] = all.of_state.equal_range(weights.get());
  for (auto each = first; each != last; ++each) {
    others.push_back(each->second.lock());
    if (others.back() == nullptr) continue;
    if (packs_alike(*others.back())) return others.back();
    made->unpacked_ = others.back()->unpacked_;
  }
  all.of_state.emplace(weights.get(), made);
  all.of_state.emplace(&made->input_, made);
  return made;
}

std::shared_ptr<PackedWeights> PackedWeights::behind(const core::GraphInput& input) {
  for (const std::shared_ptr<PackedWeights>& each : all_of(input.state.get())) {
    if (&each->input_ == input.state.get()) return each;
  }
  return nullptr;
}

std::shared_ptr<core::State> PackedWeights::input_state(const std::shared_ptr<PackedWeights>& packed) {
  return {packed, &packed->input_};
}

core::Array PackedWeights::current(ReadContents read, const void* reader) {
  const std::lock_guard lock(mutex_);
  last_reader_ = reader;
  const std::uint64_t revision = weights_->revision();
  if (contents_ == nullptr || revision_ != revision) {
    pack(revision, read);
    release_plain();
  } else if (*unpacked_ && ++runs_ >= patience_) {
    // A program that reads plain contents between any two runs must not unpack them each time.
    patience_ *= 2;
    release_plain();
  }
  return contents_->array;
}

void PackedWeights::pack(std::uint64_t revision, ReadContents read) {
  contents_ = nullptr;  // before there are others
  const Value current = weights_->current();
  if (!current) {
    core::throw_error<GraphError>("input '", core::shown_name(*weights_), "' of shape ", weights_->type().shape,
                                  " was given no value");
  }
  const bool known = current.node()->is_version();
  const core::Array read_plain = known ? core::contents_of(current) : read(current);
  if (!known) {
    // The thread that computed it may have given the state a version that holds the same value.
    const std::uint64_t now = weights_->revision();
    if (core::contents_of(weights_->current()).buffer == read_plain.buffer) revision = now;
  }
  const core::Array plain = to_device(read_plain, cpu_device());
  Value value = core::constant(core::Mode::eager, plain);
  for (const auto& [op, attributes] : path_.operators) {
    value = core::emit(core::Mode::eager, op, attributes ? *attributes : core::Attributes(), {value});
  }
  // Equal weights of other states may lie in the same way, and this layout where nothing says which it is.
  contents_ = std::make_shared<Contents>(Contents{path_, shared_array(core::result_of(value).array)});
  revision_ = revision;
  *unpacked_ = true;  // also of contents that somebody else holds until a later run
}

void PackedWeights::release_plain() {
  runs_ = 0;
  if (!contents_->path.reversible) return;
  const auto again = [contents = contents_, was_unpacked = unpacked_] {
    *was_unpacked = true;
    return unpacked(contents->path, contents->array);
  };
  const core::Mode mode = weights_->held().mode();
  const bool was_unpacked = unpacked_->exchange(false);  // before a read of another thread can set it again
  const core::Array released = weights_->release({mode, again, 0});
  if (released) {
    released.buffer->device()->discard(*released.buffer);
  } else if (was_unpacked) {
    *unpacked_ = true;
  }
}

core::Array PackedWeights::unpacked_contents(const core::State& weights) {
  const core::State::Held held = weights.held();
  if (held.deferred == nullptr && (!held.version || !core::is_released(*held.version.node()))) return {};
  for (const std::shared_ptr<PackedWeights>& each : all_of(&weights)) {
    const std::lock_guard lock(each->mutex_);
    if (each->weights_.get() != &weights || each->contents_ == nullptr) continue;
    if (each->revision_ != weights.revision() || !each->contents_->path.reversible) continue;
    core::Array lent = unpacked(each->contents_->path, each->contents_->array);
    // A reader holds the array briefly; its pages are discarded with it.
    lent.buffer = core::BufferRef(lent.buffer.get(),
                                  [held = lent.buffer](core::Buffer* buffer) { buffer->device()->discard(*buffer); });
    return lent;
  }
  return {};
}

void PackedWeights::release(const void* reader) {
  const std::lock_guard lock(mutex_);
  if (reader != last_reader_) return;
  if (contents_.use_count() == 1 && contents_->array.buffer.use_count() == 1) contents_ = nullptr;
}

}  // namespace tyto::run
