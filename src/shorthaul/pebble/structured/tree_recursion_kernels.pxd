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
    cdef Stack own_bounds  # of the node at hand, by falling budget
    cdef Stack own_costs
    cdef long long budget  # looked at next; -1: the next node
    cdef Py_ssize_t place  # in the order
    cdef long long[::1] choice  # the parents kept in order, then -1, then those spilled
    # one entry per subset of the parents, or per label: what it holds, costs, needs at least, and where it comes from
    cdef long long[::1] held
    cdef long long[::1] cost
    cdef long long[::1] least
    cdef long long[::1] via
    cdef long long[::1] sizes  # labels per step
    cdef long long[::1] offer_held
    cdef long long[::1] offer_cost
    cdef long long[::1] offer_least
    cdef long long[::1] offer_via
    cdef Sorter by_excess
    cdef Sorter by_cost

cdef (long long, long long) choose(StepFunctions functions, long long v, long long budget) noexcept nogil
cdef long long work_of(StepFunctions functions, long long v) noexcept nogil
