// SPDX-License-Identifier: MIT
// Applies collected sweeps of rotations.
#include "devices/cpu/linalg/rotations.hpp"

#include <algorithm>

#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::linalg {

template <class T>
void RotationSweeps<T>::begin_group(std::int64_t first) noexcept {
  if (group_ + 1 == most_groups) flush();
  ++group_;
  lane_ = 0;
  groups_[group_] = {first, first};
  T* to = table(group_);
  for (std::int64_t i = 0; i < table_size(target_.rows); i += 2) {
    to[i] = 1;
    to[i + 1] = 0;
  }
}

template <class T>
void RotationSweeps<T>::flush() noexcept {
  constexpr std::int64_t strip = 64;
  if (target_.first == nullptr || group_ < 0) return;
  double rows = 0;
  for (std::int64_t group = 0; group <= group_; ++group) {
    rows += static_cast<double>(groups_[group].last - groups_[group].first);
  }
  const double nanoseconds = rows * static_cast<double>(target_.columns) / machine::scalar_operations;
  const int threads = context_.threads == 1 ? 1 : std::min(context_.threads, threads_for(nanoseconds));
  run_team(threads, [&](Team team) {
    const Range mine = share(target_.columns, team.member, team.size, strip);
    for (std::int64_t column = mine.begin; column < mine.end; column += strip) {
      const std::int64_t width = std::min(strip, mine.end - column);
      for (std::int64_t group = 0; group <= group_; ++group) {
        const auto [first, last] = groups_[group];
        context_.loops->rotate(first, last, width, table(group), target_.first + column, target_.row_step);
      }
    }
  });
  group_ = -1;
  lane_ = sweeps_at_once;
}

template class RotationSweeps<float>;
template class RotationSweeps<double>;

}  // namespace tyto::cpu::linalg
