cdef class State:
    cdef const long long[::1] starts
    cdef const long long[::1] parents
    cdef const long long[::1] child_starts
    cdef const long long[::1] children
    cdef const long long[::1] weights
    cdef long long budget
    cdef readonly long long[::1] order
    cdef readonly long long[::1] changed
    cdef readonly long long[::1] position
    cdef readonly long long[::1] changed_position
    cdef long long[::1] head
    cdef long long[::1] entry_value
    cdef long long[::1] entry_next
    cdef long long free
    cdef long long[::1] stored
    cdef long long[::1] victims
    cdef long long[::1] until
    cdef long long victim_count
    cdef long long[::1] red_old
    cdef long long[::1] red_new
    cdef long long[::1] place_old
    cdef long long[::1] place_new
    cdef long long size_old
    cdef long long size_new
    cdef long long room
    cdef long long[::1] upcoming
    cdef long long[::1] pinned
    cdef long long clock
    cdef long long[::1] stored_old
    cdef long long[::1] stored_new
    cdef long long[::1] step_new
    cdef long long[::1] dead
    cdef long long[::1] touched
    cdef long long touched_count
    cdef long long[:, ::1] points_old
    cdef long long[:, ::1] points_new
    cdef long long[::1] point_size_old
    cdef long long[::1] point_size_new
    cdef long long spacing
    cdef long long number
    cdef long long begin
    cdef long long more
    cdef long long less
    cdef long long ahead
    cdef long long behind
    cdef readonly long long work

cpdef (long long, long long) attempt(State state, long long first, long long stop, double penalty, long long limit) noexcept nogil
cdef void accept(State state, long long stop, long long end) noexcept nogil
cdef void begin_trial(State state, long long first) noexcept nogil
cdef long long old_step(State state, long long time) noexcept nogil
cdef void put_old(State state, long long value) noexcept nogil
cdef void drop_old(State state, long long value) noexcept nogil
cdef bint is_read_after(State state, long long value, long long time) noexcept nogil
