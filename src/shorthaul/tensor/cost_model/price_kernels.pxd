from shorthaul.tensor.cost_model.cost_kernels cimport Costs

cdef double any_order(Costs costs) noexcept nogil
