from shorthaul.core.compiled.random_kernels cimport Random


cdef class Board:
    cdef const long long[::1] starts
    cdef const long long[::1] parents
    cdef const long long[::1] child_starts
    cdef const long long[::1] children
    cdef const long long[::1] weights
    cdef const long long[::1] compute
    cdef const unsigned char[::1] given
    cdef const unsigned char[::1] outputs
    cdef long long budget
    cdef long long load
    cdef long long store
    cdef bint recompute
    cdef bint in_order
    cdef bint in_place


cdef class Sequence:
    cdef readonly long long[::1] nodes
    cdef readonly unsigned char[::1] loads
    cdef readonly long long[::1] last_use
    cdef readonly long long[::1] held
    cdef readonly unsigned char[::1] firsts
    cdef readonly unsigned char[::1] slides
    cdef readonly long long[::1] following
    cdef readonly long long[::1] head
    cdef readonly long long[::1] loaded
    cdef readonly long long size
    cdef readonly long long price
    cdef readonly long long excess


cdef class Change:
    cdef long long[::1] nodes
    cdef unsigned char[::1] loads
    cdef long long[::1] last_use
    cdef long long[::1] held
    cdef unsigned char[::1] firsts
    cdef long long[::1] leaves
    cdef long long[::1] widest
    cdef long long low
    cdef long long high
    cdef long long size
    cdef long long[::1] met
    cdef long long count
    cdef long long[::1] mark
    cdef long long stamp
    cdef long long[::1] before
    cdef long long[::1] until
    cdef long long[::1] carrier
    cdef long long[::1] last
    cdef long long[::1] tail
    cdef long long[::1] after
    cdef long long[::1] risen
    cdef long long first_risen
    cdef long long[::1] slid
    cdef long long slid_count
    cdef long long price
    cdef long long excess


cdef class Annealer:
    cdef readonly Board board
    cdef Random random
    cdef readonly Sequence now
    cdef Change change
    cdef readonly Sequence best
    cdef readonly bint has_best
    cdef readonly long long work
    cdef long long[::1] latest
    cdef long long[::1] leaves
    cdef long long[::1] widest
    cdef long long[::1] mark
    cdef long long stamp
    cdef long long[::1] inserted
    cdef unsigned char[::1] kinds

cdef bint evaluate(Annealer a, Board b, Sequence s) noexcept nogil
cdef void copy(Sequence source, Sequence target) noexcept nogil
