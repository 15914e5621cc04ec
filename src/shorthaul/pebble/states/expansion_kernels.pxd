from shorthaul.pebble.states.automorphism_kernels cimport Group
from shorthaul.pebble.states.dominance_kernels cimport States
from shorthaul.pebble.states.pattern_database_kernels cimport Lookup
from shorthaul.pebble.states.potential_kernels cimport Potential

cdef class Graph:
    cdef const long long[::1] weights
    cdef const unsigned long long[::1] touched
    cdef const unsigned long long[::1] touchers
    cdef const unsigned long long[::1] before
    cdef const unsigned long long[::1] later
    cdef const unsigned long long[::1] computed
    cdef long long n
    cdef long long words

cdef class Expansion:
    cdef Graph graph
    cdef const unsigned long long[::1] sets
    cdef const long long[:, ::1] numbers
    cdef States states
    cdef Potential potential
    cdef Group group
    cdef Lookup lookup
    cdef long long budget
    cdef long long only
    cdef long long most_steps
    cdef long long limit
    cdef readonly long long position
    cdef readonly bint is_cut
    cdef long long work
    cdef bint is_open
    cdef long long start
    cdef long long[::1] ready
    cdef long long ready_count
    cdef long long turn
    cdef long long cost
    cdef long long slack
    cdef unsigned long long[::1] base
    cdef long long[::1] touched
    cdef long long touched_count
    cdef long long total
    cdef long long released
    cdef long long excess
    cdef long long largest
    cdef long long held
    cdef long long[::1] own
    cdef long long size
    cdef long long[::1] candidates
    cdef long long[::1] rises
    cdef long long[::1] sizes
    cdef long long[::1] digits
    cdef long long[::1] suffix
    cdef unsigned long long[::1] covered
    cdef unsigned char[::1] is_covered
    cdef unsigned long long[::1] leaders
    cdef unsigned char[::1] has_leaders
    cdef bint is_paused
    cdef long long steps
    cdef long long index
    cdef long long depth
    cdef long long weight
    cdef long long charge
    cdef long long[::1] chosen
    cdef unsigned long long[::1] taken
