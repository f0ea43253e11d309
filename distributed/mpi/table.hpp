// SPDX-License-Identifier: MIT
// What Tyto asks of an MPI, as a table of C functions: a small library for each MPI fills it, and is loaded when a
// program starts its group.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum TytoMpiType : std::int32_t {
  tyto_mpi_i8,
  tyto_mpi_u8,
  tyto_mpi_i16,
  tyto_mpi_u16,
  tyto_mpi_i32,
  tyto_mpi_u32,
  tyto_mpi_i64,
  tyto_mpi_u64,
  tyto_mpi_f32,
  tyto_mpi_f64,
  tyto_mpi_types
};

enum TytoMpiReduction : std::int32_t { tyto_mpi_sum, tyto_mpi_min, tyto_mpi_max };

/// Counts are at most INT32_MAX. An error ends all processes with MPI's message.
struct TytoMpi {
  std::int32_t version;
  /// Joins the processes that were started together; to be called once, by one thread, which makes all other calls.
  void (*start)();
  void (*finish)();
  std::int32_t (*rank)();
  std::int32_t (*size)();
  /// The implementation and its version, such as "Open MPI v4.1.4".
  const char* (*name)();
  void (*all_reduce)(void* data, std::int32_t count, std::int32_t type, std::int32_t reduction);
  /// `count` elements for each process.
  void (*reduce_scatter)(const void* parts, void* own, std::int32_t count, std::int32_t type, std::int32_t reduction);
  void (*all_gather)(const void* own, void* all, std::int32_t bytes);
  void (*broadcast)(void* data, std::int32_t bytes, std::int32_t root);
  void (*barrier)();
  void (*abort)(std::int32_t status);
  /// A word of memory for each process of this machine, seen by all of them; null where there is none. `count` says how
  /// many processes that are, and `ranks` which.
  std::uint64_t* (*shared_words)(std::int32_t* count, const std::int32_t** ranks);
};

inline constexpr std::int32_t tyto_mpi_version = 1;

/// What the library for an MPI exports, under the name "tyto_mpi".
using TytoMpiEntry = const TytoMpi* (*)();
}
