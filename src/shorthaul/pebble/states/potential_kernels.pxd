from shorthaul.pebble.states.pattern_database_kernels cimport SetTable

cdef class Potential:
    cdef SetTable table
    cdef const long long[::1] places
    cdef const long long[::1] name_first
    cdef const long long[::1] names
    cdef const long long[::1] live_first
    cdef const unsigned char[::1] live
    cdef const int[::1] classes
    cdef const long long[::1] ahead
    cdef const long long[:, ::1] prices
    cdef readonly long long whole

cdef long long held_by(
    Potential potential, const unsigned long long[::1] state, long long words, long long rank, long long[::1] own
) noexcept nogil
cdef long long rank_of(Potential potential, const unsigned long long[::1] state, long long words) noexcept nogil
