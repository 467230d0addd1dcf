// The module drbo._core.
#include <nanobind/nanobind.h>

#include "stop.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace drbo {
void bind_lattice(nb::module_& m);
void bind_dag_sums(nb::module_& m);
void bind_set_functions(nb::module_& m);
void bind_order_graph(nb::module_& m);
void bind_regressions(nb::module_& m);
void bind_known_orders(nb::module_& m);
void bind_steps(nb::module_& m);
void bind_linear_steps(nb::module_& m);
void bind_count_steps(nb::module_& m);
void bind_spline_steps(nb::module_& m);
void bind_order_climb(nb::module_& m);
void bind_order_chains(nb::module_& m);
void bind_linear_parents(nb::module_& m);
void bind_discrete_parents(nb::module_& m);
void bind_draws(nb::module_& m);
void bind_paper_draws(nb::module_& m);
void bind_paper_train(nb::module_& m);
}  // namespace drbo

NB_MODULE(_core, m) {
  m.doc() = "Compiled kernels of drbo.";
  nb::exception<drbo::Stopped>(m, "OutOfTimeError", PyExc_KeyboardInterrupt);
  // Kernels take the flag of a deadline as it is: an array of one byte.
  using Byte = nb::ndarray<const std::uint8_t, nb::shape<1>, nb::device::cpu>;
  nb::class_<drbo::StopFlag>(m, "StopFlag", "A flag that ends kernels early.")
      .def(nb::init<const Byte&>(), "byte"_a.noconvert());
  nb::implicitly_convertible<Byte, drbo::StopFlag>();
  drbo::bind_lattice(m);
  drbo::bind_dag_sums(m);
  drbo::bind_set_functions(m);
  drbo::bind_order_graph(m);
  drbo::bind_regressions(m);
  drbo::bind_known_orders(m);
  drbo::bind_steps(m);
  drbo::bind_linear_steps(m);
  drbo::bind_count_steps(m);
  drbo::bind_spline_steps(m);
  drbo::bind_order_climb(m);
  drbo::bind_order_chains(m);
  drbo::bind_linear_parents(m);
  drbo::bind_discrete_parents(m);
  drbo::bind_draws(m);
  drbo::bind_paper_draws(m);
  drbo::bind_paper_train(m);
}
