// SPDX-License-Identifier: MIT
// The functions of MPI that Tyto uses, as a table: a small library for each MPI fills it, and is loaded when a program
// starts its group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/process_group.hpp"

extern "C" {

/// Bytes of a message: MPI's scratch memory for larger ones costs more than the transfer (Open MPI 4.1 through shared
/// memory: 5.5 GB/s at 1 MB, 0.9 at 16 MB).
inline constexpr std::int32_t tyto_mpi_piece_bytes = 1 << 20;

/// Counts are at most INT32_MAX. An error ends all processes with MPI's message. Groups have numbers of this process's
/// own; all processes are group 0.
struct TytoMpi {
  std::int32_t version;
  /// Joins the processes that were started together; to be called once, by one thread, which makes all other calls.
  void (*start)();
  void (*finish)();
  std::int32_t (*rank)(std::int32_t group);
  std::int32_t (*size)(std::int32_t group);
  /// The implementation and its version, such as "Open MPI v4.1.4".
  const char* (*name)();
  /// The group of those who gave the same colour, in the order of their keys, then ranks.
  std::int32_t (*split)(std::int32_t group, std::int32_t colour, std::int32_t key);
  /// Elements are integers, f32 or f64.
  void (*all_reduce)(std::int32_t group, void* data, std::int32_t count, tyto::DType type,
                     tyto::core::Reduction reduction);
  /// `count` elements for each process.
  void (*reduce_scatter)(std::int32_t group, const void* parts, void* own, std::int32_t count, tyto::DType type,
                         tyto::core::Reduction reduction);
  void (*all_gather)(std::int32_t group, const void* own, void* all, std::int32_t bytes);
  void (*broadcast)(std::int32_t group, void* data, std::int32_t bytes, std::int32_t root);
  void (*barrier)(std::int32_t group);
  /// Waits for nobody: a copy is on its way.
  void (*send)(std::int32_t group, const void* data, std::int32_t bytes, std::int32_t to, std::int32_t tag);
  void (*recv)(std::int32_t group, void* data, std::int32_t bytes, std::int32_t from, std::int32_t tag);
  /// A word of memory for each process of the group on this machine, seen by all of them; null where there is none.
  /// `count` says how many processes that are, and `ranks` which, by their numbers among all; `ranks` has room for the
  /// group.
  std::uint64_t* (*shared_words)(std::int32_t group, std::int32_t* count, std::int32_t* ranks);
};

inline constexpr std::int32_t tyto_mpi_version = 5;

/// The function that the library for an MPI exports as "tyto_mpi".
using TytoMpiEntry = const TytoMpi* (*)();
}
