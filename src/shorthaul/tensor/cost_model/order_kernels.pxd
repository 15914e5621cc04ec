from shorthaul.tensor.cost_model.cost_kernels cimport Costs

cdef class Orders:
    cdef Costs costs
    cdef bint is_mixed
    cdef bint mixed_rows  # slices of one tensor follow the tile and the step along the rows
    cdef bint mixed_columns
    cdef long long w
    cdef long long h
    cdef readonly double peak
    cdef long long followed  # steps so far
    cdef long long[::1] rows_now  # by slice to load
    cdef long long[::1] columns_now
    cdef long long[::1] rows_before
    cdef long long[::1] columns_before
    cdef long long[::1] rows_made  # by charge
    cdef long long[::1] columns_made
    cdef double[::1] times
    cdef double[::1] rest  # by kind of tile, below 0 where not known
    cdef double[::1] first  # by kind of tile and side it is entered from

cdef void forget(Orders orders) noexcept nogil
cdef double enter(Orders orders, long long old_i, long long old_j, long long i, long long j) noexcept nogil
cdef double step_time(Orders orders, long long i, long long j, long long step) noexcept nogil
cdef double later_steps(Orders orders, long long i, long long j) noexcept nogil
cdef double any_order(Costs costs) noexcept nogil
