// SPDX-License-Identifier: MIT
// Starts this very program as several processes, each of which runs one test case.
#pragma once

#include <functional>
#include <string>

#include "tests/support/message.hpp"

namespace distributed_tests {

struct Ran {
  int status;
  std::string output;  // of all processes
};

/// Runs a test case, which plain runs skip, in `processes` processes of an MPI ("openmpi", "mpich").
Ran run_case(const std::string& mpi, int processes, const std::string& name, const std::string& environment = "");

/// The same as a command of the shell, for who does more than wait for it, with options of `tyto launch`.
std::string command_of_case(const std::string& mpi, int processes, const std::string& name,
                            const std::string& environment = "", const std::string& options = "");

/// Whether the first process that ended had this status, as far as MPICH's launcher tells.
bool ended_with(const std::string& mpi, const Ran& ran, int status);

/// Calls `test` for each MPI that there is. Says so where there is none.
void with_each_mpi(const std::function<void(const std::string& mpi)>& test);

/// The value of an environment variable, or nothing.
std::string given(const char* variable);

using tyto_test::contains;

}  // namespace distributed_tests
