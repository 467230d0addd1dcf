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

// A byte that another thread sets to end the kernels that look at it: the flag of a drbo.deadline.Deadline. It is made
// and dropped under the lock of the interpreter.
class Stop {
 public:
  using Byte = nanobind::ndarray<const std::uint8_t, nanobind::shape<1>, nanobind::device::cpu>;

  // The flag of the deadline that holds where Python called the kernel.
  Stop() {
    if (source() == nullptr) return;
    const nanobind::object flag = nanobind::handle(source())();
    if (flag.is_none()) return;
    if (!nanobind::try_cast(flag, byte_, false)) throw nanobind::type_error("a stop flag must be an array of one byte");
    at_ = byte_.data();
  }
  explicit Stop(Byte byte) : byte_(std::move(byte)), at_(byte_.data()) {}
  bool is_set() const { return at_ && *at_; }

  // The function of Python that returns the flag, or None; never freed, because it lives as long as the module.
  static PyObject*& source() {
    static PyObject* function = nullptr;
    return function;
  }

 private:
  Byte byte_;
  const volatile std::uint8_t* at_ = nullptr;
};

// One thread's view of what may end its work. Kernels report their work in units of about a nanosecond; the flag is
// looked at after each LOOK units. The thread that Python called also runs Python's signal handlers.
class Watch {
 public:
  static constexpr std::int64_t LOOK = 1 << 20;
  static constexpr std::chrono::milliseconds SIGNALS{50};  // between two looks at signals

  explicit Watch(const Stop& stop, const std::atomic<bool>* given_up = nullptr, bool called_by_python = true)
      : stop_(stop), given_up_(given_up), called_by_python_(called_by_python), signals_at_(Clock::now() + SIGNALS) {}

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
    if (stop_.is_set() || (given_up_ && given_up_->load(std::memory_order_relaxed))) over_ = true;
    if (called_by_python_ && Clock::now() >= signals_at_) {
      signals_at_ = Clock::now() + SIGNALS;
      nanobind::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    }
    return over_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Stop& stop_;
  const std::atomic<bool>* given_up_;
  bool called_by_python_;
  bool over_ = false;
  std::int64_t left_ = LOOK;
  Clock::time_point signals_at_;
};

}  // namespace drbo
