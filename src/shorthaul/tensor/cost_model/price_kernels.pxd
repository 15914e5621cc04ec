from shorthaul.tensor.cost_model.cost_kernels cimport Costs

cdef double serpentine(Costs costs, bint by_columns) noexcept nogil
cdef double any_order(Costs costs) noexcept nogil
