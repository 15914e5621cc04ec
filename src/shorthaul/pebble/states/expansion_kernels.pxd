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
    cdef readonly long long position  # the state whose turn it is
    cdef readonly bint is_cut  # True once some state and node took too many steps
    cdef long long work
    cdef bint is_open  # some of the nodes that are ready in this state were computed
    cdef long long start  # the first row of its successors
    cdef long long[::1] ready
    cdef long long ready_count
    cdef long long turn  # which of them is next
    cdef long long cost
    cdef long long slack  # what a plan may still cost
    # The state after computing a node, before values are let go; ``total`` is what it then takes.
    cdef unsigned long long[::1] base
    cdef long long[::1] touched
    cdef long long touched_count
    cdef long long total
    cdef long long released
    cdef long long excess
    cdef long long largest  # what tables say of it
    cdef long long held  # what the potential says of it
    cdef long long[::1] own  # prices of holding values
    # Values that may be let go, by how much letting them go exceeds their price.
    cdef long long size
    cdef long long[::1] candidates
    cdef long long[::1] rises
    cdef long long[::1] sizes
    cdef long long[::1] digits  # their charges in sizes
    cdef long long[::1] suffix  # sums of sizes from here on
    cdef unsigned long long[::1] covered  # what is to come that touches them, with all later nodes
    cdef unsigned char[::1] is_covered
    cdef unsigned long long[::1] leaders  # which others leave first
    cdef unsigned char[::1] has_leaders
    # How far the search over sets of values to let go is, where it paused.
    cdef bint is_paused
    cdef long long steps
    cdef long long index
    cdef long long depth
    cdef long long weight
    cdef long long charge
    cdef long long[::1] chosen
    cdef unsigned long long[::1] taken
