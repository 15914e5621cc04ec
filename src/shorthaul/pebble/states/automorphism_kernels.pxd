cdef class Group:
    cdef const long long[:, ::1] rows
    cdef const unsigned long long[:, :, :, ::1] images
    cdef unsigned long long[::1] image
    cdef long long[::1] trail
    cdef long long words

cdef long long first_of_orbits(
    Group group, const unsigned long long[::1] sets, long long first, long long[::1] nodes, long long count
) noexcept nogil
cdef long long make_small(Group group, unsigned long long[::1] sets, long long first) noexcept nogil
