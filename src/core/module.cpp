// The module drbo._core.
#include <nanobind/nanobind.h>

#include "watch.h"

namespace nb = nanobind;

namespace drbo {
#define DRBO_FILES(use)                                                                                       \
  use(lattice) use(set_functions) use(order_graph) use(listed) use(steps) use(regressions) use(nongaussian)   \
      use(count_steps) use(block_steps) use(order_climb) use(linear_parents) use(discrete_parents) use(draws) \
          use(paper_draws) use(paper_train) use(ancestral) use(meek) use(additive) use(dependence)            \
              use(experiment_families) use(experiment_counts)
#define DECLARE(file) void bind_##file(nb::module_& m);
DRBO_FILES(DECLARE)
}  // namespace drbo

NB_MODULE(_core, m) {
  m.doc() = "Compiled kernels of drbo.";
  nb::set_leak_warnings(false);  // the flag of a deadline may live until the interpreter ends, which says nothing
  nb::exception<drbo::Stopped>(m, "OutOfTimeError", PyExc_KeyboardInterrupt);
  nb::class_<drbo::StopFlag>(m, "StopFlag", "Ends computations that look at it.")
      .def(nb::init<>())
      .def("set", &drbo::StopFlag::set, "End them; may be called from any thread.")
      .def_prop_ro("is_set", &drbo::StopFlag::is_set);
  m.def(
      "set_stop_source", [](nb::callable source) { drbo::Stop::source() = source.release().ptr(); },
      "Set the function that returns the flag of the deadline that holds where a kernel is called, or None.");
#define BIND(file) drbo::bind_##file(m);
  DRBO_FILES(BIND)
}
