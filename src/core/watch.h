// How a long computation runs: on several threads, and to an early end by a flag that another thread sets, or a signal.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <future>

#include "sets.h"

namespace drbo {

namespace nb = nanobind;

inline int64_t whole(size_t size) { return static_cast<int64_t>(size); }

// Raised by computations that have no partial result.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the computation was stopped"; }
};

// The flag of a drbo.deadline.Deadline: another thread sets it to end the kernels that look at it.
class StopFlag {
 public:
  void set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_{false};
};

// A kernel's hold on such a flag, made and dropped under the lock of the interpreter.
class Stop {
 public:
  // The flag of the deadline that holds where Python called the kernel.
  Stop() {
    if (source() == nullptr) return;
    owner_ = nb::handle(source())();
    if (!owner_.is_none() && !nb::try_cast(owner_, flag_, false))
      throw nb::type_error("a stop flag must be a StopFlag");
  }
  explicit Stop(const StopFlag& flag) : flag_(&flag) {}  // of an argument, which lives as long as the call
  bool is_set() const { return flag_ && flag_->is_set(); }

  // The function of Python that returns the flag, or None; never freed, because it lives as long as the module.
  static PyObject*& source() {
    static PyObject* function = nullptr;
    return function;
  }

 private:
  nb::object owner_;
  const StopFlag* flag_ = nullptr;
};

// One thread's view of what may end its work. Kernels report their work in units of about a nanosecond; the flag is
// looked at after each LOOK units. The thread that Python called also runs Python's signal handlers.
class Watch {
 public:
  static constexpr int64_t LOOK = 1 << 20;
  static constexpr std::chrono::milliseconds SIGNALS{50};  // between two looks at signals

  explicit Watch(const Stop& stop, const std::atomic<bool>* given_up = nullptr, bool called_by_python = true)
      : stop_(stop), given_up_(given_up), called_by_python_(called_by_python), signals_at_(Clock::now() + SIGNALS) {}

  // Counts work; true: end now.
  bool over(int64_t work) {
    left_ -= work;
    return left_ > 0 ? over_ : look();
  }

  // The same for kernels that have no partial result.
  void check(int64_t work) {
    if (over(work)) throw Stopped();
  }

  bool look() {
    left_ = LOOK;
    if (stop_.is_set() || (given_up_ && given_up_->load(std::memory_order_relaxed))) over_ = true;
    if (called_by_python_ && Clock::now() >= signals_at_) {
      signals_at_ = Clock::now() + SIGNALS;
      nb::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return over_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Stop& stop_;
  const std::atomic<bool>* given_up_;
  bool called_by_python_;
  bool over_ = false;
  int64_t left_ = LOOK;
  Clock::time_point signals_at_;
};

// Runs work(stop) while other threads of Python may run too.
template <class Work>
auto unlocked(const Work& work) {
  const Stop stop;
  const nb::gil_scoped_release release;
  return work(stop);
}

// Runs work(watch) likewise.
template <class Work>
auto watched(const Work& work) {
  return unlocked([&](const Stop& stop) {
    Watch watch(stop);
    return work(watch);
  });
}

// Parts of the work do not depend on each other and write to different places, so that the result does not depend on
// the number of threads.

// Calls work(part, watch) for the parts 0, ..., count - 1. The lock of the interpreter must have been released. The
// calling thread works too; when a part throws, the others end soon and the first exception is thrown again.
template <class Work>
void in_parts(int64_t count, int threads, const Stop& stop, const Work& work) {
  std::atomic<bool> given_up{false};
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  const auto attempt = [&](const auto& act) {
    try {
      act();
    } catch (...) {
      if (!given_up.exchange(true)) failure = std::current_exception();
    }
  };
  const auto take_parts = [&](Watch& watch) {
    for (int64_t part; !given_up.load(std::memory_order_relaxed) && (part = next.fetch_add(1)) < count;)
      work(part, watch);
  };
  Watch own(stop, &given_up);
  const auto others = static_cast<size_t>(std::max<int64_t>(std::min<int64_t>(count, threads), 1) - 1);
  if (others == 0) return take_parts(own);

  vector<std::future<void>> crew;
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
void in_stretches(int64_t size, int threads, const Stop& stop, const Work& work) {
  const int64_t parts = threads <= 1 ? 1 : std::min<int64_t>(size, 4 * static_cast<int64_t>(threads));
  if (size <= 0) return;
  in_parts(parts, threads, stop,
           [&](int64_t part, Watch& watch) { work(size * part / parts, size * (part + 1) / parts, watch); });
}

// The same where the lock of the interpreter is held: it is released meanwhile.
template <class Work>
void in_parts(size_t count, int threads, const Work& work) {
  unlocked([&](const Stop& stop) { in_parts(whole(count), threads, stop, work); });
}
template <class Work>
void in_stretches(size_t size, int threads, const Work& work) {
  unlocked([&](const Stop& stop) { in_stretches(whole(size), threads, stop, work); });
}
}  // namespace drbo
