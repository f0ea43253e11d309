// SPDX-License-Identifier: MIT
// Finds and loads the library for an MPI, next to the library or program that asks for it.
#include "distributed/transport.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/system/shared_library.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::distributed {

namespace {

std::string file_of(const Flavour& flavour) { return core::text("libtyto-", flavour.name, ".so"); }

/// The file of the first place that has it; empty where none has. By the folder of the shared library, or of the
/// program where Tyto is linked into it: as installed and as built beside the library, then as installed and as built
/// for a program in bin.
std::string found(const Flavour& flavour) {
  const std::string folder = core::folder_of_this_library();
  for (const char* place : {"/tyto/", "/", "/" TYTO_BIN_TO_LIB "/tyto/", "/../lib/"}) {
    std::string file = folder + place + file_of(flavour);
    if (std::filesystem::exists(file)) return file;
  }
  return {};
}

int number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

int processes_started(const Flavour& flavour) { return number_in(flavour.size); }

const Flavour* launched_by() {
  for (const Flavour& flavour : flavours) {
    if (processes_started(flavour) > 0) return &flavour;
  }
  return nullptr;
}

void refuse_other_launcher() {
  // SLURM_STEP_NUM_TASKS, as SLURM_NTASKS is set for the batch script itself, too.
  constexpr struct {
    const char* rank;
    const char* size;
  } launchers[] = {{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, {"PMIX_RANK", "PMIX_SIZE"}};
  for (const auto& [rank, size] : launchers) {
    if (std::getenv(rank) == nullptr || number_in(size) < 2) continue;
    core::throw_error<DeviceError>(
        "distributed: ", size,
        " says that a launcher started several processes, but neither Open MPI's nor MPICH's did, so that each would "
        "be a group of one; start them by tyto launch, mpirun or mpiexec, or ask for Backend::single");
  }
  if (std::getenv("PMIX_RANK") == nullptr || number_in("SLURM_STEP_NUM_TASKS") == 1 || number_in("PMIX_SIZE") == 1)
    return;
  std::fputs(
      "tyto: PMIX_RANK says that a launcher started this process, but nothing says with how many others; it works as a "
      "group of one (tyto launch, mpirun and mpiexec start groups)\n",
      stderr);
}

void note_failure(int status) {
  const char* const file = std::getenv("TYTO_LAUNCH_STATUS");
  std::FILE* const note = file == nullptr ? nullptr : std::fopen(file, "wb");
  if (note == nullptr) return;
  std::fputc(status, note);
  std::fclose(note);
}

bool is_there(const Flavour& flavour) { return !found(flavour).empty(); }

const TytoMpi& load(const Flavour& flavour) {
  static const TytoMpi* loaded[std::size(flavours)] = {};
  const TytoMpi*& table = loaded[&flavour - flavours];
  if (table != nullptr) return *table;
  const std::string file = file_of(flavour);
  const std::string place = found(flavour);
  const core::SharedLibrary library{place.empty() ? file.c_str() : place.c_str()};
  if (!library.is_loaded()) {
    throw DeviceError(place.empty()
                          ? core::text("distributed: this copy of Tyto has no ", file, ", which it needs under ",
                                       flavour.title, "'s launcher; build Tyto where ", flavour.title,
                                       " is installed (Debian: lib", flavour.name, "-dev), or use another launcher")
                          : core::text("distributed: ", flavour.title, " cannot be used: ", library.error()));
  }
  TytoMpiEntry entry = nullptr;
  library.find(entry, "tyto_mpi");
  if (entry == nullptr || entry()->version != tyto_mpi_version) {
    core::throw_error<DeviceError>("distributed: ", file, " belongs to another version of Tyto");
  }
  table = entry();
  return *table;
}

}  // namespace tyto::distributed
