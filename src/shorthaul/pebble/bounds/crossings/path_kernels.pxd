cdef class Paths:
    cdef const long long[::1] weights
    cdef const unsigned char[::1] given
    cdef const long long[::1] parent_starts
    cdef const long long[::1] parents
    cdef const long long[::1] child_starts
    cdef const long long[::1] children
    cdef const long long[::1] key
    cdef long long[:, ::1] taken
    cdef bint partial
    cdef Py_ssize_t part_count
    cdef long long[::1] starts  # nodes that paths may start from: all later ones need them
    cdef Py_ssize_t start_count
    cdef long long[::1] is_start  # stamps of starts, of later nodes, and of nodes that no path may use
    cdef long long[::1] is_later
    cdef long long[::1] barred
    cdef long long[::1] counted  # stamps of nodes that some start is needed for, and by how many
    cdef long long[::1] hits
    cdef long long[::1] after  # the next node on a path, -1 elsewhere
    cdef long long[::1] before
    cdef long long[::1] met  # by state, 2 v before and 2 v + 1 behind node v: stamp, the state before it, its depth
    cdef long long[::1] back
    cdef long long[::1] hops
    cdef long long[::1] queue
    cdef long long[::1] seen
    cdef long long[::1] ends  # nodes where ways found in one look end; of a node, the next one of its level
    cdef long long[::1] first  # by level
    cdef unsigned long long[::1] needs  # starts that a node needs, as bits
    cdef long long[::1] names  # drawn; sums of names tell sets of starts
    cdef long long[::1] tried  # by a start: the name of a set of no use, or that and in which pass it was not enough
    cdef long long passes
    cdef long long[::1] frontier
    cdef Py_ssize_t frontier_count
    cdef long long stamp
    cdef Py_ssize_t next
    cdef readonly long long work
    cdef readonly long long excess

cdef long long settled(
    Paths paths, long long part, long long node, long long room, double price, long long longest
) noexcept nogil
