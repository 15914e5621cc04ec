from shorthaul.core.compiled.random_kernels cimport Random
from shorthaul.core.compiled.queue_kernels cimport Heap, Stack


cdef class Rules:
    cdef readonly double growth
    cdef readonly double overflow
    cdef readonly double dirty
    cdef readonly long long by_score
    cdef readonly long long by_recency
    cdef readonly long long longest
    cdef readonly long long window

cdef class State:
    cdef readonly const long long[::1] starts
    cdef readonly const long long[::1] parents
    cdef readonly const long long[::1] child_starts
    cdef readonly const long long[::1] children
    cdef readonly const long long[::1] weights
    cdef readonly const unsigned char[::1] given
    cdef readonly const long long[::1] order
    cdef readonly Rules rules
    cdef readonly Random random
    cdef readonly long long[::1] rank
    cdef readonly unsigned char[::1] done
    cdef readonly unsigned char[::1] red
    cdef readonly unsigned char[::1] saved
    cdef readonly long long[::1] absent
    cdef readonly long long[::1] which
    cdef readonly long long[::1] left
    cdef readonly long long[::1] final
    cdef readonly long long[::1] net
    cdef readonly long long[::1] solo
    cdef readonly long long[::1] cursor
    cdef readonly long long[::1] residents
    cdef readonly long long[::1] place
    cdef readonly long long resident
    cdef readonly long long room
    cdef readonly long long dirty
    cdef readonly long long[::1] pinned
    cdef readonly long long clock
    cdef readonly long long[::1] seen
    cdef readonly long long[::1] absent_seen
    cdef readonly long long[::1] absent_less
    cdef readonly long long[::1] left_seen
    cdef readonly long long[::1] left_less
    cdef readonly long long stamp
    cdef readonly long long[::1] queue
    cdef readonly long long[::1] stack
    cdef readonly long long work
    cdef readonly Heap wanted
    cdef readonly Stack recent
    cdef readonly Stack shrinking
    cdef readonly Stack growing

cdef void compute(State state, long long node) noexcept nogil
