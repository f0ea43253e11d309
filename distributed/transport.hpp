// SPDX-License-Identifier: MIT
// Detects the MPI whose launcher started this process, and loads Tyto's library for it.
#pragma once

#include <string>
#include <vector>

#include "distributed/mpi/table.hpp"
#include "tyto/distributed.hpp"

namespace tyto::distributed {

/// An MPI that Tyto has a library for, where it was there when Tyto was built.
struct Flavour {
  Backend backend;
  const char* name;     // of the library: libtyto-NAME.so
  const char* title;    // for messages
  const char* package;  // of Debian
  const char* size;     // the variable that its launcher sets to the number of processes
};

inline constexpr Flavour flavours[] = {
    {Backend::open_mpi, "openmpi", "Open MPI", "openmpi-bin", "OMPI_COMM_WORLD_SIZE"},
    {Backend::mpich, "mpich", "MPICH", "mpich", "PMI_SIZE"},
};

/// The flavour whose launcher started this process; null for none.
const Flavour* launched_by();
/// How many processes its launcher says that it started.
int processes_started(const Flavour& flavour);
/// Throws DeviceError where another launcher, as of a cluster, started several processes: each would be a group of
/// one. A line on stderr says so where it may have.
void refuse_other_launcher();

/// Leaves the status of a process that fails for `tyto launch` of this machine: MPICH's launcher now and then forgets
/// that of one that ended without MPI's consent.
void note_failure(int status);

/// Tyto's library for the MPI, loaded. Throws DeviceError saying what is missing.
const TytoMpi& load(const Flavour& flavour);
/// Whether Tyto's library for the MPI is installed next to Tyto's own.
bool is_there(const Flavour& flavour);

}  // namespace tyto::distributed
