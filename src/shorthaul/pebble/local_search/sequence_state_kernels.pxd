from shorthaul.core.compiled.random_kernels cimport Random


cdef class Board:
    cdef const long long[::1] starts
    cdef const long long[::1] parents
    cdef const long long[::1] weights
    cdef const long long[::1] compute
    cdef const unsigned char[::1] given
    cdef const unsigned char[::1] outputs
    cdef long long budget
    cdef long long load
    cdef long long store
    cdef bint recompute
    cdef bint in_order


cdef class Sequence:
    cdef readonly long long[::1] nodes
    cdef readonly unsigned char[::1] loads
    cdef long long[::1] last_use
    cdef long long[::1] held
    cdef unsigned char[::1] firsts
    cdef readonly long long size
    cdef readonly long long price
    cdef readonly double excess
    cdef readonly long long peak


cdef class Annealer:
    cdef Board board
    cdef bint in_place
    cdef Random random
    cdef readonly Sequence now
    cdef Sequence other
    cdef readonly Sequence best
    cdef readonly bint has_best
    cdef readonly long long work
    cdef long long[::1] latest
    cdef unsigned char[::1] stored
    cdef long long[::1] leaves
    cdef long long[::1] widest
    cdef long long[::1] mark
    cdef long long stamp
    cdef long long[::1] inserted
    cdef unsigned char[::1] kinds
    cdef long long[::1] held_back
    cdef unsigned char[::1] held_loads

cdef bint evaluate(Annealer a, Board b, Sequence s) noexcept nogil
cdef void copy(Sequence source, Sequence target) noexcept nogil
