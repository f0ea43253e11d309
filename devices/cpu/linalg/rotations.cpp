// Applies collected sweeps of rotations.
#include "devices/cpu/linalg/rotations.hpp"

#include <algorithm>

#include "devices/cpu/threads.hpp"

namespace tyto::cpu::linalg {

template <class T>
void RotationSweeps<T>::flush() noexcept {
  constexpr std::int64_t strip = 64;
  if (target_.first == nullptr || count_ == 0) return;
  double rotations = 0;
  for (std::int64_t sweep = 0; sweep < count_; ++sweep) rotations += static_cast<double>(length_[sweep]);
  const double nanoseconds = rotations * static_cast<double>(target_.columns);
  const int threads = bench_.threads == 1 ? 1 : std::min(bench_.threads, threads_for(nanoseconds));
  run_team(threads, [&](Team team) {
    const Range mine = share(target_.columns, team.member, team.size, strip);
    for (std::int64_t column = mine.begin; column < mine.end; column += strip) {
      const std::int64_t width = std::min(strip, mine.end - column);
      for (std::int64_t sweep = 0; sweep < count_; ++sweep) {
        const T* c = cosines(sweep);
        if (length_[sweep] == 0) continue;
        bench_.loops->rotate_down(length_[sweep], width, c, c + target_.rows, target_.row(first_[sweep]) + column,
                                  target_.row_step);
      }
    }
  });
  count_ = 0;
}

template class RotationSweeps<float>;
template class RotationSweeps<double>;

}  // namespace tyto::cpu::linalg
