cdef class Volume:
    cdef const int[::1] parent
    cdef const long long[::1] room
    cdef const long long[::1] star
    cdef const unsigned char[::1] above
    cdef long long each  # vertices that a processor holds
    cdef const long long[::1] fan  # children in the star of a vertex
    cdef long long widest  # so many leaves of a star have the room of a plane
    cdef Py_ssize_t most  # the largest reach
    cdef double[::1] load  # by column
    cdef Py_ssize_t top
    cdef long long[::1] owner  # the vertex of a row
    cdef long long[::1] height  # levels below it
    cdef double[::1] apart  # what the subtrees of its children prove, each on its own
    cdef unsigned char[::1] is_loaded  # whether any of its children was weighed
    cdef double[:, :, ::1] added  # by its reach and the load, of children that were weighed; the last row is empty
    cdef long long[:, ::1] overlap  # by its reach, where it has a star
    cdef long long[:, ::1] level  # vertices so many levels below it, but for children weighed, up to its height
    cdef double[::1] alone  # by vertex: what its subtree proves on its own
    # Where the weights themselves are asked for, of every vertex:
    cdef long long[::1] row  # its number among those that were weighed, -1 for others
    cdef long long[::1] below  # levels below it
    cdef unsigned char[::1] ball  # its reach and 1 where it is the top of a part, 0 where it is not
    # Of those that were weighed:
    cdef unsigned char[:, :, ::1] chosen  # the column of its load: as ``total``
    cdef double[:, :, ::1] kept  # ``total``
    cdef long long weighed
    # Of the vertex at work:
    cdef long long levels
    cdef bint is_weighed
    cdef double[:, ::1] total  # as ``added``, with itself

cdef void weigh_all(Volume volume) noexcept nogil
cdef bint is_larger(Volume volume, long long v, Py_ssize_t a, long long levels) noexcept nogil
cdef long long overlapping(Volume volume, long long v, Py_ssize_t a) noexcept nogil
