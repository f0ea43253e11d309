// SPDX-License-Identifier: MIT
// Detects output that was lost, so that a command whose output went nowhere fails.
#pragma once

namespace tyto::cli {

/// Puts something in the place of standard streams that are closed, so that no file that the program opens becomes one
/// of them: what is printed to a closed one fails.
void occupy_closed_streams();

/// Whether all that was printed to standard output has been written.
bool standard_output_is_written();

}  // namespace tyto::cli
