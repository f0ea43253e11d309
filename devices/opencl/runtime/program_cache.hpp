// SPDX-License-Identifier: MIT
// Compiled programs by their source: kept in memory, and as binaries on disk for later processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/opencl/runtime/api.hpp"
#include "devices/opencl/runtime/slow_build_notice.hpp"

namespace tyto::opencl {

/// Where binaries of a device are kept: $TYTO_CACHE_DIR/opencl, else $XDG_CACHE_HOME/tyto/opencl, else
/// ~/.cache/tyto/opencl. Empty (nothing is kept on disk) when TYTO_CACHE_DIR is set to nothing, or no home is known, or
/// where the variable is not set and the driver keeps what it translates by itself.
std::filesystem::path default_cache_directory(cl_device_id device);

/// A program before it is compiled. `what` names its kernels in errors, which hold the compiler's log.
struct ProgramSource {
  std::string text;
  std::string what;
};

class ProgramCache {
 public:
  struct Counts {
    std::uint64_t compiled = 0;
    std::uint64_t from_disk = 0;
    std::uint64_t from_memory = 0;
  };

  /// `identity` names all that a binary depends on beside its source: device, driver, our version.
  ProgramCache(cl_context context, cl_device_id device, std::string identity, std::filesystem::path directory)
      : context_(context),
        device_(device),
        identity_(std::move(identity)),
        directory_(std::move(directory)),
        notice_(notice_of(device)) {}

  /// The built programs, owned by the cache. Those that neither memory nor disk has are compiled side by side.
  std::vector<cl_program> get(std::span<const ProgramSource> sources, const std::string& options);

  /// Writes to disk what has been compiled since the last call. To be called once kernels have run: drivers finish the
  /// translation of a kernel at its first launch, and their binaries then hold the result.
  void save_new();

  Counts counts() const;

 private:
  std::filesystem::path file_of(const std::string& key) const;
  ProgramHandle load(const std::string& key, const std::string& options) const;
  void save(const std::string& key, cl_program program) const;
  ProgramHandle compile(const ProgramSource& source, const std::string& options) const;
  std::vector<ProgramHandle> compile(std::span<const ProgramSource* const> sources, const std::string& options);
  static std::string notice_of(cl_device_id device);

  cl_context context_;
  cl_device_id device_;
  std::string identity_;
  std::filesystem::path directory_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, ProgramHandle> programs_;
  std::vector<const std::string*> unsaved_;  // keys in programs_
  std::atomic<bool> has_unsaved_{false};
  Counts counts_;
  SlowBuildNotice notice_;
};

}  // namespace tyto::opencl
