// Work on several threads. Parts of the work do not depend on each other and write to different places, so that the
// result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "stop.h"

namespace drbo {

// Calls work(part, watch) for the parts 0, ..., count - 1. The lock of the interpreter must have been released. The
// calling thread works too; when a part throws, the others end soon and the exception is thrown again.
template <class Work>
void in_parts(std::int64_t count, int threads, const Stop& stop, const Work& work) {
  std::atomic<bool> given_up{false};
  std::atomic<std::int64_t> next{0};
  const auto take_parts = [&](Watch& watch) {
    for (std::int64_t part; !given_up.load(std::memory_order_relaxed) && (part = next.fetch_add(1)) < count;)
      work(part, watch);
  };
  Watch own(stop, &given_up);
  const int others = static_cast<int>(std::min<std::int64_t>(count, std::max(threads, 1))) - 1;
  if (others <= 0) return take_parts(own);

  std::mutex mutex;
  std::condition_variable finished;
  int running = 0;
  std::exception_ptr failure;
  const auto fail = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!failure) failure = std::current_exception();
    given_up.store(true);
  };
  std::vector<std::thread> crew;
  try {
    crew.reserve(others);
    for (int k = 0; k < others; ++k) {
      {
        const std::lock_guard<std::mutex> lock(mutex);
        ++running;
      }
      try {
        crew.emplace_back([&] {
          try {
            Watch watch(stop, &given_up, false);
            take_parts(watch);
          } catch (...) {
            fail();
          }
          const std::lock_guard<std::mutex> lock(mutex);
          --running;
          finished.notify_one();
        });
      } catch (...) {  // no more threads to be had: the ones there are do the work
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
        break;
      }
    }
    take_parts(own);
    std::unique_lock<std::mutex> lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
      lock.unlock();
      own.look();
      lock.lock();
    }
  } catch (...) {
    fail();
  }
  for (std::thread& thread : crew) thread.join();
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

}  // namespace drbo
