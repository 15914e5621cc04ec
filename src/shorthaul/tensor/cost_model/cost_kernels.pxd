cdef class Costs:
    cdef long long height
    cdef long long width
    cdef double native_height
    cdef double native_width
    cdef double bandwidth
    cdef double capacity
    cdef long long stored
    cdef long long held
    cdef const long long[::1] reductions
    cdef const long long[:, ::1] loads  # rows, columns, group, height, width, held, number, begin, end
    cdef const long long[:, ::1] charges  # rows, columns, group, height, width, exact, reduction, begin
    cdef const double[::1] base
    # of one granularity
    cdef long long k
    cdef long long rows
    cdef long long columns
    cdef long long steps
    cdef long long[::1] tall
    cdef long long[::1] wide
    cdef long long[::1] steps_of
    cdef long long[::1] borders
    cdef double[::1] count
    cdef double[::1] first
    cdef double[::1] rest
    cdef long long[::1] l_er  # rows and columns, STEP and TILE only where there is more than one
    cdef long long[::1] l_ec
    cdef long long[::1] c_er
    cdef long long[::1] c_ec
    cdef long long[::1] survives  # by slice to load: a bit per move
    cdef double[::1] times

cdef void settle(Costs costs, long long w, long long h, long long k) noexcept nogil
cdef double peak_of(Costs costs) noexcept nogil
cdef void evaluate(Costs costs) noexcept nogil
cdef bint evaluate_within(Costs costs, double limit) noexcept nogil
cdef bint asked(Costs costs, long long group, long long step) noexcept nogil
cdef double charge(Costs costs, Py_ssize_t c, long long tall, long long wide, long long step) noexcept nogil
cdef bint same_reduction(Costs costs, Py_ssize_t one, Py_ssize_t other) noexcept nogil
cdef double later_step(Costs costs, Py_ssize_t c, long long step) noexcept nogil
