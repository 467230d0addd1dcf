// Arrays at the border between Python and C++. Types, dimensions and C order are checked by nanobind, which converts
// nothing: an argument that does not fit is a TypeError. Shapes and ranges are checked here: a ValueError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace drbo {

namespace nb = nanobind;
using namespace nb::literals;

// An argument that is only read, and one that is written to.
template <class T, std::size_t N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t N>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig>;

// Two dimensions of an array that somebody else owns.
template <class T>
struct Matrix {
  T* data;
  std::size_t rows, columns;
  T* operator[](std::size_t row) const { return data + row * columns; }
};

template <class T, class Array>
Matrix<T> matrix(Array& array) {
  return {array.data(), array.shape(0), array.shape(1)};
}

// Flags are read as bytes: a byte that is neither 0 nor 1 counts as true.
template <class Array>
const std::uint8_t* flags(const Array& array) {
  return reinterpret_cast<const std::uint8_t*>(array.data());
}

inline void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

template <class Array>
void require_shape(const Array& array, const char* name, std::initializer_list<std::size_t> shape) {
  std::size_t axis = 0;
  for (const std::size_t size : shape)
    if (array.shape(axis++) != size)
      throw nb::value_error((std::string(name) + " has the wrong shape: axis " + std::to_string(axis - 1) +
                             " must be " + std::to_string(size) + ", got " + std::to_string(array.shape(axis - 1)))
                                .c_str());
}

// All values lie in [low, high).
template <class T>
void require_range(const T* values, std::size_t count, std::int64_t low, std::int64_t high, const char* name) {
  const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  bool outside = false;
  for (std::size_t k = 0; k < count; ++k)
    outside |= static_cast<std::uint64_t>(values[k]) - static_cast<std::uint64_t>(low) >= width;
  if (outside)
    throw nb::value_error(
        (std::string(name) + " must be in [" + std::to_string(low) + ", " + std::to_string(high) + ")").c_str());
}

// Where the items of each of a number of owners begin: rises from 0 to the number of items.
inline void require_starts(const std::int64_t* starts, std::size_t owners, std::size_t items, const char* name) {
  bool rises = starts[0] == 0 && starts[owners] == static_cast<std::int64_t>(items);
  for (std::size_t k = 0; k < owners; ++k) rises &= starts[k] <= starts[k + 1];
  if (!rises) throw nb::value_error((std::string(name) + " must rise from 0 to " + std::to_string(items)).c_str());
}

// A new array that Python will own. Its memory is not initialised.
template <class T>
class Owned {
 public:
  explicit Owned(std::size_t size) : data_(new T[size]) {}
  T* data() { return data_.get(); }
  T& operator[](std::size_t k) { return data_[k]; }

  template <std::size_t N>
  Result<T, N> give(const std::size_t (&shape)[N]) {
    T* data = data_.release();
    const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Result<T, N>(data, N, shape, owner);
  }

 private:
  std::unique_ptr<T[]> data_;
};

template <class T>
Result<T, 1> to_numpy(const std::vector<T>& values) {
  Owned<T> copy(values.size());
  std::copy(values.begin(), values.end(), copy.data());
  return copy.give({values.size()});
}

}  // namespace drbo
