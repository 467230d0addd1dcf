// Arrays at the border between Python and C++. Types, dimensions and C order are checked on the way in and nothing is
// converted: an argument that does not fit is a TypeError. Shapes and ranges are checked by kernels: a ValueError.
#pragma once

#include <nanobind/ndarray.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

#include "watch.h"

namespace drbo {

using namespace nb::literals;

constexpr double NEVER = -std::numeric_limits<double>::infinity();

// An argument that is only read, or with a type that is not const one that is written to.
template <class T, size_t N>
struct Array : nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
  using Base = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
  Array() = default;
  explicit Array(Base base) : Base(std::move(base)) {}
  T& operator[](size_t k) const { return this->data()[k]; }
};
template <class T, size_t N>
using In = Array<const T, N>;
template <class T, size_t N>
using Out = Array<T, N>;
template <class T, size_t N>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig>;

using Row = In<double, 1>;
using Table = In<double, 2>;
using Cube = In<double, 3>;
using Ints = In<int64_t, 1>;
using Ints2 = In<int64_t, 2>;
using Codes = In<int32_t, 2>;
using Flags = In<bool, 2>;
using Masks = In<uint64_t, 1>;

// Flags are read as bytes: a byte that is neither 0 nor 1 counts as true.
template <class A>
auto flags(const A& array) {
  using Byte =
      std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array.data())>>, const uint8_t, uint8_t>;
  return reinterpret_cast<Byte*>(array.data());
}

[[noreturn]] inline void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

inline void require(bool condition, const char* message) {
  if (!condition) refuse(message);
}

// All arrays have one shape.
template <class... Arrays>
void require_shape(std::initializer_list<size_t> shape, const char* names, const Arrays&... arrays) {
  const auto check = [&](const auto& array) {
    bool fits = true;
    std::string wanted, got;
    size_t axis = 0;
    for (const size_t size : shape) {
      wanted += (axis ? ", " : "") + std::to_string(size);
      got += (axis ? ", " : "") + std::to_string(array.shape(axis));
      fits &= array.shape(axis++) == size;
    }
    if (!fits) refuse(std::string("wrong shape of ") + names + ": must be (" + wanted + "), got (" + got + ")");
  };
  (check(arrays), ...);
}

// All values lie in [low, high).
template <class T>
void require_range(const T* values, size_t count, int64_t low, int64_t high, const char* name) {
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  bool outside = false;
  for (size_t k = 0; k < count; ++k) outside |= static_cast<uint64_t>(values[k]) - static_cast<uint64_t>(low) >= width;
  if (outside) refuse(std::string(name) + " must be in [" + std::to_string(low) + ", " + std::to_string(high) + ")");
}

// Where the items of each of a number of owners begin: rises from 0 to the number of items.
inline void require_starts(const Ints& starts, size_t owners, size_t items) {
  require_shape({owners + 1}, "starts", starts);
  const int64_t* at = starts.data();
  require(at[0] == 0 && at[owners] == whole(items) && std::is_sorted(at, at + owners + 1),
          "starts must rise from 0 to the number of items");
}

inline void require_order(const int64_t* order, size_t d) {
  vector<bool> seen(d);
  for (size_t place = 0; place < d; ++place) {
    require(order[place] >= 0 && order[place] < whole(d) && !seen[order[place]], "an order must hold every node once");
    seen[order[place]] = true;
  }
}

// A new array that Python will own. Its memory is not initialised.
template <class T, size_t N>
class Owned {
 public:
  explicit Owned(const size_t (&shape)[N]) {
    std::copy_n(shape, N, shape_);
    data_.reset(new T[std::accumulate(shape, shape + N, size_t{1}, std::multiplies<>())]);
  }
  T* data() { return data_.get(); }
  T& operator[](size_t k) { return data_[k]; }

  Result<T, N> give() {
    T* data = data_.release();
    const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Result<T, N>(data, N, shape_, owner);
  }

 private:
  size_t shape_[N];
  std::unique_ptr<T[]> data_;
};

template <class T>
Result<T, 1> to_numpy(const vector<T>& values) {
  Owned<T, 1> copy({values.size()});
  std::copy(values.begin(), values.end(), copy.data());
  return copy.give();
}

// A member that an argument of the same name sets: FIELD(rows) where Self is the class.
template <class Owner, class T>
struct Field {
  const char* name;
  T Owner::* member;
  Field(const char* name_, T Owner::* member_) : name(name_), member(member_) {}
};
#define FIELD(name) Field(#name, &Self::name)

// A class whose constructor sets members from arguments, then checks them.
template <class Self, class... Base, class... Owners, class... T>
auto bind_fields(nb::module_& m, const char* name, const char* doc, const Field<Owners, T>&... fields) {
  return nb::class_<Self, Base...>(m, name, doc)
      .def(
          "__init__",
          [fields...](Self* self, const T&... values) {
            new (self) Self();
            ((self->*(fields.member) = values), ...);
            self->check();
          },
          nb::arg(fields.name)...);
}
}  // namespace drbo

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

// Takes the array as it is, or not at all.
template <class T, size_t N>
struct type_caster<drbo::Array<T, N>> {
  using Plain = make_caster<typename drbo::Array<T, N>::Base>;
  using Given = drbo::Array<T, N>;
  NB_TYPE_CASTER(Given, Plain::Name)

  template <class Bits>
  bool from_python(handle source, Bits bits, cleanup_list* cleanup) noexcept {
    Plain plain;
    if (!plain.from_python(source, static_cast<Bits>(bits & ~static_cast<Bits>(cast_flags::convert)), cleanup))
      return false;
    value = drbo::Array<T, N>(std::move(plain.value));
    return true;
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
