// How a long computation ends early: by a flag that another thread sets, or by a signal.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

namespace drbo {

// Raised by computations that have no partial result.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the computation was stopped"; }
};

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A byte that another thread sets to end all kernels that look at it: the flag of a drbo.deadline.Deadline.
class StopFlag {
 public:
  explicit StopFlag(const nanobind::ndarray<const std::uint8_t, nanobind::shape<1>, nanobind::device::cpu>& byte)
      : byte_(byte), at_(byte.data()) {}
  bool is_set() const { return *at_ != 0; }

 private:
  nanobind::ndarray<const std::uint8_t, nanobind::shape<1>, nanobind::device::cpu> byte_;
  const volatile std::uint8_t* at_;
};

// One thread's view of what may end its work. Kernels report their work in units of about a nanosecond; the flag is
// looked at after each LOOK units. The thread that Python called also runs Python's signal handlers.
class Watch {
 public:
  static constexpr std::int64_t LOOK = 1 << 20;
  static constexpr double SIGNALS = 0.05;  // seconds between two looks at signals

  Watch(const StopFlag* flag, const std::atomic<bool>* given_up, bool called_by_python)
      : flag_(flag), given_up_(given_up), called_by_python_(called_by_python), signals_at_(seconds_now() + SIGNALS) {}

  // Counts work; true: end now.
  bool over(std::int64_t work) {
    left_ -= work;
    return left_ > 0 ? over_ : look();
  }

  // The same for kernels that have no partial result.
  void check(std::int64_t work) {
    if (over(work)) throw Stopped();
  }

  bool look() {
    left_ = LOOK;
    if (flag_ && flag_->is_set()) over_ = true;
    if (given_up_ && given_up_->load(std::memory_order_relaxed)) over_ = true;
    if (called_by_python_ && seconds_now() >= signals_at_) {
      signals_at_ = seconds_now() + SIGNALS;
      nanobind::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }
    return over_;
  }

 private:
  const StopFlag* flag_;
  const std::atomic<bool>* given_up_;
  bool called_by_python_;
  bool over_ = false;
  std::int64_t left_ = LOOK;
  double signals_at_;
};

}  // namespace drbo
