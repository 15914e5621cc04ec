from shorthaul.tensor.search.group_kernels cimport Groups, Sets

cdef class Sequences:
    cdef readonly Groups groups
    cdef readonly Sets kept
    cdef bint stores_shared
    cdef bint retains_inputs
    cdef long long room
    cdef int side
    cdef long long[::1] length
    cdef int[::1] group
    cdef int[::1] row
    cdef int[::1] shared
    cdef int[::1] count
    cdef int[::1] best
    cdef int[::1] state
    cdef int[::1] parent
    cdef int[::1] entry
    cdef double[::1] value
    cdef double[::1] used
    cdef public double total
    cdef readonly double latency
    cdef long long begin
    cdef long long end
    cdef readonly long long evaluated
    cdef long long entries
    cdef long long[::1] key_group
    cdef long long[::1] key_kept
    cdef readonly int[::1] key_shared
    cdef double[::1] price
    cdef unsigned char[::1] is_known
    cdef int[::1] slots
    cdef long long rows
    cdef long long[::1] row_key
    cdef int[::1] row_count
    cdef int[::1] choices
    cdef int[::1] row_slots
    cdef readonly int[::1] wanted
    cdef readonly long long missing
    cdef int[::1] buffer
    cdef int[::1] made_by
    cdef int[::1] mark
    cdef int stamp
    cdef int[::1] stored
    cdef int linked
    cdef int[::1] made_at
    cdef int[::1] made_first
    cdef int[::1] made_last
    cdef int[::1] made_fact
    cdef int[::1] made_uses
    cdef const int[::1] later

cdef bint has_room(Sequences sequences) noexcept nogil
cdef long long row_of(Sequences sequences, long long forced, long long free) noexcept nogil
cdef long long price_of(
    Sequences sequences, long long g, long long found, long long kept, long long shared
) noexcept nogil
