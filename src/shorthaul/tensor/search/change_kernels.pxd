from shorthaul.core.compiled.random_kernels cimport Random
from shorthaul.tensor.search.sequence_kernels cimport Sequences

cdef class Moves:
    cdef readonly Sequences sequences
    cdef Random random
    cdef double limit
    cdef bint is_pending
    cdef readonly long long steps
    cdef readonly long long accepted
    cdef readonly double best
    cdef int[::1] best_groups
    cdef long long best_length
    cdef int[::1] cover
    cdef int[::1] where
    cdef long long twice
    cdef int[::1] items
    cdef long long[::1] first
    cdef long long[::1] changed
    cdef long long changes
    cdef bint keeps_repeated  # the candidate may have one group twice
    cdef int[::1] by_place  # the change at a place, plus 1
    cdef int[::1] mark  # by operator
    cdef int stamp
    cdef int[::1] unit
    cdef int[::1] missing  # by place
    cdef int[::1] heap
    cdef int[::1] order
    cdef int[::1] waiting  # by tensor, the first of a list
    cdef int[::1] following
    cdef int[::1] waiter

cdef long long base_of(Moves moves) noexcept nogil
cdef long long length_of(Moves moves) noexcept nogil
cdef long long some_needed(Moves moves, long long place) noexcept nogil
cdef long long place_before(Moves moves, long long place, long long operator) noexcept nogil
cdef void open_change(Moves moves, long long place) noexcept nogil
cdef void put_group(Moves moves, long long place, long long units) noexcept nogil
cdef bint fuse_all(Moves moves, long long source, long long consumer, long long tensor) noexcept nogil
cdef bint shift(Moves moves, long long source, long long consumer, long long tensor) noexcept nogil
cdef bint split(Moves moves, long long place) noexcept nogil
cdef bint duplicate(Moves moves, long long source, long long consumer, long long tensor) noexcept nogil
cdef bint repeat(Moves moves, long long consumer, long long source, long long tensor) noexcept nogil
cdef bint gather(Moves moves) noexcept nogil
