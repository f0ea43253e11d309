// SPDX-License-Identifier: MIT
// Finding and loading the library for an MPI, beside the library or program that asks for it.
#include "distributed/transport.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/system/shared_library.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::distributed {

namespace {

std::string file_of(const Flavour& flavour) { return core::text("libtyto-", flavour.name, ".so"); }

/// Where it may lie, by the folder of the shared library or, linked statically, of the program: as it is built, and as
/// it is installed.
std::vector<std::string> places_of(const Flavour& flavour) {
  const std::string folder = core::folder_of_this_library();
  std::vector<std::string> places;
  for (const char* place : {"/", "/tyto/", "/../lib/", "/../lib/tyto/"}) {
    places.push_back(folder + place + file_of(flavour));
  }
  return places;
}

int number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

const Flavour* launched_by() {
  for (const Flavour& flavour : flavours) {
    if (number_in(flavour.size) > 0) return &flavour;
  }
  return nullptr;
}

bool is_there(const Flavour& flavour) {
  for (const std::string& place : places_of(flavour)) {
    if (std::filesystem::exists(place)) return true;
  }
  return false;
}

const TytoMpi& load(const Flavour& flavour) {
  const std::vector<std::string> places = places_of(flavour);
  const std::string file = file_of(flavour);
  static const TytoMpi* loaded[std::size(flavours)] = {};
  const TytoMpi*& table = loaded[&flavour - flavours];
  if (table != nullptr) return *table;
  std::string found;
  for (const std::string& place : places) {
    if (std::filesystem::exists(place)) found = place;
  }
  const core::SharedLibrary library{found.empty() ? file.c_str() : found.c_str()};
  if (!library.is_loaded()) {
    throw DeviceError(found.empty()
                          ? core::text("distributed: this copy of Tyto has no ", file, ", which it needs under ",
                                       flavour.title, "'s launcher; build Tyto where ", flavour.title,
                                       " is installed (Debian: lib", flavour.name, "-dev), or use another launcher")
                          : core::text("distributed: ", flavour.title, " cannot be used: ", library.error()));
  }
  TytoMpiEntry entry = nullptr;
  library.find(entry, "tyto_mpi");
  if (entry == nullptr || entry()->version != tyto_mpi_version) {
    throw DeviceError(core::text("distributed: ", file, " belongs to another version of Tyto"));
  }
  table = entry();
  return *table;
}

}  // namespace tyto::distributed
