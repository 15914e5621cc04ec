cdef class State:
    cdef const long long[::1] starts
    cdef const long long[::1] parents
    cdef const long long[::1] child_starts
    cdef const long long[::1] children
    cdef const long long[::1] weights
    cdef long long budget
    cdef readonly long long[::1] order
    cdef readonly long long[::1] changed  # the order in trial
    cdef readonly long long[::1] position  # step of each node in the order, -1 for inputs
    cdef readonly long long[::1] changed_position
    cdef long long[::1] head  # for each step, the first entry of its list of values that give way, -1: there is none
    cdef long long[::1] entry_value
    cdef long long[::1] entry_next  # the next entry of the same list, or of the list of free entries
    cdef long long free
    cdef long long[::1] stored  # the step before which the schedule stores the value, -1 for inputs
    cdef long long[::1] victims  # values that give way in the trial, step by step
    cdef long long[::1] until  # for each step, the end of its part of victims
    cdef long long victim_count
    cdef long long[::1] red_old  # what is in fast memory
    cdef long long[::1] red_new
    cdef long long[::1] place_old  # the place of each value in these lists, -1: it is not in fast memory
    cdef long long[::1] place_new
    cdef long long size_old
    cdef long long size_new
    cdef long long room  # left in the trial
    cdef long long[::1] upcoming  # the next use in the trial, where it lies ahead
    cdef long long[::1] pinned  # the clock when the value was an operand last
    cdef long long clock
    cdef long long[::1] stored_old  # the number of the trial in which the value was stored last
    cdef long long[::1] stored_new
    cdef long long[::1] step_new  # and the step
    cdef long long[::1] dead  # the number of the trial in which the value was read last
    cdef long long[::1] touched  # values stored in either since the stretch began
    cdef long long touched_count
    cdef long long[:, ::1] points_old  # what is in fast memory before every step that is a multiple of spacing
    cdef long long[:, ::1] points_new
    cdef long long[::1] point_size_old
    cdef long long[::1] point_size_new
    cdef long long spacing
    cdef long long number  # of the trial
    cdef long long begin  # where its stretch begins
    cdef long long more  # weight in fast memory in the trial only
    cdef long long less  # in the schedule only
    cdef long long ahead  # weight stored in the trial only
    cdef long long behind
    cdef readonly long long work  # nodes, edges and values looked at

cpdef (long long, long long) attempt(State state, long long first, long long stop, double penalty, long long limit) noexcept nogil
cdef void accept(State state, long long stop, long long end) noexcept nogil
cdef void begin_trial(State state, long long first) noexcept nogil
cdef long long old_step(State state, long long time) noexcept nogil
cdef void put_old(State state, long long value) noexcept nogil
cdef void drop_old(State state, long long value) noexcept nogil
cdef bint is_read_after(State state, long long value, long long time) noexcept nogil
