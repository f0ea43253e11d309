// SPDX-License-Identifier: MIT
// tyto launch, which has nothing to start a group of processes with: there is no MPI here.
#include <tyto/error.hpp>

#include "cli/commands.hpp"

namespace tyto::cli {
namespace {

int launch(const Arguments&) {
  throw DeviceError("tyto launch starts processes by Open MPI or MPICH, which Tyto does not know on Windows");
}

}  // namespace

const Command launch_command{
    "launch", "PROGRAM [ARGUMENTS]", "starts a program as several processes that work together", {}, launch, true};

}  // namespace tyto::cli
