cdef class SetTable:
    cdef unsigned long long[::1] keys
    cdef long long[::1] ranks

cdef class Parts:
    cdef const long long[::1] first
    cdef const long long[::1] members
    cdef const unsigned long long[::1] given
    cdef const unsigned long long[::1] late
    cdef const long long[::1] node_first
    cdef const long long[::1] node_parts
    cdef const long long[::1] node_places

cdef class Patterns:
    cdef Parts parts
    cdef SetTable table
    cdef const long long[::1] table_first
    cdef const long long[::1] offsets
    cdef const int[:, ::1] steps
    cdef const int[::1] costs
    cdef const long long[::1] shares
    cdef readonly long long whole

cdef class Lookup:
    cdef Patterns patterns
    cdef const unsigned long long[::1] touchers
    cdef long long words
    cdef long long[::1] source_rank
    cdef long long[::1] source_entry
    cdef long long[::1] rank
    cdef long long[::1] entry
    cdef long long total

cdef long long slot_of(SetTable table, long long first, long long size, unsigned long long mask) noexcept nogil
cdef void locate(Lookup lookup, const unsigned long long[::1] sets, long long first) noexcept nogil
cdef long long relocate(
    Lookup lookup, const unsigned long long[::1] state, const long long[::1] touched, long long count
) noexcept nogil
cdef long long let_go(Lookup lookup, long long node, long long digit) noexcept nogil
