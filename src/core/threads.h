// Work on several threads. Parts of the work do not depend on each other and write to different places, so that the
// result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <future>
#include <vector>

#include "arrays.h"

namespace drbo {

// Calls work(part, watch) for the parts 0, ..., count - 1. The lock of the interpreter must have been released. The
// calling thread works too; when a part throws, the others end soon and the first exception is thrown again.
template <class Work>
void in_parts(std::int64_t count, int threads, const Stop& stop, const Work& work) {
  std::atomic<bool> given_up{false};
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  const auto attempt = [&](const auto& act) {
    try {
      act();
    } catch (...) {
      if (!given_up.exchange(true)) failure = std::current_exception();
    }
  };
  const auto take_parts = [&](Watch& watch) {
    for (std::int64_t part; !given_up.load(std::memory_order_relaxed) && (part = next.fetch_add(1)) < count;)
      work(part, watch);
  };
  Watch own(stop, &given_up);
  const auto others = static_cast<std::size_t>(std::max<std::int64_t>(std::min<std::int64_t>(count, threads), 1) - 1);
  if (others == 0) return take_parts(own);

  std::vector<std::future<void>> crew;
  try {
    while (crew.size() < others)
      crew.push_back(std::async(std::launch::async, [&] {
        Watch watch(stop, &given_up, false);
        attempt([&] { take_parts(watch); });
      }));
  } catch (...) {  // no more threads to be had: the ones there are do the work
  }
  attempt([&] { take_parts(own); });
  for (const std::future<void>& other : crew)
    while (other.wait_for(Watch::SIGNALS) != std::future_status::ready) attempt([&] { own.look(); });
  if (failure) std::rethrow_exception(failure);
}

// Calls work(first, last, watch) on stretches of 0, ..., size - 1, about four for each thread.
template <class Work>
void in_stretches(std::int64_t size, int threads, const Stop& stop, const Work& work) {
  const std::int64_t parts = threads <= 1 ? 1 : std::min<std::int64_t>(size, 4 * static_cast<std::int64_t>(threads));
  if (size <= 0) return;
  in_parts(parts, threads, stop,
           [&](std::int64_t part, Watch& watch) { work(size * part / parts, size * (part + 1) / parts, watch); });
}

// The same where the lock of the interpreter is held: it is released meanwhile.
template <class Work>
void in_parts(std::size_t count, int threads, const Work& work) {
  unlocked([&](const Stop& stop) { in_parts(whole(count), threads, stop, work); });
}
template <class Work>
void in_stretches(std::size_t size, int threads, const Work& work) {
  unlocked([&](const Stop& stop) { in_stretches(whole(size), threads, stop, work); });
}

}  // namespace drbo
