from shorthaul.core.compiled.random_kernels cimport Random
from shorthaul.core.compiled.queue_kernels cimport Heap, Stack


cdef class Rules:
    cdef readonly double growth
    cdef readonly double overflow
    cdef readonly double dirty
    cdef readonly long long by_score
    cdef readonly long long longest

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
    cdef readonly long long[::1] rank  # the inverse of order
    cdef readonly unsigned char[::1] done  # computed, or an input
    cdef readonly unsigned char[::1] red  # in fast memory
    cdef readonly unsigned char[::1] saved  # in slow memory
    cdef readonly long long[::1] absent  # parents not in fast memory
    cdef readonly long long[::1] which  # their indices, combined by exclusive or: the index itself where there is one
    cdef readonly long long[::1] left  # children not computed
    cdef readonly long long[::1] final  # their indices, combined by exclusive or
    cdef readonly long long[::1] net  # by how much computing the node makes the fast memory fuller
    cdef readonly long long[::1] solo  # children for which only this parent is absent
    cdef readonly long long[::1] cursor  # the first child that may not be computed
    cdef readonly long long[::1] residents
    cdef readonly long long[::1] place  # in residents
    cdef readonly long long resident  # how many there are
    cdef readonly long long room
    cdef readonly long long dirty  # weight in fast memory alone
    cdef readonly long long[::1] pinned  # the computation that pinned it last
    cdef readonly long long clock  # computations so far
    cdef readonly long long[::1] seen  # stamps of the look-ahead, with its differences to absent and left
    cdef readonly long long[::1] absent_seen
    cdef readonly long long[::1] absent_less
    cdef readonly long long[::1] left_seen
    cdef readonly long long[::1] left_less
    cdef readonly long long stamp
    cdef readonly long long[::1] queue
    cdef readonly long long[::1] stack
    cdef readonly long long work  # steps so far
    cdef readonly Heap wanted  # values that nodes wait for alone, by their number per weight
    cdef readonly Stack recent  # the same, the last on top
    cdef readonly Stack shrinking  # what can be computed and makes the fast memory emptier
    cdef readonly Stack growing  # what can be computed and does not

cdef void compute(State state, long long node) noexcept nogil
