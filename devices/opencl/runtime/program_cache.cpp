// SPDX-License-Identifier: MIT
// Builds programs once: memory first, then a checked binary on disk, then the driver's compiler.
#include "devices/opencl/runtime/program_cache.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <system_error>
#include <thread>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/runtime/text_hash.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

constexpr char magic[8] = {'T', 'Y', 'T', 'O', 'C', 'L', '0', '1'};

// A file: this header, the key it was saved under, the driver's binary. Anything that does not fit is no entry at all.
struct Header {
  char magic[8];
  std::uint64_t key_bytes;
  std::uint64_t binary_bytes;
  std::uint64_t binary_hash;
};

std::string hash_name(const std::string& key) { return hash_digits(key, 0) + hash_digits(key, 1); }

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  return log.substr(0, log.find('\0'));
}

// PoCL does, unless it is told not to. Asked for a binary it translates every kernel a second time, for all sizes of
// work-groups, and once more when a program that was made from the binary is launched.
bool keeps_translations(cl_device_id device) {
  const std::string platform = text_of(value_of<cl_platform_id>(device, CL_DEVICE_PLATFORM), CL_PLATFORM_NAME);
  const char* kept = std::getenv("POCL_KERNEL_CACHE");
  return platform == "Portable Computing Language" && (kept == nullptr || std::string_view(kept) != "0");
}

}  // namespace

std::filesystem::path default_cache_directory(cl_device_id device) {
  if (const auto own = core::environment("TYTO_CACHE_DIR")) {
    return own->empty() ? std::filesystem::path() : std::filesystem::path(*own) / "opencl";
  }
  if (keeps_translations(device)) return {};
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "tyto" / "opencl";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache" / "tyto" / "opencl";
  }
  return {};
}

std::vector<cl_program> ProgramCache::get(std::span<const ProgramSource> sources, const std::string& options) {
  // One request at a time: a second one for the same program must wait for the first anyway.
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  std::vector<const ProgramSource*> missing;
  for (const ProgramSource& source : sources) {
    keys.push_back(identity_ + '\n' + options + '\n' + source.text);
    if (programs_.contains(keys.back())) {
      ++counts_.from_memory;
    } else if (ProgramHandle loaded = load(keys.back(), options)) {
      ++counts_.from_disk;
      programs_.emplace(keys.back(), std::move(loaded));
    } else {
      missing.push_back(&source);
    }
  }
  std::vector<ProgramHandle> compiled = compile(missing, options);
  counts_.compiled += compiled.size();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto entry =
        programs_.emplace(keys[static_cast<std::size_t>(missing[i] - sources.data())], std::move(compiled[i])).first;
    if (directory_.empty()) continue;
    unsaved_.push_back(&entry->first);
    has_unsaved_.store(true, std::memory_order_relaxed);
  }
  std::vector<cl_program> found;
  for (const std::string& key : keys) found.push_back(programs_.at(key).get());
  return found;
}

void ProgramCache::save_new() {
  if (!has_unsaved_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  for (const std::string* key : unsaved_) save(*key, programs_.at(*key).get());
  unsaved_.clear();
  has_unsaved_.store(false, std::memory_order_relaxed);
}

ProgramCache::Counts ProgramCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

ProgramHandle ProgramCache::compile(const ProgramSource& source, const std::string& options) const {
  const char* text = source.text.c_str();
  const std::size_t length = source.text.size();
  cl_int status = CL_SUCCESS;
  ProgramHandle program(clCreateProgramWithSource(context_, 1, &text, &length, &status));
  check(status, "clCreateProgramWithSource", source.what);
  status = clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    core::throw_error<DeviceError>(source.what, ": ", failure("clBuildProgram", status), '\n',
                                   build_log(program.get(), device_));
  }
  return program;
}

std::string ProgramCache::notice_of(cl_device_id device) {
  return core::text("tyto: OpenCL compiles kernels for ", text_of(device, CL_DEVICE_NAME),
                    ", which takes a while the first time");
}

std::vector<ProgramHandle> ProgramCache::compile(std::span<const ProgramSource* const> sources,
                                                 const std::string& options) {
  if (sources.empty()) return {};
  const SlowBuildNotice::Build build(notice_);
  std::vector<ProgramHandle> programs(sources.size());
  std::vector<std::exception_ptr> faults(sources.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        programs[i] = compile(*sources[i], options);
      } catch (...) {
        faults[i] = std::current_exception();
      }
    }
  };
  {
    struct Helpers : std::vector<std::thread> {
      ~Helpers() {
        for (std::thread& each : *this) each.join();
      }
    } helpers;
    for (std::size_t i = 1; i < sources.size(); ++i) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
  return programs;
}

std::filesystem::path ProgramCache::file_of(const std::string& key) const {
  return directory_ / (hash_name(key) + ".bin");
}

ProgramHandle ProgramCache::load(const std::string& key, const std::string& options) const {
  if (directory_.empty()) return {};
  std::ifstream file(file_of(key), std::ios::binary);
  Header header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.key_bytes != key.size()) return {};
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file_of(key), error);
  if (error || header.binary_bytes == 0 || header.binary_bytes > size ||
      size != sizeof header + header.key_bytes + header.binary_bytes) {
    return {};
  }
  std::string stored_key(key.size(), '\0');
  std::string binary(static_cast<std::size_t>(header.binary_bytes), '\0');
  if (!file.read(stored_key.data(), static_cast<std::streamsize>(stored_key.size())) || stored_key != key ||
      !file.read(binary.data(), static_cast<std::streamsize>(binary.size())) ||
      hash_text(binary, 0) != header.binary_hash) {
    return {};
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t length = binary.size();
  cl_int status = CL_SUCCESS;
  cl_int loaded = CL_SUCCESS;
  ProgramHandle program(clCreateProgramWithBinary(context_, 1, &device_, &length, &bytes, &loaded, &status));
  if (status != CL_SUCCESS || loaded != CL_SUCCESS) return {};
  if (clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr) != CL_SUCCESS) return {};
  return program;
}

// The cache is a convenience: a full disk or a read-only home must not stop a computation, so failures are silent.
void ProgramCache::save(const std::string& key, cl_program program) const {
  std::size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS || size == 0)
    return;
  std::string binary(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return;

  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return;
  // Written beside its place and moved there in one step, so that no reader ever sees half a file.
  static std::atomic<unsigned> serial{0};
  const std::filesystem::path target = file_of(key);
  std::filesystem::path temporary = target;
  temporary += core::text(".", ::getpid(), ".", serial.fetch_add(1), ".tmp");
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.key_bytes = key.size();
  header.binary_bytes = binary.size();
  header.binary_hash = hash_text(binary, 0);
  bool written = false;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(key.data(), static_cast<std::streamsize>(key.size()));
    file.write(binary.data(), static_cast<std::streamsize>(binary.size()));
    file.close();
    written = !file.fail();
  }
  if (written) std::filesystem::rename(temporary, target, error);
  if (!written || error) std::filesystem::remove(temporary, error);
}

}  // namespace tyto::opencl
