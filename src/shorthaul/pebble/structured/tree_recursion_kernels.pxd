from shorthaul.core.compiled.queue_kernels cimport Stack
from shorthaul.pebble.structured.sorting_kernels cimport Sorter


cdef class StepFunctions:
    cdef const long long[::1] parent_starts
    cdef const long long[::1] parents
    cdef const long long[::1] weights
    cdef const long long[::1] needs
    cdef readonly long long[::1] starts
    cdef readonly long long[::1] stops
    cdef Stack bounds
    cdef Stack costs
    cdef Stack own_bounds
    cdef Stack own_costs
    cdef long long budget
    cdef Py_ssize_t place
    cdef long long[::1] choice
    cdef long long[::1] held
    cdef long long[::1] cost
    cdef long long[::1] least
    cdef long long[::1] via
    cdef long long[::1] sizes
    cdef long long[::1] offer_held
    cdef long long[::1] offer_cost
    cdef long long[::1] offer_least
    cdef long long[::1] offer_via
    cdef Sorter by_excess
    cdef Sorter by_cost

cdef (long long, long long) choose(StepFunctions functions, long long v, long long budget) noexcept nogil
cdef long long work_of(StepFunctions functions, long long v) noexcept nogil
