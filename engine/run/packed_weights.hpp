// SPDX-License-Identifier: MIT
// Weights of a state as the kernel of a product reads them: packed once in the process, for every graph that reads
// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "engine/run/unpacking.hpp"

namespace tyto::run {

/// Weights packed for kernels, in a state of their own, input_state(), which is an input of the graph that reads them.
class PackedWeights {
 public:
  PackedWeights(std::shared_ptr<core::State> weights, PackingPath path, core::TensorType type);
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// The one of this state whose layout the path makes; `type` is that of the packed weights.
  static std::shared_ptr<PackedWeights> of(const std::shared_ptr<core::State>& weights, const PackingPath& path,
                                           const core::TensorType& type);
  /// The one whose weights an input of a graph is; null for other inputs.
  static std::shared_ptr<PackedWeights> behind(const core::GraphInput& input);
  static std::shared_ptr<core::State> input_state(const std::shared_ptr<PackedWeights>& packed);

  /// The state's contents as they are now, packed: anew when they have changed. The state releases its plain contents
  /// where nobody else holds them. `read` gets the contents of the value that was assigned to it.
  using ReadContents = core::Array (*)(const Value&);
  core::Array current(ReadContents read, const void* reader);
  /// Releases packed weights that nobody else holds and nobody has read since `reader` did: they are packed anew at
  /// their next use. A buffer that another layout or state shares stays: the memory would not be freed, and sizes in
  /// turn would pack at each call.
  void release(const void* reader);

  const core::State& weights() const { return *weights_; }
  bool keeps_plain() const { return !path_.reversible; }

  /// The state's contents made of packed ones, whichever hold them; the state stays without them. Nothing where none
  /// do.
  static core::Array unpacked_contents(const core::State& weights);

 private:
  struct Contents;

  void pack(std::uint64_t revision, ReadContents read);
  void release_plain();

  std::shared_ptr<core::State> weights_;
  PackingPath path_;
  std::string layout_;  // see cpu::packed_layout
  core::State input_;
  std::mutex mutex_;
  std::shared_ptr<Contents> contents_;
  /// Whether the state may have its plain contents besides packed ones, since a read has restored them or somebody else
  /// held them when they were to be released. All layouts of one state share the flag.
  std::shared_ptr<std::atomic<bool>> unpacked_ = std::make_shared<std::atomic<bool>>(true);
  std::uint64_t revision_ = 0;  // of the state, when it was packed
  const void* last_reader_ = nullptr;
  std::uint32_t runs_ = 0;      // since the plain contents were read again
  std::uint32_t patience_ = 1;  // as many of them until they are released
};

}  // namespace tyto::run
